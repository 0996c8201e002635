/* subscribe_events: from a JSON input to a reader of the log. */
#include "control_priv.h"
#include "tenant.h"

enum ar_status ar_call_types(struct ar_texts types, uint8_t *flags, struct ar_error *err)
{
	for (size_t i = 0; i < types.count; i++) {
		if (!ar_event_types_add(types.at[i], flags))
			return ar_refuse(err, AR_ERR_INVALID_INPUT, "there is no event type '%.*s'",
					 AR_STR_ARG(ar_str_utf8_prefix(types.at[i], 64)));
	}
	return AR_OK;
}

/* The session that is named, or that one of the ids is of. */
static enum ar_status find_session(const struct ar_cmd_subscribe_events_in *in,
				   struct ar_str *ret_session_key, struct ar_error *err)
{
	const struct ar_str ids[] = { in->thread_id, in->task_id, in->channel_id };

	if (!ar_str_absent(in->session_id))
		return ar_call_session(in->session_id, ret_session_key, err);
	for (size_t i = 0; i < AR_ARRAY_LEN(ids); i++) {
		*ret_session_key = ar_id_session_key(ids[i]);
		if (!ar_str_absent(*ret_session_key))
			return AR_OK;
	}
	return ar_refuse(err, AR_ERR_INVALID_SCOPE, "name the sessionId; the other ids do not contain it");
}

/* Nothing is named that is of one session. A channel of none, or of the tenant's home, follows all. */
static bool is_of_all(const struct ar_cmd_subscribe_events_in *in, const struct ar_principal *who)
{
	bool has_session = !ar_str_absent(in->session_id);
	struct ar_str session_key = ar_id_session_key(has_session ? in->session_id : in->channel_id);

	if (!ar_str_absent(in->thread_id) || !ar_str_absent(in->task_id))
		return false;
	if (ar_str_absent(in->channel_id) || ar_str_absent(session_key))
		return !has_session;
	return ar_tenant_is_home(who->tenant, session_key);
}

static enum ar_status check_place(struct ar_control *c, struct ar_subscribe_call *call,
				  struct ar_str session_key, struct ar_error *err)
{
	call->place = ar_control_place(c, session_key, &call->peer);
	if (call->place == AR_PLACE_HERE)
		return AR_OK;
	return ar_refuse(err, AR_ERR_NOT_OWNER, "this node does not own the session");
}

/* Any node serves it: it comes out of the store. Only a channel is known where the home of its tenant
 * is. The home session is for those who may read it. */
static enum ar_status find_all(struct ar_control *c, struct ar_subscribe_call *call,
			       const struct ar_cmd_subscribe_events_in *in, struct ar_follow_request *r,
			       struct ar_error *err)
{
	const struct ar_principal *who = ar_control_who(call->who);
	struct ar_str home = ar_control_home(who, call->arena);

	if (!ar_str_absent(in->channel_id) && check_place(c, call, home, err) != AR_OK)
		return AR_E_REFUSED;
	if (in->from_sequence.set)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "a sequence belongs to one session; for all sessions use a cursor");
	if (in->deltas.set && in->deltas.v)
		return ar_refuse(
			err, AR_ERR_INVALID_INPUT,
			"there are no deltas for all sessions; subscribe to one session to get them");
	r->tenant = who->tenant;
	if (!(who->rights & AR_RIGHT_ADMIN))
		r->hidden = ar_id_root(call->arena, "sess", home);
	return AR_OK;
}

static enum ar_status find_one(struct ar_control *c, struct ar_subscribe_call *call,
			       const struct ar_cmd_subscribe_events_in *in, struct ar_follow_request *r,
			       struct ar_error *err)
{
	if (find_session(in, &r->session, err) != AR_OK || check_place(c, call, r->session, err) != AR_OK ||
	    ar_control_check_home(c, call->who, r->session, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_engine_is_of(c->engine, r->session, ar_control_who(call->who)->tenant))
		r->tenant = ar_control_who(call->who)->tenant;
	return AR_OK;
}

static enum ar_status subscribe(struct ar_control *c, struct ar_subscribe_call *call,
				const struct ar_cmd_subscribe_events_in *in, struct ar_arena *arena,
				struct ar_subscription *s, struct ar_error *err)
{
	struct ar_follow_request r = { .after = in->after,
				       .thread = in->thread_id,
				       .task = in->task_id,
				       .deltas = !in->deltas.set || in->deltas.v,
				       .is_strict = in->view != AR_SUBSCRIBE_EVENTS_VIEW_EXTENDED };
	uint8_t flags[AR_EV_COUNT] = { 0 };
	enum ar_status st;

	st = is_of_all(in, ar_control_who(call->who)) ? find_all(c, call, in, &r, err)
						      : find_one(c, call, in, &r, err);
	if (st != AR_OK)
		return st;
	if (in->from_sequence.set && in->from_sequence.v > 0 && ar_str_absent(in->after))
		r.after = ar_arena_fmt(arena, "%lld", (long long)in->from_sequence.v - 1);
	if (in->types.at) {
		if (ar_call_types(in->types, flags, err) != AR_OK)
			return AR_E_REFUSED;
		r.types = flags;
	}
	if (!ar_str_absent(in->channel_id) && ar_channel_follow(c, in, &r, flags, call, err) != AR_OK)
		return AR_E_REFUSED;
	st = ar_follow_open(c->follow, s, &r, err);
	if (st != AR_OK) {
		ar_control_leave(call->following, AR_LEAVE_ERROR);
		call->following = NULL;
	}
	return st;
}

enum ar_status ar_control_subscribe(struct ar_control *c, struct ar_subscribe_call *call,
				    struct ar_subscription *s, struct ar_error *err)
{
	struct ar_arena arena = { 0 };
	const void *in;
	const struct ar_command_desc *desc = ar_command_describe(AR_CMD_SUBSCRIBE_EVENTS);
	enum ar_status rc = ar_control_admit(c, call->who, NULL, desc, err);

	call->place = AR_PLACE_HERE;
	call->following = NULL;
	call->arena = &arena;
	if (rc == AR_OK)
		rc = ar_call_decode(c, AR_CMD_SUBSCRIBE_EVENTS, call->body, &arena, &in, err);
	if (rc == AR_OK)
		rc = subscribe(c, call, in, &arena, s, err);
	ar_arena_fini(&arena);
	return rc;
}
