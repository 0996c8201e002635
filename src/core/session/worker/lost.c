/* The lease of a worker ran out while it had calls: nobody knows how far they came, and whether the worker
 * lives. The attempt is lost, never failed and never completed. The turn goes on with a new attempt when the
 * worker is back: calls that are safe to repeat are repeated, about others a person is asked, and processes
 * that run on there are found again. Pure. */
#include "worker/worker.h"
#include "action/action.h"
#include "hook/hooks.h"
#include "process/record.h"
#include "tool/calls.h"

#define AR_CATEGORY_WORKER_LOST "worker_lost"

/* A process runs on under its supervisor: its call ends with it. */
static void lose_calls(struct ar_decision *d, struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = ar_call_at(turn, i);

		if (call->stage == AR_CALL_RUNNING && !call->is_client && call->profile.set &&
		    !call->runs_process.v)
			ar_decide_lose_call(d, turn, call);
	}
}

static void say_lost(struct ar_decision *d, const struct ar_turn *turn)
{
	struct ar_str id = ar_session_worker(d->session);
	const ar_usec seen = d->input->worker.last_seen;

	ar_turn_emit(d, turn, AR_EV_TASK_ATTEMPT_FAILED,
		     &(struct ar_ev_task_attempt_failed){
			     .status = AR_TASK_ATTEMPT_FAILED_STATUS_LOST,
			     .retryable = true,
			     .failure_category = AR_STR(AR_CATEGORY_WORKER_LOST),
			     .last_error =
				     &(struct ar_shape_failure){
					     .category = AR_STR(AR_CATEGORY_WORKER_LOST),
					     .message = AR_STR("the worker that ran calls of this attempt is "
							       "silent, and its lease has ended"),
					     .retryable = AR_OPT_BOOL(true) },
			     .next_attempt_policy = AR_STR("when the worker is connected again"),
			     .ended_at = d->input->now });
	ar_turn_emit(d, turn, AR_EV_TASK_LOST,
		     &(struct ar_ev_task_lost){
			     .run_id = turn->run,
			     .worker = &(struct ar_shape_party){ .kind = AR_STR(AR_WORKER_KIND), .id = id },
			     .last_seen_at = seen ? seen : d->updated,
			     .reason = ar_arena_fmt(d->arena, "the lease of worker %.*s has ended",
						    AR_STR_ARG(id)) });
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_STALE, AR_REASON_LOST, "lost", turn);
}

bool ar_worker_lose(struct ar_decision *d, struct ar_turn *turn)
{
	if (d->input->worker.state != AR_WORKER_LOST || turn->is_lost || turn->is_interrupted)
		return false;
	lose_calls(d, turn);
	ar_worker_observe(d);
	say_lost(d, turn);
	return true;
}

/* ---- back ---- */

static bool is_asked_about(const struct ar_session *s, const struct ar_invocation *call)
{
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (a->status == AR_ACTION_PENDING && ar_str_eq(a->call, call->id))
			return true;
	}
	return false;
}

static void ask_about_calls(struct ar_decision *d, struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *call = ar_call_at(turn, i);

		if (call->stage == AR_CALL_UNKNOWN && !ar_call_is_safe(call) &&
		    !is_asked_about(d->session, call))
			ar_decide_ask_about_lost(d, turn, call);
	}
}

void ar_worker_back(struct ar_decision *d, struct ar_turn *turn)
{
	struct ar_str next =
		ar_id_inner(d->arena, "run", d->session->session_key, (uint64_t)d->counters.run + 1);

	ar_worker_observe(d);
	ar_turn_emit(d, turn, AR_EV_TASK_RETRYING,
		     &(struct ar_ev_task_retrying){ .retry_reason = AR_STR(AR_REASON_WORKER_BACK),
						    .previous_run_id = turn->run,
						    .new_run_id = next,
						    .attempt_count = turn->task->attempts + 1 });
	ar_decide_attempt(d, turn, AR_TASK_ATTEMPT_STARTED_TRIGGER_RETRY);
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_RUNNING, AR_REASON_WORKER_BACK,
			 "retrying", turn);
	ar_decide_still_waits(d, turn);
	ask_about_calls(d, turn);
	ar_decide_resume(d, turn);
}

void ar_worker_recover(struct ar_decision *d, struct ar_turn *turn)
{
	ar_decide_end_cut_calls(d, turn);
	if (ar_worker_is_ready(d))
		ar_worker_back(d, turn);
}
