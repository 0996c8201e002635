/* subscribe_events: from a JSON input to a reader of the log. */
#include "control_priv.h"

static enum ar_status read_types(struct ar_control *c, struct ar_str types, uint8_t *flags,
				 struct ar_error *err)
{
	struct ar_json v;

	if (ar_json_parse(c->json, types, &v, err) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "types is an array of event types");
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		struct ar_str name = AR_STR_NONE;
		const struct ar_event_desc *desc;

		ar_json_str(it.value, &name);
		desc = ar_event_find(name);
		if (!desc)
			return ar_refuse(err, AR_ERR_INVALID_INPUT, "there is no event type '%.*s'",
					 AR_STR_ARG(ar_str_utf8_prefix(name, 64)));
		flags[desc->type] = 1;
	}
	return AR_OK;
}

static enum ar_status check_place(struct ar_control *c, struct ar_subscribe_call *call, struct ar_str core,
				  struct ar_error *err)
{
	call->place = ar_control_place(c, core, &call->peer);
	if (call->place == AR_PLACE_HERE)
		return AR_OK;
	return ar_refuse(err, AR_ERR_NOT_OWNER, "this node does not own the session");
}

static enum ar_status subscribe(struct ar_control *c, struct ar_subscribe_call *call,
				const struct ar_cmd_subscribe_events_in *in, struct ar_arena *arena,
				struct ar_subscription *s, struct ar_error *err)
{
	struct ar_follow_request r = { .after = in->after,
				       .deltas = !in->deltas.set || in->deltas.v,
				       .is_strict = in->view != AR_SUBSCRIBE_EVENTS_VIEW_EXTENDED };
	uint8_t flags[AR_EV_COUNT] = { 0 };

	if (ar_str_absent(in->session_id))
		return ar_refuse(err, AR_ERR_UNAVAILABLE,
				 "subscriptions by channel are not built yet; name a sessionId");
	if (ar_call_session(in->session_id, &r.session, err) != AR_OK ||
	    check_place(c, call, r.session, err) != AR_OK)
		return AR_E_REFUSED;
	if (in->from_sequence.set && in->from_sequence.v > 0 && ar_str_absent(in->after))
		r.after = ar_arena_fmt(arena, "%lld", (long long)in->from_sequence.v - 1);
	if (!ar_str_absent(in->types)) {
		if (read_types(c, in->types, flags, err) != AR_OK)
			return AR_E_REFUSED;
		r.types = flags;
	}
	return ar_follow_open(c->follow, s, &r, err);
}

enum ar_status ar_control_subscribe(struct ar_control *c, struct ar_subscribe_call *call,
				    struct ar_subscription *s, struct ar_error *err)
{
	struct ar_arena arena = { 0 };
	const void *in;
	enum ar_status rc = ar_call_decode(c, AR_CMD_SUBSCRIBE_EVENTS, call->body, &arena, &in, err);

	call->place = AR_PLACE_HERE;
	if (rc == AR_OK)
		rc = subscribe(c, call, in, &arena, s, err);
	ar_arena_fini(&arena);
	return rc;
}
