/* Where a reader is: `sequence[.step:pos[,step:pos]...]`. Plain data. */
#ifndef AR_EVENTLOG_CURSOR_H
#define AR_EVENTLOG_CURSOR_H

#include "buf.h"
#include "status.h"

#define AR_CURSOR_STEPS 32 /* open steps that a cursor can name */

struct ar_cursor {
	uint64_t sequence;
	size_t count;
	struct {
		uint64_t step, pos;
	} steps[AR_CURSOR_STEPS];
};

/* Empty or absent text is the beginning. AR_E_REFUSED with invalid_cursor otherwise. */
AR_MUST_USE enum ar_status ar_cursor_parse(struct ar_str text, struct ar_cursor *ret, struct ar_error *err);
void ar_cursor_print(const struct ar_cursor *c, struct ar_buf *out);

uint64_t ar_cursor_pos(const struct ar_cursor *c, uint64_t step); /* 0 when the step is not named */
void ar_cursor_set(struct ar_cursor *c, uint64_t step, uint64_t pos); /* silently full beyond the cap */
void ar_cursor_drop(struct ar_cursor *c, uint64_t step);

#endif
