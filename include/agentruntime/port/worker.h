/* The worker port: machines that hold workspaces and run calls and processes in them. This machine is one of
 * them, without a name: an absent id. What a worker does is reached through the ports of tools, processes,
 * checkpoints and inspection; this port says only whether it is there.
 *
 * Contract: loop thread only. on_changed is called from the loop, never from within find() or drop(). */
#ifndef AR_PORT_WORKER_H
#define AR_PORT_WORKER_H

#include "clock.h"
#include "str.h"

enum ar_worker_state {
	AR_WORKER_AWAY = 1, /* not connected, and nothing of it is open */
	AR_WORKER_CONNECTED, /* connected, and heard of in time */
	AR_WORKER_STALE, /* silent, but its lease has not run out: what it does is not known now */
	AR_WORKER_LOST, /* its lease ran out with work open: nobody knows how far that came */
};

struct ar_worker_status {
	enum ar_worker_state state;
	bool is_draining; /* takes no new calls */
	ar_usec last_seen; /* wall clock; 0: not since this process began */
	struct ar_str version; /* of its program; absent: not known */
	struct ar_str capabilities; /* JSON object: kernel, sandbox ladder, profiles; absent: not known */
	int64_t open_calls;
}; /* texts live until the loop turns */

struct ar_workers;

struct ar_workers_vtable {
	/* Any id may be asked for: one that was never heard of is AWAY. */
	struct ar_worker_status (*find)(struct ar_workers *w, struct ar_str worker_id);
	/* The worker was removed: its connection ends, calls are lost, its processes unavailable. Of one that
	 * is not known, or was dropped before: nothing. */
	void (*drop)(struct ar_workers *w, struct ar_str worker_id);
};

struct ar_workers {
	const struct ar_workers_vtable *v;
	bool is_on_all_nodes; /* workers are connected to every node: one that is not here is away */
	/* Set by the owner; may be NULL. */
	void (*on_changed)(void *arg, struct ar_str worker_id, enum ar_worker_state state);
	void *arg;
};

#endif
