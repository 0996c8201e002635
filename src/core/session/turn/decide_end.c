/* Every way a turn ends. Order of the end facts: attempt, task, turn, then the thread goes on. Pure. */
#include "action/action.h"
#include "artifact/artifact.h"
#include "checkpoint/checkpoints.h"
#include "context/context.h"
#include "limits/budget.h"
#include "hook/hooks.h"
#include "process/record.h"
#include "report/report.h"
#include "subagent/subagents.h"
#include "task/task.h"

void ar_decide_complete(struct ar_decision *d, struct ar_turn *turn, struct ar_str output_ref,
			struct ar_str stop_reason)
{
	struct ar_ids ids = ar_ids_turn(d, turn);

	ar_budget_stop_clock(d, turn);
	ar_decide_emit(d, AR_EV_TASK_ATTEMPT_COMPLETED, &ids,
		       &(struct ar_ev_task_attempt_completed){
			       .status = AR_TASK_ATTEMPT_COMPLETED_STATUS_COMPLETED,
			       .output_refs = { &output_ref, !ar_str_absent(output_ref) },
			       .ended_at = d->input->now });
	ar_task_say_completed(d, &ids, &(struct ar_ev_task_completed){ 0 });
	ar_decide_emit(
		d, AR_EV_TURN_COMPLETED, &ids,
		&(struct ar_ev_turn_completed){
			.status = AR_TURN_COMPLETED_STATUS_COMPLETED,
			.outcome = &(struct ar_shape_turn_outcome){ .status = AR_STR("completed") },
			.stop_reason = stop_reason,
			.output_refs = { &output_ref, !ar_str_absent(output_ref) },
			.artifact_refs = ar_artifacts_of_turn(d->session, turn->id, d->arena),
			.usage = &(struct ar_shape_usage){ .input_tokens = AR_OPT_INT(turn->input_tokens),
							   .output_tokens = AR_OPT_INT(turn->output_tokens),
							   .cached_tokens = AR_OPT_INT(turn->cached_tokens) },
			.duration_ms = AR_OPT_INT(ar_decide_since(d, turn->started) / 1000),
			.output_ref = output_ref,
			.attempts = AR_OPT_INT(turn->task->attempts),
		});
	ar_decide_end_processes(d, turn);
	ar_task_turn_ended(d, turn, &(struct ar_ending){ .output_ref = output_ref });
	ar_turn_report(d, turn);
	ar_subagent_turn_ended(d, turn, &(struct ar_ending){ .output_ref = output_ref });
	ar_decide_next(d, ar_decide_thread(d, turn));
	ar_subagents_settle(d);
}

_Static_assert((int)AR_TURN_FAILED_STATUS_CANCELLED == (int)AR_TASK_ATTEMPT_FAILED_STATUS_CANCELLED &&
		       (int)AR_TURN_FAILED_STATUS_TIMED_OUT == (int)AR_TASK_ATTEMPT_FAILED_STATUS_TIMED_OUT,
	       "an attempt ends as its turn does");

static void end_task(struct ar_decision *d, const struct ar_turn *turn, const struct ar_ending *end,
		     const struct ar_shape_failure *error)
{
	if (end->status == AR_TURN_FAILED_STATUS_CANCELLED) {
		ar_turn_emit(d, turn, AR_EV_TASK_CANCELLED,
			     &(struct ar_ev_task_cancelled){
				     .cancelled_by = turn->origin.stopped_by_policy.v
							     ? AR_TASK_CANCELLED_CANCELLED_BY_POLICY
							     : AR_TASK_CANCELLED_CANCELLED_BY_USER,
				     .reason = end->message });
		return;
	}
	if (end->status == AR_TURN_FAILED_STATUS_TIMED_OUT) {
		ar_turn_emit(d, turn, AR_EV_TASK_TIMED_OUT,
			     &(struct ar_ev_task_timed_out){
				     .limit_kind = turn->silent.v ? AR_TASK_TIMED_OUT_LIMIT_KIND_INACTIVITY
								  : AR_TASK_TIMED_OUT_LIMIT_KIND_TIME,
				     .limit_ms = turn->silent.v ? d->input->policy->budget.inactivity_ms
								: ar_budget_ms(d, turn),
				     .elapsed_ms = AR_OPT_INT(ar_decide_since(d, turn->started) / 1000) });
		return;
	}
	ar_turn_emit(d, turn, AR_EV_TASK_FAILED,
		     &(struct ar_ev_task_failed){ .last_error = error, .failure_category = end->category });
}

static void end_facts(struct ar_decision *d, const struct ar_turn *turn, const struct ar_ending *end)
{
	struct ar_shape_failure error = { .category = end->category,
					  .message = end->message,
					  .retryable = AR_OPT_BOOL(end->retryable),
					  .recovery_advice = end->advice };
	bool is_cancelled = end->status == AR_TURN_FAILED_STATUS_CANCELLED;

	if (ar_task_open_run(turn->task))
		ar_turn_emit(d, turn, AR_EV_TASK_ATTEMPT_FAILED,
			     &(struct ar_ev_task_attempt_failed){ .status = end->status,
								  .retryable = end->retryable,
								  .failure_category = end->category,
								  .last_error = &error,
								  .next_attempt_policy = AR_STR("manual"),
								  .ended_at = d->input->now });
	end_task(d, turn, end, &error);
	ar_turn_emit(d, turn, AR_EV_TURN_FAILED,
		     &(struct ar_ev_turn_failed){
			     .status = end->status,
			     .error = &error,
			     .interrupted_by = is_cancelled ? end->message : AR_STR_NONE,
			     .partial_output_refs = { &end->output_ref, !ar_str_absent(end->output_ref) },
			     .output_ref = end->output_ref,
			     .attempts = AR_OPT_INT(turn->task->attempts) });
	ar_decide_end_processes(d, turn);
	ar_task_turn_ended(d, turn, end);
	ar_turn_report(d, turn);
	ar_subagent_turn_ended(d, turn, end);
}

void ar_decide_fail(struct ar_decision *d, struct ar_turn *turn, const struct ar_ending *end)
{
	ar_hook_end_runs(d, turn, false);
	ar_checkpoint_drop(d, turn);
	ar_decide_cancel_actions(d, turn, end->message);
	ar_decide_close_calls(d, turn);
	ar_decide_compaction_dropped(d, turn, end->category, end->message);
	ar_budget_stop_clock(d, turn);
	end_facts(d, turn, end);
	if (turn->unwanted.v)
		ar_decide_roll_back_turn(d, turn);
	ar_decide_next(d, ar_decide_thread(d, turn));
	ar_checkpoint_after_turn(d, turn);
	ar_subagents_settle(d);
}

/* The end of a turn that was interrupted, by what interrupted it. */
static struct ar_ending cancellation(const struct ar_turn *turn, struct ar_str reason,
				     struct ar_str output_ref)
{
	struct ar_ending end = { .status = AR_TURN_FAILED_STATUS_TIMED_OUT,
				 .message = reason,
				 .output_ref = output_ref };

	if (turn->silent.v) {
		end.category = AR_STR("inactivity");
		end.advice = AR_STR("find out why the model or the tool is silent, or raise "
				    "turn.inactivity_ms, then submit again");
	} else if (turn->overdue.v) {
		end.category = AR_STR("budget_exhausted");
		end.advice = AR_STR("raise budget.turn_ms or options.budget.ms, or ask for less, then submit "
				    "again");
	} else {
		end.status = AR_TURN_FAILED_STATUS_CANCELLED;
		end.category = AR_STR("cancelled");
		end.advice = AR_STR("submit the turn again if it is still wanted");
	}
	return end;
}

void ar_decide_cancel(struct ar_decision *d, struct ar_turn *turn, struct ar_str reason,
		      struct ar_str output_ref)
{
	struct ar_ending end = cancellation(turn, reason, output_ref);

	ar_decide_fail(d, turn, &end);
}

void ar_decide_cancel_queued(struct ar_decision *d, struct ar_turn *turn, struct ar_str reason)
{
	const struct ar_thread *t = ar_decide_thread(d, turn);
	struct ar_ending end = cancellation(turn, reason, AR_STR_NONE);
	struct ar_vec rest = ar_vec_copy(d->arena, &t->queue);
	size_t at;

	if (ar_vec_find(&rest, turn, &at))
		ar_vec_remove(&rest, at);
	ar_decide_queue_changed(d, t, AR_QUEUE_CHANGED_CHANGE_REMOVED, turn, &rest);
	end_facts(d, turn, &end);
}
