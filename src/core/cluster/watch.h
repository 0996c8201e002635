/* Which nodes are silent. A node lives while its heartbeat number moves. How long it has not moved is counted
 * in the time between our own successful looks, each counted as at most two intervals: after an outage of the
 * database, or of this process, everybody gets a whole lease for the next heartbeat. */
#ifndef AR_CLUSTER_WATCH_H
#define AR_CLUSTER_WATCH_H

#include "clock.h"
#include "member.h"

struct ar_watched {
	char id[AR_ID_MAX + 1];
	uint64_t epoch, beat;
	ar_usec silent;
};

struct ar_watch {
	struct ar_watched nodes[AR_NODES_MAX];
	size_t count;
	ar_usec looked_at; /* 0 = never */
};

/* A table came in; `step` is the longest time that one look may count for. */
void ar_watch_look(struct ar_watch *w, const struct ar_member_beat *b, ar_usec now, ar_usec step);

/* Places of those that were silent for `lease`, never ours. */
size_t ar_watch_lost(const struct ar_watch *w, const struct ar_member_beat *b, ar_usec lease,
		     uint16_t ret[AR_NODES_MAX]);

#endif
