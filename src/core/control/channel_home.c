/* Channels that follow all sessions of a tenant. They are channels of its home, which nobody but the
 * runtime writes and only administrators read; enrolling, acknowledging and coming back need neither.
 * Their place is one in the feed of all sessions (port/store_feed.h): how far it goes, and how far what
 * was removed of it went, is asked of the store before anything is decided. Owner: the loop thread. */
#include "control_priv.h"
#include "find/degraded.h"
#include "storage.h"
#include "places.h"
#include "tenant.h"

#include <string.h>

bool ar_channel_is_command(enum ar_command command)
{
	static const bool are[AR_CMD_COUNT] = {
		[AR_CMD_CONNECT_CHANNEL] = true,
		[AR_CMD_RECONNECT_CHANNEL] = true,
		[AR_CMD_ACK_EVENTS] = true,
		[AR_CMD_POST_CHANNEL_MESSAGE] = true,
	};

	return are[command];
}

/* ---- where the feed is ---- */

static struct ar_str text_of(struct ar_call *c, const struct ar_places *p)
{
	struct ar_buf out = { 0 };
	struct ar_str ret;

	ar_places_print(p, &out);
	ret = ar_arena_str(&c->arena, ar_buf_str(&out));
	ar_buf_fini(&out);
	return ret;
}

static void take_bounds(struct ar_call *c, const struct ar_store_feed *feed)
{
	struct ar_call_work *w = c->work;
	struct ar_places at = { 0 };

	AR_ASSERT(ar_places_raise(&at, feed->floors, feed->floor_count)); /* no store has more lanes */
	w->all.bounds = (struct ar_feed_bounds){ text_of(c, &at), (int64_t)feed->limit };
	/* A reader that begins with the snapshot is past what was removed. */
	AR_ASSERT(ar_places_raise(&at, feed->heads, feed->head_count));
	w->all.cursor = text_of(c, &at);
	w->all.position = (int64_t)ar_places_reach(&at);
	ar_places_fini(&at);
}

static void on_bounds(struct ar_store_op *op)
{
	struct ar_call_work *w = AR_CONTAINER_OF(op, struct ar_call_work, all.feed.op);
	struct ar_call *c = w->call;

	if (op->status != AR_OK) {
		ar_store_op_fini(op);
		ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
		return;
	}
	take_bounds(c, &w->all.feed);
	ar_store_op_fini(op);
	w->write.input.command.feed = &w->all.bounds;
	ar_call_send(c);
}

void ar_channel_write_home(struct ar_call *c)
{
	struct ar_call_work *w = c->work;

	w->write.may_create = true;
	if (c->command != AR_CMD_RECONNECT_CHANNEL && c->command != AR_CMD_ACK_EVENTS) {
		ar_call_send(c);
		return;
	}
	w->all.feed = (struct ar_store_feed){ .op = { .kind = AR_STORE_FEED, .done = on_bounds },
					      .tenant = ar_control_who(c->who)->tenant,
					      .only_heads = true };
	ar_store_submit(c->control->store, &w->all.feed.op);
}

/* ---- which sessions the snapshot lists ---- */

#define NAMED_MAX 50

static struct ar_texts named(const struct ar_call *c)
{
	return ((const struct ar_cmd_reconnect_channel_in *)c->input)->sessions;
}

enum ar_status ar_channel_check_sessions(const struct ar_cmd_reconnect_channel_in *in,
					 struct ar_str session_key, struct ar_error *err)
{
	struct ar_str key;

	if (!in->sessions.at)
		return AR_OK;
	if (!ar_tenant_is_a_home(session_key))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "sessions is for a channel of all sessions; this one follows a session");
	if (in->sessions.count > NAMED_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "sessions has %zu entries; name at most %d",
				 in->sessions.count, NAMED_MAX);
	for (size_t i = 0; i < in->sessions.count; i++) {
		if (ar_call_session(in->sessions.at[i], &key, err) != AR_OK)
			return AR_E_REFUSED;
	}
	return AR_OK;
}

/* The next key in the order of the store. */
static struct ar_str key_after(struct ar_call *c, struct ar_str key)
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	char next[AR_SESSION_KEY_LEN];
	size_t i = AR_SESSION_KEY_LEN;

	memcpy(next, key.p, sizeof(next));
	while (i > 0 && next[i - 1] == digits[31])
		next[--i] = digits[0];
	if (i > 0)
		next[i - 1] = strchr(digits, next[i - 1])[1];
	return ar_arena_str(&c->arena, (struct ar_str){ next, sizeof(next) });
}

/* ---- the answer of reconnect_channel: the sessions that there are ---- */

/* What is not the tenant's is not there. */
static void write_named(struct ar_call_work *q, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_buf_addf(&q->all.found, "]");
	ar_buf_addf(&q->all.missing, "]");
	ar_jw_mraw(w, "sessions", ar_buf_str(&q->all.found));
	ar_jw_mraw(w, "missing", ar_buf_str(&q->all.missing));
	ar_jw_close(w);
	ar_buf_fini(&q->all.found);
	ar_buf_fini(&q->all.missing);
}

static void answer(struct ar_call *c)
{
	struct ar_call_work *q = c->work;
	struct ar_jw json = ar_jw(&c->reply);
	bool has_gap = !ar_str_absent(q->all.gap);

	ar_jw_open(&json);
	ar_jw_key(&json, "snapshot");
	if (named(c).at)
		write_named(q, &json);
	else
		ar_list_write_sessions(c, &q->sessions, AR_STR_NONE, &json);
	ar_jw_mint(&json, "asOfSequence", q->all.position);
	ar_jw_mstr(&json, "cursor", q->all.cursor);
	ar_jw_mstr(&json, "replayMode", has_gap ? AR_STR("partial") : AR_STR("replay"));
	if (has_gap)
		ar_jw_mraw(&json, "gap", q->all.gap);
	ar_jw_mstr(&json, "newResumeToken", q->token);
	ar_jw_close(&json);
}

static bool has_failed(struct ar_call *c, struct ar_store_op *op)
{
	if (op->status == AR_OK)
		return false;
	ar_store_op_fini(op);
	ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
	return true;
}

static void on_sessions(struct ar_store_op *op)
{
	struct ar_call *c = AR_CONTAINER_OF(op, struct ar_call_work, sessions.op)->call;

	if (has_failed(c, op))
		return;
	answer(c);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

static void look_for_next(struct ar_call *c);

static void on_named(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, sessions.op);
	struct ar_str id = named(q->call).at[q->all.looked - 1];
	bool is_there = op->status == AR_OK && q->sessions.count > 0 &&
			ar_str_eq(q->sessions.ids[0], ar_id_session_key(id));
	struct ar_buf *to = is_there ? &q->all.found : &q->all.missing;
	struct ar_jw w;

	if (op->status != AR_OK) {
		ar_buf_fini(&q->all.found);
		ar_buf_fini(&q->all.missing);
	}
	if (has_failed(q->call, op))
		return;
	ar_buf_addf(to, "%s", ar_buf_str(to).len > 1 ? "," : "");
	w = ar_jw(to);
	if (is_there)
		ar_list_write_session(q->call, q->sessions.ids[0], q->sessions.shells[0], &w);
	else
		ar_buf_addf(to, "\"%.*s\"", AR_STR_ARG(id)); /* it has the form of one: nothing to escape */
	ar_store_op_fini(op);
	look_for_next(q->call);
}

/* The store lists the newest below a key: that is the session itself, or it is not there. */
static void look_for_next(struct ar_call *c)
{
	struct ar_call_work *w = c->work;

	if (w->all.looked == named(c).count) {
		answer(c);
		ar_call_done(c, 200);
		return;
	}
	w->sessions = ar_sessions_of(c, on_named);
	w->sessions.before = key_after(c, ar_id_session_key(named(c).at[w->all.looked++]));
	w->sessions.limit = 1;
	ar_store_submit(c->control->store, &w->sessions.op);
}

void ar_channel_home_reconnected(struct ar_call *c, struct ar_str gap)
{
	struct ar_call_work *w = c->work;

	w->all.gap = ar_str_empty(gap) ? AR_STR_NONE : ar_arena_str(&c->arena, gap);
	if (named(c).at) {
		w->all.found = w->all.missing = (struct ar_buf){ 0 };
		w->all.looked = 0;
		ar_buf_addf(&w->all.found, "[");
		ar_buf_addf(&w->all.missing, "[");
		look_for_next(c);
		return;
	}
	w->sessions = ar_sessions_of(c, on_sessions);
	ar_store_submit(c->control->store, &w->sessions.op);
}
