/* Facts about questions and what people allowed. Pure; see apply.c. */
#include "apply.h"
#include "action/action.h"

enum ar_status ar_apply_action_required(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_action_required *p = PAYLOAD(e, action_required);
	struct ar_action *a = ar_arena_alloc(&s->arena, sizeof(*a));

	*a = (struct ar_action){ .id = ar_apply_keep(s, e->ids[AR_SCOPE_ACTION]),
				 .thread = ar_apply_keep(s, e->ids[AR_SCOPE_THREAD]),
				 .turn = ar_apply_keep(s, e->ids[AR_SCOPE_TURN]),
				 .call = ar_apply_keep(s, e->ids[AR_SCOPE_TOOL_CALL]),
				 .tool = ar_apply_keep(s, p->tool_name),
				 .prompt = ar_apply_keep(s, p->prompt),
				 .prompt_ref = ar_apply_keep(s, p->prompt_ref),
				 .check = ar_apply_keep(s, p->prompt_check),
				 .schema = ar_apply_keep(s, p->schema),
				 .decisions = ar_arena_texts(&s->arena, p->decisions),
				 .type = ar_action_type_find(p->action_type),
				 .on_timeout = p->on_timeout,
				 .is_destructive = p->destructive.v,
				 .needed = p->approvals,
				 .created = e->time,
				 .expires = p->expires_at,
				 .audience = ar_apply_keep(s, p->escalate_to),
				 .escalates = p->escalate_at };
	if (!a->type)
		return ar_apply_unknown(err, e, "type of action");
	if (p->scope) {
		a->scope = ar_struct_copy(&ar_shape_action_scope_desc, p->scope, AR_COPY_TEXT, &s->arena);
		a->question = a->scope->question_id;
	}
	if (p->policy) {
		a->rule = ar_apply_keep(s, p->policy->rule);
		a->rule_source = ar_apply_keep(s, p->policy->rule_source);
		a->mode = ar_apply_keep(s, p->policy->mode);
		a->covers = ar_apply_keep(s, p->policy->covers);
	}
	ar_vec_push(&s->arena, &s->actions, a);
	ar_apply_count(&s->counters.action, a->id);
	return ar_apply_move(&a->status, AR_MACHINE_ACTION, e, err);
}

/* Who saw it, who approved it, and that others were told, are state lines: none of them changes
 * what the question is. */
void ar_apply_action_noticed(struct ar_session *s, const struct ar_event *e)
{
	const struct ar_ev_run_status *p = PAYLOAD(e, run_status);
	struct ar_action *a = ar_session_action(s, e->ids[AR_SCOPE_ACTION]);

	if (!a || !p->metadata)
		return;
	if (ar_str_is(p->phase, AR_PHASE_SEEN))
		ar_shapes_add(&ar_shape_sight_desc, &a->seen, &p->metadata->seen, AR_SEEN_MAX, &s->arena);
	if (ar_str_is(p->phase, AR_PHASE_APPROVED))
		ar_shapes_add(&ar_shape_approval_desc, &a->approved, &p->metadata->approved, AR_APPROVALS_MAX,
			      &s->arena);
	if (ar_str_is(p->phase, AR_PHASE_ESCALATED))
		a->escalated = e->time;
}

/* Pending ones stay, however many; of the settled those that were settled last, which stand at
 * the end. Those of one decision stay until another comes: their rows are still to be written. */
static void keep_window(struct ar_session *s, struct ar_action *newest)
{
	size_t settled = 0, at;

	if (ar_vec_find(&s->actions, newest, &at))
		ar_vec_remove(&s->actions, at);
	ar_vec_push(&s->arena, &s->actions, newest);
	for (size_t i = s->actions.count; i > 0; i--) {
		const struct ar_action *a = s->actions.at[i - 1];

		if (a->status == AR_ACTION_RESOLVED && ++settled > AR_WINDOW_ACTIONS &&
		    a->resolved < newest->resolved)
			ar_vec_remove(&s->actions, i - 1);
	}
}

enum ar_status ar_apply_action_resolved(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_action_resolved *p = PAYLOAD(e, action_resolved);
	struct ar_action *a = ar_session_action(s, e->ids[AR_SCOPE_ACTION]);

	if (!a)
		return ar_apply_unknown(err, e, "action");
	if (ar_apply_move(&a->status, AR_MACHINE_ACTION, e, err) != AR_OK)
		return AR_E_CORRUPT;
	a->decision = ar_apply_keep(s, p->decision);
	a->source = ar_apply_word(e, "decisionSource", p->decision_source);
	a->response_ref = ar_apply_keep(s, p->response_ref);
	if (p->actor)
		a->actor = ar_struct_copy(&ar_shape_actor_desc, p->actor, AR_COPY_TEXT, &s->arena);
	a->resolved = p->resolved_at;
	if (a->type == AR_ACTION_COMPLETION_OVERRIDE || a->type == AR_ACTION_CREDENTIAL)
		ar_apply_lost_decided(s, e, a);
	keep_window(s, a);
	return AR_OK;
}

static void keep_grant(struct ar_session *s, const struct ar_event *e, const struct ar_action *a)
{
	const struct ar_ev_permission_resolved *p = PAYLOAD(e, permission_resolved);
	struct ar_grant *g = ar_arena_alloc(&s->arena, sizeof(*g));

	*g = (struct ar_grant){ .tool = a->tool,
				.rule = a->rule,
				.rule_source = a->rule_source,
				.covers = a->covers,
				.scope = ar_apply_keep(s, p->scope),
				.permission = ar_apply_keep(s, e->event_id),
				.expires = p->expires_at };
	ar_vec_push(&s->arena, &s->grants, g);
	if (s->grants.count > AR_GRANTS_MAX)
		ar_vec_remove(&s->grants, 0);
}

/* What is not allowed ends with facts of its own. */
enum ar_status ar_apply_permission_resolved(struct ar_session *s, const struct ar_event *e,
					    struct ar_error *err)
{
	const struct ar_ev_permission_resolved *p = PAYLOAD(e, permission_resolved);
	const struct ar_action *a = ar_session_action(s, e->ids[AR_SCOPE_ACTION]);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_invocation *call = turn ? ar_turn_call(turn, e->ids[AR_SCOPE_TOOL_CALL]) : NULL;

	if (!a)
		return ar_apply_unknown(err, e, "action");
	if (call)
		call->permission = ar_apply_keep(s, e->event_id);
	if (turn && a->type == AR_ACTION_PLAN_APPROVAL)
		turn->origin.plan_approved =
			AR_OPT_BOOL(p->outcome == AR_PERMISSION_RESOLVED_OUTCOME_ALLOWED);
	if (p->outcome != AR_PERMISSION_RESOLVED_OUTCOME_ALLOWED)
		return AR_OK;
	if (call)
		call->approvals = a->needed;
	if (call && call->stage == AR_CALL_WAITING)
		call->stage = AR_CALL_ALLOWED;
	if (ar_str_is(p->scope, "session"))
		keep_grant(s, e, a);
	return AR_OK;
}
