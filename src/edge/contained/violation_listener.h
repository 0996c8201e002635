/* Violations of one contained program: system calls that the filter refused, counted while it runs, and
 * protected paths that it made, looked for when it has ended. They go with its result. Loop thread only. */
#ifndef AR_EDGE_CONTAINED_VIOLATION_LISTENER_H
#define AR_EDGE_CONTAINED_VIOLATION_LISTENER_H

#include "arena.h"
#include "json.h"
#include "observed.h"
#include "refused.h"

#include <uv.h>

struct ar_violation_listener {
	uv_poll_t poll; /* the owner closes it */
	int listener; /* of the filter; -1: none */
	struct ar_refused refused;
	struct ar_observation seen;
	const char **missing; /* protected paths, in the owner's arena */
	size_t missing_count;
};

AR_BEGIN_DECLS

void ar_violation_listener_init(struct ar_violation_listener *h);

/* Owns the listener from now on (-1: none); `ready` is agent-init's READY. True: the poll handle is open. */
AR_MUST_USE bool ar_violation_listener_open(struct ar_violation_listener *h, uv_loop_t *loop, int listener,
					    struct ar_json ready, struct ar_arena *a);

/* The violations so far, as details of AR_PROC_VIOLATION, in the arena. */
size_t ar_violation_listener_violations(struct ar_violation_listener *h, struct ar_arena *a,
					const struct ar_str **ret);

void ar_violation_listener_close(
	struct ar_violation_listener *h); /* descriptors; the handle is the owner's */

AR_END_DECLS

#endif
