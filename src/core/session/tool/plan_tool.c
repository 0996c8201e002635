/* The tool by which a turn in mode plan asks to go on: its call is a question to a person, and an approval
 * ends the mode for the rest of the turn. Pure. */
#include "decide.h"
#include "permission/permission.h"
#include "subagent/subagents.h"
#include "task/task.h"
#include "tool/calls.h"

static const struct ar_tool propose_plan = {
	.name = AR_STR(AR_PROPOSE_PLAN),
	.title = AR_STR("Propose a plan"),
	.description =
		AR_STR("Shows a person the plan of what you want to change, and waits for approval. "
		       "Until a plan is approved, tools that change something are denied. Call it when "
		       "you have read what you need; after an approval carry out the plan."),
	.schema = AR_STR("{\"type\":\"object\",\"properties\":{\"plan\":{\"type\":\"string\",\"minLength\":1,"
			 "\"maxLength\":16384,\"description\":\"The plan in Markdown.\"}},"
			 "\"required\":[\"plan\"],\"additionalProperties\":false}"),
	.owner = AR_TOOL_LOCAL,
	.capabilities = AR_TOOL_CUSTOM,
	.is_read_only = true,
	.is_plan = true,
};

bool ar_turn_plans(const struct ar_turn *turn)
{
	return ar_turn_options(turn)->mode == AR_MODE_PLAN;
}

/* A child that may only read, and a task that says so, are not freed by an answer to the model; and what the
 * host, the workspace or the session forbids stays forbidden, whatever a turn is allowed. */
const struct ar_tool *ar_offers_plan_tool(const struct ar_decision *d, const struct ar_turn *turn)
{
	if (!ar_turn_plans(turn) || ar_turn_is_system(turn) ||
	    ar_session_subagent_in(d->session, turn->thread) ||
	    !ar_str_absent(ar_task_constraint_ref(d, turn, "mode")))
		return NULL;
	if (ar_session_workspace_mode(d->session) == AR_MODE_PLAN)
		return NULL;
	if (!d->input->policy->may_loosen && (d->input->policy->permission_mode == AR_MODE_PLAN ||
					      ar_mode_find(d->session->mode) == AR_MODE_PLAN))
		return NULL;
	return &propose_plan;
}

struct ar_str ar_plan_question(struct ar_decision *d, struct ar_str args)
{
	struct ar_str plan = AR_STR_NONE;
	struct ar_json v;

	if (ar_json_parse(d->json, args, &v, NULL) == AR_OK)
		ar_json_str(ar_json_get(v, "plan"), &plan);
	return ar_arena_fmt(
		d->arena,
		"The model proposes this plan, and may change something after it is approved:\n\n%.*s",
		AR_STR_ARG(ar_str_absent(plan) ? args : plan));
}
