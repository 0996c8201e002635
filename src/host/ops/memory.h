/* Memory that this process takes, against what it may take. Over the mark idle sessions leave and free
 * pages go back to the system; when that is not enough memory is short, and requests for more are
 * refused until it is clearly below the mark again. The process is not to be ended by the kernel, or by
 * a failed allocation, because clients send much. Owner: the loop thread. */
#ifndef AR_HOST_OPS_MEMORY_H
#define AR_HOST_OPS_MEMORY_H

#include "engine.h"
#include "log.h"

#include <uv.h>

struct ar_memory {
	uv_timer_t timer; /* runs while memory is short; its owner closes it */
	struct ar_engine *engine;
	const struct ar_log *log; /* set after the init */
	uint64_t mark; /* bytes of this process's own pages */
	int statm; /* -1: the system does not say, so it is never short */
	/* milliseconds of the loop; the second: when idle sessions and free pages may be given up next */
	uint64_t looked, relief_at;
	uint64_t left; /* bytes until nothing more fits, at the last look */
	size_t since; /* bytes that came in since then */
	bool is_short;
};

/* mark: bytes; 0 takes three quarters of what the control group, or the machine, has. */
void ar_memory_init(struct ar_memory *m, uv_loop_t *loop, uint64_t mark);
void ar_memory_watch(struct ar_memory *m, struct ar_engine *engine);

/* Once everything is open: whether the limits of the process leave enough to work with.
 * AR_E_LIMIT with what to raise. */
AR_MUST_USE enum ar_status ar_memory_check(const struct ar_memory *m, struct ar_error *err);
void ar_memory_fini(struct ar_memory *m); /* the timer is closed by the caller */

/* Whether work may begin, with which `bytes` are under way that will take many times as much before
 * they are settled. The same cost. */
bool ar_memory_has_room(void *memory, size_t bytes);

/* Whether memory is short now that `bytes` more came in. Looks again after some milliseconds or some
 * bytes, else it costs nothing. `memory` is a struct ar_memory. */
bool ar_memory_is_short(void *memory, size_t bytes);

#endif
