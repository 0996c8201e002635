/* A question ends, once: by an answer, by its deadline, by a policy that denies it meanwhile, or with the turn that asked. Pure. */
#include "channel/channel.h"

/* ---- waking ---- */

/* What is due next of it; 0: nothing. */
static ar_usec next_of(const struct ar_action *a)
{
	bool is_ahead = a->escalates && !a->escalated && (!a->expires || a->escalates < a->expires);

	return is_ahead ? a->escalates : a->expires;
}

void ar_draft_wake_for(struct ar_draft *w, const struct ar_action *a)
{
	struct ar_effect *wake;

	if (!next_of(a))
		return;
	wake = ar_decide_effect(w->d, AR_EFFECT_WAKE);
	wake->input = AR_IN_ACTION_DUE;
	wake->subject = a->id;
	wake->at = next_of(a);
}

static void forget_wake(struct ar_draft *w, const struct ar_action *a)
{
	if (next_of(a))
		ar_decide_effect(w->d, AR_EFFECT_WAKE_CANCEL)->subject = a->id;
}

/* ---- facts ---- */

static int outcome_of(const struct ar_settlement *s)
{
	static const int by_source[] = {
		[AR_ACTION_RESOLVED_DECISION_SOURCE_TIMEOUT] = AR_PERMISSION_RESOLVED_OUTCOME_TIMED_OUT,
		[AR_ACTION_RESOLVED_DECISION_SOURCE_CANCELLED] = AR_PERMISSION_RESOLVED_OUTCOME_CANCELLED,
		[AR_ACTION_RESOLVED_DECISION_SOURCE_REMOTE] = 0,
	};

	if (by_source[s->source])
		return by_source[s->source];
	return ar_action_allows(s->decision) ? AR_PERMISSION_RESOLVED_OUTCOME_ALLOWED
					     : AR_PERMISSION_RESOLVED_OUTCOME_DENIED;
}

static struct ar_str say_permission(struct ar_decision *d, const struct ar_ids *ids,
				    const struct ar_action *a, const struct ar_settlement *s)
{
	bool is_session = ar_str_is(s->decision, "allow_session");

	if (!ar_action_is_about_call(a->type))
		return AR_STR_NONE;
	ar_decide_emit(d, AR_EV_PERMISSION_RESOLVED, ids,
		       &(struct ar_ev_permission_resolved){ .outcome = outcome_of(s),
							    .decision_source = s->source,
							    .decision_reason = s->reason,
							    .scope = is_session ? AR_STR("session")
										: AR_STR("once"),
							    .expires_at = is_session ? s->grant_expires : 0,
							    .approval_action_id = a->id });
	return d->events[d->event_count - 1].event_id;
}

/* Both facts are of one decision, so they are durable together or not at all. Returns the permission fact's id. */
static struct ar_str say_settled(struct ar_draft *w, const struct ar_turn *turn, const struct ar_action *a,
				 const struct ar_settlement *s)
{
	struct ar_decision *d = w->d;
	const struct ar_invocation *call = ar_turn_call(turn, a->call);
	struct ar_ids ids = ar_ids_turn(d, turn);
	struct ar_str permission;

	ids.at[AR_SCOPE_STEP] = call ? call->step : AR_STR_NONE;
	ids.at[AR_SCOPE_TOOL_CALL] = a->call;
	ids.at[AR_SCOPE_ACTION] = a->id;
	ar_decide_emit(d, AR_EV_ACTION_RESOLVED, &ids,
		       &(struct ar_ev_action_resolved){
			       .decision = s->decision,
			       .decision_source = s->source,
			       .resolved_at = d->input->now,
			       .response_ref = ar_str_absent(s->response) ? AR_STR_NONE
									  : ar_decide_content(d, s->response),
			       .channel_id = s->channel,
			       .actor = s->actor,
			       .approvals = s->approvals });
	ar_vec_push(d->arena, &w->settled, (void *)a);
	forget_wake(w, a);
	permission = say_permission(d, &ids, a, s);
	ar_bridge_answer(d, &ids, s);
	return permission;
}

static bool is_settled(const struct ar_draft *w, const struct ar_action *a)
{
	size_t at;

	return a->status != AR_ACTION_PENDING || ar_vec_find(&w->settled, a, &at);
}

/* The next question of the turn that is still open; NULL when none is. */
static const struct ar_action *open_action(const struct ar_draft *w, const struct ar_turn *turn)
{
	const struct ar_session *s = w->d->session;

	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (ar_str_eq(a->turn, turn->id) && !is_settled(w, a))
			return a;
	}
	return NULL;
}

static void go_on(struct ar_draft *w, const struct ar_turn *turn, const struct ar_action *a)
{
	bool was_permission = ar_action_kind((enum ar_action_type)a->type)->is_permission;
	struct ar_ids ids = ar_ids_turn(w->d, turn);

	if (turn->is_lost || a->type == AR_ACTION_RECOVERY || open_action(w, turn))
		return; /* nobody works on it, or others keep it waiting */
	ids.at[AR_SCOPE_ACTION] = a->id;
	ar_draft_status(w, AR_THREAD_STATUS_RUNNING, AR_REASON_ANSWERED, "preparing", turn);
	ar_decide_emit(w->d, AR_EV_TASK_RESUMED, &ids,
		       &(struct ar_ev_task_resumed){
			       .reason = AR_STR("the decision it waited for is settled"),
			       .from_status = was_permission ? AR_STR("waiting_permission")
							     : AR_STR("waiting_input") });
}

/* ---- ways to end ---- */

void ar_draft_settle(struct ar_draft *w, struct ar_turn *turn, const struct ar_action *a,
		     const struct ar_settlement *s)
{
	struct ar_str permission = say_settled(w, turn, a, s);

	go_on(w, turn, a);
	ar_action_continue(w, turn, a, s, permission);
}

void ar_draft_expire(struct ar_draft *w, struct ar_turn *turn, const struct ar_action *a)
{
	const struct ar_action_kind *kind = ar_action_kind((enum ar_action_type)a->type);

	ar_draft_settle(w, turn, a,
			&(struct ar_settlement){ .decision = ar_str_from(kind->unanswered),
						 .source = AR_ACTION_RESOLVED_DECISION_SOURCE_TIMEOUT,
						 .reason = AR_STR("nobody answered before the deadline") });
}

/* The arguments of the call are not at hand here, so rules about them speak only of calls that come later. */
static struct ar_judgement judge_again(struct ar_draft *w, const struct ar_turn *turn,
				       const struct ar_action *a)
{
	const struct ar_invocation *call = ar_turn_call(turn, a->call);
	struct ar_offers offers = ar_offers_of(w->d, turn);
	const struct ar_tool *offered = ar_offers_find(&offers, a->tool);
	struct ar_tool as_called = { .name = a->tool,
				     .is_read_only = call && call->is_read_only,
				     .is_destructive = a->is_destructive };

	return ar_permission_judge(w->d, turn,
				   &(struct ar_act){ .tool = offered ? offered : &as_called,
						     .name = a->tool });
}

void ar_draft_overrule(struct ar_draft *w, struct ar_turn *turn)
{
	const struct ar_session *s = w->d->session;

	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];
		struct ar_judgement j;

		if (!ar_str_eq(a->turn, turn->id) || is_settled(w, a) || !ar_action_is_about_call(a->type))
			continue;
		j = judge_again(w, turn, a);
		if (j.verdict == AR_DENY)
			ar_draft_settle(w, turn, a,
					&(struct ar_settlement){
						.decision = AR_STR("deny"),
						.source = AR_ACTION_RESOLVED_DECISION_SOURCE_POLICY,
						.reason = j.reason });
	}
}

void ar_draft_cancel_actions(struct ar_draft *w, const struct ar_turn *turn, struct ar_str reason)
{
	const struct ar_action *a;

	while ((a = open_action(w, turn)))
		say_settled(w, turn, a,
			    &(struct ar_settlement){ .decision = AR_STR("cancel"),
						     .source = AR_ACTION_RESOLVED_DECISION_SOURCE_CANCELLED,
						     .reason = ar_str_empty(reason) ? AR_STR("the turn ended")
										    : reason });
}

void ar_draft_close_recovery(struct ar_draft *w, const struct ar_turn *turn)
{
	const struct ar_session *s = w->d->session;

	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (a->type == AR_ACTION_RECOVERY && ar_str_eq(a->turn, turn->id) && !is_settled(w, a))
			say_settled(w, turn, a,
				    &(struct ar_settlement){ .decision = AR_STR("resume"),
							     .source =
								     AR_ACTION_RESOLVED_DECISION_SOURCE_HOST,
							     .reason = AR_STR("the thread was resumed") });
	}
}

void ar_draft_cancel_questions(struct ar_draft *w, const struct ar_turn *turn, struct ar_str call)
{
	const struct ar_session *s = w->d->session;

	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (ar_str_absent(a->question) || !ar_str_eq(a->call, call) || is_settled(w, a))
			continue;
		say_settled(w, turn, a,
			    &(struct ar_settlement){ .decision = AR_STR("cancel"),
						     .source = AR_ACTION_RESOLVED_DECISION_SOURCE_CANCELLED,
						     .reason = AR_STR("the call that asked has ended") });
		go_on(w, turn, a);
	}
}

void ar_draft_wait_on(struct ar_draft *w, const struct ar_turn *turn)
{
	const struct ar_session *s = w->d->session;

	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (ar_str_eq(a->turn, turn->id) && !is_settled(w, a))
			ar_draft_wake_for(w, a);
	}
}

void ar_draft_still_waits(struct ar_draft *w, const struct ar_turn *turn)
{
	const struct ar_action *a = open_action(w, turn);

	if (a)
		ar_draft_say_waiting(w, turn, (enum ar_action_type)a->type, a->id);
}

void ar_draft_wait_again(struct ar_draft *w, struct ar_turn *turn)
{
	const struct ar_session *s = w->d->session;

	ar_draft_overrule(w, turn); /* the host's policy may be another one now */
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (!ar_str_eq(a->turn, turn->id) || is_settled(w, a))
			continue;
		if (a->expires && a->expires <= w->d->input->now)
			ar_draft_expire(w, turn, a);
		else
			ar_draft_wake_for(w, a);
	}
}

enum ar_status ar_decide_action_due(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_action *a = ar_session_action(d->session, d->input->subject);
	struct ar_thread *t;
	struct ar_turn *turn = a ? ar_session_turn(d->session, a->turn, &t) : NULL;
	struct ar_draft w;

	(void)err;
	if (!turn || a->status != AR_ACTION_PENDING)
		return AR_OK;
	w = ar_draft_of(d, t);
	if (ar_draft_escalate(&w, turn, a))
		return AR_OK;
	if (!a->expires || a->expires > d->input->now) /* the wall clock was set back meanwhile */
		ar_draft_wake_for(&w, a);
	else
		ar_draft_expire(&w, ar_draft_own(&w, turn), a);
	return AR_OK;
}
