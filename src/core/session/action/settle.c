/* A question ends, once: by an answer, by its deadline, by a policy that denies it meanwhile, or
 * with the turn that asked. Pure. */
#include "channel/channel.h"

/* ---- waking ---- */

/* What is due next of it; 0: nothing. */
static ar_usec next_of(const struct ar_action *a)
{
	bool is_ahead = a->escalates && !a->escalated && (!a->expires || a->escalates < a->expires);

	return is_ahead ? a->escalates : a->expires;
}

void ar_decide_wake_for(struct ar_decision *d, const struct ar_action *a)
{
	if (!next_of(a))
		return;
	ar_decide_wake(d, AR_IN_ACTION_DUE, a->id, next_of(a));
}

static void forget_wake(struct ar_decision *d, const struct ar_action *a)
{
	if (next_of(a))
		ar_decide_wake_cancel(d, a->id);
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

static void say_permission(struct ar_decision *d, const struct ar_ids *ids, const struct ar_action *a,
			   const struct ar_settlement *s)
{
	bool is_session = ar_str_is(s->decision, "allow_session");

	if (!ar_action_is_about_call(a->type))
		return;
	ar_decide_emit(d, AR_EV_PERMISSION_RESOLVED, ids,
		       &(struct ar_ev_permission_resolved){ .outcome = outcome_of(s),
							    .decision_source = s->source,
							    .decision_reason = s->reason,
							    .scope = is_session ? AR_STR("session")
										: AR_STR("once"),
							    .expires_at = is_session ? s->grant_expires : 0,
							    .approval_action_id = a->id });
}

/* Both facts are of one decision, so they are durable together or not at all. */
static void say_settled(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a,
			const struct ar_settlement *s)
{
	const struct ar_invocation *call = ar_turn_call(turn, a->call);
	struct ar_ids ids = ar_ids_turn(d, turn);

	forget_wake(d, a);
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
			       /* some would put the secret there, and facts are read by many */
			       .comment = a->type == AR_ACTION_CREDENTIAL ? AR_STR_NONE : s->comment,
			       .approvals = s->approvals });
	say_permission(d, &ids, a, s);
	ar_bridge_answer(d, &ids, s);
}

struct ar_vec ar_turn_open_actions(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_session *s = d->session;
	struct ar_vec open = { 0 };

	for (size_t i = 0; i < s->actions.count; i++) {
		struct ar_action *a = s->actions.at[i];

		if (a->status == AR_ACTION_PENDING && ar_str_eq(a->turn, turn->id))
			ar_vec_push(d->arena, &open, a);
	}
	return open;
}

static void go_on(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a)
{
	if (turn->is_lost || !ar_action_holds_turn(a->type) || ar_turn_is_waiting(d->session, turn))
		return; /* nobody works on it, or others keep it waiting */
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_RUNNING, AR_REASON_ANSWERED,
			 "preparing", turn);
	ar_action_emit(d, turn, a->id, AR_EV_TASK_RESUMED,
		       &(struct ar_ev_task_resumed){
			       .reason = AR_STR("the decision it waited for is settled"),
			       .from_status = ar_action_is_permission(a->type) ? AR_STR("waiting_permission")
									       : AR_STR("waiting_input"),
			       .actor = d->input->account });
}

/* ---- ways to end ---- */

void ar_decide_settle(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
		      const struct ar_settlement *s)
{
	say_settled(d, turn, a, s);
	go_on(d, turn, a);
	ar_action_continue(d, turn, a, s);
}

/* What its deadline says, now that it is over. */
static void expire(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a)
{
	const struct ar_action_kind *kind = ar_action_kind((enum ar_action_type)a->type);

	ar_decide_settle(d, turn, a,
			 &(struct ar_settlement){ .decision = ar_str_from(kind->unanswered),
						  .source = AR_ACTION_RESOLVED_DECISION_SOURCE_TIMEOUT,
						  .reason = AR_STR("nobody answered before the deadline") });
}

/* The arguments of the call are not at hand here, so rules about them speak only of calls that come later. */
static struct ar_judgement judge_again(struct ar_decision *d, const struct ar_turn *turn,
				       const struct ar_action *a)
{
	const struct ar_invocation *call = ar_turn_call(turn, a->call);
	struct ar_offers offers = ar_offers_of(d, turn);
	const struct ar_tool *offered = ar_offers_find(&offers, a->tool);
	struct ar_tool as_called = { .name = a->tool,
				     .is_read_only = call && call->is_read_only,
				     .is_destructive = a->is_destructive };

	return ar_permission_judge(d, turn,
				   &(struct ar_act){ .tool = offered ? offered : &as_called,
						     .name = a->tool });
}

void ar_decide_overrule(struct ar_decision *d, struct ar_turn *turn)
{
	struct ar_vec open = ar_turn_open_actions(d, turn);

	for (size_t i = 0; i < open.count; i++) {
		const struct ar_action *a = open.at[i];
		struct ar_judgement j;

		if (a->status != AR_ACTION_PENDING || !ar_action_is_about_call(a->type))
			continue;
		j = judge_again(d, turn, a);
		if (j.verdict == AR_DENY)
			ar_decide_settle(d, turn, a,
					 &(struct ar_settlement){
						 .decision = AR_STR("deny"),
						 .source = AR_ACTION_RESOLVED_DECISION_SOURCE_POLICY,
						 .reason = j.reason });
	}
}

void ar_decide_cancel_actions(struct ar_decision *d, const struct ar_turn *turn, struct ar_str reason)
{
	struct ar_vec open = ar_turn_open_actions(d, turn);

	for (size_t i = 0; i < open.count; i++)
		say_settled(d, turn, open.at[i],
			    &(struct ar_settlement){ .decision = AR_STR("cancel"),
						     .source = AR_ACTION_RESOLVED_DECISION_SOURCE_CANCELLED,
						     .reason = ar_str_empty(reason) ? AR_STR("the turn ended")
										    : reason });
}

void ar_decide_close_recovery(struct ar_decision *d, const struct ar_turn *turn)
{
	struct ar_vec open = ar_turn_open_actions(d, turn);

	for (size_t i = 0; i < open.count; i++) {
		const struct ar_action *a = open.at[i];

		if (a->type == AR_ACTION_RECOVERY)
			say_settled(d, turn, a,
				    &(struct ar_settlement){ .decision = AR_STR("resume"),
							     .source =
								     AR_ACTION_RESOLVED_DECISION_SOURCE_HOST,
							     .reason = AR_STR("the thread was resumed") });
	}
}

void ar_decide_cancel_questions(struct ar_decision *d, const struct ar_turn *turn, struct ar_str call)
{
	struct ar_vec open = ar_turn_open_actions(d, turn);

	for (size_t i = 0; i < open.count; i++) {
		const struct ar_action *a = open.at[i];

		if (ar_str_absent(a->question) || !ar_str_eq(a->call, call))
			continue;
		say_settled(d, turn, a,
			    &(struct ar_settlement){ .decision = AR_STR("cancel"),
						     .source = AR_ACTION_RESOLVED_DECISION_SOURCE_CANCELLED,
						     .reason = AR_STR("the call that asked has ended") });
		go_on(d, turn, a);
	}
}

void ar_decide_wait_on(struct ar_decision *d, const struct ar_turn *turn)
{
	struct ar_vec open = ar_turn_open_actions(d, turn);

	for (size_t i = 0; i < open.count; i++)
		ar_decide_wake_for(d, open.at[i]);
}

void ar_decide_still_waits(struct ar_decision *d, const struct ar_turn *turn)
{
	struct ar_vec open = ar_turn_open_actions(d, turn);
	const struct ar_action *a = open.count > 0 ? open.at[0] : NULL;

	if (a)
		ar_decide_say_waiting(d, turn, (enum ar_action_type)a->type, a->id);
}

void ar_decide_wait_again(struct ar_decision *d, struct ar_turn *turn)
{
	struct ar_vec open;

	ar_decide_overrule(d, turn); /* the host's policy may be another one now */
	open = ar_turn_open_actions(d, turn);
	for (size_t i = 0; i < open.count; i++) {
		const struct ar_action *a = open.at[i];

		if (a->status != AR_ACTION_PENDING)
			continue;
		if (a->expires && a->expires <= d->input->now)
			expire(d, turn, a);
		else
			ar_decide_wake_for(d, a);
	}
}

enum ar_status ar_decide_action_due(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_action *a = ar_session_action(d->session, d->input->due);
	struct ar_thread *t;
	struct ar_turn *turn = a ? ar_session_turn(d->session, a->turn, &t) : NULL;

	(void)err;
	if (!turn || a->status != AR_ACTION_PENDING)
		return AR_OK;
	if (ar_decide_escalate(d, turn, a))
		return AR_OK;
	if (!a->expires || a->expires > d->input->now) /* the wall clock was set back meanwhile */
		ar_decide_wake_for(d, a);
	else
		expire(d, turn, a);
	return AR_OK;
}
