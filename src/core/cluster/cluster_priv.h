/* Inside the cluster: what this node knows of each partition.
 *
 *   AWAY -> SERVED -> LEAVING (still served, until its work is done or the handover time is over)
 *        -> CLOSED (released; waits for what is in flight) -> given in a heartbeat -> AWAY */
#ifndef AR_CLUSTER_PRIV_H
#define AR_CLUSTER_PRIV_H

#include "cluster.h"
#include "share.h"
#include "watch.h"

enum ar_local_state {
	AR_LOCAL_AWAY = 0,
	AR_LOCAL_SERVED,
	AR_LOCAL_LEAVING,
	AR_LOCAL_CLOSED,
};

struct ar_local {
	uint8_t state;
	uint8_t free_for; /* looks at which nobody had it */
	ar_usec until; /* LEAVING */
};

struct ar_cluster {
	struct ar_cluster_options o;
	struct ar_member_beat heartbeat; /* the member's while it is out */
	struct ar_member_beat table; /* as the last one that succeeded brought it */
	struct ar_watch watch;
	struct ar_local local[AR_PARTITIONS];
	unsigned served; /* SERVED or LEAVING */
	unsigned moving; /* LEAVING or CLOSED */
	ar_usec sent_at; /* of the newest heartbeat */
	ar_usec valid_until;
	ar_usec next_at; /* next heartbeat */
	ar_usec move_at; /* next look at what is moving */
	enum ar_node_state state;
	bool is_out, has_table, is_over, has_left;
};

ar_usec ar_cluster_now(const struct ar_cluster *c);

/* moves.c */
void ar_moves_begin(struct ar_cluster *c,
		    const struct ar_shares *s); /* what is over our share starts to leave */
bool ar_moves_step(struct ar_cluster *c, ar_usec now); /* true: something can be given */
void ar_moves_handoffs(struct ar_cluster *c, struct ar_shares *s); /* into the heartbeat */

#endif
