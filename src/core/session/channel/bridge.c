/* The permission bridge: that a question went out over a channel, and that its answer came back,
 * are facts beside the question's own. They say who asked, who was asked and which side decided;
 * what was decided stands in action.resolved. Pure. */
#include "channel/channel.h"

static void forward(struct ar_decision *d, const struct ar_channel *c, const struct ar_ids *about,
		    ar_usec expires)
{
	struct ar_ids ids = *about;
	struct ar_str call = ids.at[AR_SCOPE_TOOL_CALL], action = ids.at[AR_SCOPE_ACTION];
	bool is_call = !ar_str_absent(call);

	ids.at[AR_SCOPE_CHANNEL] = c->id;
	ar_decide_emit(d, AR_EV_CHANNEL_PERMISSION_FORWARDED, &ids,
		       &(struct ar_ev_channel_permission_forwarded){
			       .requesting_peer =
				       &(struct ar_shape_requesting_peer){
					       .kind = AR_STR("runtime"),
					       .runtime_id = d->input->policy->runtime_id,
					       .session_id = d->session->id },
			       .target = &(struct ar_shape_party){ .kind = is_call ? AR_STR("tool")
										   : AR_STR("action"),
								   .id = is_call ? call : action },
			       .forwarded_to = &(struct ar_shape_channel_peer){ .channel_id = c->id,
										.peer_role = (int)c->role,
										.account_ref = c->account },
			       .approval_action_id = action,
			       .expires_at = expires });
}

void ar_bridge_ask(struct ar_decision *d, const struct ar_ids *ids, ar_usec expires)
{
	for (size_t i = 0; i < d->session->channels.count; i++) {
		const struct ar_channel *c = d->session->channels.at[i];

		if (c->status == AR_CHANNEL_CONNECTED &&
		    ar_texts_have(c->capabilities, AR_STR(AR_CAPABILITY_PERMISSIONS)))
			forward(d, c, ids, expires);
	}
}

static bool was_asked(const struct ar_channel *c, struct ar_str action)
{
	return ar_vec_last_with(&c->open, offsetof(struct ar_bridged, action), action) != NULL;
}

void ar_bridge_catch_up(struct ar_decision *d, const struct ar_channel *c, struct ar_texts capabilities)
{
	if (!ar_texts_have(capabilities, AR_STR(AR_CAPABILITY_PERMISSIONS)))
		return;
	for (size_t i = 0; i < d->session->actions.count; i++) {
		const struct ar_action *a = d->session->actions.at[i];
		struct ar_ids ids = { .at = { [AR_SCOPE_THREAD] = a->thread,
					      [AR_SCOPE_TURN] = a->turn,
					      [AR_SCOPE_TOOL_CALL] = a->call,
					      [AR_SCOPE_ACTION] = a->id } };

		if (a->status == AR_ACTION_PENDING && !was_asked(c, a->id))
			forward(d, c, &ids, a->expires);
	}
}

static void withdraw(struct ar_decision *d, const struct ar_channel *c, const struct ar_action *a)
{
	const struct ar_ids ids = { .at = { [AR_SCOPE_THREAD] = a->thread,
					    [AR_SCOPE_TURN] = a->turn,
					    [AR_SCOPE_TOOL_CALL] = a->call,
					    [AR_SCOPE_ACTION] = a->id,
					    [AR_SCOPE_CHANNEL] = c->id } };

	ar_decide_emit(d, AR_EV_CHANNEL_PERMISSION_RETURNED, &ids,
		       &(struct ar_ev_channel_permission_returned){
			       .decision = AR_STR("none"),
			       .deciding_side = AR_CHANNEL_PERMISSION_RETURNED_DECIDING_SIDE_LOCAL,
			       .source = AR_CHANNEL_PERMISSION_RETURNED_SOURCE_AUTH_FAILURE,
			       .channel_scoped = true,
			       .approval_action_id = a->id });
}

void ar_bridge_withdraw(struct ar_decision *d, const struct ar_channel *c)
{
	struct ar_vec open = ar_vec_copy(d->arena, &c->open);

	for (size_t i = 0; i < open.count; i++) {
		const struct ar_action *a =
			ar_session_action(d->session, ((const struct ar_bridged *)open.at[i])->action);

		if (a)
			withdraw(d, c, a);
	}
}

static int source_of(const struct ar_settlement *s)
{
	if (s->source == AR_ACTION_RESOLVED_DECISION_SOURCE_TIMEOUT)
		return AR_CHANNEL_PERMISSION_RETURNED_SOURCE_TIMEOUT;
	if (s->source == AR_ACTION_RESOLVED_DECISION_SOURCE_POLICY)
		return AR_CHANNEL_PERMISSION_RETURNED_SOURCE_POLICY_DENY;
	return AR_CHANNEL_PERMISSION_RETURNED_SOURCE_RESPONSE;
}

void ar_bridge_answer(struct ar_decision *d, const struct ar_ids *about, const struct ar_settlement *s)
{
	for (size_t i = 0; i < d->session->channels.count; i++) {
		const struct ar_channel *c = d->session->channels.at[i];
		struct ar_ids ids = *about;
		bool is_theirs = ar_str_eq(c->id, s->channel);

		if (!was_asked(c, ids.at[AR_SCOPE_ACTION]))
			continue;
		ids.at[AR_SCOPE_CHANNEL] = c->id;
		ar_decide_emit(d, AR_EV_CHANNEL_PERMISSION_RETURNED, &ids,
			       &(struct ar_ev_channel_permission_returned){
				       .decision = s->decision,
				       .deciding_side =
					       is_theirs ? AR_CHANNEL_PERMISSION_RETURNED_DECIDING_SIDE_REMOTE
							 : AR_CHANNEL_PERMISSION_RETURNED_DECIDING_SIDE_LOCAL,
				       .source = source_of(s),
				       .approval_action_id = ids.at[AR_SCOPE_ACTION] });
	}
}
