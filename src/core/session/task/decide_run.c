/* start_task, pause_task, resume_task, retry_task: what commands do to the runs of a task. Pure. */
#include "task/task.h"

/* ---- start ---- */

static enum ar_status check_start(const struct ar_decision *d, const struct ar_task *task,
				  struct ar_str thread, struct ar_error *err)
{
	int id = (int)task->id.len;

	if (ar_task_is_over(task))
		return ar_refuse(err, AR_ERR_TERMINAL_STATE,
				 "task %.*s is %.*s; use retry_task to try it again", id, task->id.p,
				 AR_STR_ARG(ar_task_status_word(task)));
	if (task->status == AR_TASK_CANCELLING)
		return ar_refuse(err, AR_ERR_CANCELLING, "task %.*s is being cancelled", id, task->id.p);
	if (ar_task_open_run(task))
		return ar_refuse(err, AR_ERR_ALREADY_RUNNING, "task %.*s is running in run %.*s", id,
				 task->id.p, AR_STR_ARG(ar_task_open_run(task)->id));
	if (task->sheet->start || task->sheet->retry_at)
		return ar_refuse(err, AR_ERR_ALREADY_RUNNING, "task %.*s is queued to start already", id,
				 task->id.p);
	if (task->status == AR_TASK_PAUSED || task->attempts > 0)
		return ar_refuse(err, AR_ERR_TERMINAL_STATE,
				 "task %.*s was started before; use %s to continue it", id, task->id.p,
				 task->status == AR_TASK_PAUSED ? "resume_task" : "retry_task");
	if (!ar_str_absent(thread) && !ar_session_thread(d->session, thread))
		return ar_refuse(err, AR_ERR_WORKER_UNAVAILABLE, "session %.*s has no thread %.*s to work in",
				 AR_STR_ARG(d->session->id), AR_STR_ARG(ar_str_utf8_prefix(thread, 64)));
	return AR_OK;
}

static void put_off(struct ar_decision *d, const struct ar_task *task, const struct ar_task_start *start)
{
	ar_task_emit(d, task, AR_EV_TASK_QUEUED,
		     &(struct ar_ev_task_queued){ .queue_reason = AR_TASK_QUEUED_QUEUE_REASON_DEPENDENCY,
						  .start = &start->how,
						  .submitted_by =
							  ar_people_with_caller(d, task->sheet->people) });
}

/* Begins it now, or says that it begins when nothing blocks it. Refuses before the first fact. */
static enum ar_status start_now(struct ar_decision *d, struct ar_task *task, struct ar_task_start *start,
				struct ar_cmd_start_task_out *out, struct ar_error *err)
{
	struct ar_task_plan plan = { 0 };
	bool is_blocked = ar_task_is_blocked(task);

	if (ar_str_absent(start->how.run_id))
		start->how.run_id = ar_decide_mint(d, "run", &d->counters.run);
	if (!is_blocked && ar_task_plan(d, task, start, &plan, err) != AR_OK)
		return AR_E_REFUSED;
	if (task->status == AR_TASK_DRAFT)
		ar_task_say_accepted(d, task, task->sheet->owner); /* one that was only defined */
	*out = (struct ar_cmd_start_task_out){ .status = AR_START_TASK_STATUS_QUEUED };
	if (is_blocked) {
		put_off(d, task, start);
	} else {
		ar_task_begin(d, task, start, &plan);
		out->status = plan.turn.in ? AR_START_TASK_STATUS_PREPARING : AR_START_TASK_STATUS_RUNNING;
	}
	out->task_id = task->id;
	out->run_id = start->how.run_id;
	out->attempt_id = ar_task_attempt_id(d, start->how.run_id);
	return AR_OK;
}

enum ar_status ar_decide_start_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_start_task_in *in = d->input->command.args;
	struct ar_cmd_start_task_out out;
	struct ar_task_start start = { .how = { .run_id = in->run_id,
						.worker = in->worker,
						.input_refs = in->input_refs,
						.thread_id = in->thread_id },
				       .trigger = AR_TASK_ATTEMPT_STARTED_TRIGGER_START };
	struct ar_task *task;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK ||
	    check_start(d, task, in->thread_id, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->environment)) /* what a run was given to work in can be read back */
		start.how.environment_ref = ar_decide_content(d, in->environment);
	if (start_now(d, task, &start, &out, err) != AR_OK)
		return AR_E_REFUSED;
	ar_decide_reply(d, AR_CMD_START_TASK, &out);
	return AR_OK;
}

enum ar_status ar_task_start_by(struct ar_decision *d, struct ar_str id, const struct ar_shape_party *worker,
				struct ar_cmd_start_task_out *ret, struct ar_error *err)
{
	struct ar_task_start start = { .how = { .worker = worker },
				       .trigger = AR_TASK_ATTEMPT_STARTED_TRIGGER_START };
	struct ar_task *task;

	if (ar_task_need(d, id, &task, err) != AR_OK || check_start(d, task, AR_STR_NONE, err) != AR_OK)
		return AR_E_REFUSED;
	return start_now(d, task, &start, ret, err);
}

/* ---- pause and resume ---- */

static bool wants_children(const struct ar_shape_propagation *propagation)
{
	return propagation && propagation->children.v;
}

static void pause(struct ar_decision *d, const struct ar_task *task, struct ar_str reason)
{
	struct ar_ids ids = ar_task_ids(task, ar_task_open_run(task));

	ar_decide_emit(d, AR_EV_TASK_PAUSED, &ids,
		       &(struct ar_ev_task_paused){ .reason = reason,
						    .requested_by = ar_task_caller(d, NULL) });
	ar_decide_wake_cancel(d, task->id);
}

static bool is_pausable(const struct ar_task *task)
{
	return !ar_task_is_over(task) && task->status != AR_TASK_CANCELLING &&
	       task->status != AR_TASK_DRAFT && task->status != AR_TASK_LOST;
}

enum ar_status ar_decide_pause_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_pause_task_in *in = d->input->command.args;
	struct ar_vec children;
	struct ar_task *task;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK)
		return AR_E_REFUSED;
	if (!is_pausable(task))
		return ar_refuse(err, AR_ERR_NOT_PAUSABLE, "task %.*s is %.*s and cannot be paused",
				 AR_STR_ARG(task->id), AR_STR_ARG(ar_task_status_word(task)));
	if (task->status != AR_TASK_PAUSED)
		pause(d, task, in->reason);
	children = ar_task_children(d, task);
	for (size_t i = 0; wants_children(in->propagation) && i < children.count; i++) {
		const struct ar_task *child = children.at[i];

		if (is_pausable(child) && child->status != AR_TASK_PAUSED)
			pause(d, child, in->reason);
	}
	ar_decide_reply(d, AR_CMD_PAUSE_TASK,
			&(struct ar_cmd_pause_task_out){ .task_id = task->id,
							 .status = AR_PAUSE_TASK_STATUS_PAUSED });
	return AR_OK;
}

/* How a paused task goes on: in the run that it has, or another worker takes over and that run is lost. */
struct resumption {
	const struct ar_task *task;
	const struct ar_run *same; /* NULL: a new one begins */
	struct ar_task_start start;
	struct ar_task_plan plan;
};

static bool is_same(const struct ar_shape_party *a, const struct ar_shape_party *b)
{
	return a && b ? ar_struct_equal(&ar_shape_party_desc, a, b) : a == b;
}

static enum ar_status plan_resumption(struct ar_decision *d, const struct ar_task *task,
				      const struct ar_shape_party *worker, struct resumption *ret,
				      struct ar_error *err)
{
	const struct ar_run *open = ar_task_open_run(task), *before = ar_task_run(task);

	*ret = (struct resumption){ .task = task };
	if (open && (!worker || is_same(worker, open->worker))) {
		ret->same = open;
		return AR_OK;
	}
	ret->start.how.worker = !worker && before ? before->worker : worker;
	ret->start.trigger = !before   ? AR_TASK_ATTEMPT_STARTED_TRIGGER_START
			     : !worker ? AR_TASK_ATTEMPT_STARTED_TRIGGER_RERUN
				       : AR_TASK_ATTEMPT_STARTED_TRIGGER_ALTERNATE_WORKER;
	return ar_task_plan(d, task, &ret->start, &ret->plan, err);
}

static void resume(struct ar_decision *d, const struct resumption *r, struct ar_str reason)
{
	struct ar_ids ids = ar_task_ids(r->task, ar_task_open_run(r->task));

	ar_decide_emit(d, AR_EV_TASK_RESUMED, &ids,
		       &(struct ar_ev_task_resumed){ .reason = reason,
						     .from_status = AR_STR("paused"),
						     .actor = d->input->account });
	if (r->same) {
		ar_task_set_clock(d, r->task, r->same);
		return;
	}
	ar_task_run_failed(d, r->task,
			   &(struct ar_task_failure){ .status = AR_TASK_ATTEMPT_FAILED_STATUS_LOST,
						      .category = AR_STR("worker_lost"),
						      .message = AR_STR("another worker took over") });
	ar_task_begin(d, r->task, &r->start, &r->plan);
}

static enum ar_status check_resume(const struct ar_task *task, struct ar_error *err)
{
	if (task->status != AR_TASK_PAUSED && !(task->status == AR_TASK_RUNNING && ar_task_open_run(task)))
		return ar_refuse(err, AR_ERR_NOT_PAUSED, "task %.*s is %.*s, not paused",
				 AR_STR_ARG(task->id), AR_STR_ARG(ar_task_status_word(task)));
	if (task->status == AR_TASK_PAUSED && ar_task_is_blocked(task))
		return ar_refuse(err, AR_ERR_BLOCKED, "task %.*s waits for task %.*s", AR_STR_ARG(task->id),
				 AR_STR_ARG(ar_task_blocked_by(task)));
	return AR_OK;
}

/* The task itself if it is paused, then its paused children where they are wanted, too; *ret has
 * room for all. */
static enum ar_status plan_all(struct ar_decision *d, const struct ar_task *task, struct resumption *ret,
			       size_t *ret_count, struct ar_error *err)
{
	const struct ar_cmd_resume_task_in *in = d->input->command.args;
	struct ar_vec children = ar_task_children(d, task);
	size_t n = 0;

	if (task->status == AR_TASK_PAUSED && plan_resumption(d, task, in->worker, &ret[n++], err) != AR_OK)
		return AR_E_REFUSED;
	for (size_t i = 0; wants_children(in->propagation) && i < children.count; i++) {
		const struct ar_task *child = children.at[i];

		if (child->status == AR_TASK_PAUSED && !ar_task_is_blocked(child) &&
		    plan_resumption(d, child, NULL, &ret[n++], err) != AR_OK)
			return AR_E_REFUSED;
	}
	*ret_count = n;
	return AR_OK;
}

enum ar_status ar_decide_resume_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_resume_task_in *in = d->input->command.args;
	struct resumption *all = ar_arena_alloc(d->arena, (d->session->declared.count + 1) * sizeof(*all));
	struct ar_str run;
	struct ar_task *task;
	size_t count;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK || check_resume(task, err) != AR_OK ||
	    plan_all(d, task, all, &count, err) != AR_OK)
		return AR_E_REFUSED;
	run = task->status != AR_TASK_PAUSED || all[0].same ? ar_task_open_run(task)->id : all[0].plan.run.id;
	for (size_t i = 0; i < count; i++)
		resume(d, &all[i], in->reason);
	ar_decide_reply(d, AR_CMD_RESUME_TASK,
			&(struct ar_cmd_resume_task_out){
				.task_id = task->id, .run_id = run, .status = AR_TASK_STATUS_RUNNING });
	return AR_OK;
}

/* ---- retry ---- */

static enum ar_status check_retry(const struct ar_task *task, struct ar_error *err)
{
	int64_t most = ar_task_limit(ar_task_retry_policy(task)->max_attempts);
	bool is_lost = task->status == AR_TASK_LOST;

	if (task->status == AR_TASK_CANCELLED || task->status == AR_TASK_CANCELLING)
		return ar_refuse(err, AR_ERR_CANCELLED, "task %.*s is cancelled; create a new one",
				 AR_STR_ARG(task->id));
	if (ar_task_open_run(task) && !is_lost)
		return ar_refuse(err, AR_ERR_ALREADY_RUNNING, "task %.*s is running in run %.*s",
				 AR_STR_ARG(task->id), AR_STR_ARG(ar_task_open_run(task)->id));
	if (task->status != AR_TASK_FAILED && task->status != AR_TASK_TIMED_OUT && !is_lost &&
	    !(task->sheet->retry_at && task->status == AR_TASK_RUNNING) &&
	    !(task->status == AR_TASK_WAITING && ar_str_is(ar_task_run(task)->category, AR_CATEGORY_UNMET)))
		return ar_refuse(err, AR_ERR_NOT_RETRYABLE, "task %.*s is %.*s: there is nothing to retry",
				 AR_STR_ARG(task->id), AR_STR_ARG(ar_task_status_word(task)));
	if (most > 0 && task->attempts >= most)
		return ar_refuse(err, AR_ERR_RETRY_EXHAUSTED,
				 "task %.*s has %lld attempts, and its retry policy allows no more; raise "
				 "constraints.retryPolicy.maxAttempts with update_task",
				 AR_STR_ARG(task->id), (long long)task->attempts);
	return AR_OK;
}

enum ar_status ar_decide_retry_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_retry_task_in *in = d->input->command.args;
	struct ar_task_start start = { .how = { .run_id = in->run_id, .worker = in->worker },
				       .trigger = AR_TASK_ATTEMPT_STARTED_TRIGGER_RETRY };
	const struct ar_run *before;
	struct ar_task *task;
	struct ar_task_plan plan = { 0 };
	struct ar_ids ids;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK || check_retry(task, err) != AR_OK)
		return AR_E_REFUSED;
	before = ar_task_run(task);
	if (before && !in->worker)
		start.how.worker = before->worker;
	else if (before && !is_same(in->worker, before->worker))
		start.trigger = AR_TASK_ATTEMPT_STARTED_TRIGGER_ALTERNATE_WORKER;
	start.model = in->routing ? in->routing->model : AR_STR_NONE;
	if (!ar_str_absent(start.model))
		start.trigger = AR_TASK_ATTEMPT_STARTED_TRIGGER_REROUTE;
	if (ar_str_absent(start.how.run_id))
		start.how.run_id = ar_decide_mint(d, "run", &d->counters.run);
	if (ar_task_plan(d, task, &start, &plan, err) != AR_OK)
		return AR_E_REFUSED;
	ids = ar_task_ids(task, &plan.run);
	ar_decide_emit(d, AR_EV_TASK_RETRYING, &ids,
		       &(struct ar_ev_task_retrying){ .retry_reason = in->retry_reason,
						      .previous_run_id =
							      before ? before->id : start.how.run_id,
						      .new_run_id = start.how.run_id,
						      .attempt_count = task->attempts + 1,
						      .actor = d->input->account });
	ar_task_begin(d, task, &start, &plan);
	ar_task_hold_again(d, task);
	ar_decide_reply(d, AR_CMD_RETRY_TASK,
			&(struct ar_cmd_retry_task_out){ .task_id = task->id,
							 .run_id = plan.run.id,
							 .attempt_id = plan.run.attempt_id,
							 .attempt_count = plan.run.count });
	return AR_OK;
}
