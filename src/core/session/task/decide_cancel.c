/* cancel_task: the intent is a fact before anything is stopped; then the parts of the task end,
 * and the task itself when the last of them has. Also what the end of a turn means for the task
 * that it works for. Pure. */
#include "delivery/delivery.h"
#include "job/job.h"
#include "subagent/subagents.h"
#include "describe.h"
#include "peer/remote.h"
#include "task/task.h"

/* ---- what is stopped ---- */

struct cancel {
	struct ar_str reason;
	const struct ar_shape_party *requested_by;
	bool children, processes, subagents, jobs;
};

static struct cancel cancel_of(struct ar_decision *d)
{
	const struct ar_cmd_cancel_task_in *in = d->input->command.args;
	struct cancel c = { .reason = in->reason };

	c.children = !in->propagation.at || ar_texts_have(in->propagation, AR_STR("children"));
	c.processes =
		c.children && (!in->propagation.at || ar_texts_have(in->propagation, AR_STR("processes")));
	c.subagents = !in->propagation.at || ar_texts_have(in->propagation, AR_STR("subagents"));
	c.jobs = !in->propagation.at || ar_texts_have(in->propagation, AR_STR("jobs"));
	c.requested_by = ar_task_caller(d, in->requested_by);
	return c;
}

static struct ar_shape_task_part_list targets(struct ar_decision *d, const struct ar_task *task,
					      const struct cancel *c)
{
	const struct ar_vec *processes = &d->session->processes;
	struct ar_vec children = ar_task_children(d, task), turns = ar_task_turns(d, task);
	const struct ar_vec *subagents = &d->session->subagents, *jobs = &d->session->jobs;
	size_t room = children.count + turns.count + processes->count + subagents->count + jobs->count + 1;
	size_t n = 0;
	struct ar_shape_task_part *at = ar_arena_alloc(d->arena, room * sizeof(*at));

	for (size_t i = 0; c->children && i < children.count; i++)
		at[n++] = (struct ar_shape_task_part){ .kind = AR_STR("task"),
						       .id = ((const struct ar_task *)children.at[i])->id };
	for (size_t i = 0; c->children && i < turns.count; i++) {
		const struct ar_turn *turn = turns.at[i];

		at[n++] = (struct ar_shape_task_part){ .kind = AR_STR("task"), .id = turn->task->id };
		for (size_t k = 0; c->processes && k < processes->count; k++) {
			const struct ar_process_record *p = processes->at[k];

			if (p->status == AR_PROCESS_RUNNING && ar_str_eq(p->turn, turn->id))
				at[n++] =
					(struct ar_shape_task_part){ .kind = AR_STR("process"), .id = p->id };
		}
	}
	for (size_t i = 0; c->subagents && i < subagents->count; i++) {
		const struct ar_shape_subagent_record *r = ar_subagent_at(d->session, i);

		if (ar_str_eq(r->task_id, task->id) && !ar_subagent_is_closed(r))
			at[n++] = (struct ar_shape_task_part){ .kind = AR_STR("subagent"),
							       .id = r->subagent_id };
	}
	for (size_t i = 0; c->jobs && i < jobs->count; i++) {
		const struct ar_job *job = jobs->at[i];

		if (ar_str_eq(job->task, task->id) && !ar_job_is_over(job))
			at[n++] = (struct ar_shape_task_part){ .kind = AR_STR("job"), .id = job->id };
	}
	return (struct ar_shape_task_part_list){ at, n };
}

/* ---- the end ---- */

static void finish(struct ar_decision *d, const struct ar_task *task, struct ar_str reason)
{
	ar_task_run_failed(d, task,
			   &(struct ar_task_failure){ .status = AR_TASK_ATTEMPT_FAILED_STATUS_CANCELLED,
						      .category = AR_STR("cancelled"),
						      .message = reason });
	ar_task_emit(d, task, AR_EV_TASK_CANCELLED,
		     &(struct ar_ev_task_cancelled){ .cancelled_by = AR_TASK_CANCELLED_CANCELLED_BY_USER,
						     .reason = reason });
	ar_task_release(d, task, false);
}

static bool has_closing(const struct ar_session *s, const struct ar_task *task)
{
	for (size_t i = 0; i < s->subagents.count; i++) {
		const struct ar_shape_subagent_record *r = ar_subagent_at(s, i);

		if (ar_str_eq(r->task_id, task->id) && ar_subagent_is_closing(r))
			return true;
	}
	return false;
}

void ar_task_child_ended(struct ar_decision *d, struct ar_str parent)
{
	const struct ar_task *task = ar_session_declared(d->session, parent);

	if (!task || task->status != AR_TASK_CANCELLING || ar_task_open_children(d, task) > 0 ||
	    has_closing(d->session, task))
		return;
	finish(d, task, ar_str_absent(task->sheet->reason) ? AR_STR("cancelled") : task->sheet->reason);
}

/* ---- the way down ---- */

static bool works_for(const struct ar_turn *turn, const struct ar_task *task)
{
	return turn->task && ar_str_eq(turn->task->parent, task->id);
}

static void cancel_turns(struct ar_decision *d, const struct ar_thread *t, const struct ar_task *task,
			 struct ar_str reason)
{
	struct ar_turn *active = ar_thread_active(t);
	struct ar_vec queue = ar_vec_copy(d->arena, &t->queue);

	for (size_t k = queue.count; k > 0; k--) {
		if (works_for(queue.at[k - 1], task))
			ar_decide_cancel_queued(d, queue.at[k - 1], reason);
	}
	if (active && works_for(active, task) && !active->is_interrupted)
		ar_decide_interrupt(d, active, reason);
}

static void ask_to_cancel(struct ar_decision *d, const struct ar_task *task, const struct cancel *c);

static bool waits_for_parts(const struct ar_decision *d, const struct ar_task *task, const struct cancel *c)
{
	return (c->children && ar_task_open_children(d, task) > 0) || has_closing(d->session, task);
}

static void cancel_parts(struct ar_decision *d, const struct ar_task *task, const struct cancel *c)
{
	const struct ar_vec *threads = &d->session->threads;
	struct ar_vec children = ar_task_children(d, task);

	for (size_t i = 0; i < children.count; i++) {
		const struct ar_task *child = children.at[i];

		if (child->status != AR_TASK_CANCELLING)
			ask_to_cancel(d, child, c);
	}
	for (size_t i = 0; i < threads->count; i++)
		cancel_turns(d, threads->at[i], task, c->reason);
}

/* Parts under parts, as deep as they go: create_task and link_tasks make no circles. */
static void ask_to_cancel(struct ar_decision *d, const struct ar_task *task, const struct cancel *c)
{
	const struct ar_shape_propagation reach = { .children = AR_OPT_BOOL(c->children),
						    .processes = AR_OPT_BOOL(c->processes),
						    .jobs = AR_OPT_BOOL(c->jobs),
						    .subagents = AR_OPT_BOOL(c->subagents) };

	if (task->status != AR_TASK_DRAFT)
		ar_task_emit(d, task, AR_EV_TASK_CANCEL_REQUESTED,
			     &(struct ar_ev_task_cancel_requested){ .reason = c->reason,
								    .requested_by = c->requested_by,
								    .propagation = &reach,
								    .targets = targets(d, task, c) });
	if (c->jobs)
		ar_jobs_cancel_task(d, task, c->reason);
	if (c->subagents)
		ar_subagents_close_task(d, task, c->reason);
	if (c->children)
		cancel_parts(d, task, c);
	/* The end of its last part has finished it, unless it had none. */
	if (!ar_task_is_over(task) && !waits_for_parts(d, task, c))
		finish(d, task, c->reason);
}

enum ar_status ar_decide_cancel_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_cancel_task_in *in = d->input->command.args;
	struct ar_cmd_cancel_task_out out = { .status = AR_CANCEL_TASK_STATUS_CANCELLING };
	struct cancel c = cancel_of(d);
	struct ar_task *task;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK || ar_task_check_open(task, err) != AR_OK)
		return AR_E_REFUSED;
	out.task_id = task->id;
	out.targets = targets(d, task, &c);
	if (task->status != AR_TASK_CANCELLING) {
		ask_to_cancel(d, task, &c);
		if (!waits_for_parts(d, task, &c))
			out.status = AR_CANCEL_TASK_STATUS_CANCELLED;
	}
	ar_subagents_settle(d);
	ar_decide_reply(d, AR_CMD_CANCEL_TASK, &out);
	return AR_OK;
}

/* ---- turns ---- */

enum ar_status ar_task_for_turn(const struct ar_decision *d, struct ar_str id, const struct ar_task **ret,
				struct ar_error *err)
{
	struct ar_task *task;

	if (ar_task_need(d, id, &task, err) != AR_OK)
		return AR_E_REFUSED;
	if (task->status == AR_TASK_CANCELLING || task->status == AR_TASK_CANCELLED)
		return ar_refuse(err, AR_ERR_PARENT_CANCELLING,
				 "task %.*s is cancelled and accepts no new work", AR_STR_ARG(task->id));
	if (ar_task_is_over(task) || task->status == AR_TASK_PAUSED || task->status == AR_TASK_DRAFT)
		return ar_refuse(err, AR_ERR_TERMINAL_STATE, "task %.*s is %.*s and accepts no turns now",
				 AR_STR_ARG(task->id), AR_STR_ARG(ar_task_status_word(task)));
	*ret = task;
	return AR_OK;
}

/* Its run has ended well, and this is open: nothing is said twice. */
static void waits_for(struct ar_decision *d, const struct ar_task *task, struct ar_str reason)
{
	if (task->status == AR_TASK_WAITING && ar_str_eq(task->sheet->reason, reason))
		return;
	ar_task_emit(d, task, AR_EV_TASK_WAITING,
		     &(struct ar_ev_task_waiting){ .wait_for = AR_TASK_WAITING_WAIT_FOR_RESOURCE,
						   .status = AR_TASK_WAITING_STATUS_WAITING_RESOURCE,
						   .status_reason = reason });
}

/* Its run has ended well, and somebody else has to do something before it is complete. */
static void waits(struct ar_decision *d, const struct ar_task *task, bool has_parts)
{
	static const struct ar_ev_task_waiting parts = {
		.wait_for = AR_TASK_WAITING_WAIT_FOR_DEPENDENCY,
		.status = AR_TASK_WAITING_STATUS_WAITING_RESOURCE,
		.status_reason = AR_STR("parts of it are open: it is completed when the last of them is; if "
					"one ends otherwise, complete_task decides"),
	};
	static const struct ar_ev_task_waiting criteria = {
		.wait_for = AR_TASK_WAITING_WAIT_FOR_INPUT,
		.status = AR_TASK_WAITING_STATUS_WAITING_INPUT,
		.status_reason = AR_STR("its criteria are to be confirmed with complete_task"),
	};

	const struct ar_ev_task_waiting *why = has_parts ? &parts : &criteria;

	if (task->status != AR_TASK_WAITING || !ar_str_eq(task->sheet->reason, why->status_reason))
		ar_task_emit(d, task, AR_EV_TASK_WAITING, why);
}

static void settle_completed(struct ar_decision *d, const struct ar_task *task)
{
	bool has_criteria = !ar_acceptance_is_confirmed(d->session, task);
	bool has_parts = ar_task_open_children(d, task) > 0;
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));
	struct ar_str open = ar_task_open_end(d, task);

	if (has_criteria || has_parts) {
		waits(d, task, has_parts);
	} else if (!ar_str_absent(open)) {
		waits_for(d, task, open);
	} else if (ar_task_sends_result(d, task, AR_STR_NONE)) {
		waits_for(d, task, ar_task_undelivered(d, task));
	} else {
		ar_task_say_completed(d, &ids,
				      &(struct ar_ev_task_completed){
					      .acceptance = ar_acceptance_joined(
						      d, task, (struct ar_shape_criterion_list){ 0 }) });
		ar_task_release(d, task, true);
	}
}

static void run_completed(struct ar_decision *d, const struct ar_task *task, struct ar_texts outputs)
{
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));

	ar_decide_emit(d, AR_EV_TASK_ATTEMPT_COMPLETED, &ids,
		       &(struct ar_ev_task_attempt_completed){
			       .status = AR_TASK_ATTEMPT_COMPLETED_STATUS_COMPLETED,
			       .output_refs = outputs,
			       .ended_at = d->input->now });
	if (task->status == AR_TASK_RUNNING) /* otherwise paused or blocked: settled when it goes on */
		settle_completed(d, task);
}

static struct ar_str why_lost(const struct ar_run *run, struct ar_str category)
{
	if (ar_str_is(category, AR_CATEGORY_PEER_LOST))
		return AR_STR("the peer cannot be reached, or does not know the task any more");
	if (run->worker && ar_str_is(run->worker->kind, AR_WORKER_PEER))
		return AR_STR("nobody knows whether the peer has the work, and it cannot say so");
	return AR_STR("nobody knows how its command ended");
}

static void settle_failed(struct ar_decision *d, const struct ar_task *task, const struct ar_run *run,
			  const struct ar_task_failure *f)
{
	if (ar_str_is(f->category, AR_CATEGORY_PEER_CANCELLED)) {
		ar_task_emit(d, task, AR_EV_TASK_CANCELLED,
			     &(struct ar_ev_task_cancelled){
				     .cancelled_by = AR_TASK_CANCELLED_CANCELLED_BY_RUNTIME,
				     .reason = AR_STR("the peer cancelled its task") });
		ar_task_release(d, task, false);
	} else if (f->status == AR_TASK_ATTEMPT_FAILED_STATUS_CANCELLED) {
		ar_task_emit(d, task, AR_EV_TASK_PAUSED,
			     &(struct ar_ev_task_paused){ .reason = AR_STR("its turn was interrupted") });
	} else if (f->status == AR_TASK_ATTEMPT_FAILED_STATUS_TIMED_OUT) {
		ar_task_emit(d, task, AR_EV_TASK_TIMED_OUT,
			     &(struct ar_ev_task_timed_out){
				     .limit_kind = AR_TASK_TIMED_OUT_LIMIT_KIND_TIME,
				     .limit_ms = ar_task_limit(ar_task_constraints(task)->time_ms),
				     .elapsed_ms = AR_OPT_INT(ar_decide_since(d, run->started) / 1000) });
		ar_task_release(d, task, false);
	} else if (f->status == AR_TASK_ATTEMPT_FAILED_STATUS_LOST) {
		ar_task_emit(d, task, AR_EV_TASK_LOST,
			     &(struct ar_ev_task_lost){ .run_id = run->id,
							.worker = run->worker,
							.last_seen_at = task->sheet->alive,
							.reason = why_lost(run, f->category) });
	} else if (ar_str_is(f->category, AR_CATEGORY_UNMET)) {
		ar_task_emit(d, task, AR_EV_TASK_WAITING,
			     &(struct ar_ev_task_waiting){
				     .wait_for = AR_TASK_WAITING_WAIT_FOR_INPUT,
				     .status = AR_TASK_WAITING_STATUS_WAITING_INPUT,
				     .status_reason = AR_STR("a criterion is not met: retry_task tries again "
							     "with what was found, update_task changes the "
							     "criteria") });
	} else {
		ar_task_fail(d, task, f);
	}
}

static void run_failed(struct ar_decision *d, const struct ar_task *task, const struct ar_run *run,
		       const struct ar_ending *end)
{
	struct ar_task_failure f = { .status = end->status,
				     .category = end->category,
				     .message = end->message,
				     .retryable = end->retryable };

	if (ar_str_is(end->category, AR_CATEGORY_END_UNKNOWN) ||
	    ar_str_is(end->category, AR_CATEGORY_PEER_LOST))
		f.status = AR_TASK_ATTEMPT_FAILED_STATUS_LOST;
	if (!ar_task_run_failed(d, task, &f) && task->status == AR_TASK_RUNNING)
		settle_failed(d, task, run, &f);
}

void ar_task_settle(struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_run *run = ar_task_run(task);
	struct ar_task_failure f = { .status = ar_enum_find(&ar_task_attempt_failed_status_desc, run->status),
				     .category = run->category,
				     .error = run->error };

	if (f.status == 0)
		settle_completed(d, task);
	else
		settle_failed(d, task, run, &f);
}

/* The run has ended well when its turn has and what was to be checked holds. */
static void work_ended(struct ar_decision *d, const struct ar_task *task, struct ar_str output_ref)
{
	struct ar_texts outputs = { &output_ref, !ar_str_absent(output_ref) };

	if (!ar_acceptance_is_due(task)) {
		run_completed(d, task, outputs);
		return;
	}
	ar_acceptance_note_result(d, task, outputs);
	ar_acceptance_begin(d, task);
}

/* The turn that checked the run has ended. */
static void checks_ended(struct ar_decision *d, const struct ar_task *task, const struct ar_run *run,
			 const struct ar_ending *end)
{
	struct ar_ending verdict = *end;

	if (end->status == 0 && ar_acceptance_is_unmet(d, task, &verdict)) {
		run_failed(d, task, run, &verdict);
	} else if (end->status == 0) {
		if (!ar_str_absent(run->turn)) /* else its worker calls it complete, with what it leaves */
			run_completed(d, task, run->outputs);
	} else {
		run_failed(d, task, run, end);
	}
}

void ar_task_turn_ended(struct ar_decision *d, const struct ar_turn *turn, const struct ar_ending *end)
{
	const struct ar_task *task = turn->task ? ar_session_declared(d->session, turn->task->parent) : NULL;
	const struct ar_run *run = task ? ar_task_open_run(task) : NULL;

	if (turn->task)
		ar_task_release_held(d, turn->task, end->status == 0);
	ar_delivery_turn_ended(d, turn, end);
	if (!task)
		return;
	if (task->status == AR_TASK_CANCELLING)
		ar_task_child_ended(d, task->id);
	else if (run && ar_acceptance_checks(turn, run))
		checks_ended(d, task, run, end);
	else if (run && ar_str_eq(run->turn, turn->id) && end->status == 0)
		work_ended(d, task, end->output_ref);
	else if (run && ar_str_eq(run->turn, turn->id))
		run_failed(d, task, run, end);
	else if (!run)
		ar_task_look_again(d, task->id);
}
