/* Runs of declared tasks: how one begins, by somebody outside or by a turn, how one fails, and
 * the clock of what is due next. Pure. */
#include "delivery/delivery.h"
#include "peer/remote.h"
#include "task/task.h"

#define MILLISECOND 1000

/* ---- beginning ---- */

/* What the turn is to do. An attempt whose result did not meet a criterion is followed by one that knows
 * why: it works in another thread. */
static struct ar_str text_of(struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_run *before = ar_task_run(task);

	if (!before || !ar_str_is(before->category, AR_CATEGORY_UNMET) || !before->error)
		return task->objective;
	return ar_arena_fmt(d->arena, "%.*s\n\nThe attempt before this one did not do it. %.*s",
			    AR_STR_ARG(task->objective), AR_STR_ARG(before->error->message));
}

/* The turn in which the runtime works on the task itself: what it is submitted with. */
static struct ar_cmd_submit_turn_in *turn_of(struct ar_decision *d, const struct ar_task *task,
					     const struct ar_task_start *start, struct ar_str turn)
{
	static const struct ar_shape_create_policy new_thread = { .thread = AR_STR("new") };
	struct ar_cmd_submit_turn_in *in = ar_arena_alloc(d->arena, sizeof(*in));

	*in = (struct ar_cmd_submit_turn_in){ .session_id = d->session->id,
					      .thread_id = start->how.thread_id,
					      .turn_id = turn,
					      .text = text_of(d, task),
					      .source = AR_STR("task"),
					      .busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_QUEUE,
					      .create_policy = ar_str_absent(start->how.thread_id)
								       ? &new_thread
								       : NULL };
	return in;
}

static void say_began(struct ar_decision *d, const struct ar_task *task, const struct ar_task_start *start,
		      const struct ar_run *run)
{
	struct ar_ids ids = ar_task_ids(task, run);

	ids.at[AR_SCOPE_TURN] = run->turn;
	ar_decide_emit(d, AR_EV_TASK_ATTEMPT_STARTED, &ids,
		       &(struct ar_ev_task_attempt_started){ .attempt_count = run->count,
							     .worker = run->worker,
							     .input_refs = start->how.input_refs,
							     .trigger = start->trigger,
							     .retry_policy = ar_task_retry_policy(task) });
	if (task->started == 0)
		ar_decide_emit(d, AR_EV_TASK_STARTED, &ids,
			       &(struct ar_ev_task_started){ .run_id = run->id,
							     .worker = run->worker,
							     .thread_id = start->how.thread_id,
							     .environment_ref = start->how.environment_ref });
}

struct ar_str ar_task_attempt_id(struct ar_decision *d, struct ar_str run)
{
	uint64_t n;

	return ar_id_counter(run, &n) ? ar_id_inner(d->arena, "attempt", d->session->session_key, n) : run;
}

enum ar_status ar_task_plan(struct ar_decision *d, const struct ar_task *task,
			    const struct ar_task_start *start, struct ar_task_plan *ret, struct ar_error *err)
{
	struct ar_cmd_submit_turn_in *in;
	struct ar_run *run = &ret->run;

	*run = (struct ar_run){ .count = task->attempts + 1,
				.started = d->input->now,
				.worker = ar_task_worker(d, task, start->how.worker) };
	run->id = ar_str_absent(start->how.run_id) ? ar_decide_mint(d, "run", &d->counters.run)
						   : start->how.run_id;
	run->attempt_id = ar_task_attempt_id(d, run->id);
	if (ar_str_is(run->worker->kind, AR_WORKER_COMMAND))
		return ar_task_plan_command(d, task, ret, err);
	if (ar_str_is(run->worker->kind, AR_WORKER_PEER))
		return ar_peer_plan(d, task, ret, err);
	if (!ar_str_is(run->worker->kind, "agent"))
		return AR_OK;
	run->turn = ar_decide_mint(d, "turn", &d->counters.turn);
	in = turn_of(d, task, start, run->turn);
	if (ar_task_options(d, task, start->model, &in->options, err) != AR_OK)
		return AR_E_REFUSED;
	return ar_decide_check_turn(d, in, &ret->turn, err);
}

void ar_task_begin(struct ar_decision *d, const struct ar_task *task, const struct ar_task_start *start,
		   const struct ar_task_plan *plan)
{
	say_began(d, task, start, &plan->run);
	ar_task_set_clock(d, task, &plan->run);
	if (plan->turn.in)
		ar_decide_admit(d, &plan->turn, task);
}

/* ---- failing ---- */

/* What the policy says about a run whose time is over; without a word about it the task is over too. */
static bool is_tried_again(const struct ar_task *task, const struct ar_task_failure *f)
{
	const struct ar_shape_retry_policy *policy = ar_task_retry_policy(task);
	bool may_help = f->status == AR_TASK_ATTEMPT_FAILED_STATUS_TIMED_OUT
				? ar_str_is(policy->on_timeout, "retry")
				: f->retryable && f->status == AR_TASK_ATTEMPT_FAILED_STATUS_FAILED;

	return may_help && ar_task_open_run(task)->count < ar_task_limit(policy->max_attempts) &&
	       !ar_texts_have(policy->non_retryable, f->category);
}

static struct ar_shape_failure error_of(const struct ar_task_failure *f)
{
	if (f->error)
		return *f->error;
	return (struct ar_shape_failure){ .category = f->category,
					  .message = f->message,
					  .retryable = AR_OPT_BOOL(f->retryable) };
}

bool ar_task_run_failed(struct ar_decision *d, const struct ar_task *task, const struct ar_task_failure *f)
{
	const struct ar_run *run = ar_task_open_run(task);
	bool is_again = run && is_tried_again(task, f);
	struct ar_shape_failure error = error_of(f);

	if (!run)
		return false;
	ar_task_emit(d, task, AR_EV_TASK_ATTEMPT_FAILED,
		     &(struct ar_ev_task_attempt_failed){ .status = f->status,
							  .retryable = f->retryable,
							  .failure_category = f->category,
							  .last_error = &error,
							  .next_attempt_policy =
								  is_again ? AR_STR(AR_RETRY_AUTOMATIC)
									   : AR_STR(AR_RETRY_MANUAL),
							  .ended_at = d->input->now });
	ar_decide_wake_cancel(d, task->id);
	if (!is_again)
		return false;
	ar_decide_wake(d, AR_IN_TASK_DUE, task->id,
		       d->input->now + ar_task_limit(ar_task_retry_policy(task)->backoff_ms) * MILLISECOND);
	return true;
}

void ar_task_fail(struct ar_decision *d, const struct ar_task *task, const struct ar_task_failure *f)
{
	struct ar_shape_failure error = error_of(f);

	ar_task_emit(d, task, AR_EV_TASK_FAILED,
		     &(struct ar_ev_task_failed){ .last_error = &error,
						  .failure_category = f->category,
						  .artifacts = f->artifacts,
						  .evidence_refs = f->evidence });
	ar_task_release(d, task, false);
}

/* ---- the clock ---- */

static ar_usec sooner(ar_usec a, ar_usec b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/* When so many milliseconds after something are over, by the clock of now; 0: never. */
static ar_usec over_at(const struct ar_decision *d, int64_t ms, ar_usec began)
{
	return ms ? d->input->now + ms * MILLISECOND - ar_decide_since(d, began) : 0;
}

/* When a run is over by its constraints; 0: never. Those of an agent are the turn's own to keep. */
static ar_usec limit_of(const struct ar_decision *d, const struct ar_task *task, const struct ar_run *run)
{
	int64_t time = ar_task_limit(ar_task_constraints(task)->time_ms);
	int64_t silence = ar_task_limit(ar_task_constraints(task)->inactivity_ms);
	ar_usec alive = task->sheet->alive > run->started ? task->sheet->alive : run->started;

	if (!ar_str_absent(run->turn))
		return 0;
	return sooner(over_at(d, time, run->started), over_at(d, silence, alive));
}

/* Its run ended while the task was blocked, and it is not any more. */
static bool is_unsettled(const struct ar_task *task)
{
	const struct ar_run *run = ar_task_run(task);

	return task->status == AR_TASK_RUNNING && run && run->ended && !task->sheet->start &&
	       !task->sheet->retry_at;
}

void ar_task_set_clock(struct ar_decision *d, const struct ar_task *task, const struct ar_run *run)
{
	ar_usec retry =
		task->sheet->retry_at ? task->sheet->retry_at + (d->is_clock_told ? 0 : d->input->step) : 0;
	ar_usec due = run ? limit_of(d, task, run) : retry;

	ar_decide_wake_cancel(d, task->id);
	if (due == 0 && !task->sheet->start && !is_unsettled(task))
		return;
	ar_decide_wake(d, AR_IN_TASK_DUE, task->id, due ? due : d->input->now);
}

/* The limit that is over now, if one is. */
static bool is_overdue(const struct ar_decision *d, const struct ar_task *task, const struct ar_run *run,
		       struct ar_ev_task_timed_out *ret)
{
	int64_t time = ar_task_limit(ar_task_constraints(task)->time_ms);
	int64_t silence = ar_task_limit(ar_task_constraints(task)->inactivity_ms);
	bool is_late = time && ar_decide_since(d, run->started) >= time * MILLISECOND;
	bool is_silent = silence && ar_decide_since(d, task->sheet->alive) >= silence * MILLISECOND;

	*ret = (struct ar_ev_task_timed_out){
		.limit_kind =
			is_late ? AR_TASK_TIMED_OUT_LIMIT_KIND_TIME : AR_TASK_TIMED_OUT_LIMIT_KIND_INACTIVITY,
		.limit_ms = is_late ? time : silence,
		.elapsed_ms = AR_OPT_INT(ar_decide_since(d, is_late ? run->started : task->sheet->alive) /
					 MILLISECOND),
	};
	return is_late || is_silent;
}

static void time_out(struct ar_decision *d, const struct ar_task *task,
		     const struct ar_ev_task_timed_out *over)
{
	if (ar_task_run_failed(d, task,
			       &(struct ar_task_failure){ .status = AR_TASK_ATTEMPT_FAILED_STATUS_TIMED_OUT,
							  .category = AR_STR("timed_out"),
							  .message = AR_STR("its time is over"),
							  .retryable = true }))
		return;
	ar_task_emit(d, task, AR_EV_TASK_TIMED_OUT, over);
	ar_task_release(d, task, false);
}

/* A start that was put off, or a retry whose pause is over. */
static void begin_late(struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_run *before = ar_task_run(task);
	struct ar_task_start start = { .trigger = before ? AR_TASK_ATTEMPT_STARTED_TRIGGER_RETRY
							 : AR_TASK_ATTEMPT_STARTED_TRIGGER_START };
	struct ar_task_failure no_turn = { .status = AR_TASK_ATTEMPT_FAILED_STATUS_FAILED,
					   .category = AR_STR("worker_unavailable") };
	struct ar_task_plan plan = { 0 };
	struct ar_error err = { 0 };
	struct ar_ids ids;
	enum ar_status rc;

	if (task->sheet->start)
		start.how = *task->sheet->start;
	if (before && !start.how.worker) {
		start.how.worker = before->worker;
		start.how.run_id = ar_decide_mint(d, "run", &d->counters.run);
		ids = ar_task_ids(task, NULL);
		ids.at[AR_SCOPE_RUN] = start.how.run_id;
		ar_decide_emit(d, AR_EV_TASK_RETRYING, &ids,
			       &(struct ar_ev_task_retrying){ .retry_reason =
								      AR_STR("its retry policy says so"),
							      .previous_run_id = before->id,
							      .new_run_id = start.how.run_id,
							      .attempt_count = task->attempts + 1,
							      .retry_policy = ar_task_retry_policy(task) });
	}
	rc = ar_task_plan(d, task, &start, &plan, &err);
	ar_task_begin(d, task, &start, &plan);
	if (rc == AR_OK)
		return;
	no_turn.message = ar_arena_str(d->arena, ar_str_from(err.msg));
	ar_task_run_failed(d, task, &no_turn);
	ar_task_fail(d, task, &no_turn);
}

enum ar_status ar_decide_task_due(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_task *task = ar_session_declared(d->session, d->input->due);
	const struct ar_run *run = task ? ar_task_open_run(task) : NULL;
	const struct ar_deliverable what = { .task = task };
	struct ar_ev_task_timed_out over;

	(void)err;
	if (task && ar_delivery_is_open(&what)) {
		ar_delivery_due(d, &what);
		return AR_OK;
	}
	if (!task || ar_task_is_over(task) || task->status == AR_TASK_PAUSED ||
	    task->status == AR_TASK_CANCELLING)
		return AR_OK;
	if (run && is_overdue(d, task, run, &over))
		time_out(d, task, &over);
	else if (run)
		ar_task_set_clock(d, task, run);
	else if (ar_task_is_blocked(task))
		return AR_OK; /* the end of its last blocker sets the clock again */
	else if (task->sheet->start || task->sheet->retry_at)
		begin_late(d, task);
	else if (is_unsettled(task))
		ar_task_settle(d, task);
	return AR_OK;
}

void ar_task_recover(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->declared.count; i++) {
		const struct ar_task *task = d->session->declared.at[i];

		if (!ar_task_is_over(task))
			ar_task_set_clock(d, task, ar_task_open_run(task));
	}
}
