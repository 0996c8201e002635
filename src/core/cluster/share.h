/* Who should have how much. Pure functions over the table of a heartbeat. */
#ifndef AR_CLUSTER_SHARE_H
#define AR_CLUSTER_SHARE_H

#include "member.h"

struct ar_shares {
	unsigned target[AR_NODES_MAX]; /* partitions that each node should have */
	unsigned has[AR_NODES_MAX];
	unsigned up; /* nodes that take part */
};

/* All 1024 over the nodes that are up, the first ones in order of id one more when it does not
 * divide; a draining node none. */
void ar_shares_of(const struct ar_member_beat *b, struct ar_shares *ret);

/* The node that lacks most, or AR_NOBODY. Counts the partition as given. */
uint16_t ar_shares_receiver(struct ar_shares *s, const struct ar_member_beat *b);

#endif
