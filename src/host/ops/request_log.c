/* See request_log.h. */
#include "ops/request_log.h"
#include "clock.h"
#include "context.h"
#include "log.h"
#include "redact.h"
#include "host_priv.h"
#include "telemetry.h"
#include "tenant.h"

#define LINES_MAX 200 /* per second: a client that is refused in a loop must not fill the disk */
#define SECOND 1000000

/* ---- the file ---- */

static void write_to_file(void *arg, const char *level AR_UNUSED, struct ar_str line)
{
	struct ar_request_log *l = arg;

	l->dropped += !ar_line_file_write(&l->file, line);
}

enum ar_status ar_request_log_open(struct ar_request_log *l, const struct ar_config *c, struct ar_error *err)
{
	if (!*c->telemetry.request_log)
		return AR_OK;
	if (ar_line_file_open(&l->file, c->telemetry.request_log, c->telemetry.request_log_bytes, err) !=
	    AR_OK)
		return ar_fail_wrap(err, "telemetry.request_log");
	l->to_file = (struct ar_log){ .write = write_to_file, .arg = l, .from = AR_CONFIG_LOG_LEVEL_DEBUG };
	return AR_OK;
}

void ar_request_log_close(struct ar_request_log *l)
{
	ar_line_file_close(&l->file);
	l->to_file.write = NULL;
}

/* ---- lines ---- */

static bool is_over(struct ar_request_log *l)
{
	ar_usec now = ar_clock_system()->mono(ar_clock_system());

	if (now - l->second >= SECOND) {
		l->second = now;
		l->lines = 0;
	}
	if (l->lines++ < LINES_MAX)
		return false;
	l->left_out++;
	l->dropped += l->file.is_open;
	return true;
}

/* Words of the caller's own choice: nobody keeps it from naming a turn after a password. */
static void add_masked(const struct ar_request_log *l, struct ar_jw *w, const char *name, struct ar_str text)
{
	struct ar_redact_counts counts = { 0 };
	struct ar_arena a = { 0 };

	if (ar_str_absent(text))
		return;
	ar_jw_mstr(w, name, ar_redact(l->redactor, text, &a, &counts));
	ar_arena_fini(&a);
}

static void add_ids(const struct ar_request_log *l, struct ar_jw *w, const struct ar_request_ids *ids)
{
	ar_jw_mstr(w, "runtimeId", l->runtime_id);
	add_masked(l, w, "sessionId", ids->session);
	for (int i = 0; i < AR_SCOPE_COUNT; i++)
		add_masked(l, w, ar_scope_names[i], ids->at[i]);
	add_masked(l, w, "queuedTurnId", ids->queued_turn);
}

static void write_answer(const struct ar_request_log *l, const struct ar_log *log,
			 const struct ar_http_answered *a, const struct ar_request_ids *ids)
{
	struct ar_log_entry e;
	struct ar_jw *w = ar_log_begin(log, &e, a->status >= 500 ? "warning" : "info", "request");

	add_masked(l, w, "requestId", a->request_id);
	ar_jw_mstr(w, "method", a->method);
	add_masked(l, w, "path", a->path);
	ar_jw_mstr(w, "command", a->command);
	ar_jw_mint(w, "status", a->status);
	ar_jw_mstr(w, "code", a->code);
	add_ids(l, w, ids);
	ar_jw_mstr(w, "tenant", a->tenant);
	add_masked(l, w, "actor", a->actor);
	ar_jw_mstr(w, "via", ar_str_from(a->via));
	ar_jw_key(w, "durationMs");
	ar_jw_num(w, (double)a->micros / 1000);
	ar_jw_mint(w, "bytes", (int64_t)a->bytes);
	if (l->left_out)
		ar_jw_mint(w, "leftOut", (int64_t)l->left_out);
	ar_log_end(&e);
}

void ar_request_log_write(struct ar_request_log *l, const struct ar_http_answered *a,
			  const struct ar_request_ids *ids)
{
	if (is_over(l))
		return;
	write_answer(l, l->log, a, ids);
	if (l->file.is_open)
		write_answer(l, &l->to_file, a, ids);
	l->left_out = 0;
}

/* ---- calls to models ---- */

static void add_opt(struct ar_jw *w, const char *name, struct ar_opt_int value)
{
	if (value.set)
		ar_jw_mint(w, name, value.v);
}

static void write_model_line(struct ar_request_log *l, const struct ar_session *s,
			     const struct ar_model_line *m)
{
	bool is_completed = ar_str_absent(m->category);
	struct ar_log_entry e;
	struct ar_jw *w = ar_log_begin(&l->to_file, &e, is_completed ? "info" : "warning", "model request");

	ar_jw_mtime(w, "endedAt", m->time);
	add_ids(l, w, &m->ids);
	ar_jw_mstr(w, "tenant", ar_session_tenant(s));
	ar_jw_mstr(w, "provider", m->provider);
	ar_jw_mstr(w, "model", m->model);
	ar_jw_mstr(w, "outcome", m->outcome);
	ar_jw_mstr(w, "code", m->category);
	add_opt(w, "status", m->status);
	add_opt(w, "attempt", m->attempt);
	add_opt(w, "durationMs", m->duration_ms);
	add_opt(w, "firstTokenMs", m->first_token_ms);
	add_opt(w, "inputTokens", m->input_tokens);
	add_opt(w, "outputTokens", m->output_tokens);
	add_opt(w, "cachedTokens", m->cached_tokens);
	ar_log_end(&e);
}

void ar_request_log_committed(struct ar_request_log *l, const struct ar_session *s,
			      const struct ar_event *facts, size_t count)
{
	struct ar_model_line line;

	for (size_t i = 0; i < count; i++) {
		if (ar_telemetry_model_line(s, &facts[i], &line))
			write_model_line(l, s, &line);
	}
}

/* ---- answers ---- */

/* The session that one of the ids belongs to; absent: none of them says. */
static struct ar_str key_of(const struct ar_request_ids *ids)
{
	struct ar_str owner = ar_str_empty(ids->session) ? AR_STR_NONE : ar_id_owner(ids->session);

	for (int i = 0; ar_str_absent(owner) && i < AR_SCOPE_COUNT; i++) {
		if (!ar_str_empty(ids->at[i]))
			owner = ar_id_owner(ids->at[i]);
	}
	return owner;
}

/* A refused request may name anything: nothing follows from its ids. */
static void relate(const struct ar_host *r, const struct ar_http_answered *a, struct ar_request_ids *ids)
{
	struct ar_str key = a->status < 400 ? key_of(ids) : AR_STR_NONE;
	const struct ar_session *s = ar_str_absent(key) ? NULL : ar_engine_peek(r->engine, key);

	if (s && (ar_str_empty(a->tenant) || ar_str_eq(ar_session_tenant(s), a->tenant)))
		ar_telemetry_relate(s, ids);
}

/* A turn that only the caller named is no join. */
static void name_trace(const struct ar_host *r, const struct ar_http_answered *a, struct ar_request_ids *ids,
		       struct ar_arena *arena)
{
	struct ar_str turn = ids->at[AR_SCOPE_TURN];

	if (!r->policy.is_traced || a->status >= 400 || ar_str_empty(ids->session) || ar_str_empty(turn))
		return;
	ids->at[AR_SCOPE_TRACE] = ar_trace_text(arena, ids->session, turn);
	ids->at[AR_SCOPE_SPAN] = ar_span_text(arena, ids->session, turn);
}

static void answered(void *arg, const struct ar_http_answered *a)
{
	struct ar_request_ids ids = { .session = a->session, .queued_turn = a->queued_turn };
	struct ar_host *r = arg;
	struct ar_arena arena = { 0 };

	for (int i = 0; i < AR_SCOPE_COUNT; i++)
		ids.at[i] = a->ids[i];
	relate(r, a, &ids);
	name_trace(r, a, &ids, &arena);
	ar_request_log_write(&r->requests, a, &ids);
	ar_host_telemetry_request(r->telemetry, a, &ids);
	ar_arena_fini(&arena);
}

void ar_request_log_wire(const struct ar_config *c, struct ar_http_ops *ops)
{
	if (c->log.requests == AR_CONFIG_LOG_REQUESTS_OFF)
		return;
	ops->answered = answered;
	ops->answered_from = c->log.requests == AR_CONFIG_LOG_REQUESTS_ALL ? 0 : 400;
}
