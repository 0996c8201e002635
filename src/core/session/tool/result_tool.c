/* What comes back of a call: from the tool, from the client that runs it, or nothing in time. Pure. */
#include "process/record.h"
#include "subagent/subagents.h"
#include "task/task.h"
#include "tool/calls.h"
#include "worker/worker.h"

#define MILLISECOND 1000

static const struct {
	int status;
	const char *category;
} failure_of[] = {
	[AR_TOOL_ERROR] = { AR_TOOL_FAILED_STATUS_FAILED, "tool_error" },
	[AR_TOOL_NOT_RUN] = { AR_TOOL_FAILED_STATUS_FAILED, "tool_unavailable" },
	[AR_TOOL_TIMEOUT] = { AR_TOOL_FAILED_STATUS_TIMED_OUT, "timeout" },
	[AR_TOOL_CANCELLED] = { AR_TOOL_FAILED_STATUS_INTERRUPTED, "interrupted" },
};

/* These say that the call is not over, which only the runtime decides. */
static bool is_own_word(struct ar_str category)
{
	return ar_str_is(category, AR_CATEGORY_UNKNOWN_OUTCOME) ||
	       ar_str_is(category, AR_CATEGORY_NOT_BEGUN) || ar_str_is(category, AR_CATEGORY_CREDENTIAL);
}

static void end_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
		     const struct ar_tool_result *r, int64_t duration_ms)
{
	struct ar_call_failure why = { .category = r->category,
				       .message = r->message,
				       .advice = r->advice,
				       .text = r->text,
				       .retryable = r->retryable };

	if (r->outcome == AR_TOOL_OK) {
		ar_decide_end_call(d, turn, call, r, duration_ms);
	} else if (r->outcome == AR_TOOL_ERROR && ar_decide_ask_credential(d, turn, call, r)) {
		return;
	} else if (r->outcome == AR_TOOL_LOST && !turn->is_interrupted) {
		ar_decide_lose_call(d, turn, call);
	} else if (r->outcome == AR_TOOL_NOT_RUN && !turn->is_interrupted && !ar_worker_is_ready(d)) {
		ar_decide_begin_again(d, turn, call, AR_STR("the worker went before the call began"));
	} else {
		enum ar_tool_outcome outcome = r->outcome == AR_TOOL_LOST ? AR_TOOL_CANCELLED : r->outcome;

		why.status = failure_of[outcome].status;
		if (ar_str_empty(why.category) || is_own_word(why.category))
			why.category = ar_str_from(failure_of[outcome].category);
		ar_decide_fail_call(d, turn, call, &why);
	}
}

/* A call that runs, and its turn; false: it ended meanwhile. */
static bool open_call(struct ar_decision *d, struct ar_str id, struct ar_turn **ret_turn,
		      struct ar_invocation **ret)
{
	struct ar_thread *t;

	*ret_turn = ar_session_call(d->session, id, ret, &t);
	return *ret_turn && (*ret)->stage == AR_CALL_RUNNING;
}

/* Of a tool that works in a boundary without a process of its own: what it was, and what it stopped. */
static void say_boundary(struct ar_decision *d, const struct ar_turn *turn, const struct ar_invocation *call,
			 const struct ar_tool_result *result)
{
	struct ar_ids ids = ar_ids_call(d, turn, call);
	struct ar_str sandbox;

	if (!result->boundary)
		return;
	sandbox = ar_decide_boundary(d, &ids,
				     &(struct ar_boundary_words){ .profile = (int)result->profile,
								  .ready = result->boundary });
	for (size_t i = 0; i < result->violation_count; i++)
		ar_decide_violation(d, &ids,
				    &(struct ar_violation_words){ .detail = result->violations[i],
								  .sandbox = sandbox });
}

enum ar_status ar_decide_tool_done(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_tool_result *result = d->input->tool_done.result;
	struct ar_invocation *call;
	struct ar_turn *turn;

	(void)err;
	if (!open_call(d, d->input->tool_done.call, &turn, &call))
		return AR_OK;
	say_boundary(d, turn, call, result);
	if (ar_call_is_delegated(call) && result->outcome == AR_TOOL_OK)
		ar_subagent_called(d, turn, call, result->text);
	else
		end_call(d, turn, call, result, d->input->tool_done.duration_ms);
	ar_task_note_progress(d, turn, call->name, call->output_ref);
	if (turn->is_lost || (result->outcome == AR_TOOL_LOST && ar_worker_lose(d, turn)))
		return AR_OK; /* it goes on when its worker is back */
	ar_decide_advance(d, turn);
	ar_subagents_settle(d);
	return AR_OK;
}

enum ar_status ar_decide_call_due(struct ar_decision *d, struct ar_error *err)
{
	struct ar_invocation *call;
	struct ar_turn *turn;

	(void)err;
	if (!open_call(d, d->input->due, &turn, &call))
		return AR_OK;
	if (ar_call_is_delegated(call))
		ar_subagent_wait_due(d, turn, call);
	if (!call->is_client)
		return AR_OK;
	ar_decide_fail_call(d, turn, call,
			    &(struct ar_call_failure){
				    .status = AR_TOOL_FAILED_STATUS_TIMED_OUT,
				    .category = AR_STR("timeout"),
				    .message = AR_STR("the client brought no result in time"),
				    .advice = AR_STR("report_tool_result before expiresAt"),
				    .retryable = true });
	ar_decide_advance(d, turn);
	return AR_OK;
}

enum ar_status ar_decide_report_tool_result(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_report_tool_result_in *in = d->input->command.args;
	bool is_error = in->status == AR_REPORT_TOOL_RESULT_STATUS_ERROR;
	struct ar_tool_result result = { .outcome = is_error ? AR_TOOL_ERROR : AR_TOOL_OK,
					 .text = in->output,
					 .structured = in->structured_content,
					 .category = in->category,
					 .message = AR_STR("the client says that it failed"),
					 .retryable = in->retryable.v };
	struct ar_thread *t;
	struct ar_invocation *call;
	struct ar_turn *turn = ar_session_call(d->session, in->tool_call_id, &call, &t);

	if (!turn || (call->stage == AR_CALL_RUNNING && !call->is_client))
		return ar_refuse(err, AR_ERR_TOOL_CALL_NOT_FOUND,
				 "no running turn of this session waits for a result of %.*s",
				 AR_STR_ARG(in->tool_call_id));
	if (!open_call(d, in->tool_call_id, &turn, &call))
		return ar_refuse(err, AR_ERR_ALREADY_RESOLVED, "call %.*s has ended (%.*s)",
				 AR_STR_ARG(in->tool_call_id), AR_STR_ARG(call->status));
	end_call(d, turn, call, &result, ar_decide_since(d, call->started) / MILLISECOND);
	ar_task_note_progress(d, turn, call->name, call->output_ref);
	ar_decide_reply(d, AR_CMD_REPORT_TOOL_RESULT,
			&(struct ar_cmd_report_tool_result_out){
				.tool_call_id = in->tool_call_id,
				.status = is_error ? AR_REPORT_TOOL_RESULT_STATUS_ERROR
						   : AR_REPORT_TOOL_RESULT_STATUS_OK,
				.sequence = (int64_t)d->session->head });
	ar_decide_advance(d, turn);
	return AR_OK;
}
