/* What a contained program is refused, and what it made that it should not have: heard while it runs, looked at when it has ended, told with its result.
 * Loop thread only. */
#ifndef AR_TOOL_FILES_HEARING_H
#define AR_TOOL_FILES_HEARING_H

#include "arena.h"
#include "json.h"
#include "observed.h"
#include "refused.h"

#include <uv.h>

struct ar_hearing {
	uv_poll_t poll; /* the owner closes it */
	int listener; /* of the filter; -1: none */
	struct ar_refused refused;
	struct ar_observation seen;
	const char **missing; /* protected paths, in the owner's arena */
	size_t missing_count;
};

AR_BEGIN_DECLS

void ar_hearing_init(struct ar_hearing *h);

/* Takes the listener (-1: none); `ready` is what agent-init said. True: the poll handle is open. */
AR_MUST_USE bool ar_hearing_open(struct ar_hearing *h, uv_loop_t *loop, int listener, struct ar_json ready,
				 struct ar_arena *a);

/* The violations so far, as details of AR_PROC_VIOLATION, in the arena. */
size_t ar_hearing_violations(struct ar_hearing *h, struct ar_arena *a, const struct ar_str **ret);

void ar_hearing_close(struct ar_hearing *h); /* descriptors; the handle is the owner's */

AR_END_DECLS

#endif
