/* Facts about channels. Pure; see apply.c. */
#include "apply.h"
#include "channel/channel.h"

static struct ar_channel *channel_of(struct ar_session *s, const struct ar_event *e)
{
	return ar_session_channel(s, e->ids[AR_SCOPE_CHANNEL]);
}

/* A fact about something else says that its peer was there. */
void ar_apply_channel_used(struct ar_session *s, const struct ar_event *e)
{
	struct ar_channel *c = channel_of(s, e);

	if (c)
		c->seen = e->time;
}

/* One to a peer says nothing of it. */
enum ar_status ar_apply_channel_message(struct ar_session *s, const struct ar_event *e,
					struct ar_error *err AR_UNUSED)
{
	if (PAYLOAD(e, channel_message)->direction == AR_CHANNEL_MESSAGE_DIRECTION_IN)
		ar_apply_channel_used(s, e);
	return AR_OK;
}

/* While none may go none is taken in (decide sees to that). */
static void make_room(struct ar_session *s, ar_usec now)
{
	size_t leaver = ar_channels_leaver(s, now);

	if (s->channels.count >= ar_channels_max(s) && leaver < s->channels.count)
		ar_vec_remove(&s->channels, leaver);
}

enum ar_status ar_apply_channel_connected(struct ar_session *s, const struct ar_event *e,
					  struct ar_error *err)
{
	const struct ar_ev_channel_connected *p = KEPT(s, e, channel_connected);
	struct ar_channel *c = channel_of(s, e);

	if (!c) {
		make_room(s, p->last_seen_at);
		c = ar_arena_alloc(&s->arena, sizeof(*c));
		c->id = ar_apply_keep(s, e->ids[AR_SCOPE_CHANNEL]);
		ar_vec_push(&s->arena, &s->channels, c);
		ar_apply_count(&s->counters.channel.v, c->id);
		s->counters.channel.set = s->counters.channel.v > 0;
	}
	c->account = p->account_ref;
	c->capabilities = p->capabilities;
	c->native_protocol = p->native_protocol;
	c->card_ref = p->agent_card_ref;
	c->token_ref = p->resume_token_ref;
	c->token_expires = p->token_expires_at;
	c->transport = p->transport;
	c->role = p->peer_role;
	c->seen = p->last_seen_at;
	c->heartbeat = p->heartbeat_ms;
	return ar_apply_move(&c->status, AR_MACHINE_CHANNEL, e, err);
}

static void come_back(struct ar_session *s, const struct ar_event *e, struct ar_channel *c)
{
	const struct ar_ev_channel_resumed *p = PAYLOAD(e, channel_resumed);

	if (p->from_sequence > c->acked)
		c->acked = p->from_sequence;
	c->cursor = ar_apply_keep(s, p->cursor);
	if (p->capabilities.at)
		c->capabilities = ar_arena_texts(&s->arena, p->capabilities);
	if (!ar_str_absent(p->new_token_ref)) {
		c->token_ref = ar_apply_keep(s, p->new_token_ref);
		c->token_expires = p->token_expires_at;
	}
	c->seen = e->time;
}

static void acknowledge(struct ar_session *s, const struct ar_event *e, struct ar_channel *c)
{
	const struct ar_ev_channel_acked *p = PAYLOAD(e, channel_acked);

	c->acked = p->sequence;
	if (!ar_str_absent(p->cursor))
		c->cursor = ar_apply_keep(s, p->cursor);
	c->seen = e->time;
}

static void open_question(struct ar_session *s, struct ar_channel *c, struct ar_str action)
{
	struct ar_bridged *b = ar_arena_alloc(&s->arena, sizeof(*b));

	b->action = ar_apply_keep(s, action);
	ar_vec_push(&s->arena, &c->open, b);
}

static void close_question(struct ar_channel *c, struct ar_str action)
{
	for (size_t i = c->open.count; i > 0; i--) {
		if (ar_str_eq(((const struct ar_bridged *)c->open.at[i - 1])->action, action))
			ar_vec_remove(&c->open, i - 1);
	}
}

/* Without a channel it was the runtime that read it back. */
enum ar_status ar_apply_window_loaded(struct ar_session *s, const struct ar_event *e,
				      struct ar_error *err AR_UNUSED)
{
	const struct ar_ev_history_window_loaded *p = PAYLOAD(e, history_window_loaded);
	struct ar_channel *c = channel_of(s, e);
	uint64_t from;

	if (!c || !ar_str_to_u64(p->start_cursor, &from))
		return AR_OK;
	c->read_from = AR_OPT_INT((int64_t)from);
	c->seen = e->time;
	return AR_OK;
}

enum ar_status ar_apply_channel(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_channel *c = channel_of(s, e);

	if (!c)
		return ar_apply_unknown(err, e, "channel");
	switch ((int)e->type) {
	case AR_EV_CHANNEL_DISCONNECTED:
		c->seen = PAYLOAD(e, channel_disconnected)->last_seen_at;
		break;
	case AR_EV_CHANNEL_RESUMED:
		come_back(s, e, c);
		break;
	case AR_EV_CHANNEL_ACKED:
		acknowledge(s, e, c);
		return AR_OK;
	case AR_EV_CHANNEL_PERMISSION_FORWARDED:
		open_question(s, c, e->ids[AR_SCOPE_ACTION]);
		break;
	case AR_EV_CHANNEL_PERMISSION_RETURNED:
		if (PAYLOAD(e, channel_permission_returned)->deciding_side ==
		    AR_CHANNEL_PERMISSION_RETURNED_DECIDING_SIDE_REMOTE)
			c->seen = e->time;
		close_question(c, e->ids[AR_SCOPE_ACTION]);
		break;
	}
	return ar_apply_move(&c->status, AR_MACHINE_CHANNEL, e, err);
}
