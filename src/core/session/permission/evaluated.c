/* A judgement becomes a fact, and the fact becomes what readers are shown of it. Pure. */
#include "apply.h"
#include "decide.h"
#include "permission/permission.h"

static struct ar_str profile_word(enum ar_sandbox_profile profile)
{
	return profile ? ar_str_from(ar_sandbox_name(profile)) : AR_STR_NONE;
}

struct ar_str ar_permission_emit(struct ar_decision *d, const struct ar_ids *ids,
				 const struct ar_judgement *j, struct ar_str action)
{
	struct ar_ids scope = *ids;

	scope.at[AR_SCOPE_ACTION] = action;
	ar_decide_emit(d, AR_EV_PERMISSION_EVALUATED, &scope,
		       &(struct ar_ev_permission_evaluated){ .decision = (int)j->verdict,
							     .decision_source = j->source,
							     .decision_reason = j->reason,
							     .rule_refs = j->rules,
							     .updated_input_ref = j->updated_input,
							     .approval_action_id = action,
							     .expires_at = j->expires,
							     .scope = j->scope,
							     .mode = ar_str_from(j->mode),
							     .destructive = j->destructive,
							     .impact_scope = j->impact,
							     .rollback_advice = j->advice,
							     .sandbox_profile = profile_word(j->profile),
							     .command_digest = j->digest });
	return d->events[d->event_count - 1].event_id;
}

static void keep_judged(struct ar_session *s, const struct ar_event *e, struct ar_thread *t)
{
	const struct ar_ev_permission_evaluated *p = PAYLOAD(e, permission_evaluated);
	struct ar_judged *judged = ar_arena_alloc(&s->arena, sizeof(*judged));

	*judged = (struct ar_judged){ .call = ar_apply_keep(s, e->ids[AR_SCOPE_TOOL_CALL]),
				      .verdict = ar_apply_word(e, "decision", p->decision),
				      .source = ar_apply_word(e, "decisionSource", p->decision_source),
				      .reason = ar_apply_keep(s, p->decision_reason),
				      .rules = ar_arena_texts(&s->arena, p->rule_refs),
				      .mode = ar_apply_keep(s, p->mode),
				      .permission = ar_apply_keep(s, e->event_id),
				      .destructive = p->destructive,
				      .at = e->time };
	ar_vec_push(&s->arena, &t->judged, judged);
	if (t->judged.count > AR_WINDOW_JUDGED)
		ar_vec_remove(&t->judged, 0);
}

/* An act that was only described has no call. */
enum ar_status ar_apply_permission_evaluated(struct ar_session *s, const struct ar_event *e,
					     struct ar_error *err)
{
	const struct ar_ev_permission_evaluated *p = PAYLOAD(e, permission_evaluated);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_invocation *call = turn ? ar_turn_call(turn, e->ids[AR_SCOPE_TOOL_CALL]) : NULL;

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	keep_judged(s, e, t);
	if (!call)
		return AR_OK;
	call->permission = ar_apply_keep(s, e->event_id);
	call->command_digest = ar_apply_keep(s, p->command_digest);
	if (!ar_str_absent(p->sandbox_profile) && p->decision != AR_PERMISSION_EVALUATED_DECISION_DENY &&
	    p->decision != AR_PERMISSION_EVALUATED_DECISION_UNAVAILABLE)
		call->profile = AR_OPT_INT(ar_sandbox_find(p->sandbox_profile));
	if (p->decision == AR_PERMISSION_EVALUATED_DECISION_ALLOW ||
	    p->decision == AR_PERMISSION_EVALUATED_DECISION_SANDBOXED)
		call->stage = AR_CALL_ALLOWED;
	else if (p->decision == AR_PERMISSION_EVALUATED_DECISION_ASK)
		call->stage = AR_CALL_WAITING;
	return AR_OK;
}
