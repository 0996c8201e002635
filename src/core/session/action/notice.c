/* What happens to a question before it is answered: somebody has seen it, or nobody answered and
 * another audience is told. Neither changes what the question is, so both are state lines
 * (run.status) that carry its id. Pure. */
#include "action/action.h"

/* ---- escalation ---- */

bool ar_decide_escalate(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a)
{
	if (!a->escalates || a->escalated || a->escalates > d->input->now)
		return false;
	ar_action_emit(d, turn, a->id, AR_EV_RUN_STATUS,
		       &(struct ar_ev_run_status){
			       .phase = AR_STR(AR_PHASE_ESCALATED),
			       .title = AR_STR("Nobody answered: another audience is told"),
			       .detail = a->audience,
			       .metadata = &(struct ar_shape_run_metadata){
				       .action_id = a->id,
				       .audience = a->audience,
				       .waited_ms = AR_OPT_INT(ar_decide_since(d, a->created) / 1000) } });
	ar_decide_wake_for(d, a);
	return true;
}

/* ---- seen ---- */

/* The one name by which an actor is known again. */
static struct ar_str name_of(const struct ar_shape_actor *actor)
{
	const struct ar_str names[] = { actor->id, actor->name, actor->account_ref };

	for (size_t i = 0; i < AR_ARRAY_LEN(names); i++) {
		if (!ar_str_empty(names[i]))
			return names[i];
	}
	return AR_STR_NONE;
}

static bool has_seen(const struct ar_action *a, struct ar_str name)
{
	for (size_t i = 0; i < a->seen.count; i++) {
		const struct ar_shape_actor *actor = a->seen.at[i].actor;

		if (actor && (ar_str_eq(actor->id, name) || ar_str_eq(actor->name, name) ||
			      ar_str_eq(actor->account_ref, name)))
			return true;
	}
	return false;
}

static void say_seen(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a,
		     const struct ar_shape_actor *actor)
{
	const struct ar_shape_sight sight = { .actor = actor, .at = d->input->now };

	ar_action_emit(d, turn, a->id, AR_EV_RUN_STATUS,
		       &(struct ar_ev_run_status){ .phase = AR_STR(AR_PHASE_SEEN),
						   .title = AR_STR("Somebody has seen the question"),
						   .detail = ar_str_utf8_prefix(name_of(actor), 128),
						   .metadata = &(struct ar_shape_run_metadata){
							   .action_id = a->id, .seen = { &sight, 1 } } });
}

enum ar_status ar_decide_see_action(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_see_action_in *in = d->input->command.args;
	const struct ar_action *a = ar_session_action(d->session, in->action_id);
	struct ar_cmd_see_action_out out = { .action_id = in->action_id };
	const struct ar_shape_actor caller = { .kind = AR_STR("caller"), .id = d->input->account };
	const struct ar_shape_actor *actor = in->actor ? in->actor : &caller;
	struct ar_thread *t;
	struct ar_turn *turn = a ? ar_session_turn(d->session, a->turn, &t) : NULL;

	if (!turn)
		return ar_refuse(err, AR_ERR_ACTION_NOT_FOUND, "session %.*s has no open action %.*s",
				 AR_STR_ARG(d->session->id),
				 AR_STR_ARG(ar_str_utf8_prefix(in->action_id, 64)));
	if (a->status != AR_ACTION_PENDING)
		return ar_refuse(err, AR_ERR_ALREADY_RESOLVED, "action %.*s was settled as '%.*s'",
				 AR_STR_ARG(a->id), AR_STR_ARG(a->decision));
	if (ar_str_empty(name_of(actor)))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "actor has an id or a name");
	out.recorded = !has_seen(a, name_of(actor));
	if (out.recorded)
		say_seen(d, turn, a, actor);
	out.seen_by = a->seen;
	ar_decide_reply(d, AR_CMD_SEE_ACTION, &out);
	return AR_OK;
}
