/* See journal_state.h. */
#include "journal_state.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SIGNALS 65

static void copy_text(char *to, size_t room, struct ar_json v)
{
	struct ar_str s = AR_STR("");

	ar_json_str(v, &s);
	s = ar_str_utf8_prefix(s, room - 1);
	memcpy(to, s.p, s.len);
	to[s.len] = '\0';
}

#define KEEP(member, json) copy_text(member, sizeof(member), json)

/* Absent, of another kind or negative: 0. */
static int64_t count_of(struct ar_json object, const char *name)
{
	int64_t n = 0;

	return ar_json_i64(ar_json_get(object, name), &n) && n > 0 ? n : 0;
}

static enum ar_record_stream stream_of(struct ar_json v)
{
	static const char *const names[] = { "", "stdout", "stderr", "tty" };
	struct ar_str name = AR_STR("");

	ar_json_str(v, &name);
	for (int i = AR_STREAM_STDOUT; i <= AR_STREAM_TTY; i++) {
		if (ar_str_is(name, names[i]))
			return (enum ar_record_stream)i;
	}
	return AR_STREAM_NONE;
}

int ar_journal_state_signal(struct ar_str name)
{
	if (ar_str_starts(name, AR_STR("SIG")))
		name = ar_str_sub(name, 3, name.len);
	for (int i = 1; i < SIGNALS; i++) {
		const char *known = sigabbrev_np(i);

		if (known && ar_str_is(name, known))
			return i;
	}
	return 0;
}

/* ---- one record ---- */

static bool read_spawned(struct ar_journal_state *t, struct ar_json j)
{
	t->shim_pid = count_of(j, "shimPid");
	return true;
}

static bool read_applied(struct ar_journal_state *t, struct ar_json j)
{
	struct ar_str name;

	t->is_applied = true;
	t->first_pid = count_of(j, "pid");
	t->session = (uint32_t)count_of(j, "session");
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(j, "fds")); ar_json_next(&it);)
		t->has_tty = t->has_tty || (ar_json_str(it.value, &name) && ar_str_is(name, "tty"));
	return true;
}

static bool read_released(struct ar_journal_state *t, struct ar_json j AR_UNUSED)
{
	t->is_released = true;
	t->released_at = t->at;
	return true;
}

static bool read_started(struct ar_journal_state *t, struct ar_json j)
{
	t->command_pid = count_of(j, "pid");
	return true;
}

static bool read_written(struct ar_journal_state *t, struct ar_json j)
{
	t->number = (uint64_t)count_of(j, "number");
	return t->number > 0;
}

/* The newest counts: the signal that ended it is the last one. */
static bool read_signalled(struct ar_journal_state *t, struct ar_json j)
{
	KEEP(t->reason, ar_json_get(j, "reason"));
	return true;
}

static bool read_limit(struct ar_journal_state *t, struct ar_json j)
{
	KEEP(t->limit, ar_json_get(j, "kind"));
	return t->limit[0] != '\0';
}

static bool read_truncated(struct ar_journal_state *t, struct ar_json j)
{
	enum ar_record_stream stream = stream_of(ar_json_get(j, "stream"));
	int64_t from = count_of(j, "from"), to = count_of(j, "to");

	if (stream == AR_STREAM_NONE || to < from)
		return false;
	t->bytes[stream] += (uint64_t)(to - from);
	return true;
}

static bool read_failed(struct ar_journal_state *t, struct ar_json j)
{
	t->has_failed = true;
	t->end_seq = t->seq;
	t->error = count_of(j, "errno");
	KEEP(t->step, ar_json_get(j, "step"));
	KEEP(t->message, ar_json_get(j, "message"));
	return true;
}

static bool read_exit(struct ar_journal_state *t, struct ar_json j)
{
	int64_t code = count_of(j, "code"), number = count_of(j, "signal");

	KEEP(t->by, ar_json_get(j, "by"));
	KEEP(t->signal, ar_json_get(j, "signal"));
	if (number > 0 && number < SIGNALS && sigabbrev_np((int)number))
		snprintf(t->signal, sizeof(t->signal), "SIG%s", sigabbrev_np((int)number));
	if (t->signal[0] != '\0')
		code = 128 + ar_journal_state_signal(ar_str_from(t->signal));
	else if (ar_json_type(ar_json_get(j, "code")) != AR_JSON_INT || code > 255)
		return false;
	t->exit_code = (int)code;
	t->duration_ms = count_of(j, "durationMs");
	t->has_exited = true;
	t->end_seq = t->seq;
	return true;
}

static bool read_leftovers(struct ar_journal_state *t, struct ar_json j)
{
	t->leftovers = (uint64_t)count_of(j, "count");
	return true;
}

static bool read_output_end(struct ar_journal_state *t, struct ar_json j)
{
	t->bytes[AR_STREAM_STDOUT] = (uint64_t)count_of(j, "stdout");
	t->bytes[AR_STREAM_STDERR] = (uint64_t)count_of(j, "stderr");
	t->bytes[AR_STREAM_TTY] = (uint64_t)count_of(j, "tty");
	return true;
}

static bool read_nothing(struct ar_journal_state *t AR_UNUSED, struct ar_json j AR_UNUSED)
{
	return true;
}

/* Records with an object in them; the three others are below. */
static bool (*const readers[AR_RECORD_TYPE_COUNT])(struct ar_journal_state *t, struct ar_json j) = {
	[AR_RECORD_SPAWNED] = read_spawned,	  [AR_RECORD_APPLIED] = read_applied,
	[AR_RECORD_STARTED] = read_started,	  [AR_RECORD_INPUT_ACCEPTED] = read_nothing,
	[AR_RECORD_INPUT_WRITTEN] = read_written, [AR_RECORD_RESIZED] = read_nothing,
	[AR_RECORD_SIGNALLED] = read_signalled,	  [AR_RECORD_VIOLATION] = read_nothing,
	[AR_RECORD_LIMIT] = read_limit,		  [AR_RECORD_TRUNCATED] = read_truncated,
	[AR_RECORD_SPAWN_FAILED] = read_failed,	  [AR_RECORD_EXIT] = read_exit,
	[AR_RECORD_LEFTOVERS] = read_leftovers,	  [AR_RECORD_OUTPUT_END] = read_output_end,
};

static bool read_object(struct ar_journal_state *t, const struct ar_record *r, struct ar_json_parser *parser)
{
	struct ar_json j;

	return readers[r->head.type] &&
	       ar_json_parse(parser, (struct ar_str){ r->payload, r->head.len }, &j, NULL) == AR_OK &&
	       ar_json_type(j) == AR_JSON_OBJECT && readers[r->head.type](t, j);
}

static bool read_output(struct ar_journal_state *t, const struct ar_record *r)
{
	if (r->head.stream < AR_STREAM_STDOUT || r->head.stream > AR_STREAM_TTY)
		return false;
	t->bytes[r->head.stream] += r->head.len;
	return true;
}

static bool apply_record(struct ar_journal_state *t, const struct ar_record *r, struct ar_json_parser *parser)
{
	if (r->head.type == AR_RECORD_OUTPUT)
		return read_output(t, r);
	if (r->head.type == AR_RECORD_RELEASED)
		return read_released(t, (struct ar_json){ 0 });
	if (r->head.type == AR_RECORD_SEALED)
		return t->is_sealed = true;
	return read_object(t, r, parser);
}

bool ar_journal_state_apply(struct ar_journal_state *t, const struct ar_record *r,
			    struct ar_json_parser *parser)
{
	uint64_t before = t->seq;

	if (t->is_broken || t->is_sealed || r->head.type >= AR_RECORD_TYPE_COUNT ||
	    r->head.seq != before + 1) {
		t->is_broken = true;
		return false;
	}
	t->seq = r->head.seq;
	t->at = r->head.at;
	if (apply_record(t, r, parser))
		return true;
	t->seq = before;
	t->is_broken = true;
	return false;
}

/* ---- how it ended ---- */

static enum ar_process_outcome outcome_of(const struct ar_journal_state *t)
{
	static const struct {
		const char *by;
		enum ar_process_outcome outcome;
	} rows[] = {
		{ "itself", AR_PROC_EXITED },	{ "user", AR_PROC_ENDED },
		{ "policy", AR_PROC_ENDED },	{ "parent_cancellation", AR_PROC_ENDED },
		{ "shutdown", AR_PROC_ENDED },	{ "timeout", AR_PROC_TIMED_OUT },
		{ "limit", AR_PROC_LIMIT_HIT },
	};

	if (t->has_failed)
		return AR_PROC_NOT_STARTED;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		if (ar_str_is(ar_str_from(t->by), rows[i].by))
			return rows[i].outcome;
	}
	return AR_PROC_EXITED;
}

static struct ar_str text_if_set(const char *text)
{
	return text[0] ? ar_str_from(text) : AR_STR_NONE;
}

void ar_journal_state_end(const struct ar_journal_state *t, struct ar_process_end *ret)
{
	enum ar_process_outcome outcome = outcome_of(t);

	*ret = (struct ar_process_end){
		.outcome = outcome,
		.seq = t->end_seq,
		.exit_is_known = t->has_exited && !t->has_failed,
		.duration_ms = t->duration_ms,
		.stdout_bytes = t->bytes[AR_STREAM_STDOUT],
		.stderr_bytes = t->bytes[AR_STREAM_STDERR],
		.tty_bytes = t->bytes[AR_STREAM_TTY],
		.leftovers = t->leftovers,
	};
	if (ret->exit_is_known) {
		ret->exit_code = t->exit_code;
		ret->signal = text_if_set(t->signal);
	}
	if (outcome == AR_PROC_ENDED) {
		ret->by = text_if_set(t->by);
		ret->reason = text_if_set(t->reason);
	}
	if (outcome == AR_PROC_LIMIT_HIT)
		ret->message = text_if_set(t->limit);
	if (outcome == AR_PROC_NOT_STARTED)
		ret->step = text_if_set(t->step);
}
