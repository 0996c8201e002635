/* complete_task, fail_task, append_task_progress: the worker of a task reports its state,
 * and how it ends. Pure. */
#include "describe.h"
#include "task/task.h"

#define SUMMARY_MAX 4096 /* bytes of a summary in a fact */
#define SHOWN_MAX 400 /* bytes of the unmet criteria in a refusal */

/* ---- progress ---- */

/* The offset that the output of the open run has reached; -1: none is known. */
static int64_t reached(const struct ar_task *task)
{
	const struct ar_run *run = ar_task_open_run(task);
	const struct ar_sheet *sheet = task->sheet;

	return sheet->offset.set && run && ar_str_eq(run->id, sheet->offset_run) ? sheet->offset.v : -1;
}

static enum ar_status check_progress(const struct ar_task *task,
				     const struct ar_cmd_append_task_progress_in *in, struct ar_error *err)
{
	const struct ar_run *run = ar_task_open_run(task);

	if (ar_task_is_over(task) || task->status == AR_TASK_DRAFT || task->status == AR_TASK_LOST)
		return ar_refuse(err, AR_ERR_TERMINAL_STATE, "task %.*s is %.*s and has no running run",
				 AR_STR_ARG(task->id), AR_STR_ARG(ar_task_status_word(task)));
	if (!ar_str_absent(in->run_id) && (!run || !ar_str_eq(run->id, in->run_id)))
		return ar_refuse(err, AR_ERR_RUN_NOT_CURRENT, "run %.*s is not the running one of task %.*s",
				 AR_STR_ARG(ar_str_utf8_prefix(in->run_id, 64)), AR_STR_ARG(task->id));
	if (in->output_offset.set && in->output_offset.v < reached(task))
		return ar_refuse(err, AR_ERR_OFFSET_CONFLICT,
				 "the output of this run has reached %lld already", (long long)reached(task));
	return AR_OK;
}

/* A long text is output: it goes by ref, and its beginning stands for it. */
static void spill(struct ar_decision *d, struct ar_ev_task_progress *p)
{
	struct ar_str ref;

	if (p->summary.len <= SUMMARY_MAX)
		return;
	ref = ar_decide_content(d, p->summary);
	p->output_refs =
		ar_texts_joined(d->arena, p->output_refs, (struct ar_texts){ &ref, 1 }, AR_TASK_OUTPUTS);
	p->summary = ar_str_utf8_prefix(p->summary, SUMMARY_MAX);
}

enum ar_status ar_decide_append_task_progress(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_append_task_progress_in *in = d->input->command.args;
	struct ar_ev_task_progress p = { .percent = in->percent,
					 .current_step = in->current_step,
					 .summary = in->summary,
					 .counters = in->counters,
					 .output_refs = in->output_refs,
					 .output_offset = in->output_offset,
					 .delivery_state = in->delivery_state,
					 .validation_state = in->validation_state,
					 .acceptance_coverage = in->acceptance_coverage };
	struct ar_cmd_append_task_progress_out out = { .task_id = in->task_id };
	struct ar_task *task;
	struct ar_ids ids;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK || check_progress(task, in, err) != AR_OK)
		return AR_E_REFUSED;
	out.sequence = task->sheet->offset_at.v;
	if (task->sheet->deliver_to) /* the runtime delivers it, so a caller's state of it is not recorded */
		p.delivery_state = NULL;
	if (!in->output_offset.set || in->output_offset.v != reached(task)) {
		p.phase = in->phase ? in->phase
				    : ar_enum_find(&ar_task_progress_phase_desc, task->sheet->phase);
		p.phase = p.phase ? p.phase : AR_TASK_PROGRESS_PHASE_WORKING;
		p.counters = ar_str_absent(p.counters) ? AR_STR("{}") : p.counters;
		spill(d, &p);
		ids = ar_task_ids(task, ar_task_open_run(task));
		ar_decide_emit(d, AR_EV_TASK_PROGRESS, &ids, &p);
		out.sequence = (int64_t)d->session->head;
	}
	ar_decide_reply(d, AR_CMD_APPEND_TASK_PROGRESS, &out);
	return AR_OK;
}

/* ---- complete ---- */

/* Among what the caller leaves with the same call, each as a fact. */
static bool is_left_now(const struct ar_cmd_complete_task_in *in, const struct ar_shape_criterion *c)
{
	for (size_t i = 0; i < in->artifacts.count; i++) {
		const struct ar_shape_result_ref *r = &in->artifacts.at[i];

		if (!ar_str_absent(c->artifact) && ar_str_eq(r->ref, c->artifact) &&
		    !ar_str_empty(r->version_id))
			return true;
	}
	for (size_t i = 0; i < in->evidence_refs.count; i++) {
		if (c->evidence &&
		    ar_str_is(in->evidence_refs.at[i].kind,
			      ar_enum_name(&ar_criterion_evidence_desc, c->evidence)) &&
		    c->evidence != AR_CRITERION_EVIDENCE_VERIFICATION)
			return true;
	}
	return false;
}

static bool is_met(const struct ar_decision *d, const struct ar_task *task,
		   const struct ar_shape_criterion *c)
{
	const struct ar_cmd_complete_task_in *in = d->input->command.args;
	struct ar_shape_criterion_list given = in->acceptance;
	struct ar_str name = ar_criterion_name(c);

	if (ar_criterion_is_checked(c)) /* nobody's word stands for the check */
		return ar_acceptance_holds(task, c);
	if (ar_criterion_is_shown(c))
		return is_left_now(in, c) || !ar_str_absent(ar_required_ref(d->session, task, c));
	for (size_t i = 0; i < given.count; i++) {
		if (!ar_str_absent(name) && ar_str_eq(ar_criterion_name(&given.at[i]), name))
			return given.at[i].satisfied.v;
	}
	return false;
}

/* The criteria that do not hold; `by_word`: of those only that callers confirm. One that the caller himself
 * calls unsatisfied does not, declared or not. */
static struct ar_texts unmet(struct ar_decision *d, const struct ar_task *task, bool by_word)
{
	const struct ar_cmd_complete_task_in *in = d->input->command.args;
	struct ar_shape_criterion_list declared =
		task->sheet->acceptance.count ? task->sheet->acceptance : in->acceptance;
	struct ar_str *names = ar_arena_alloc(d->arena, (declared.count + 1) * sizeof(*names));
	size_t count = 0;

	for (size_t i = 0; i < declared.count; i++) {
		const struct ar_shape_criterion *c = &declared.at[i];

		if ((by_word && ar_criterion_is_checked(c)) || is_met(d, task, c))
			continue;
		names[count++] = ar_str_absent(ar_criterion_name(c)) ? AR_STR("(a criterion without a name)")
								     : ar_criterion_name(c);
	}
	return (struct ar_texts){ names, count };
}

static struct ar_str names_json(struct ar_decision *d, struct ar_texts names)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open_array(&w);
	for (size_t i = 0; i < names.count; i++)
		ar_jw_str(&w, names.at[i]);
	ar_jw_close_array(&w);
	return ar_decide_json_end(d);
}

/* The checks of a run that somebody outside executes begin when he calls it done. */
static bool begins_checks(struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_run *run = ar_task_open_run(task);

	return run && ar_str_absent(run->turn) && task->status == AR_TASK_RUNNING &&
	       ar_acceptance_is_due(task) && unmet(d, task, true).count == 0;
}

/* As its worker says; what the runtime delivers itself it knows better. */
static bool is_undelivered(const struct ar_task *task, const struct ar_shape_delivery_state *said)
{
	const struct ar_shape_delivery_state *state = said ? said : task->sheet->delivery;

	return !task->sheet->deliver_to && state &&
	       (ar_str_is(state->state, "pending") || ar_str_is(state->state, "queued"));
}

static enum ar_status check_complete(struct ar_decision *d, const struct ar_task *task, struct ar_error *err)
{
	const struct ar_cmd_complete_task_in *in = d->input->command.args;
	size_t open = ar_task_open_children(d, task);
	struct ar_texts missing;

	if (task->status != AR_TASK_RUNNING && task->status != AR_TASK_WAITING)
		return ar_refuse(err, AR_ERR_UNRECONCILED, "task %.*s is %.*s and has no running run",
				 AR_STR_ARG(task->id), AR_STR_ARG(ar_task_status_word(task)));
	if (!ar_str_absent(in->run_id) && !ar_str_eq(in->run_id, ar_task_run(task)->id))
		return ar_refuse(err, AR_ERR_UNRECONCILED, "run %.*s is not the newest of task %.*s",
				 AR_STR_ARG(ar_str_utf8_prefix(in->run_id, 64)), AR_STR_ARG(task->id));
	if (open > 0)
		return ar_refuse(err, AR_ERR_UNRECONCILED,
				 "%zu parts of task %.*s are open: end or cancel them first", open,
				 AR_STR_ARG(task->id));
	if (ar_task_process(d->session, task->id))
		return ar_refuse(err, AR_ERR_UNRECONCILED,
				 "a command of task %.*s runs: wait for its end, or end it with "
				 "terminate_process",
				 AR_STR_ARG(task->id));
	if (is_undelivered(task, in->delivery_state))
		return ar_refuse(err, AR_ERR_UNRECONCILED,
				 "the result of task %.*s is not delivered yet; say so with deliveryState "
				 "when it is",
				 AR_STR_ARG(task->id));
	missing = unmet(d, task, false);
	if (missing.count > 0 && !begins_checks(d, task))
		return ar_refuse(err, AR_ERR_ACCEPTANCE_UNMET,
				 "%zu criteria of task %.*s are not met: %.*s; send each with satisfied true "
				 "and a ref; those with a command or a person are checked by the runtime",
				 missing.count, AR_STR_ARG(task->id),
				 AR_STR_ARG(ar_str_utf8_prefix(names_json(d, missing), SHOWN_MAX)));
	return AR_OK;
}

/* Whether the task ended with the same values: a caller that lost the reply gets it again. */
static bool left_the_same(const struct ar_task *task, struct ar_shape_result_ref_list artifacts,
			  struct ar_shape_result_ref_list evidence)
{
	return ar_list_equal(&ar_shape_result_ref_desc, &artifacts, &task->sheet->artifacts) &&
	       ar_list_equal(&ar_shape_result_ref_desc, &evidence, &task->sheet->evidence);
}

static void reply_completed(struct ar_decision *d, const struct ar_task *task)
{
	ar_decide_reply(d, AR_CMD_COMPLETE_TASK,
			&(struct ar_cmd_complete_task_out){ .task_id = task->id,
							    .status = AR_TASK_STATUS_COMPLETED });
}

/* It is repeated when the checks have ended: until then the task stays as it is. */
static void reply_checking(struct ar_decision *d, const struct ar_task *task)
{
	ar_decide_reply(d, AR_CMD_COMPLETE_TASK,
			&(struct ar_cmd_complete_task_out){ .task_id = task->id,
							    .status = AR_TASK_STATUS_RUNNING,
							    .unmet = unmet(d, task, false) });
}

/* The same: repeated when the result is delivered. */
static void wait_for_delivery(struct ar_decision *d, const struct ar_task *task)
{
	struct ar_str reason = ar_task_undelivered(d, task);

	if (task->status != AR_TASK_WAITING || !ar_str_eq(task->sheet->reason, reason))
		ar_task_emit(d, task, AR_EV_TASK_WAITING,
			     &(struct ar_ev_task_waiting){ .wait_for = AR_TASK_WAITING_WAIT_FOR_RESOURCE,
							   .status = AR_TASK_WAITING_STATUS_WAITING_RESOURCE,
							   .status_reason = reason });
	ar_decide_reply(d, AR_CMD_COMPLETE_TASK,
			&(struct ar_cmd_complete_task_out){ .task_id = task->id,
							    .status = AR_TASK_STATUS_WAITING_RESOURCE });
}

enum ar_status ar_decide_complete_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_complete_task_in *in = d->input->command.args;
	struct ar_shape_result_ref_list artifacts = ar_task_plain_refs(d, in->artifacts);
	struct ar_shape_result_ref_list evidence = ar_task_plain_refs(d, in->evidence_refs);
	struct ar_shape_criterion_list accepted;
	const struct ar_run *run;
	struct ar_task *task;
	struct ar_ids ids;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK)
		return AR_E_REFUSED;
	accepted = ar_acceptance_joined(d, task, in->acceptance);
	if (task->status == AR_TASK_COMPLETED &&
	    ar_list_equal(&ar_shape_criterion_desc, &accepted, &task->sheet->accepted) &&
	    left_the_same(task, artifacts, evidence)) {
		reply_completed(d, task);
		return AR_OK;
	}
	if (ar_task_check_open(task, err) != AR_OK || check_complete(d, task, err) != AR_OK)
		return AR_E_REFUSED;
	if (begins_checks(d, task)) {
		reply_checking(d, task);
		ar_acceptance_begin(d, task);
		return AR_OK;
	}
	if (ar_task_sends_result(d, task, in->completion_summary)) {
		wait_for_delivery(d, task);
		return AR_OK;
	}
	run = ar_task_open_run(task);
	ids = ar_task_ids(task, ar_task_run(task));
	ar_task_say_artifacts(d, task, in->artifacts);
	ar_task_say_evidence(d, task, in->evidence_refs);
	accepted = ar_acceptance_joined(d, task, in->acceptance); /* with what these facts show */
	if (run)
		ar_decide_emit(d, AR_EV_TASK_ATTEMPT_COMPLETED, &ids,
			       &(struct ar_ev_task_attempt_completed){
				       .status = AR_TASK_ATTEMPT_COMPLETED_STATUS_COMPLETED,
				       .output_refs = run->outputs,
				       .ended_at = d->input->now,
				       .completion_summary = in->completion_summary });
	ar_decide_wake_cancel(d, task->id);
	ar_task_say_completed(d, &ids,
			      &(struct ar_ev_task_completed){ .acceptance = accepted,
							      .artifacts = artifacts,
							      .evidence_refs = evidence,
							      .delivery_state = in->delivery_state,
							      .completion_summary = in->completion_summary });
	ar_task_release(d, task, true);
	reply_completed(d, task);
	return AR_OK;
}

/* ---- fail ---- */

static void reply_failed(struct ar_decision *d, const struct ar_task *task)
{
	ar_decide_reply(d, AR_CMD_FAIL_TASK,
			&(struct ar_cmd_fail_task_out){ .task_id = task->id,
							.status = AR_FAIL_TASK_STATUS_FAILED });
}

enum ar_status ar_decide_fail_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_fail_task_in *in = d->input->command.args;
	struct ar_task_failure f = { .status = AR_TASK_ATTEMPT_FAILED_STATUS_FAILED,
				     .error = in->error,
				     .artifacts = in->artifacts,
				     .evidence = in->evidence_refs,
				     .retryable = in->retryable.v };
	struct ar_task *task;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK)
		return AR_E_REFUSED;
	if (task->status == AR_TASK_FAILED && task->sheet->error &&
	    ar_struct_equal(&ar_shape_failure_desc, in->error, task->sheet->error) &&
	    left_the_same(task, in->artifacts, in->evidence_refs)) {
		reply_failed(d, task);
		return AR_OK;
	}
	if (ar_task_check_open(task, err) != AR_OK)
		return AR_E_REFUSED;
	f.category = in->error->category;
	f.message = in->error->message;
	if (ar_str_empty(f.category) || f.category.len > 64 || ar_str_empty(f.message))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "error has a category (1 to 64 bytes) and a message");
	if (!ar_task_run_failed(d, task, &f))
		ar_task_fail(d, task, &f);
	reply_failed(d, task);
	return AR_OK;
}
