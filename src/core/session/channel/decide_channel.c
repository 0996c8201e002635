/* A peer comes, comes back, says how far it is, says something, and goes. What it has to show is
 * the door's business (port/auth.h) and control's: here arrive the hash of the token that it
 * showed and of the one that it gets. Pure. */
#include "channel/channel.h"
#include "delivery/delivery.h"
#include "task/task.h"

#define PREVIEW_MAX 4096

static enum ar_status find_channel(const struct ar_decision *d, struct ar_str id,
				   const struct ar_channel **ret, struct ar_error *err)
{
	*ret = ar_session_channel(d->session, id);
	if (*ret)
		return AR_OK;
	if (ar_channels_are_of_all(d->session))
		return ar_refuse(err, AR_ERR_CHANNEL_NOT_FOUND,
				 "no channel '%.*s' follows all sessions; name the sessionId that it follows",
				 AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
	return ar_refuse(err, AR_ERR_CHANNEL_NOT_FOUND, "session %.*s has no channel '%.*s'",
			 AR_STR_ARG(d->session->id), AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

/* The same, for the account that connected it: no other may acknowledge or answer for it. */
static enum ar_status find_own(const struct ar_decision *d, struct ar_str id, const struct ar_channel **ret,
			       struct ar_error *err)
{
	if (find_channel(d, id, ret, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_str_eq((*ret)->account, d->input->account))
		return AR_OK;
	return ar_refuse(err, AR_ERR_NOT_AUTHORIZED, "channel '%.*s' belongs to another account",
			 AR_STR_ARG((*ret)->id));
}

enum ar_status ar_channel_check_own(const struct ar_decision *d, struct ar_str id, struct ar_error *err)
{
	const struct ar_channel *c;

	return find_own(d, id, &c, err);
}

static ar_usec token_expires(const struct ar_decision *d)
{
	return d->input->now + d->input->policy->channel_token_ms * 1000;
}

static struct ar_ids ids_of(struct ar_str channel)
{
	return (struct ar_ids){ .at = { [AR_SCOPE_CHANNEL] = channel } };
}

/* ---- what is due of a channel ---- */

/* A peer that agreed to be heard of is gone when it was not. One that is away and was asked something
 * can settle it as long as its token is good. 0: nothing is due. */
static ar_usec due_at(const struct ar_channel *c)
{
	if (c->status == AR_CHANNEL_CONNECTED)
		return c->heartbeat.set ? c->seen + c->heartbeat.v * 1000 : 0;
	return c->open.count > 0 ? c->token_expires : 0;
}

static void watch(struct ar_decision *d, const struct ar_channel *c)
{
	ar_usec at = due_at(c);

	if (!at)
		return;
	ar_decide_wake_cancel(d, c->id);
	ar_decide_wake(d, AR_IN_CHANNEL_DUE, c->id, at > d->input->now ? at : d->input->now);
}

/* ---- connect_channel ---- */

static bool has_room(const struct ar_session *s, ar_usec now)
{
	return s->channels.count < ar_channels_max(s) || ar_channels_leaver(s, now) < s->channels.count;
}

/* A channel is whose who enrolled it: another actor does not take it over by naming it. */
static enum ar_status check_connect(const struct ar_decision *d, const struct ar_channel *known,
				    struct ar_error *err)
{
	if (known && !ar_str_eq(known->account, d->input->account))
		return ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
				 "channel '%.*s' belongs to another account; choose another channelId",
				 AR_STR_ARG(known->id));
	if (!known && !has_room(d->session, d->input->now))
		return ar_refuse(err, AR_ERR_OVERLOADED,
				 "%zu channels are connected already; disconnect one, or use the id of one",
				 ar_channels_max(d->session));
	return AR_OK;
}

static enum ar_status check_heartbeat(struct ar_opt_int ms, struct ar_error *err)
{
	if (!ms.set || (ms.v >= AR_CHANNEL_HEARTBEAT_MIN && ms.v <= AR_CHANNEL_HEARTBEAT_MAX))
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_INPUT, "heartbeatMs is %lld; send %d to %d, or leave it out",
			 (long long)ms.v, AR_CHANNEL_HEARTBEAT_MIN, AR_CHANNEL_HEARTBEAT_MAX);
}

enum ar_status ar_decide_connect_channel(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_connect_channel_in *in = d->input->command.args;
	const struct ar_channel *known = ar_session_channel(d->session, in->channel_id);
	struct ar_channel fresh = { .id = in->channel_id,
				    .role = in->peer_role,
				    .account = d->input->account };
	struct ar_ids ids;

	if (check_heartbeat(in->heartbeat_ms, err) != AR_OK || check_connect(d, known, err) != AR_OK)
		return AR_E_REFUSED;
	ar_decide_home(d);
	if (ar_str_absent(fresh.id))
		fresh.id = ar_decide_mint(d, "chan", &d->counters.channel.v);
	ids = ids_of(fresh.id);
	ar_decide_emit(d, AR_EV_CHANNEL_CONNECTED, &ids,
		       &(struct ar_ev_channel_connected){ .transport = in->transport,
							  .peer_role = in->peer_role,
							  .account_ref = d->input->account,
							  .capabilities = in->capabilities,
							  .last_seen_at = d->input->now,
							  .resume_token_ref = d->input->command.token.given,
							  .token_expires_at = token_expires(d),
							  .native_protocol = in->native_protocol,
							  .agent_card_ref = in->agent_card_ref,
							  .heartbeat_ms = in->heartbeat_ms });
	ar_bridge_catch_up(d, known ? known : &fresh, in->capabilities);
	watch(d, ar_session_channel(d->session, fresh.id));
	d->reply = fresh.id;
	return AR_OK;
}

/* ---- reconnect_channel ---- */

static enum ar_status check_age(const struct ar_decision *d, const struct ar_channel *c, struct ar_error *err)
{
	if (c->token_expires && c->token_expires <= d->input->now)
		return ar_refuse(err, AR_ERR_RESUME_TOKEN_EXPIRED,
				 "the token of channel '%.*s' has expired; connect it again",
				 AR_STR_ARG(c->id));
	return AR_OK;
}

enum ar_status ar_channel_check_shown(const struct ar_decision *d, struct ar_error *err)
{
	struct ar_str shown = d->input->command.token.shown;
	const struct ar_channel *c;

	if (ar_str_absent(shown))
		return AR_OK;
	c = ar_vec_last_with(&d->session->channels, offsetof(struct ar_channel, token_ref), shown);
	if (c)
		return check_age(d, c, err);
	return ar_refuse(
		err, AR_ERR_RESUME_TOKEN_INVALID,
		"no channel of session %.*s has this token; leave it out, or connect the channel again",
		AR_STR_ARG(d->session->id));
}

static enum ar_status check_token(const struct ar_decision *d, const struct ar_channel *c,
				  struct ar_error *err)
{
	struct ar_str shown = d->input->command.token.shown;

	if (ar_str_absent(shown))
		return ar_str_eq(c->account, d->input->account)
			       ? AR_OK
			       : ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
					   "channel '%.*s' belongs to another account; send its resumeToken",
					   AR_STR_ARG(c->id));
	if (!ar_str_eq(shown, c->token_ref))
		return ar_refuse(err, AR_ERR_RESUME_TOKEN_INVALID,
				 "this is not the newest token of channel '%.*s'; connect it again",
				 AR_STR_ARG(c->id));
	return check_age(d, c, err);
}

static void say_resumed(struct ar_decision *d, const struct ar_channel *c, struct ar_channel_reach from,
			const struct ar_ev_channel_resumed *more)
{
	struct ar_ev_channel_resumed fact = *more;
	struct ar_ids ids = ids_of(c->id);

	fact.from_sequence = from.sequence;
	fact.cursor = from.cursor;
	fact.replay_mode =
		fact.gap ? AR_CHANNEL_RESUMED_REPLAY_MODE_PARTIAL : AR_CHANNEL_RESUMED_REPLAY_MODE_REPLAY;
	ar_decide_emit(d, AR_EV_CHANNEL_RESUMED, &ids, &fact);
	ar_bridge_catch_up(d, c, more->capabilities.at ? more->capabilities : c->capabilities);
	watch(d, c);
}

/* The facts of removed sessions are gone; which sessions there are, the snapshot says. */
static void say_repaired(struct ar_decision *d, const struct ar_channel *c, int64_t from, int64_t to)
{
	struct ar_ids ids = ids_of(c->id);

	ar_decide_emit(d, AR_EV_SNAPSHOT_REPAIRED, &ids,
		       &(struct ar_ev_snapshot_repaired){
			       .reason = AR_STR("sessions were removed after their time, with facts that the "
						"peer has not seen"),
			       .from_sequence = from + 1,
			       .to_sequence = to,
			       .repaired_fields = AR_TEXTS(AR_STR("sessions")),
			       .unavailable = AR_TEXTS(AR_STR("events")) });
}

/* What is missing is in the snapshot alone, which this reply has. */
static void say_snapshot(struct ar_decision *d, const struct ar_channel *c,
			 const struct ar_shape_channel_gap *gap, int64_t to)
{
	const struct ar_shape_feed_snapshot how = { .command = AR_STR("list_sessions"), .cursor = gap->to };
	struct ar_ids ids = ids_of(c->id);

	ar_decide_emit(d, AR_EV_SNAPSHOT_UPDATED, &ids,
		       &(struct ar_ev_snapshot_updated){
			       .snapshot_kind = AR_STR("sessions"),
			       .snapshot_ref =
				       ar_decide_content(d, ar_decide_shape(d, &ar_shape_feed_snapshot_desc,
									    &how)),
			       .as_of_sequence = to,
			       .recovery_mode = AR_STR("snapshot_only"),
			       .reason = gap->reason });
}

enum ar_status ar_decide_reconnect_channel(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_reconnect_channel_in *in = d->input->command.args;
	const struct ar_channel *c;
	struct ar_shape_channel_gap gap;
	struct ar_channel_reach from;
	int64_t to = 0;
	bool has_gap;
	struct ar_jw w;

	if (find_channel(d, in->channel_id, &c, err) != AR_OK || check_token(d, c, err) != AR_OK ||
	    ar_channel_reach_read(d, c, in->cursor, in->last_acked_sequence, &from, err) != AR_OK)
		return AR_E_REFUSED;
	has_gap = ar_channel_reach_gap(d, &from, &gap, &to);
	say_resumed(d, c, from,
		    &(struct ar_ev_channel_resumed){ .gap = has_gap ? &gap : NULL,
						     .capabilities = in->capabilities,
						     .resume_token_ref = d->input->command.token.shown,
						     .new_token_ref = d->input->command.token.given,
						     .token_expires_at = token_expires(d) });
	if (has_gap) {
		say_repaired(d, c, from.sequence, to);
		say_snapshot(d, c, &gap, to);
		w = ar_decide_json(d);
		ar_struct_encode(&ar_shape_channel_gap_desc, &gap, AR_STR_NONE, &w);
		d->reply = ar_decide_json_end(d);
	}
	return AR_OK;
}

/* ---- ack_events, post_channel_message ---- */

static void come_back(struct ar_decision *d, const struct ar_channel *c)
{
	if (c->status != AR_CHANNEL_CONNECTED)
		say_resumed(d, c, ar_channel_reach_of(d->session, c, d->arena),
			    &(struct ar_ev_channel_resumed){ 0 });
}

enum ar_status ar_decide_ack_events(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_ack_events_in *in = d->input->command.args;
	const struct ar_channel *c;
	struct ar_channel_reach reach;
	bool is_told = true;
	struct ar_ids ids;

	if (find_own(d, in->channel_id, &c, err) != AR_OK ||
	    ar_channel_reach_read(d, c, in->cursor, in->sequence, &reach, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_channel_reach_is_news(d, c, &reach)) {
		reach = ar_channel_reach_of(d->session, c, d->arena);
		is_told = c->heartbeat.set; /* that it was heard of is news then */
	}
	if (c->heartbeat.set)
		come_back(d, c);
	ids = ids_of(c->id);
	if (is_told)
		ar_decide_emit(d, AR_EV_CHANNEL_ACKED, &ids,
			       &(struct ar_ev_channel_acked){
				       .sequence = reach.sequence,
				       .cursor = d->input->command.feed ? reach.cursor : AR_STR_NONE });
	if (!ar_channels_are_of_all(d->session))
		ar_delivery_acknowledged(d, c->id, reach.sequence);
	ar_decide_reply(d, AR_CMD_ACK_EVENTS,
			&(struct ar_cmd_ack_events_out){ .last_acked_sequence = reach.sequence,
							 .cursor = d->input->command.feed ? reach.cursor
											  : AR_STR_NONE });
	return AR_OK;
}

void ar_channel_note_use(struct ar_decision *d, struct ar_str id)
{
	const struct ar_channel *c = ar_session_channel(d->session, id);

	if (c)
		come_back(d, c);
}

enum ar_status ar_decide_post_channel_message(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_post_channel_message_in *in = d->input->command.args;
	const struct ar_channel *c;
	struct ar_ids ids;

	if (find_own(d, in->channel_id, &c, err) != AR_OK)
		return AR_E_REFUSED;
	ids = ids_of(c->id);
	come_back(d, c);
	ar_decide_emit(d, AR_EV_CHANNEL_MESSAGE, &ids,
		       &(struct ar_ev_channel_message){ .message_kind = in->message_kind,
							.message_ref = ar_decide_content(d, in->text),
							.preview = ar_str_utf8_prefix(in->text, PREVIEW_MAX),
							.direction = AR_CHANNEL_MESSAGE_DIRECTION_IN });
	ar_decide_reply(d, AR_CMD_POST_CHANNEL_MESSAGE,
			&(struct ar_cmd_post_channel_message_out){ .sequence = (int64_t)d->session->head });
	return AR_OK;
}

/* ---- a stream of it begins and ends ---- */

enum ar_status ar_decide_channel_followed(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_channel *c;

	if (find_own(d, d->input->channel.id, &c, err) != AR_OK)
		return AR_E_REFUSED;
	come_back(d, c);
	return AR_OK;
}

/* Its peer read an older window of the history. The first one is a fact: a cursor is from an earlier answer,
 * so each window after it goes on from there or was read before. However long the history is and however
 * short the windows are, a channel adds one fact. */
enum ar_status ar_decide_channel_read(struct ar_decision *d, struct ar_error *err)
{
	int64_t from = d->input->channel.from, to = d->input->channel.to;
	const struct ar_channel *c;
	struct ar_ids ids;

	if (find_own(d, d->input->channel.id, &c, err) != AR_OK)
		return AR_E_REFUSED;
	if (d->session->threads.count == 0 || c->read_from.set)
		return AR_OK;
	ids = ar_ids_thread(d->session->threads.at[0]);
	ids.at[AR_SCOPE_CHANNEL] = c->id;
	ar_decide_emit(d, AR_EV_HISTORY_WINDOW_LOADED, &ids,
		       &(struct ar_ev_history_window_loaded){
			       .start_cursor = ar_arena_fmt(d->arena, "%lld", (long long)from),
			       .end_cursor = ar_arena_fmt(d->arena, "%lld", (long long)to),
			       .count = to - from + 1,
			       .truncated = from > 1 });
	return AR_OK;
}

void ar_channels_recover(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->channels.count; i++)
		watch(d, d->session->channels.at[i]);
}

static void say_gone(struct ar_decision *d, const struct ar_channel *c, int reason, ar_usec seen)
{
	struct ar_ids ids = ids_of(c->id);

	ar_decide_emit(d, AR_EV_CHANNEL_DISCONNECTED, &ids,
		       &(struct ar_ev_channel_disconnected){
			       .reason = reason, .last_seen_at = seen, .last_acked_sequence = c->acked });
	/* What it showed is not good any more: it cannot answer, whatever its token says. */
	if (reason == AR_CHANNEL_DISCONNECTED_REASON_AUTH)
		ar_bridge_withdraw(d, c);
	watch(d, c);
}

/* A timer does not know what was heard since it was set: the state does. */
enum ar_status ar_decide_channel_due(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	const struct ar_channel *c = ar_session_channel(d->session, d->input->due);
	ar_usec at = c ? due_at(c) : 0;

	if (!at)
		return AR_OK;
	if (at > d->input->now)
		watch(d, c);
	else if (c->status == AR_CHANNEL_CONNECTED)
		say_gone(d, c, AR_CHANNEL_DISCONNECTED_REASON_MISSED_HEARTBEAT, c->seen);
	else
		ar_bridge_withdraw(d, c);
	return AR_OK;
}

enum ar_status ar_decide_channel_gone(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	const struct ar_channel *c = ar_session_channel(d->session, d->input->channel.id);

	if (c && c->status == AR_CHANNEL_CONNECTED)
		say_gone(d, c, d->input->channel.reason, d->input->now);
	return AR_OK;
}

void ar_decide_channels_lost(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->channels.count; i++) {
		const struct ar_channel *c = d->session->channels.at[i];

		if (c->status == AR_CHANNEL_CONNECTED)
			say_gone(d, c, AR_CHANNEL_DISCONNECTED_REASON_ERROR, c->seen);
	}
}
