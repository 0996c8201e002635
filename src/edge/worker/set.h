/* All machines that hold workspaces, as one: front ends of the ports of tools, processes, checkpoints and
 * inspection. What has no worker goes straight to the local port; what has one goes over the link of that
 * worker. Knows links (port/link.h), not sockets; who may be a worker was decided before a link comes here.
 *
 * A worker that is silent for longer than its lease is LOST: calls that it has open end with an unknown
 * outcome, and what it says of them later is ignored. Its processes run under a supervisor of their own; they
 * go on, and their output continues at the byte where it stopped when the worker is back.
 *
 * Loop thread only. */
#ifndef AR_EDGE_WORKER_SET_H
#define AR_EDGE_WORKER_SET_H

#include "link.h"
#include "ports.h"
#include "worker.h"

#include <uv.h>

/* Zero means the default. */
struct ar_worker_set_options {
	int64_t heartbeat_ms; /* 5 s: between two messages of a worker */
	int64_t stale_ms; /* two heartbeats and a second: after so much silence it is STALE */
	/* 30 s: after so much silence a worker has ended its calls; a quarter of it later it is LOST */
	int64_t lease_ms;
	struct ar_clock *clock; /* NULL: the system's */
};

struct ar_worker_set;

AR_BEGIN_DECLS

/* The local ports outlive the set, which does not close them. It has on_changed of the local file tools. */
struct ar_worker_set *ar_worker_set_new(uv_loop_t *loop, const struct ar_worker_ports *local,
					const struct ar_worker_set_options *o);

/* The front ends: as long as the set lives. close() of a front end does nothing. */
const struct ar_worker_ports *ar_worker_set_ports(struct ar_worker_set *s);
struct ar_workers *ar_worker_set_workers(struct ar_worker_set *s);

/* A link of that worker, taken over, before the first turn of the loop in which it may bring something. One
 * that the worker had before is closed. */
void ar_worker_set_link(struct ar_worker_set *s, struct ar_str worker_id, struct ar_str tenant,
			struct ar_link *link);

/* The addresses of all nodes that workers are to be connected to, at most AR_WORKER_NODES_MAX; copied. Every
 * worker is told, now and when it greets. None: a worker is connected to this one alone. */
void ar_worker_set_nodes(struct ar_worker_set *s, struct ar_texts urls);

/* The worker was removed: its link is closed, calls are lost, processes unavailable, in the loop's next
 * turn. */
void ar_worker_set_drop(struct ar_worker_set *s, struct ar_str worker_id);

/* Looks at the clock. It does that itself; for tests, whose clock moves in steps. */
void ar_worker_set_tick(struct ar_worker_set *s);

/* Ends what is open (on_done and on_end are called at once), closes the links. The memory is given back in
 * the loop's next turns. */
void ar_worker_set_close(struct ar_worker_set *s);

AR_END_DECLS

#endif
