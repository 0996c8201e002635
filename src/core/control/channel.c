/* Admission of channels: the tokens that they reconnect with (minted here, shown once, only their
 * hash goes further), the snapshot that they go on from, and what the streams of a channel mean for it:
 * the first one resumes it, the end of the last one disconnects it. The state of a channel is its
 * session's (core/session/channel). */
#include "control_priv.h"
#include "channel/channel.h"
#include "mem.h"
#include "projection.h"
#include "tenant.h"

#include <string.h>

enum ar_status ar_channel_target(struct ar_call *c, struct ar_str session_id, struct ar_str channel_id,
				 struct ar_str *ret_session_key, struct ar_error *err)
{
	if (!ar_str_absent(session_id))
		return ar_call_session(session_id, ret_session_key, err);
	*ret_session_key = ar_id_session_key(channel_id);
	if (ar_str_absent(*ret_session_key))
		*ret_session_key = ar_control_home(c->who, &c->arena);
	return AR_OK;
}

/* ---- what a peer says of itself ---- */

#define BIT(transport) (1u << AR_TRANSPORT_##transport)

/* The transports that a peer can have that asks by this protocol. Who connects by HTTP may open its stream
 * elsewhere; the stream shows it. */
static const struct {
	const char *name;
	unsigned calls, streams;
} protocols[AR_PROTOCOL_COUNT] = {
	[AR_PROTOCOL_NOT_KNOWN] = { "an unknown protocol", ~BIT(GRPC), ~BIT(GRPC) },
	[AR_PROTOCOL_HTTP] = { "HTTP",
			       BIT(HTTP_JSON) | BIT(SSE) | BIT(WEBSOCKET) | BIT(JSON_RPC) | BIT(CUSTOM),
			       BIT(HTTP_JSON) | BIT(SSE) | BIT(CUSTOM) },
	[AR_PROTOCOL_WEBSOCKET] = { "WebSocket", BIT(WEBSOCKET) | BIT(JSON_RPC) | BIT(CUSTOM),
				    BIT(WEBSOCKET) | BIT(JSON_RPC) | BIT(CUSTOM) },
	[AR_PROTOCOL_STDIO] = { "stdio", BIT(STDIO) | BIT(JSON_RPC) | BIT(CUSTOM),
				BIT(STDIO) | BIT(JSON_RPC) | BIT(CUSTOM) },
	/* the A2A server says how its callers talk */
	[AR_PROTOCOL_INSIDE] = { "a call of this process",
				 BIT(IN_PROCESS) | BIT(HTTP_JSON) | BIT(JSON_RPC) | BIT(CUSTOM),
				 BIT(IN_PROCESS) | BIT(CUSTOM) },
};

/* What a peer has to be allowed to be called this. */
static const struct {
	unsigned right;
	const char *scope, *what;
} roles[] = {
	[AR_PEER_ROLE_CLIENT] = { AR_RIGHT_READ, "read", "a peer in the role 'client'" },
	[AR_PEER_ROLE_HOST] = { AR_RIGHT_DECIDE, "decide", "a peer in the role 'host'" },
	[AR_PEER_ROLE_WORKER] = { AR_RIGHT_WORKER, "worker", "a peer in the role 'worker'" },
	[AR_PEER_ROLE_REMOTE_RUNTIME] = { AR_RIGHT_SUBMIT, "submit", "a peer in the role 'remote_runtime'" },
	[AR_PEER_ROLE_PEER_AGENT] = { AR_RIGHT_SUBMIT, "submit", "a peer in the role 'peer_agent'" },
	[AR_PEER_ROLE_TOOL_SERVER] = { AR_RIGHT_WORKER, "worker", "a peer in the role 'tool_server'" },
};

enum ar_status ar_channel_check_claims(const struct ar_call *c, struct ar_error *err)
{
	const struct ar_cmd_connect_channel_in *in = c->input;

	if (!(protocols[c->from.protocol].calls & (1u << in->transport)))
		return ar_refuse(
			err, AR_ERR_INVALID_INPUT,
			"transport is '%s', and this call came by %s; name the one that the peer uses",
			ar_enum_name(&ar_transport_desc, in->transport), protocols[c->from.protocol].name);
	return ar_control_need_right(c, roles[in->peer_role].right, roles[in->peer_role].scope,
				     roles[in->peer_role].what, err);
}

static enum ar_status check_stream(const struct ar_channel *channel, enum ar_call_protocol protocol,
				   struct ar_error *err)
{
	if (protocols[protocol].streams & (1u << channel->transport))
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_INPUT,
			 "channel '%.*s' is connected as '%s', and its stream comes by %s; connect it again "
			 "with the transport that it uses",
			 AR_STR_ARG(ar_str_utf8_prefix(channel->id, 64)),
			 ar_enum_name(&ar_transport_desc, (int)channel->transport), protocols[protocol].name);
}

/* ---- tokens ---- */

#define MINTS 2 /* 74 random bits each */

static struct ar_str hash_text(struct ar_call *c, const char *prefix, struct ar_str bytes)
{
	struct ar_hash h = ar_hash_of(bytes);
	char text[AR_HASH_TEXT];

	ar_hash_text(&h, text);
	return ar_arena_fmt(&c->arena, "%s%.*s", prefix, AR_HASH_TEXT, text);
}

static struct ar_str shown_by(const struct ar_call *c)
{
	if (c->command == AR_CMD_RECONNECT_CHANNEL)
		return ((const struct ar_cmd_reconnect_channel_in *)c->input)->resume_token;
	if (c->command == AR_CMD_RESUME_THREAD)
		return ((const struct ar_cmd_resume_thread_in *)c->input)->resume_token;
	return AR_STR_NONE;
}

void ar_channel_tokens(struct ar_call *c, struct ar_channel_token *ret)
{
	struct ar_str shown = shown_by(c);
	char seed[MINTS * AR_SESSION_KEY_LEN];

	if (!ar_str_absent(shown))
		ret->shown = hash_text(c, "token:", shown);
	if (c->command != AR_CMD_CONNECT_CHANNEL && c->command != AR_CMD_RECONNECT_CHANNEL)
		return;
	for (size_t i = 0; i < MINTS; i++)
		ar_id_mint(seed + i * AR_SESSION_KEY_LEN);
	c->work->token = hash_text(c, "rt_", (struct ar_str){ seed, sizeof(seed) });
	ret->given = hash_text(c, "token:", c->work->token);
}

/* ---- answers ---- */

void ar_channel_connected(struct ar_call *c, struct ar_str channel)
{
	struct ar_jw w = ar_jw(&c->reply);

	ar_struct_encode(&ar_command_describe(c->command)->out,
			 &(struct ar_cmd_connect_channel_out){ .channel_id = channel,
							       .resume_token = c->work->token },
			 AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

static void on_view(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	struct ar_jw w = ar_jw(&c->reply);

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	ar_jw_open(&w);
	ar_jw_key(&w, "snapshot");
	ar_jw_open(&w);
	ar_projection_session(s, ar_engine_policy(c->control->engine)->runtime_id, NULL, &w);
	ar_jw_close(&w);
	ar_jw_mint(&w, "asOfSequence", (int64_t)s->head);
	ar_jw_mstr(&w, "replayMode", AR_STR("replay"));
	ar_jw_mstr(&w, "newResumeToken", c->work->token);
	ar_jw_close(&w);
	ar_call_done(c, 200);
}

void ar_channel_reconnected(struct ar_call *c, struct ar_str reply)
{
	if (ar_tenant_is_a_home(c->work->write.session)) {
		ar_channel_home_reconnected(c, reply);
		return;
	}
	c->work->view = (struct ar_engine_view){ .session = c->work->write.session, .done = on_view };
	ar_engine_look(c->control->engine, &c->work->view);
}

/* ---- streams ---- */

/* A channel of a session while at least one stream of it is open. */
struct ar_following {
	struct ar_control *control;
	struct ar_str key; /* the session's 26 characters, '/', the channel */
	struct ar_str channel, account; /* in `key`'s memory, and after it */
	unsigned streams;
	char text[];
};

/* An input to the session that no request waits for. */
struct notice {
	struct ar_engine_request write;
	char *text;
};

static void notice_written(struct ar_engine_request *r)
{
	struct notice *n = AR_CONTAINER_OF(r, struct notice, write);

	ar_free(n->text);
	ar_free(n);
}

static void write_notice(const struct ar_following *f, enum ar_input_kind kind, int reason)
{
	struct notice *n = ar_new0(sizeof(*n));
	size_t len = f->key.len + f->account.len;

	n->text = ar_grow(NULL, len, 1);
	memcpy(n->text, f->text, len);
	n->write = (struct ar_engine_request){
		.session = { n->text, AR_SESSION_KEY_LEN },
		.input = { .kind = kind,
			   .account = { n->text + f->key.len, f->account.len },
			   .channel = { .id = { n->text + AR_SESSION_KEY_LEN + 1, f->channel.len },
					.reason = reason } },
		.done = notice_written,
	};
	ar_engine_write(f->control->engine, &n->write);
}

static struct ar_following *following_of(struct ar_control *c, struct ar_str session_key,
					 struct ar_str channel, struct ar_str account)
{
	size_t key = AR_SESSION_KEY_LEN + 1 + channel.len;
	struct ar_following *f = ar_new0(sizeof(*f) + key + account.len), *known;

	memcpy(f->text, session_key.p, AR_SESSION_KEY_LEN);
	f->text[AR_SESSION_KEY_LEN] = '/';
	memcpy(f->text + AR_SESSION_KEY_LEN + 1, channel.p, channel.len);
	memcpy(f->text + key, account.p, account.len);
	f->control = c;
	f->key = (struct ar_str){ f->text, key };
	f->channel = ar_str_sub(f->key, AR_SESSION_KEY_LEN + 1, channel.len);
	f->account = (struct ar_str){ f->text + key, account.len };
	known = ar_map_get(&c->following, f->key);
	if (!known) {
		ar_map_put(&c->following, f->key, f);
		return f;
	}
	ar_free(f);
	return known;
}

void ar_control_leave(struct ar_following *f, enum ar_leave why)
{
	static const int reasons[] = {
		[AR_LEAVE_CLOSED] = AR_CHANNEL_DISCONNECTED_REASON_CLOSED,
		[AR_LEAVE_SILENT] = AR_CHANNEL_DISCONNECTED_REASON_MISSED_HEARTBEAT,
		[AR_LEAVE_ERROR] = AR_CHANNEL_DISCONNECTED_REASON_ERROR,
		[AR_LEAVE_AUTH] = AR_CHANNEL_DISCONNECTED_REASON_AUTH,
	};

	if (!f || --f->streams > 0)
		return;
	ar_map_del(&f->control->following, f->key);
	write_notice(f, AR_IN_CHANNEL_GONE, reasons[why]);
	ar_free(f);
}

/* Questions are not for a peer that cannot answer them. */
static void leave_out_questions(const struct ar_channel *c, struct ar_follow_request *r, uint8_t *flags)
{
	static const enum ar_event_type questions[] = { AR_EV_ACTION_REQUIRED, AR_EV_PERMISSION_REQUESTED };

	if (ar_texts_have(c->capabilities, AR_STR(AR_CAPABILITY_PERMISSIONS)))
		return;
	if (!r->types)
		memset(flags, 1, AR_EV_COUNT);
	for (size_t i = 0; i < AR_ARRAY_LEN(questions); i++)
		flags[questions[i]] = 0;
	r->types = flags;
}

enum ar_status ar_channel_follow(struct ar_control *c, const struct ar_cmd_subscribe_events_in *in,
				 struct ar_follow_request *r, uint8_t *flags, struct ar_subscribe_call *call,
				 struct ar_error *err)
{
	const struct ar_principal *who = ar_control_who(call->who);
	bool is_of_all = ar_str_absent(r->session);
	struct ar_str session_key = is_of_all ? ar_control_home(who, call->arena) : r->session;
	bool is_ours = ar_engine_is_of(c->engine, session_key, who->tenant);
	const struct ar_session *s = is_ours ? ar_engine_peek(c->engine, session_key) : NULL;
	const struct ar_channel *channel = s ? ar_session_channel(s, in->channel_id) : NULL;

	if (is_ours && !s) { /* a commit is under way: nobody can look at it for a moment */
		call->place = AR_PLACE_UNSETTLED;
		return ar_refuse(err, AR_ERR_NOT_OWNER, "the session is busy; repeat in a moment");
	}
	if (!channel || !ar_str_eq(channel->account, who->actor))
		return ar_refuse(err, AR_ERR_CHANNEL_NOT_FOUND,
				 "channel '%.*s' is not connected; call connect_channel or "
				 "reconnect_channel, then subscribe",
				 AR_STR_ARG(ar_str_utf8_prefix(in->channel_id, 64)));
	if (check_stream(channel, call->protocol, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_str_absent(r->after))
		r->after = ar_arena_str(call->arena, ar_channel_reach_of(s, channel, call->arena).cursor);
	leave_out_questions(channel, r, flags);
	call->following = following_of(c, session_key, in->channel_id, who->actor);
	call->following->streams++;
	if (channel->status != AR_CHANNEL_CONNECTED)
		write_notice(call->following, AR_IN_CHANNEL_FOLLOWED, 0);
	return AR_OK;
}
