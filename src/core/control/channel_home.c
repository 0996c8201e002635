/* Channels that follow all sessions of a tenant. They are channels of its home, which nobody but the
 * runtime writes and only administrators read; enrolling, acknowledging and coming back need neither.
 * Their place is one in the feed of all sessions (port/store_feed.h): how far it goes, and how far what
 * was removed of it went, is asked of the store before anything is decided. Owner: the loop thread. */
#include "control_priv.h"
#include "find/degraded.h"
#include "storage.h"
#include "places.h"

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

/* ---- the answer of reconnect_channel: the sessions that there are ---- */

static void on_sessions(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, sessions.op);
	struct ar_call *c = q->call;
	struct ar_jw json = ar_jw(&c->reply);
	bool has_gap = !ar_str_absent(q->all.gap);

	if (op->status != AR_OK) {
		ar_store_op_fini(op);
		ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
		return;
	}
	ar_jw_open(&json);
	ar_jw_key(&json, "snapshot");
	ar_list_write_sessions(c, &q->sessions, AR_STR_NONE, &json);
	ar_jw_mint(&json, "asOfSequence", q->all.position);
	ar_jw_mstr(&json, "cursor", q->all.cursor);
	ar_jw_mstr(&json, "replayMode", has_gap ? AR_STR("partial") : AR_STR("replay"));
	if (has_gap)
		ar_jw_mraw(&json, "gap", q->all.gap);
	ar_jw_mstr(&json, "newResumeToken", q->token);
	ar_jw_close(&json);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

void ar_channel_home_reconnected(struct ar_call *c, struct ar_str gap)
{
	struct ar_call_work *w = c->work;

	w->all.gap = ar_str_empty(gap) ? AR_STR_NONE : ar_arena_str(&c->arena, gap);
	w->sessions = ar_sessions_of(c, on_sessions);
	ar_store_submit(c->control->store, &w->sessions.op);
}
