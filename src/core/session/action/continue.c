/* What an answer means for the asker, by kind of question. Pure. */
#include "action/action.h"
#include "limits/budget.h"
#include "task/task.h"
#include "workspace/isolation.h"

typedef void continue_fn(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			 const struct ar_settlement *s);

/* A tool that asked in the middle of its work gets its answer and goes on. */
static void answer_tool(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			const struct ar_settlement *s)
{
	(void)turn;
	if (!ar_str_absent(a->question))
		ar_decide_effect(d, AR_EFFECT_TOOL_ANSWER)->tool_answer =
			(struct ar_effect_tool_answer){ .call = a->call,
							.question = a->question,
							.decision = s->decision,
							.content = s->payload };
}

static void decide_call(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			const struct ar_settlement *s)
{
	ar_call_decided(d, turn, a->call, ar_action_allows(s->decision), s->reason);
}

static void decide_lost(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			const struct ar_settlement *s)
{
	(void)s;
	ar_call_recovered(d, turn, a->call);
}

/* One that a tool asked for itself is its answer; without it the call was refused, and is tried again. */
static void decide_credential(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			      const struct ar_settlement *s)
{
	if (ar_str_absent(a->question))
		ar_call_recovered(d, turn, a->call);
	else
		answer_tool(d, turn, a, s);
}

static void decide_budget(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			  const struct ar_settlement *s)
{
	ar_budget_decided(d, turn, a, s->decision);
}

static void decide_recovery(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			    const struct ar_settlement *s)
{
	(void)a;
	if (!turn->is_lost)
		return;
	if (ar_str_is(s->decision, "resume"))
		ar_decide_resume_lost(d, turn);
	else
		ar_decide_interrupt(d, turn, s->reason);
}

static void decide_merge(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			 const struct ar_settlement *s)
{
	(void)turn;
	ar_isolation_answered(d, a, s);
}

static void decide_criterion(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			     const struct ar_settlement *s)
{
	ar_acceptance_answered(d, turn,
			       &(struct ar_shape_criterion){
				       .satisfied = AR_OPT_BOOL(ar_str_is(s->decision, "approve")),
				       .ref = a->id,
				       .reason = s->reason });
}

static continue_fn *const by_type[AR_ACTION_TYPE_COUNT] = {
	[AR_ACTION_TOOL_PERMISSION] = decide_call,     [AR_ACTION_STRUCTURED_INPUT] = answer_tool,
	[AR_ACTION_CREDENTIAL] = decide_credential,    [AR_ACTION_BUDGET_OVERRIDE] = decide_budget,
	[AR_ACTION_COMPLETION_OVERRIDE] = decide_lost, [AR_ACTION_SANDBOX_ESCALATION] = decide_call,
	[AR_ACTION_RECOVERY] = decide_recovery,	       [AR_ACTION_MERGE_CONFLICT] = decide_merge,
	[AR_ACTION_ACCEPTANCE] = decide_criterion,     [AR_ACTION_PLAN_APPROVAL] = decide_call,
	[AR_ACTION_PEER_AUTHORIZATION] = answer_tool,  [AR_ACTION_NETWORK_ACCESS] = decide_call,
};

void ar_action_continue(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			const struct ar_settlement *s)
{
	if (by_type[a->type])
		by_type[a->type](d, turn, a, s);
}
