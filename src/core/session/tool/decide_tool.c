/* The tool calls of one model answer, from the request to the last result.
 *
 *   PLANNED -> WAITING -> ALLOWED -> RUNNING -> ENDED;  UNKNOWN: it ran, and its end was lost
 *
 * Each stage is a fact, so a crash between any two of them can be taken up:
 *
 * - PLANNED: the model asked for it (model.completed). The tool is looked up, the arguments are checked
 *   against its schema, and hooks before the call are asked. A hook may change the arguments; they are
 *   checked again.
 * - WAITING or ALLOWED: the call was judged (permission.evaluated). A question to a person is asked here.
 * - RUNNING: tool.started, written before the tool is called. After a crash a tool that is safe to repeat
 *   runs again; for any other a person decides, because nobody knows whether it took effect.
 * - ENDED: tool.result or tool.failed. The answers join the conversation when the last call of the answer
 *   has ended, in the order in which the model asked; then the model is asked again.
 *
 * Order. Calls start in the order of the request. Only consecutive calls that may run beside others run
 * together, so a read sees what a write before it did and nothing that a write after it does.
 *
 * A call that may not run ends with facts too: tool.started with the policy that stopped it, then
 * tool.failed with the reason that the model reads. Nothing here runs a tool: starting one is an effect,
 * its end an input. */
#include "action/action.h"
#include "checkpoint/checkpoints.h"
#include "workspace/isolation.h"
#include "hook/hooks.h"
#include "limits/budget.h"
#include "process/record.h"
#include "quota/quota.h"
#include "subagent/subagents.h"
#include "task/task.h"
#include "tool/calls.h"
#include "worker/worker.h"
#include "identity.h"
#include "schema.h"

#define MILLISECOND 1000

/* ---- may it run ---- */

/* What is wrong with the arguments, in words for the model; absent: nothing. A schema that
 * cannot be read checks nothing here: the tool will. One that takes too long lets no call pass:
 * the calls of one answer share the steps, and a call that used them up must not unbind the others. */
static struct ar_str fault_in(struct ar_decision *d, const struct ar_tool *tool, struct ar_str args,
			      bool *ret_gave_up)
{
	struct ar_schema *schema = NULL;
	struct ar_schema_fault fault;
	struct ar_error err = { 0 };
	struct ar_json v;
	bool is_good;

	if (!ar_str_empty(tool->schema) &&
	    ar_schema_compile(tool->schema, d->json, &d->schema_steps, &schema, &err) != AR_OK)
		schema = NULL;
	if (!d->schema_steps) {
		ar_schema_free(schema);
		*ret_gave_up = true;
		return AR_STR("the schema of this tool takes too long to read, so the arguments were not "
			      "checked; use another tool");
	}
	if (ar_json_parse(d->json, ar_str_empty(args) ? AR_STR("{}") : args, &v, NULL) != AR_OK ||
	    ar_json_type(v) != AR_JSON_OBJECT) {
		ar_schema_free(schema);
		return AR_STR("the arguments have to be one JSON object");
	}
	is_good = !schema || ar_schema_check(schema, v, &d->schema_steps, &fault);
	*ret_gave_up = !is_good && fault.gave_up;
	ar_schema_free(schema);
	return is_good ? AR_STR_NONE : ar_arena_str(d->arena, ar_str_from(fault.message));
}

static void deny(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
		 struct ar_str reason, struct ar_str hook_run)
{
	ar_decide_refuse_call(d, turn, call, "denied",
			      &(struct ar_call_failure){
				      .status = AR_TOOL_FAILED_STATUS_DENIED,
				      .category = AR_STR("permission_denied"),
				      .message = ar_arena_fmt(d->arena, "the call was not allowed: %.*s",
							      AR_STR_ARG(reason)),
				      .advice = AR_STR("go on without it, or say what it is needed for"),
				      .hook_run = hook_run });
}

static void no_such_tool(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call)
{
	struct ar_str denied = ar_subagent_denies(d, turn, call->name);

	if (!ar_str_absent(denied)) {
		deny(d, turn, call, denied, AR_STR_NONE);
		return;
	}
	ar_decide_refuse_call(
		d, turn, call, "unavailable",
		&(struct ar_call_failure){
			.status = AR_TOOL_FAILED_STATUS_FAILED,
			.category = AR_STR("tool_unavailable"),
			.message = ar_arena_fmt(d->arena, "there is no tool '%.*s' in this turn%.*s",
						AR_STR_ARG(ar_str_utf8_prefix(call->name, 64)),
						AR_STR_ARG(ar_turn_options(turn)->tools.at
								   ? ar_task_cite(d, turn, "tools")
								   : AR_STR(""))),
			.advice = AR_STR("use one of the tools that were offered") });
}

static void no_files(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
		     struct ar_str fault)
{
	ar_decide_refuse_call(
		d, turn, call, "unavailable",
		&(struct ar_call_failure){
			.status = AR_TOOL_FAILED_STATUS_FAILED,
			.category = AR_STR("workspace_unavailable"),
			.message = ar_arena_fmt(d->arena, "the session has no files to work with: %.*s",
						AR_STR_ARG(fault)),
			.advice = AR_STR("tell the user; the next turn tries to prepare them again") });
}

/* Its parent asked for a folder of the child's own: work without it is not what was asked for. */
static enum ar_hold fail_child(struct ar_decision *d, struct ar_turn *turn, struct ar_str fault)
{
	const struct ar_work_folder p = ar_work_folder_in(d->session, turn->thread);

	if (!p.child)
		return AR_GO_ON;
	ar_decide_fail(d, turn,
		       &(struct ar_ending){
			       .status = AR_TURN_FAILED_STATUS_FAILED,
			       .category = AR_STR("workspace_unavailable"),
			       .message =
				       ar_arena_fmt(d->arena, "the folder of agent %.*s cannot be made: %.*s",
						    AR_STR_ARG(p.child->subagent_id), AR_STR_ARG(fault)),
			       .advice = AR_STR("remove what stands in the way, then send it more input") });
	return AR_HELD;
}

static void bad_arguments(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			  struct ar_str fault, bool gave_up)
{
	ar_decide_refuse_call(
		d, turn, call, "allowed",
		&(struct ar_call_failure){
			.status = AR_TOOL_FAILED_STATUS_FAILED,
			.category = gave_up ? AR_STR("schema_limit") : AR_STR("invalid_arguments"),
			.message = fault,
			.advice = gave_up ? AR_STR("call with shorter arguments, or use another tool")
					  : AR_STR("correct the arguments and call again"),
			.retryable = true });
}

/* Nothing less is put in the place of a boundary that cannot be had. */
static void no_boundary(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			const struct ar_judgement *j)
{
	ar_decide_refuse_call(d, turn, call, "unavailable",
			      &(struct ar_call_failure){ .status = AR_TOOL_FAILED_STATUS_FAILED,
							 .category = AR_STR("sandbox_unavailable"),
							 .message = j->reason,
							 .advice = j->remedy });
}

/* What handlers say about it; those that are asked in a person's place have the last word.
 * Returns the run that said it. */
static struct ar_str add_hook_word(const struct ar_turn *turn, const struct ar_invocation *call,
				   struct ar_act *act)
{
	static const enum ar_hook_word words[] = {
		[AR_HOOK_COMPLETED_DECISION_ALLOW] = AR_HOOK_SAYS_ALLOW,
		[AR_HOOK_COMPLETED_DECISION_DENY] = AR_HOOK_SAYS_DENY,
		[AR_HOOK_COMPLETED_DECISION_BLOCK] = AR_HOOK_SAYS_DENY,
		[AR_HOOK_COMPLETED_DECISION_ASK] = AR_HOOK_SAYS_ASK,
	};
	static const enum ar_hook_point points[] = { AR_AT_PRE_TOOL_USE, AR_AT_PERMISSION_REQUEST };
	struct ar_str run = AR_STR_NONE;

	for (size_t i = 0; i < AR_ARRAY_LEN(points); i++) {
		const struct ar_hook_chain *said = ar_hook_said(turn, call, points[i]);
		enum ar_hook_word word = said && (size_t)said->decision < AR_ARRAY_LEN(words)
						 ? words[said->decision]
						 : AR_HOOK_SAYS_NOTHING;

		if (said && !ar_str_absent(said->input_ref))
			act->updated_input = said->input_ref;
		if (word == AR_HOOK_SAYS_NOTHING)
			continue;
		run = said->by;
		act->hook = word;
		act->hook_name = said->by_handler;
		act->hook_reason = said->reason;
	}
	return run;
}

/* Every call is judged before it may begin; what a person has to decide waits for that, unless a
 * handler decides in their place. */
static void judge(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call, struct ar_act *act)
{
	struct ar_judgement j;
	struct ar_str action, run = add_hook_word(turn, call, act);
	struct ar_ids ids = ar_ids_call(d, turn, call);

	j = ar_permission_judge(d, turn, act);
	if (j.verdict == AR_ASK && ar_hook_ask(d, turn, call, AR_AT_PERMISSION_REQUEST) == AR_HELD)
		return; /* its end brings the arguments along, and the call is judged again */
	action = j.verdict == AR_ASK ? ar_action_mint(d) : AR_STR_NONE;
	ar_permission_emit(d, &ids, &j, action);
	if (j.verdict == AR_DENY) {
		deny(d, turn, call, j.reason, j.is_of_hook ? run : AR_STR_NONE);
		return;
	}
	if (j.verdict == AR_UNAVAILABLE) {
		no_boundary(d, turn, call, &j);
		return;
	}
	if (j.verdict == AR_ASK)
		ar_decide_ask_permission(d, turn, act,
					 (struct ar_ask){ .id = action,
							  .call = call->id,
							  .step = call->step,
							  .input_ref = call->args_ref,
							  .judgement = &j });
}

void ar_call_decided(struct ar_decision *d, struct ar_turn *turn, struct ar_str id, bool is_allowed,
		     struct ar_str reason)
{
	struct ar_invocation *call = ar_turn_call(turn, id);

	/* Its fact has let it go on; one that is not allowed still waits, and ends here. */
	if (!call || call->stage != (is_allowed ? AR_CALL_ALLOWED : AR_CALL_WAITING))
		return;
	if (!is_allowed)
		deny(d, turn, call, reason, AR_STR_NONE);
	if (!turn->is_lost)
		ar_decide_advance(d, turn);
}

/* What it is asked for is read here, so it has to be at hand: it came with the answer or with a handler. */
static void unread_arguments(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call)
{
	ar_decide_refuse_call(d, turn, call, "allowed",
			      &(struct ar_call_failure){
				      .status = AR_TOOL_FAILED_STATUS_INTERRUPTED,
				      .category = AR_STR("interrupted"),
				      .message = AR_STR("the runtime stopped before the call began"),
				      .advice = AR_STR("call again"),
				      .retryable = true });
}

/* What the policy service of the host denies is a judgement like that of a rule, with its fact. */
static bool is_blocked(const struct ar_decision *d, const struct ar_hook_chain *hooks)
{
	return ar_hook_blocks(hooks) && !(hooks->decision == AR_HOOK_COMPLETED_DECISION_DENY &&
					  ar_hook_is_policy(d->input->policy, hooks->by_handler));
}

static void blocked(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
		    const struct ar_hook_chain *hooks)
{
	struct ar_str why = ar_str_empty(hooks->reason) ? AR_STR("it gave no reason") : hooks->reason;

	ar_decide_refuse_call(d, turn, call, "blocked",
			      &(struct ar_call_failure){
				      .status = AR_TOOL_FAILED_STATUS_BLOCKED,
				      .category = AR_STR("blocked_by_hook"),
				      .message = ar_arena_fmt(d->arena, "hook '%.*s' stopped this call: %.*s",
							      AR_STR_ARG(hooks->by_handler), AR_STR_ARG(why)),
				      .advice = AR_STR("do what the hook asks for, or something else"),
				      .hook_run = hooks->by });
}

/* Is there such a tool, are its arguments good, does no handler object; then it is judged.
 * Handlers may change the arguments: what they made of them is checked the same way. Held: it does not
 * exist, and the budget of the turn does not allow it all the same. */
static enum ar_hold admit(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			  const struct ar_offers *offers)
{
	const struct ar_tool *tool = ar_offers_find(offers, call->name);
	struct ar_str args = ar_decide_text(d, call->args_ref), fault;
	bool gave_up = false;

	if (ar_hook_is_open(turn, call, AR_AT_PRE_TOOL_USE) ||
	    ar_hook_is_open(turn, call, AR_AT_PERMISSION_REQUEST))
		return AR_GO_ON;
	if (!tool) {
		if (ar_budget_claim(d, turn, (struct ar_spending){ .calls = 1 }) == AR_HELD)
			return AR_HELD;
		no_such_tool(d, turn, call);
		return AR_GO_ON;
	}
	fault = ar_str_absent(args) ? AR_STR_NONE : fault_in(d, tool, args, &gave_up);
	if (!ar_str_absent(fault))
		bad_arguments(d, turn, call, fault, gave_up);
	else if (ar_hook_ask(d, turn, call, AR_AT_PRE_TOOL_USE) == AR_HELD)
		return AR_GO_ON; /* its end brings the arguments along */
	else if (ar_str_absent(args) && (!ar_hook_said(turn, call, AR_AT_PERMISSION_REQUEST) ||
					 ar_hook_ask(d, turn, call, AR_AT_PERMISSION_REQUEST) == AR_GO_ON))
		unread_arguments(d, turn, call);
	else if (ar_str_absent(args))
		return AR_GO_ON; /* the handler in a person's place was cut, and is asked again */
	else if (is_blocked(d, ar_hook_said(turn, call, AR_AT_PRE_TOOL_USE)))
		blocked(d, turn, call, ar_hook_said(turn, call, AR_AT_PRE_TOOL_USE));
	else
		judge(d, turn, call, &(struct ar_act){ .tool = tool, .name = call->name, .args = args });
	return AR_GO_ON;
}

static enum ar_hold admit_planned(struct ar_decision *d, struct ar_turn *turn, const struct ar_offers *offers)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		if (ar_call_at(turn, i)->stage == AR_CALL_PLANNED &&
		    admit(d, turn, ar_call_at(turn, i), offers) == AR_HELD)
			return AR_HELD;
	}
	return AR_GO_ON;
}

/* ---- when ---- */

static bool is_startable(const struct ar_invocation *call)
{
	return call->stage == AR_CALL_ALLOWED || (call->stage == AR_CALL_UNKNOWN && ar_call_is_safe(call));
}

/* Calls that are allowed and have not begun. */
static bool has_ready_calls(const struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		if (is_startable(ar_call_at(turn, i)))
			return true;
	}
	return false;
}

/* Which calls may run beside others. What a call is like becomes a fact with its start; until
 * then its tool says so. */
static const bool *parallel_calls(struct ar_decision *d, const struct ar_turn *turn,
				  const struct ar_offers *offers)
{
	bool *is = ar_arena_alloc(d->arena, turn->calls.count + 1);

	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *call = ar_call_at(turn, i);
		bool has_begun = call->stage == AR_CALL_RUNNING || call->stage == AR_CALL_UNKNOWN ||
				 call->stage == AR_CALL_ENDED;

		is[i] = has_begun ? call->is_parallel : ar_call_as_offered(call, offers).is_parallel;
	}
	return is;
}

/* Calls keep the order in which the model asked for them; only neighbours that may run beside
 * others do. So a read sees what a write before it has done, and nothing that a write behind it
 * does. */
static bool is_next(const struct ar_turn *turn, size_t at, const bool *is_parallel)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *other = ar_call_at(turn, i);
		bool is_open = i != at && other->stage != AR_CALL_ENDED;

		if (is_open && (i < at || other->stage == AR_CALL_RUNNING) &&
		    !(is_parallel[at] && is_parallel[i]))
			return false;
	}
	return true;
}

static int64_t count_running(const struct ar_turn *turn)
{
	int64_t running = 0;

	for (size_t i = 0; i < turn->calls.count; i++)
		running += ar_call_at(turn, i)->stage == AR_CALL_RUNNING;
	return running;
}

/* Another try has an id of its own, after those of its step. */
struct ar_str ar_decide_next_call_id(struct ar_decision *d, const struct ar_turn *turn,
				     const struct ar_invocation *call)
{
	uint64_t last = 0, n;

	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *other = ar_call_at(turn, i);

		if (ar_str_eq(other->step, call->step) && ar_id_counter(other->id, &n) && n > last)
			last = n;
	}
	return ar_tool_call_id(d->arena, call->step, (uint32_t)(last % AR_TOOL_CALLS_MAX + 1));
}

void ar_decide_run_call(struct ar_decision *d, const struct ar_turn *turn, const struct ar_invocation *call)
{
	struct ar_effect *effect;

	if (call->is_client || call->waits.count > 0) {
		ar_decide_wake(d, AR_IN_CALL_DUE, call->id, call->expires);
		return;
	}
	effect = ar_decide_effect(d, AR_EFFECT_TOOL_CALL);
	effect->tool_call.turn = turn;
	effect->tool_call.call = call;
	effect->tool_call.process = ar_session_process_of(d->session, call->id);
}

static struct ar_str profile_word(const struct ar_invocation *call)
{
	return call->profile.set ? ar_str_from(ar_sandbox_name((enum ar_sandbox_profile)call->profile.v))
				 : AR_STR_NONE;
}

static void start(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
		  const struct ar_tool *tool)
{
	struct ar_str before = call->attempt > 0 ? call->id : AR_STR_NONE;
	struct ar_ids ids = ar_ids_call(d, turn, call);

	if (call->attempt > 0)
		ids.at[AR_SCOPE_TOOL_CALL] = ar_decide_next_call_id(d, turn, call);
	ar_decide_emit(
		d, AR_EV_TOOL_STARTED, &ids,
		&(struct ar_ev_tool_started){
			.tool_name = call->name,
			.input_ref = call->args_ref,
			.policy = AR_STR("allowed"),
			.permission_ref = call->permission,
			.is_read_only = AR_OPT_BOOL(tool->is_read_only),
			.is_concurrency_safe = AR_OPT_BOOL(tool->is_concurrency_safe),
			.is_destructive = AR_OPT_BOOL(tool->is_destructive),
			.interrupt_behavior = tool->blocks_interrupt ? AR_STR("block") : AR_STR("cancel"),
			.provider_call_id = call->provider_id,
			.runtime_owner = ar_tool_owner_word(tool),
			.is_idempotent = AR_OPT_BOOL(tool->is_idempotent),
			.attempt = AR_OPT_INT(call->attempt + 1),
			.retry_of = before,
			.expires_at = d->input->now +
				      (tool->limit_ms > 0 ? tool->limit_ms : d->input->policy->tool_ms) *
					      MILLISECOND,
			.runs_process = tool->runs_process ? AR_OPT_BOOL(true) : (struct ar_opt_bool){ 0 },
			.sandbox_profile = profile_word(call) });
	ar_decide_run_call(d, turn, call);
}

static enum ar_hold start_some(struct ar_decision *d, struct ar_turn *turn, const struct ar_offers *offers)
{
	const bool *is_parallel = parallel_calls(d, turn, offers);

	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = ar_call_at(turn, i);
		int64_t running = count_running(turn);
		const struct ar_tool *tool;

		if (!is_startable(call) || !is_next(turn, i, is_parallel))
			continue;
		if (is_parallel[i] && running >= d->input->policy->tool_parallel) {
			ar_budget_say_parallel(d, turn, running);
			continue;
		}
		tool = ar_offers_find(offers, call->name);
		if (tool && ar_worker_before_call(d, turn, tool) == AR_HELD)
			continue; /* its worker brings the turn back here */
		if (tool && ar_isolation_before_call(d, turn, tool) == AR_HELD)
			continue; /* the same */
		if (tool && !ar_str_absent(ar_isolation_fault(d->session, turn, tool))) {
			if (fail_child(d, turn, ar_isolation_fault(d->session, turn, tool)) == AR_HELD)
				return AR_HELD;
			no_files(d, turn, call, ar_isolation_fault(d->session, turn, tool));
			continue;
		}
		if (tool && ar_checkpoint_before_call(d, turn, tool) == AR_HELD)
			continue; /* its end brings the turn back here */
		if (tool && ar_tenant_claim_disk(d, turn, call, tool) == AR_HELD)
			continue;
		if (ar_budget_claim(d, turn, (struct ar_spending){ .calls = 1 }) == AR_HELD)
			return AR_HELD;
		if (tool)
			start(d, turn, call, tool);
		else
			no_such_tool(d, turn, call); /* it was there when the call was judged */
	}
	return AR_GO_ON;
}

/* ---- going on ---- */

static bool is_over(const struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		if (ar_call_at(turn, i)->stage != AR_CALL_ENDED)
			return false;
	}
	return true;
}

void ar_decide_advance(struct ar_decision *d, struct ar_turn *turn)
{
	if (!turn->is_interrupted && ar_hook_after_sample(d, turn) == AR_HELD)
		return;
	if (turn->is_interrupted) {
		ar_decide_stop_calls(d, turn);
	} else {
		struct ar_offers offers = ar_offers_of(d, turn);

		if (admit_planned(d, turn, &offers) == AR_HELD || start_some(d, turn, &offers) == AR_HELD ||
		    ar_hook_after_calls(d, turn) == AR_HELD)
			return;
	}
	if (!is_over(turn))
		return;
	if (turn->is_interrupted)
		ar_decide_cancel(d, turn, turn->interrupt_reason, AR_STR_NONE);
	else if (ar_guard_check(d, turn) == AR_GO_ON)
		ar_decide_ask_again(d, turn);
}

void ar_decide_start_held(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->threads.count; i++) {
		struct ar_turn *turn = ar_thread_active(d->session->threads.at[i]);

		if (turn && !turn->is_lost && has_ready_calls(turn))
			ar_decide_advance(d, turn);
	}
}
