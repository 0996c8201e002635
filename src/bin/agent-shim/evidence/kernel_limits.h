/* Limits that the kernel counts: how often the process was refused another process, how often something of it
 * was killed for memory. */
#ifndef AR_SHIM_LIMITS_H
#define AR_SHIM_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct ar_loop;
struct ar_shim;

enum ar_limit_kind {
	AR_LIMIT_PROCESSES,
	AR_LIMIT_MEMORY,
	AR_LIMIT_KIND_COUNT,
};

struct ar_limits {
	uint64_t before[AR_LIMIT_KIND_COUNT]; /* the counters when the command was let go */
	uint64_t hits[AR_LIMIT_KIND_COUNT];
	uint64_t reported[AR_LIMIT_KIND_COUNT];
	uint64_t look_at;
	int newest; /* the kind that was recorded last */
};

void ar_limits_begin(struct ar_shim *s);
void ar_limits_watch(
	struct ar_shim *s,
	struct ar_loop *l); /* looks at the counters now and then; the first hit is recorded at once */

/* Says the exact counts; killings for memory last, since the newest limit is what a reader takes for the one
 * that ended it. False: the disk is full, call it again. */
bool ar_limits_finish(struct ar_shim *s);

#endif
