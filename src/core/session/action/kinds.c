/* The kinds of questions, as one table: what may be answered, and what stands without an answer. */
#include "action/action.h"

#define DENY AR_ACTION_REQUIRED_ON_TIMEOUT_DENY
#define CANCEL AR_ACTION_REQUIRED_ON_TIMEOUT_CANCEL

#define ALLOW_OR_DENY { "allow", "deny" }, "allow_or_deny", NULL, "deny", DENY

static const struct ar_action_kind kinds[AR_ACTION_TYPE_COUNT] = {
	[AR_ACTION_TOOL_PERMISSION] = { "tool_permission",
					{ "allow", "allow_session", "deny" },
					"allow_or_deny",
					NULL,
					"deny",
					DENY },
	[AR_ACTION_PLAN_APPROVAL] = { "plan_approval",
				      { "approve", "reject" },
				      "approve_or_reject",
				      NULL,
				      "reject",
				      DENY },
	[AR_ACTION_CREDENTIAL] = { "credential",
				   { "provide", "decline" },
				   "provide_or_decline",
				   "provide",
				   "decline",
				   CANCEL },
	[AR_ACTION_STRUCTURED_INPUT] = { "structured_input",
					 { "accept", "decline", "cancel" },
					 "form",
					 "accept",
					 "cancel",
					 CANCEL },
	[AR_ACTION_SANDBOX_ESCALATION] = { "sandbox_escalation", ALLOW_OR_DENY },
	[AR_ACTION_NETWORK_ACCESS] = { "network_access", ALLOW_OR_DENY },
	[AR_ACTION_BUDGET_OVERRIDE] = { "budget_override",
					{ "extend", "stop" },
					"extend_or_stop",
					NULL,
					"stop",
					DENY },
	[AR_ACTION_MODEL_OVERRIDE] = { "model_override", ALLOW_OR_DENY },
	[AR_ACTION_PEER_AUTHORIZATION] = { "peer_authorization", ALLOW_OR_DENY },
	[AR_ACTION_COMPLETION_OVERRIDE] = { "completion_override",
					    { "retry", "skip", "mark_done" },
					    "retry_skip_or_mark_done",
					    NULL,
					    "skip",
					    CANCEL },
	[AR_ACTION_RECOVERY] = { "recovery",
				 { "resume", "interrupt" },
				 "resume_or_interrupt",
				 NULL,
				 "interrupt",
				 CANCEL },
	[AR_ACTION_MERGE_CONFLICT] = { "merge_conflict",
				       { "keep_session", "keep_workspace", "leave_out", "cancel" },
				       "versions_of_files",
				       NULL,
				       "cancel",
				       CANCEL },
	[AR_ACTION_ACCEPTANCE] = { "acceptance",
				   { "approve", "reject" },
				   "approve_or_reject",
				   NULL,
				   "reject",
				   DENY },
};

const struct ar_action_kind *ar_action_kind(enum ar_action_type type)
{
	return &kinds[type];
}

enum ar_action_type ar_action_type_find(struct ar_str name)
{
	for (int i = 1; i < AR_ACTION_TYPE_COUNT; i++) {
		if (ar_str_is(name, kinds[i].name))
			return (enum ar_action_type)i;
	}
	return 0;
}

struct ar_action *ar_session_action(const struct ar_session *s, struct ar_str id)
{
	return ar_vec_last_with(&s->actions, offsetof(struct ar_action, id), id);
}

bool ar_turn_is_waiting(const struct ar_session *s, const struct ar_turn *turn)
{
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (a->status == AR_ACTION_PENDING && ar_str_eq(a->turn, turn->id))
			return true;
	}
	return false;
}

bool ar_turn_is_worked_on(const struct ar_session *s, const struct ar_turn *turn)
{
	return !turn->is_lost && !turn->waits_worker.v && !ar_turn_is_waiting(s, turn);
}

bool ar_action_is_permission(int64_t type)
{
	return !kinds[type].accepting;
}

bool ar_action_holds_turn(int64_t type)
{
	return type != AR_ACTION_RECOVERY && type != AR_ACTION_MERGE_CONFLICT;
}

bool ar_action_is_about_call(int64_t type)
{
	return type == AR_ACTION_TOOL_PERMISSION || type == AR_ACTION_SANDBOX_ESCALATION ||
	       type == AR_ACTION_NETWORK_ACCESS || type == AR_ACTION_PLAN_APPROVAL;
}

bool ar_action_allows(struct ar_str decision)
{
	return ar_str_is(decision, "allow") || ar_str_is(decision, "allow_session") ||
	       ar_str_is(decision, "approve");
}
