/* How a process ended, as JSON and back: a call whose process ended just before the runtime did gets its end from the log. Pure. */
#include "process/record.h"

static const char *const outcomes[] = {
	[AR_PROC_EXITED] = "exited",
	[AR_PROC_NOT_STARTED] = "not_started",
	[AR_PROC_ENDED] = "ended",
	[AR_PROC_TIMED_OUT] = "timed_out",
	[AR_PROC_LIMIT_HIT] = "limit_hit",
	[AR_PROC_SUPERVISOR_LOST] = "supervisor_lost",
	[AR_PROC_UNAVAILABLE] = "unavailable",
};

static void write_text(struct ar_jw *w, const char *name, struct ar_str text)
{
	if (!ar_str_empty(text))
		ar_jw_mstr(w, name, ar_str_utf8_prefix(text, 4096));
}

void ar_process_ending_write(const struct ar_process_ending *e, struct ar_jw *w)
{
	const struct ar_process_end *end = &e->end;

	ar_jw_open(w);
	ar_jw_mstr(w, "outcome", ar_str_from(outcomes[end->outcome]));
	if (end->exit_is_known)
		ar_jw_mint(w, "exitCode", end->exit_code);
	write_text(w, "signal", end->signal);
	write_text(w, "by", end->by);
	write_text(w, "reason", end->reason);
	write_text(w, "step", end->step);
	write_text(w, "message", end->message);
	ar_jw_mint(w, "durationMs", end->duration_ms);
	ar_jw_mint(w, "stdoutBytes", (int64_t)end->stdout_bytes);
	ar_jw_mint(w, "stderrBytes", (int64_t)end->stderr_bytes);
	ar_jw_mint(w, "ttyBytes", (int64_t)end->tty_bytes);
	ar_jw_mint(w, "leftovers", (int64_t)end->leftovers);
	write_text(w, "textRef", e->text_ref);
	ar_jw_mbool(w, "isTruncated", e->is_truncated);
	ar_jw_mbool(w, "isBinary", e->is_binary);
	ar_jw_close(w);
}

static struct ar_str text_of(struct ar_json v, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(v, name), &text);
	return text;
}

static int64_t number_of(struct ar_json v, const char *name)
{
	int64_t n = 0;

	ar_json_i64(ar_json_get(v, name), &n);
	return n;
}

static enum ar_process_outcome outcome_of(struct ar_str word)
{
	for (int i = 1; i < (int)AR_ARRAY_LEN(outcomes); i++) {
		if (ar_str_is(word, outcomes[i]))
			return (enum ar_process_outcome)i;
	}
	return AR_PROC_UNAVAILABLE;
}

struct ar_process_ending ar_process_ending_read(struct ar_json v)
{
	struct ar_process_ending e = { .text_ref = text_of(v, "textRef") };

	e.end = (struct ar_process_end){ .outcome = outcome_of(text_of(v, "outcome")),
					 .exit_is_known =
						 ar_json_type(ar_json_get(v, "exitCode")) != AR_JSON_NONE,
					 .exit_code = (int)number_of(v, "exitCode"),
					 .signal = text_of(v, "signal"),
					 .by = text_of(v, "by"),
					 .reason = text_of(v, "reason"),
					 .step = text_of(v, "step"),
					 .message = text_of(v, "message"),
					 .duration_ms = number_of(v, "durationMs"),
					 .stdout_bytes = (uint64_t)number_of(v, "stdoutBytes"),
					 .stderr_bytes = (uint64_t)number_of(v, "stderrBytes"),
					 .tty_bytes = (uint64_t)number_of(v, "ttyBytes"),
					 .leftovers = (uint64_t)number_of(v, "leftovers") };
	ar_json_bool(ar_json_get(v, "isTruncated"), &e.is_truncated);
	ar_json_bool(ar_json_get(v, "isBinary"), &e.is_binary);
	return e;
}
