/* How many connections there may be: one number for all, of which some are kept for the unix socket and some
 * for the other nodes, so that strangers on TCP cannot shut the operator out; and a number for each address.
 * Owner: the loop thread. */
#ifndef AR_TRANSPORT_SLOTS_H
#define AR_TRANSPORT_SLOTS_H

#include "loopback.h"
#include "map.h"

struct ar_address_slots; /* of one address, while it has connections */

enum ar_slots_kind { AR_SLOTS_TCP, AR_SLOTS_LOCAL, AR_SLOTS_CLUSTER, AR_SLOTS_KINDS };

struct ar_slots {
	uint32_t max; /* of all kinds together */
	uint32_t max_each; /* of one address; 0: as many as there are */
	uint32_t count[AR_SLOTS_KINDS];
	bool is_served[AR_SLOTS_KINDS]; /* nothing is kept for a kind that is not */
	struct ar_map addresses; /* struct ar_address_slots */
};

void ar_slots_fini(struct ar_slots *p);

/* Takes a slot of that kind; false: there is none left for it. */
AR_MUST_USE bool ar_slots_take(struct ar_slots *p, enum ar_slots_kind kind);
void ar_slots_leave(struct ar_slots *p, enum ar_slots_kind kind);

/* Counts one more of this address (of IPv6: of its network of 64 bits); NULL: it has too many. */
struct ar_address_slots *ar_slots_enter(struct ar_slots *p, const union ar_sockaddr *from);
void ar_slots_exit(struct ar_slots *p, struct ar_address_slots *slots); /* may be NULL */

#endif
