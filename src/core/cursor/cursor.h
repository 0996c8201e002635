/* Where a reader is: `sequence[.step:pos[,step:pos]...]`. A step is a number; a stream of a process is
 * the number of the process and a letter (o, e, t: stdout, stderr, terminal). Nearly always none is
 * named, and then there is no memory behind it. */
#ifndef AR_CURSOR_CURSOR_H
#define AR_CURSOR_CURSOR_H

#include "buf.h"
#include "status.h"

#define AR_CURSOR_STEPS 64 /* open steps and streams that a cursor can name */
#define AR_CURSOR_PROCESS (UINT64_C(1) << 63) /* in `step`: a stream of a process */

struct ar_cursor_step {
	uint64_t step, pos;
};

/* Zero is the beginning. */
struct ar_cursor {
	uint64_t sequence;
	size_t count;
	struct ar_cursor_step *steps; /* its own */
};

void ar_cursor_fini(struct ar_cursor *c); /* harmless twice */

/* Empty or absent text is the beginning. AR_E_REFUSED with invalid_cursor otherwise, and
 * then nothing to end. */
AR_MUST_USE enum ar_status ar_cursor_parse(struct ar_str text, struct ar_cursor *ret, struct ar_error *err);
void ar_cursor_print(const struct ar_cursor *c, struct ar_buf *out);

uint64_t ar_cursor_pos(const struct ar_cursor *c, uint64_t step); /* 0 when the step is not named */
void ar_cursor_set(struct ar_cursor *c, uint64_t step, uint64_t pos); /* silently full beyond the cap */
void ar_cursor_drop(struct ar_cursor *c, uint64_t step);

/* The place of a stream (enum ar_process_stream) of a process among steps; and whether
 * it is of that process. */
static inline uint64_t ar_cursor_stream(uint64_t process, int stream)
{
	return AR_CURSOR_PROCESS | process << 2 | (uint64_t)stream;
}

static inline bool ar_cursor_is_of(uint64_t step, uint64_t process)
{
	return (step & AR_CURSOR_PROCESS) && (step & ~AR_CURSOR_PROCESS) >> 2 == process;
}

void ar_cursor_drop_process(struct ar_cursor *c, uint64_t process);

#endif
