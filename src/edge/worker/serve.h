/* The worker's end of a link to one node: carries out on the local ports what the daemon at the other end
 * asks for, and brings it the results. Decides nothing, but that no call runs twice: the ids of those that
 * have begun are on disk before they begin.
 *
 * Without a link calls go on until the lease has run out; then they are killed, because the daemon counts
 * them as lost. Results are kept until the daemon has them. Processes belong to their supervisors and are
 * left alone.
 *
 * Loop thread only. */
#ifndef AR_EDGE_WORKER_SERVE_H
#define AR_EDGE_WORKER_SERVE_H

#include "link.h"
#include "ports.h"

#include <uv.h>

/* What the links of one worker to several nodes share: which calls have begun, and who has which process. A
 * call that one node had begun never begins for another one; a process that another node attaches to is
 * left by the one that had it. */
struct ar_serve_shared;

struct ar_worker_serve_options {
	struct ar_serve_shared *shared; /* NULL: its own, in `dir` */
	struct ar_str dir; /* of this worker alone: `begun`, the ids of calls, is kept there */
	/* Absolute: folders that calls name must be below it. Absent: any absolute path */
	struct ar_str folders;
	struct ar_texts offered; /* further folders that calls may name, or what is below them; borrowed */
	struct ar_str version; /* of the program */
	struct ar_str labels; /* JSON object; absent: none */
	struct ar_clock *clock; /* NULL: one that also counts while the machine sleeps */
	/* May be NULL. The daemon has greeted; the link is over, and another one may be given. */
	void (*on_joined)(void *arg);
	void (*on_parted)(void *arg, struct ar_str why);
	/* May be NULL. The addresses of all nodes, as the daemon names them: before on_joined, and whenever
	 * they change. At most AR_WORKER_NODES_MAX; the texts live until it returns. */
	void (*on_nodes)(void *arg, const struct ar_str *urls, size_t count);
	/* May be NULL. After ar_worker_serve_drain: no call is open, and no result waits for the daemon. */
	void (*on_drained)(void *arg);
	void *arg;
};

struct ar_worker_serve;

AR_BEGIN_DECLS

/* NULL: the folder cannot be used, or another process has it; the sentence says why. Closed after all that
 * use it. */
struct ar_serve_shared *ar_serve_shared_open(uv_loop_t *loop, struct ar_str dir, struct ar_error *err);
void ar_serve_shared_close(struct ar_serve_shared *shared);

/* NULL: the folder cannot be used; the sentence says why. The local ports outlive it; it does not close
 * them. Texts are copied. */
struct ar_worker_serve *ar_worker_serve_new(uv_loop_t *loop, const struct ar_worker_ports *local,
					    const struct ar_worker_serve_options *o, struct ar_error *err);

/* A link to the daemon, taken over; the greeting is sent on it. An earlier one is closed, without
 * on_parted. */
void ar_worker_serve_link(struct ar_worker_serve *s, struct ar_link *link);

/* No new calls from now on; the daemon is informed. */
void ar_worker_serve_drain(struct ar_worker_serve *s);

/* Calls that run, and results that the daemon does not have yet. Processes do not count. */
size_t ar_worker_serve_open_calls(const struct ar_worker_serve *s);

/* Looks at the clock. It does that itself; for tests, whose clock moves in steps. */
void ar_worker_serve_tick(struct ar_worker_serve *s);

/* Says bye, cancels calls, leaves processes, closes the link. The memory is given back in the loop's next
 * turns, when no local call is open any more. */
void ar_worker_serve_close(struct ar_worker_serve *s);

AR_END_DECLS

#endif
