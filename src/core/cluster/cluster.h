/* The part of a node in its cluster: it sends heartbeats, watches the others, takes partitions that
 * nobody has, hands off what is over its share, and says at any moment where a session is worked on.
 * Knows nothing of sessions themselves: the host begins and leaves them. Owner: the loop thread.
 *
 * A partition is ours from the heartbeat that says so until we handed it off or our epoch was ended. Because
 * ending takes another node a whole lease without a heartbeat of ours, we may answer from memory for a lease
 * after the last heartbeat was *sent*, and no longer. */
#ifndef AR_CLUSTER_CLUSTER_H
#define AR_CLUSTER_CLUSTER_H

#include "clock.h"
#include "member.h"
#include "partition_set.h"
#include "place.h"

struct ar_cluster;

struct ar_cluster_options {
	struct ar_member *member;
	struct ar_clock *clock;
	ar_usec lease; /* silence after which a node counts as lost */
	ar_usec handover; /* longest wait for a partition to have no open work before it moves */

	void (*gained)(void *arg, const struct ar_partition_set *set); /* ours now: take up what is open */
	bool (*is_busy)(void *arg, unsigned partition); /* worth waiting for, before it moves */
	void (*release)(void *arg, unsigned partition); /* leave everything of it */
	bool (*is_quiet)(void *arg, unsigned partition); /* after release: nothing is in flight any more */
	/* A node, or an epoch of it, is gone: what it was asked at that address will not be answered. */
	void (*gone)(void *arg, struct ar_str address);
	void (*fenced)(void *arg); /* our epoch is over; nothing here is ours. The last call. */
	void *arg;
};

struct ar_cluster *ar_cluster_new(const struct ar_cluster_options *o);
void ar_cluster_free(struct ar_cluster *c); /* after the member is closed */

/* `session_key` absent: where a new session may be made. The address lives until the next tick. */
enum ar_place ar_cluster_find(const struct ar_cluster *c, struct ar_str session_key,
			      struct ar_str *ret_address);

/* Whether the last heartbeat is recent enough to answer for anything. */
bool ar_cluster_is_settled(const struct ar_cluster *c);

/* Gives everything away, takes nothing any more. */
void ar_cluster_drain(struct ar_cluster *c);

/* The last heartbeat, which frees what is left: after it nothing is ours. Drained: all was handed off, or no
 * other node is there. */
void ar_cluster_leave(struct ar_cluster *c);
bool ar_cluster_is_drained(const struct ar_cluster *c);
bool ar_cluster_has_left(const struct ar_cluster *c);

/* The table as last seen; NULL before the first heartbeat. `self` is our place in it. */
const struct ar_member_beat *ar_cluster_table(const struct ar_cluster *c);

/* Monotonic time of the next thing to do, and doing it. */
ar_usec ar_cluster_deadline(const struct ar_cluster *c);
void ar_cluster_tick(struct ar_cluster *c);

#endif
