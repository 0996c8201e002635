/* Processes: what is to run, its boundary, reports and ends; see worker_codec.h. */
#include "worker_codec.h"

#define ARGS_MAX 16384
#define TEXT_MAX 65536 /* of one member of an end or a report */

static void write_list(struct ar_wire_writer *w, const char *name, const struct ar_str *at, size_t count)
{
	ar_jw_key(&w->w, name);
	ar_jw_open_array(&w->w);
	for (size_t i = 0; i < count; i++)
		ar_wire_add_piece(w, at[i]);
	ar_jw_close_array(&w->w);
}

static const struct ar_str *read_list(struct ar_wire_message *m, struct ar_arena *a, const char *name,
				      size_t *ret_count)
{
	struct ar_json array = ar_wire_array(m, m->head, name, ARGS_MAX);
	struct ar_str *list = ar_arena_alloc(a, (ar_json_len(array) + 1) * sizeof(*list));

	*ret_count = 0;
	for (struct ar_json_iter it = ar_json_iter(array); ar_json_next(&it);) {
		struct ar_str piece = ar_wire_piece(m, it.value);

		list[(*ret_count)++] = ar_arena_str(a, piece); /* a program gets them with a NUL */
	}
	return list;
}

/* ---- what is to run ---- */

void ar_codec_write_spec(struct ar_wire_writer *w, const struct ar_process_spec *s)
{
	write_list(w, "argv", s->argv, s->argc);
	write_list(w, "env", s->env, s->env_count);
	ar_wire_add(w, "cwd", s->cwd);
	ar_wire_add(w, "input", s->input);
	ar_jw_mbool(&w->w, "hasInput", s->has_input);
	ar_jw_mbool(&w->w, "tty", s->tty);
	ar_jw_mint(&w->w, "rows", s->rows);
	ar_jw_mint(&w->w, "columns", s->columns);
	ar_jw_mbool(&w->w, "keepsLeftovers", s->keeps_leftovers);
	ar_jw_mint(&w->w, "timeoutMs", s->timeout_ms);
	ar_jw_mint(&w->w, "profile", s->profile);
	ar_wire_add(w, "session", s->session_id);
	ar_wire_add(w, "call", s->call_id);
	ar_wire_add(w, "workspace", s->workspace);
	ar_jw_mbool(&w->w, "isApart", s->is_apart);
	ar_wire_add(w, "command", s->command);
	ar_wire_add(w, "justification", s->justification);
}

void ar_codec_read_spec(struct ar_wire_message *m, struct ar_arena *a, struct ar_process_spec *ret)
{
	struct ar_json v = m->head;

	*ret = (struct ar_process_spec){
		.cwd = ar_wire_text(m, v, "cwd"),
		.input = ar_wire_bytes(m, v, "input"),
		.has_input = ar_wire_bool(m, v, "hasInput"),
		.tty = ar_wire_bool(m, v, "tty"),
		.rows = (uint16_t)ar_wire_int(m, v, "rows", 0, UINT16_MAX),
		.columns = (uint16_t)ar_wire_int(m, v, "columns", 0, UINT16_MAX),
		.keeps_leftovers = ar_wire_bool(m, v, "keepsLeftovers"),
		.timeout_ms = ar_wire_int(m, v, "timeoutMs", 0, INT64_MAX / 1000),
		.profile = (enum ar_sandbox_profile)ar_wire_int(m, v, "profile", 1, AR_SANDBOX_COUNT - 1),
		.session_id = ar_wire_text(m, v, "session"),
		.call_id = ar_wire_text(m, v, "call"),
		.workspace = ar_wire_text(m, v, "workspace"),
		.is_apart = ar_wire_bool(m, v, "isApart"),
		.command = ar_wire_text(m, v, "command"),
		.justification = ar_wire_text(m, v, "justification")
	};
	ret->argv = read_list(m, a, "argv", &ret->argc);
	ret->env = read_list(m, a, "env", &ret->env_count);
	m->is_broken |= ret->argc == 0 || ret->profile == 0;
}

/* ---- its boundary ---- */

void ar_codec_write_ready(struct ar_wire_writer *w, const struct ar_process_ready *r)
{
	ar_wire_add(w, "handle", r->handle);
	ar_wire_add(w, "cwd", r->cwd);
	ar_wire_add(w, "readRoots", r->read_roots);
	ar_wire_add(w, "writeRoots", r->write_roots);
	ar_wire_add(w, "environment", r->environment);
	ar_wire_add(w, "limits", r->limits);
	ar_wire_add(w, "boundary", r->boundary);
}

void ar_codec_read_ready(struct ar_wire_message *m, struct ar_json v, struct ar_process_ready *ret)
{
	*ret = (struct ar_process_ready){ .handle = ar_wire_text(m, v, "handle"),
					  .cwd = ar_wire_text(m, v, "cwd"),
					  .read_roots = ar_wire_json(m, v, "readRoots", AR_JSON_ARRAY),
					  .write_roots = ar_wire_json(m, v, "writeRoots", AR_JSON_ARRAY),
					  .environment = ar_wire_json(m, v, "environment", AR_JSON_OBJECT),
					  .limits = ar_wire_json(m, v, "limits", AR_JSON_OBJECT),
					  .boundary = ar_wire_json(m, v, "boundary", AR_JSON_OBJECT) };
}

/* ---- while it runs ---- */

enum ar_process_stream ar_codec_read_stream(struct ar_wire_message *m)
{
	int64_t stream = ar_wire_int(m, m->head, "stream", AR_PROC_STDOUT, AR_PROC_TTY);

	m->is_broken |= stream == 0;
	return (enum ar_process_stream)stream;
}

void ar_codec_write_report(struct ar_wire_writer *w, const struct ar_process_report *r)
{
	ar_jw_mint(&w->w, "kind", r->kind);
	ar_jw_mint(&w->w, "seq", (int64_t)r->seq);
	ar_jw_mint(&w->w, "number", (int64_t)r->number);
	ar_wire_add(w, "detail", r->detail);
}

void ar_codec_read_report(struct ar_wire_message *m, struct ar_process_report *ret)
{
	struct ar_json v = m->head;

	*ret = (struct ar_process_report){
		.kind = (enum ar_process_report_kind)ar_wire_int(m, v, "kind", AR_PROC_INPUT_WRITTEN,
								 AR_PROC_WAITS_FOR_INPUT),
		.seq = (uint64_t)ar_wire_int(m, v, "seq", 0, INT64_MAX),
		.number = (uint64_t)ar_wire_int(m, v, "number", 0, INT64_MAX),
		.detail = ar_wire_json(m, v, "detail", AR_JSON_OBJECT)
	};
	m->is_broken |= ret->kind == 0 || ret->detail.len > TEXT_MAX;
}

bool ar_codec_read_gap(struct ar_json_parser *p, struct ar_str detail, struct ar_codec_gap *ret)
{
	struct ar_str word = AR_STR_NONE;
	int64_t from = -1, to = -1;
	struct ar_json v;

	if (ar_json_parse(p, detail, &v, NULL) != AR_OK || !ar_json_str(ar_json_get(v, "stream"), &word) ||
	    !ar_json_i64(ar_json_get(v, "from"), &from) || !ar_json_i64(ar_json_get(v, "to"), &to) ||
	    from < 0 || to < from)
		return false;
	*ret = (struct ar_codec_gap){ .stream = ar_str_is(word, "stdout")   ? AR_PROC_STDOUT
						: ar_str_is(word, "stderr") ? AR_PROC_STDERR
									    : AR_PROC_TTY,
				      .from = (uint64_t)from,
				      .to = (uint64_t)to };
	return true;
}

/* ---- its end ---- */

void ar_codec_write_end(struct ar_wire_writer *w, const struct ar_process_end *e)
{
	ar_jw_mint(&w->w, "outcome", e->outcome);
	ar_jw_mint(&w->w, "seq", (int64_t)e->seq);
	ar_jw_mbool(&w->w, "exitIsKnown", e->exit_is_known);
	ar_jw_mint(&w->w, "exitCode", e->exit_code);
	ar_wire_add(w, "signal", e->signal);
	ar_wire_add(w, "by", e->by);
	ar_wire_add(w, "reason", e->reason);
	ar_wire_add(w, "step", e->step);
	ar_wire_add(w, "message", e->message);
	ar_jw_mint(&w->w, "durationMs", e->duration_ms);
	ar_jw_mint(&w->w, "stdoutBytes", (int64_t)e->stdout_bytes);
	ar_jw_mint(&w->w, "stderrBytes", (int64_t)e->stderr_bytes);
	ar_jw_mint(&w->w, "ttyBytes", (int64_t)e->tty_bytes);
	ar_jw_mint(&w->w, "leftovers", (int64_t)e->leftovers);
}

static struct ar_str read_short(struct ar_wire_message *m, const char *name)
{
	struct ar_str text = ar_wire_text(m, m->head, name);

	m->is_broken |= text.len > TEXT_MAX;
	return text;
}

void ar_codec_read_end(struct ar_wire_message *m, struct ar_process_end *ret)
{
	struct ar_json v = m->head;

	*ret = (struct ar_process_end){
		.outcome = (enum ar_process_outcome)ar_wire_int(m, v, "outcome", AR_PROC_EXITED,
								AR_PROC_UNAVAILABLE),
		.seq = (uint64_t)ar_wire_int(m, v, "seq", 0, INT64_MAX),
		.exit_is_known = ar_wire_bool(m, v, "exitIsKnown"),
		.exit_code = (int)ar_wire_int(m, v, "exitCode", INT32_MIN, INT32_MAX),
		.signal = read_short(m, "signal"),
		.by = read_short(m, "by"),
		.reason = read_short(m, "reason"),
		.step = read_short(m, "step"),
		.message = read_short(m, "message"),
		.duration_ms = ar_wire_int(m, v, "durationMs", 0, INT64_MAX),
		.stdout_bytes = (uint64_t)ar_wire_int(m, v, "stdoutBytes", 0, INT64_MAX),
		.stderr_bytes = (uint64_t)ar_wire_int(m, v, "stderrBytes", 0, INT64_MAX),
		.tty_bytes = (uint64_t)ar_wire_int(m, v, "ttyBytes", 0, INT64_MAX),
		.leftovers = (uint64_t)ar_wire_int(m, v, "leftovers", 0, INT64_MAX)
	};
	m->is_broken |= ret->outcome == 0;
}
