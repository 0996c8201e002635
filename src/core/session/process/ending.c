/* How a process ended, between the port and the log. Pure. */
#include "process/record.h"

static struct ar_str text_of(struct ar_str text)
{
	return ar_process_text(text, 4096, AR_STR_NONE);
}

struct ar_shape_process_ending ar_process_ending(struct ar_decision *d, const struct ar_process_over *o)
{
	const struct ar_process_end *end = &o->end;

	return (struct ar_shape_process_ending){
		.outcome = (int)end->outcome,
		.exit_code = { end->exit_code, end->exit_is_known },
		.signal = text_of(end->signal),
		.by = text_of(end->by),
		.reason = text_of(end->reason),
		.step = text_of(end->step),
		.message = text_of(end->message),
		.duration_ms = AR_OPT_INT(end->duration_ms),
		.stdout_bytes = AR_OPT_INT((int64_t)end->stdout_bytes),
		.stderr_bytes = AR_OPT_INT((int64_t)end->stderr_bytes),
		.tty_bytes = AR_OPT_INT((int64_t)end->tty_bytes),
		.leftovers = AR_OPT_INT((int64_t)end->leftovers),
		.text_ref = ar_str_empty(o->text) ? AR_STR_NONE : ar_decide_content(d, o->text),
		.is_truncated = AR_OPT_BOOL(o->is_truncated),
		.is_binary = AR_OPT_BOOL(o->is_binary),
	};
}

struct ar_process_end ar_process_end_told(const struct ar_shape_process_ending *shape)
{
	const struct ar_shape_process_ending unknown = { 0 }, *s = shape ? shape : &unknown;

	/* The words of the catalogue are in the order of the port's. */
	return (struct ar_process_end){
		.outcome = s->outcome ? (enum ar_process_outcome)s->outcome : AR_PROC_UNAVAILABLE,
		.exit_is_known = s->exit_code.set,
		.exit_code = (int)s->exit_code.v,
		.signal = s->signal,
		.by = s->by,
		.reason = s->reason,
		.step = s->step,
		.message = s->message,
		.duration_ms = s->duration_ms.v,
		.stdout_bytes = (uint64_t)s->stdout_bytes.v,
		.stderr_bytes = (uint64_t)s->stderr_bytes.v,
		.tty_bytes = (uint64_t)s->tty_bytes.v,
		.leftovers = (uint64_t)s->leftovers.v,
	};
}
