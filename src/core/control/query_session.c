/* Reads of sessions: one, one thread of it, a window of its history, all of them. */
#include "control_priv.h"
#include "channel/channel.h"
#include "find/degraded.h"
#include "storage.h"
#include "projection.h"
#include "tenant.h"
#include "verify/damaged.h"

#define HISTORY_DEFAULT 50
#define HISTORY_MAX 500
#define INCLUDE_ENDED "ended_threads"
#define HISTORY_FACT_BYTES 4096u /* read per fact that was asked for: a page of larger ones is shorter */

/* ---- get_session, get_thread_read ---- */

/* The sequences of the first and the last fact of a page. */
struct window {
	uint64_t first, last;
};

/* The newest `limit` facts of the rows that are not after `from`. */
static struct window window_of(const struct ar_store_read *read, size_t limit)
{
	uint64_t newest = read->row_count ? read->rows[read->row_count - 1].last_seq : 0;
	struct window w = { .last = read->from < newest ? read->from : newest };

	w.first = w.last > limit ? w.last - limit + 1 : 1;
	if (read->row_count && w.first < read->rows[0].first_seq)
		w.first = read->rows[0].first_seq;
	return w;
}

static void write_history(const struct ar_store_read *read, struct window page, struct ar_jw *w)
{
	ar_jw_key(w, "history");
	ar_jw_open(w);
	ar_jw_key(w, "events");
	ar_jw_open_array(w);
	for (size_t i = 0; i < read->row_count; i++) {
		struct ar_str rest = read->rows[i].body, line;
		uint64_t sequence = read->rows[i].first_seq;

		for (; !ar_str_empty(rest); sequence++) {
			rest = ar_str_split(rest, '\n', &line);
			if (sequence >= page.first && sequence <= page.last && !ar_str_empty(line))
				ar_jw_raw(w, line);
		}
	}
	ar_jw_close_array(w);
	if (read->row_count && page.first > 1) {
		ar_jw_key(w, "cursor");
		ar_buf_addf(w->out, "\"%llu\"", (unsigned long long)page.first);
		w->comma = true;
	}
	ar_jw_close(w);
}

static void on_recorded(struct ar_engine_request *r)
{
	struct ar_call *c = AR_CONTAINER_OF(r, struct ar_call_work, write)->call;

	if (r->status == AR_OK) {
		ar_call_done(c, 200);
		return;
	}
	ar_buf_clear(&c->reply);
	ar_call_fail_or_move(c, &r->err);
}

/* The session decides whether this is news of the channel; the answer waits for it. */
static void record_window(struct ar_call *c, struct window page)
{
	struct ar_call_work *q = c->work;
	const struct ar_cmd_get_session_in *in = c->input;
	const struct ar_principal *who = ar_control_who(c->who);

	q->write = (struct ar_engine_request){
		.session = q->view.session,
		.input = { .kind = AR_IN_CHANNEL_READ,
			   .account = who->actor,
			   .tenant = who->tenant,
			   .channel = { .id = in->channel_id,
					.from = (int64_t)page.first,
					.to = (int64_t)page.last } },
		.done = on_recorded,
	};
	ar_engine_write(c->control->engine, &q->write);
}

static void on_history(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, read.op);
	struct ar_call *c = q->call;
	struct ar_jw w = { .out = &c->reply, .comma = true };
	const struct ar_cmd_get_session_in *in = c->input;
	struct window page;
	bool is_for_channel;

	if (op->status != AR_OK) {
		struct ar_error err = op->err;

		ar_storage_refuse(&err, op->status, err.msg, q->read.session);
		ar_store_op_fini(op); /* first: the answer gives the call's memory back */
		ar_call_fail(c, &err);
		return;
	}
	page = window_of(&q->read, q->limit);
	is_for_channel = !ar_str_absent(in->channel_id) && q->is_older && q->read.row_count > 0;
	write_history(&q->read, page, &w);
	ar_jw_close(&w);
	ar_store_op_fini(op);
	if (is_for_channel)
		record_window(c, page);
	else
		ar_call_done(c, 200);
}

static void read_history(struct ar_call *c, uint64_t from)
{
	struct ar_call_work *q = c->work;

	q->read = (struct ar_store_read){ .op = { .kind = AR_STORE_READ, .done = on_history },
					  .session = q->view.session,
					  .from = from,
					  .backward = true,
					  .max_bytes = q->limit * HISTORY_FACT_BYTES };
	ar_store_submit(c->control->store, &q->read.op);
}

/* `include` names parts that are left out otherwise; other words mean nothing. */
static bool wants_ended(const struct ar_cmd_get_session_in *in)
{
	for (size_t i = 0; i < in->include.count; i++) {
		if (ar_str_is(in->include.at[i], INCLUDE_ENDED))
			return true;
	}
	return false;
}

/* Those whose model is answering: no fact says so, and what is read then is not kept for the next reader. */
static struct ar_texts streaming_threads(struct ar_call *c, const struct ar_session *s)
{
	struct ar_str *ids = NULL;
	size_t count = 0;

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		if (ar_str_absent(t->active_turn) ||
		    !ar_follow_is_streaming(c->control->follow, s->session_key, t->id))
			continue;
		if (!ids)
			ids = ar_arena_alloc(&c->arena, s->threads.count * sizeof(*ids));
		ids[count++] = t->id;
	}
	return (struct ar_texts){ ids, count };
}

static void write_session(struct ar_call *c, const struct ar_session *s, struct ar_jw *w)
{
	const struct ar_projection_scope of = { .with_ended = wants_ended(c->input),
						.streaming = streaming_threads(c, s) };

	ar_jw_open(w);
	ar_projection_session(s, ar_str_from(c->control->store->runtime_id), &of, w);
	if (ar_engine_damage(c->control->engine, s->session_key))
		ar_jw_mbool(w, "degraded", true);
	ar_jw_key(w, "historyCursor");
	ar_jw_open(w);
	ar_jw_mint(w, "before", (int64_t)s->head + 1);
	ar_jw_close(w);
}

static void answer_without_history(struct ar_call *c, const struct ar_session *s)
{
	struct ar_str part = wants_ended(c->input) ? AR_STR(INCLUDE_ENDED) : AR_STR_NONE;
	struct ar_jw w = ar_jw(&c->reply);

	/* what no fact says is not kept for the next reader */
	bool is_passing =
		streaming_threads(c, s).count > 0 || ar_engine_damage(c->control->engine, s->session_key);

	if (!is_passing && ar_read_cache_answer(c, s, part))
		return;
	write_session(c, s, &w);
	ar_jw_close(&w);
	if (!is_passing)
		ar_read_cache_store(c, s, part);
	ar_call_done(c, 200);
}

/* Whether the caller reads for a channel of its own, when it says so. */
static enum ar_status check_reader(const struct ar_call *c, const struct ar_session *s, struct ar_error *err)
{
	struct ar_str id = ((const struct ar_cmd_get_session_in *)c->input)->channel_id;
	const struct ar_channel *channel = ar_str_absent(id) ? NULL : ar_session_channel(s, id);

	if (ar_str_absent(id) || (channel && ar_str_eq(channel->account, ar_control_who(c->who)->actor)))
		return AR_OK;
	return ar_refuse(err, AR_ERR_CHANNEL_NOT_FOUND, "session %.*s has no channel '%.*s' of yours",
			 AR_STR_ARG(s->id), AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

static void seen_session(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call_work *q = AR_CONTAINER_OF(v, struct ar_call_work, view);
	struct ar_call *c = q->call;
	const struct ar_cmd_get_session_in *in = c->input;
	struct ar_jw w = ar_jw(&c->reply);
	struct ar_error refused;
	uint64_t before = 0;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (check_reader(c, s, &refused) != AR_OK) {
		ar_call_fail(c, &refused);
		return;
	}
	if (!ar_str_absent(in->cursor) &&
	    (!ar_str_to_u64(in->cursor, &before) || before < 1 || before > s->head + 1)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR,
			       "the history cursor must be the history.cursor of an earlier reply");
		return;
	}
	if (!in->limit.set && ar_str_absent(in->cursor)) {
		answer_without_history(c, s);
		return;
	}
	write_session(c, s, &w);
	q->limit = ar_call_limit(in->limit, HISTORY_DEFAULT, HISTORY_MAX);
	q->is_older = before > 0 && before <= s->head;
	read_history(c, before ? before - 1 : s->head);
}

void ar_query_get_session(struct ar_call *c)
{
	const struct ar_cmd_get_session_in *in = c->input;
	struct ar_error err;

	c->work->view.done = seen_session;
	if (ar_call_session(in->session_id, &c->work->view.session, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	ar_call_look(c);
}

static void seen_thread(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_cmd_get_thread_read_in *in = c->input;
	struct ar_projection_scope of = { .thread = in->thread_id };
	struct ar_jw w = ar_jw(&c->reply);

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!ar_session_thread(s, in->thread_id)) {
		ar_call_refuse(c, AR_ERR_THREAD_NOT_FOUND, "session %.*s has no thread %.*s",
			       AR_STR_ARG(s->id), AR_STR_ARG(in->thread_id));
		return;
	}
	of.streaming = streaming_threads(c, s);
	if (!of.streaming.count && ar_read_cache_answer(c, s, in->thread_id))
		return;
	ar_jw_open(&w);
	ar_projection_session(s, ar_str_from(c->control->store->runtime_id), &of, &w);
	ar_jw_close(&w);
	if (!of.streaming.count)
		ar_read_cache_store(c, s, in->thread_id);
	ar_call_done(c, 200);
}

void ar_query_get_thread_read(struct ar_call *c)
{
	const struct ar_cmd_get_thread_read_in *in = c->input;
	struct ar_error err;

	c->work->view.done = seen_thread;
	if (ar_call_session(in->session_id, &c->work->view.session, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	ar_call_look(c);
}

/* ---- list_sessions ---- */

struct ar_store_sessions ar_sessions_of(const struct ar_call *c, ar_store_done_fn *done)
{
	return (struct ar_store_sessions){ .op = { .kind = AR_STORE_SESSIONS, .done = done },
					   .above = ar_str_from(ar_tenant_homes_end),
					   .tenant = ar_control_who(c->who)->tenant,
					   .limit = AR_LIST_DEFAULT };
}

void ar_list_write(const struct ar_store_sessions *found, const char *name, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_key(w, name);
	ar_jw_open_array(w);
	for (size_t i = 0; i < found->count; i++)
		ar_jw_raw(w, found->shells[i]);
	ar_jw_close_array(w);
	if (found->more && found->count > 0)
		ar_jw_mstr(w, "nextCursor", found->ids[found->count - 1]);
	ar_jw_close(w);
}

void ar_list_answer(struct ar_store_op *op, const char *name)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, sessions.op);
	struct ar_call *c = q->call;
	struct ar_jw w = ar_jw(&c->reply);

	if (op->status != AR_OK) {
		ar_store_op_fini(op);
		ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
		return;
	}
	ar_list_write(&q->sessions, name, &w);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

static void on_sessions(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, sessions.op);
	struct ar_call *c = q->call;
	const struct ar_cmd_list_sessions_in *in = c->input;
	struct ar_jw w = ar_jw(&c->reply);

	if (op->status != AR_OK) {
		ar_list_answer(op, "sessions");
		return;
	}
	ar_list_write_sessions(c, &q->sessions, in->status, &w);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

void ar_query_list_sessions(struct ar_call *c)
{
	const struct ar_cmd_list_sessions_in *in = c->input;
	struct ar_store_sessions *wanted = &c->work->sessions;

	if (!ar_str_absent(in->cursor) && !ar_call_is_list_cursor(c, in->cursor)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	*wanted = ar_sessions_of(c, on_sessions);
	wanted->before = in->cursor;
	wanted->workspace = in->workspace;
	wanted->status =
		in->archived == AR_LIST_SESSIONS_ARCHIVED_ONLY ? AR_STR(AR_STORE_ARCHIVED) : in->status;
	if (ar_list_is_unknown(wanted->status))
		wanted->status = AR_STR_NONE;
	if (!in->archived || in->archived == AR_LIST_SESSIONS_ARCHIVED_EXCLUDE)
		wanted->except = AR_STR(AR_STORE_ARCHIVED);
	wanted->limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX);
	ar_store_submit(c->control->store, &wanted->op);
}
