/* A decision as text, for tests: one line per fact, content and effect, then the reply. Two decisions that
 * differ in anything that could be stored, sent or done have different texts. */
#ifndef AR_TRACE_H
#define AR_TRACE_H

#include "session.h"

/* `rc` and `err` are what ar_session_decide() returned; of a refusal only these are written. */
void ar_trace_decision(enum ar_status rc, const struct ar_error *err, const struct ar_decision *d,
		       struct ar_buf *out);

/* The arguments of a command as JSON, and back. */
struct ar_str ar_trace_args(int command, const void *args, struct ar_arena *a);
void *ar_trace_read_args(int command, struct ar_str json, struct ar_arena *a);

#endif
