/* A question is asked: what becomes true of it, of the thread and of the task, and when to come
 * back if nobody answers. Pure. */
#include "channel/channel.h"
#include "tool/calls.h"

#define PROMPT_MAX \
	2048 /* of a question as it is sent and listed; a longer one is kept whole under promptRef */

void ar_action_emit(struct ar_decision *d, const struct ar_turn *turn, struct ar_str action,
		    enum ar_event_type type, const void *payload)
{
	struct ar_ids ids = ar_ids_turn(d, turn);

	ids.at[AR_SCOPE_ACTION] = action;
	ar_decide_emit(d, type, &ids, payload);
}

struct ar_str ar_action_mint(struct ar_decision *d)
{
	return ar_decide_mint(d, "action", &d->counters.action);
}

/* Why it is asked; what a grant will answer for is read from here. */
static struct ar_shape_action_policy policy_of(const struct ar_judgement *j)
{
	return (struct ar_shape_action_policy){
		.mode = ar_str_from(j->mode),
		.rule_refs = j->rules,
		.rule = j->rule,
		.rule_source = j->rule_source,
		.reason = j->reason,
		.covers = j->covers,
		.sandbox_profile = j->profile ? ar_str_from(ar_sandbox_name(j->profile)) : AR_STR_NONE,
		.justification = j->justification,
	};
}

/* Those of its kind, unless the asker offers others. */
static struct ar_texts decisions_of(struct ar_decision *d, const struct ar_ask *ask)
{
	const struct ar_action_kind *kind = ar_action_kind(ask->type);
	struct ar_str *words;
	size_t count = 0;

	if (ask->decisions.at)
		return ask->decisions;
	words = ar_arena_alloc(d->arena, AR_ARRAY_LEN(kind->decisions) * sizeof(*words));
	while (count < AR_ARRAY_LEN(kind->decisions) && kind->decisions[count]) {
		words[count] = ar_str_from(kind->decisions[count]);
		count++;
	}
	return (struct ar_texts){ words, count };
}

/* 0: never. */
static ar_usec time_after(const struct ar_decision *d, int64_t ms)
{
	return ms > 0 ? d->input->now + ms * 1000 : 0;
}

struct ar_str ar_action_digest(struct ar_arena *a, struct ar_str action, struct ar_str whole)
{
	if (ar_str_absent(whole)) /* only a form is asked for */
		whole = AR_STR("");
	return ar_action_check(a, ar_arena_join(a, (struct ar_str[]){ action, AR_STR("\n"), whole }, 3));
}

struct ar_str ar_action_check(struct ar_arena *a, struct ar_str digest)
{
	return ar_hash_digits(a, digest, AR_HASH_HEX);
}

static void say_required(struct ar_decision *d, const struct ar_ids *ids, const struct ar_ask *ask,
			 const struct ar_shape_action_scope *scope, ar_usec expires)
{
	const struct ar_action_kind *kind = ar_action_kind(ask->type);
	const struct ar_judgement *j = ask->judgement;
	ar_usec escalates = time_after(d, d->input->policy->escalate_ms);
	struct ar_opt_bool destructive = { j && j->destructive, j != NULL };
	bool is_truncated = ask->prompt.len > PROMPT_MAX;
	int64_t approvals = ask->approvals ? ask->approvals : j ? j->approvals : 0;
	struct ar_str digest = ar_action_digest(d->arena, ids->at[AR_SCOPE_ACTION], ask->prompt);
	const struct ar_shape_action_policy policy = j ? policy_of(j) : (struct ar_shape_action_policy){ 0 };

	ar_decide_emit(d, AR_EV_ACTION_REQUIRED, ids,
		       &(struct ar_ev_action_required){
			       .action_type = ar_str_from(kind->name),
			       .prompt = ar_arena_excerpt(d->arena, ask->prompt, PROMPT_MAX),
			       .is_truncated = { is_truncated, is_truncated },
			       .prompt_ref = is_truncated ? ar_decide_content(d, ask->prompt) : AR_STR_NONE,
			       .prompt_check = ar_action_check(d->arena, digest),
			       .schema = ask->schema,
			       .decisions = decisions_of(d, ask),
			       .decision_kind = ar_str_from(kind->decision_kind),
			       .scope = scope,
			       .policy = j ? &policy : NULL,
			       .expires_at = expires,
			       .escalate_at = escalates,
			       .escalate_to = escalates ? d->input->policy->escalate_to : AR_STR_NONE,
			       .on_timeout = kind->on_timeout,
			       .tool_name = ask->tool,
			       .destructive = destructive,
			       .impact_scope = j ? j->impact : AR_STR_NONE,
			       .rollback_advice = j ? j->advice : AR_STR_NONE,
			       .approvals = { approvals, approvals > 0 } });
}

static void say_requested(struct ar_decision *d, const struct ar_ids *ids, const struct ar_ask *ask,
			  const struct ar_shape_action_scope *scope, ar_usec expires)
{
	if (!ar_action_is_about_call(ask->type) || !ask->judgement)
		return;
	ar_decide_emit(d, AR_EV_PERMISSION_REQUESTED, ids,
		       &(struct ar_ev_permission_requested){
			       .requested_from = AR_PERMISSION_REQUESTED_REQUESTED_FROM_HUMAN,
			       .approval_action_id = ids->at[AR_SCOPE_ACTION],
			       .target = scope,
			       .mode = ar_str_from(ask->judgement->mode),
			       .rule_refs = ask->judgement->rules,
			       .expires_at = expires });
}

void ar_decide_say_waiting(struct ar_decision *d, const struct ar_turn *turn, enum ar_action_type type,
			   struct ar_str action)
{
	bool is_permission = ar_action_is_permission(type);
	const char *detail = is_permission ? "waiting_permission" : "waiting_input";

	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_BLOCKED, AR_REASON_ASKED, detail,
			 turn);
	ar_action_emit(d, turn, action, AR_EV_TASK_WAITING,
		       &(struct ar_ev_task_waiting){
			       .wait_for = is_permission ? AR_TASK_WAITING_WAIT_FOR_PERMISSION
							 : AR_TASK_WAITING_WAIT_FOR_INPUT,
			       .status = is_permission ? AR_TASK_WAITING_STATUS_WAITING_PERMISSION
						       : AR_TASK_WAITING_STATUS_WAITING_INPUT,
			       .status_reason =
				       AR_STR("a person has to decide; respond_action ends the wait"),
			       .action_id = action });
}

struct ar_str ar_decide_ask(struct ar_decision *d, const struct ar_turn *turn, const struct ar_ask *ask)
{
	struct ar_str action = ar_str_absent(ask->id) ? ar_action_mint(d) : ask->id;
	const struct ar_shape_action_scope scope = { .session_id = d->session->id,
						     .thread_id = turn->thread,
						     .turn_id = turn->id,
						     .tool_call_id = ask->call,
						     .tool_name = ask->tool,
						     .input_ref = ask->input_ref,
						     .question_id = ask->question };
	struct ar_ids ids = ar_ids_turn(d, turn);
	ar_usec escalates = time_after(d, d->input->policy->escalate_ms);
	ar_usec expires = ask->expires ? ask->expires : time_after(d, d->input->policy->action_timeout_ms);

	ids.at[AR_SCOPE_STEP] = ask->step;
	ids.at[AR_SCOPE_TOOL_CALL] = ask->call;
	ids.at[AR_SCOPE_ACTION] = action;
	say_required(d, &ids, ask, &scope, expires);
	say_requested(d, &ids, ask, &scope, expires);
	ar_bridge_ask(d, &ids, expires);
	if (ar_action_holds_turn(ask->type))
		ar_decide_say_waiting(d, turn, ask->type, action);
	ar_decide_wake_for(d,
			   &(struct ar_action){ .id = action, .expires = expires, .escalates = escalates });
	return action;
}

struct ar_str ar_decide_ask_permission(struct ar_decision *d, const struct ar_turn *turn,
				       const struct ar_act *act, struct ar_ask ask)
{
	static const struct ar_str once[] = { AR_STR("allow"), AR_STR("deny") };
	struct ar_str args = ar_str_absent(act->args) ? AR_STR("{}") : act->args;

	ask.type = !ask.judgement->is_escalation   ? AR_ACTION_TOOL_PERMISSION
		   : ask.judgement->is_for_network ? AR_ACTION_NETWORK_ACCESS
						   : AR_ACTION_SANDBOX_ESCALATION;
	ask.tool = act->name;
	if (ask.judgement->is_plan) {
		ask.type = AR_ACTION_PLAN_APPROVAL;
		ask.prompt = ar_plan_question(d, args);
	} else if (ask.judgement->is_single)
		ask.decisions = (struct ar_texts){ once, AR_ARRAY_LEN(once) };
	if (ar_str_absent(ask.prompt))
		ask.prompt = ar_arena_fmt(d->arena,
					  "%sIt is asked because %.*s. May the tool '%.*s' run with %.*s?",
					  ask.judgement->destructive ? "This cannot be undone. " : "",
					  AR_STR_ARG(ask.judgement->reason), AR_STR_ARG(act->name),
					  AR_STR_ARG(args));
	return ar_decide_ask(d, turn, &ask);
}
