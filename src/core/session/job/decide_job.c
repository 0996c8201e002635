/* Jobs as wholes: create_job, start_job, cancel_job, the end of their time, and coming back. Pure. */
#include "delivery/delivery.h"
#include "job/job.h"
#include "schedule/schedule.h"
#include "schema.h"
#include "task/task.h"

enum ar_status ar_job_need(const struct ar_decision *d, struct ar_str id, struct ar_job **ret,
			   struct ar_error *err)
{
	*ret = ar_session_job(d->session, id);
	if (*ret)
		return AR_OK;
	return ar_refuse(err, AR_ERR_JOB_NOT_FOUND, "there is no job '%.*s'",
			 AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

/* ---- create_job ---- */

struct plan {
	struct ar_task *task; /* that it works for; NULL: none */
	struct ar_job_list items;
	struct ar_str instruction, schema; /* texts; the schema may be absent */
	struct ar_str id;
};

enum ar_status ar_job_check_schema(struct ar_decision *d, struct ar_str text, struct ar_error *err)
{
	struct ar_schema *schema = NULL;
	struct ar_error why = { 0 };

	if (ar_str_absent(text))
		return AR_OK;
	if (ar_schema_compile(text, d->json, &d->schema_steps, &schema, &why) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "outputSchema: %.200s", why.msg);
	ar_schema_free(schema);
	return AR_OK;
}

/* The text itself, or the content that a ref of this session names. */
static enum ar_status text_of(struct ar_decision *d, struct ar_str text, struct ar_str ref, const char *what,
			      struct ar_str *ret, struct ar_error *err)
{
	*ret = text;
	if (!ar_str_absent(text) || ar_str_absent(ref))
		return AR_OK;
	*ret = ar_decide_text(d, ref);
	if (!ar_str_absent(*ret))
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_INPUT, "%s: the session has no content '%.*s'", what,
			 AR_STR_ARG(ar_str_utf8_prefix(ref, 120)));
}

static enum ar_status split_refs(struct ar_decision *d, const struct ar_cmd_create_job_in *in,
				 struct ar_job_list *list, struct ar_error *err)
{
	int format = in->input_format ? in->input_format : AR_JOB_INPUT_FORMAT_ITEM;
	size_t bytes = 0;

	if (in->input_refs.count > AR_JOB_INPUTS_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "at most %d inputRefs; name lists of items",
				 AR_JOB_INPUTS_MAX);
	for (size_t i = 0; i < in->input_refs.count; i++) {
		struct ar_str text;

		if (text_of(d, AR_STR_NONE, in->input_refs.at[i], "inputRefs", &text, err) != AR_OK)
			return AR_E_REFUSED;
		bytes += text.len;
		if (bytes > AR_JOB_INPUT_BYTES)
			return ar_refuse(err, AR_ERR_INVALID_INPUT, "the inputs have more than %zu bytes",
					 AR_JOB_INPUT_BYTES);
		if (ar_job_split(d, text, format, list, err) != AR_OK)
			return AR_E_REFUSED;
	}
	return AR_OK;
}

static enum ar_status plan_items(struct ar_decision *d, const struct ar_cmd_create_job_in *in,
				 struct ar_job_list *list, struct ar_error *err)
{
	int format = in->input_format ? in->input_format : AR_JOB_INPUT_FORMAT_LINES;

	if (in->input_refs.count > 0 && split_refs(d, in, list, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->input) && ar_job_split(d, in->input, format, list, err) != AR_OK)
		return AR_E_REFUSED;
	if (list->count > 0)
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_INPUT, "there are no items; send input or inputRefs");
}

static enum ar_status check_limits(const struct ar_decision *d, const struct ar_cmd_create_job_in *in,
				   struct ar_error *err)
{
	if (!ar_str_absent(in->report_to) && !d->input->is_runtime)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "reportTo is for jobs that a schedule starts; leave it out");
	if (in->concurrency.set && in->concurrency.v < 1)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "concurrency is 1 to %d", AR_JOB_CONCURRENCY_MAX);
	if (in->max_attempts.set && in->max_attempts.v < 1)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "maxAttempts is 1 to %d", AR_JOB_ATTEMPTS_MAX);
	if (in->max_runtime.v > INT64_MAX / 2000000 || in->inactivity_ms.v > INT64_MAX / 2000000)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "maxRuntime or inactivityMs is too long");
	if (d->session->jobs.count >= AR_JOBS_MAX)
		return ar_refuse(err, AR_ERR_CONFLICT,
				 "the session has %d jobs, which is the limit; leave sessionId out",
				 AR_JOBS_MAX);
	return AR_OK;
}

static enum ar_status plan_job(struct ar_decision *d, const struct ar_cmd_create_job_in *in, struct plan *p,
			       struct ar_error *err)
{
	if (!ar_str_absent(in->job_id) && ar_session_job(d->session, in->job_id))
		return ar_refuse(err, AR_ERR_ID_CONFLICT, "job %.*s exists already; choose another jobId",
				 AR_STR_ARG(in->job_id));
	if (check_limits(d, in, err) != AR_OK || ar_delivery_check(d, in->delivery, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->task_id) && (ar_task_need(d, in->task_id, &p->task, err) != AR_OK ||
					    ar_task_check_open(p->task, err) != AR_OK))
		return AR_E_REFUSED;
	if (text_of(d, in->instruction, in->instruction_ref, "instructionRef", &p->instruction, err) !=
		    AR_OK ||
	    text_of(d, in->output_schema, in->output_schema_ref, "outputSchemaRef", &p->schema, err) !=
		    AR_OK ||
	    ar_job_check_schema(d, p->schema, err) != AR_OK || plan_items(d, in, &p->items, err) != AR_OK)
		return AR_E_REFUSED;
	if (d->session->head == 0 && ar_decide_check_birth(d, in->create_policy, err) != AR_OK)
		return AR_E_REFUSED;
	return ar_decide_check_options(d, in->options, err);
}

/* What the session of each item is made with: the workspace of this one. */
static struct ar_shape_create_policy item_policy(const struct ar_decision *d,
						 const struct ar_cmd_create_job_in *in)
{
	return (struct ar_shape_create_policy){ .workspace_id = d->session->workspace,
						.isolation = in->create_policy ? in->create_policy->isolation
									       : 0 };
}

/* The schedule that the id of a run names; absent: there is none. */
static struct ar_str schedule_of(struct ar_decision *d, struct ar_str run)
{
	return ar_str_absent(run) ? AR_STR_NONE : ar_id_root(d->arena, AR_SCHEDULE_PREFIX, ar_id_owner(run));
}

static struct ar_job *say_created(struct ar_decision *d, const struct ar_cmd_create_job_in *in,
				  const struct plan *p)
{
	const struct ar_shape_create_policy policy = item_policy(d, in);
	struct ar_str first = ar_job_store_list(d, &p->items);
	struct ar_ids ids = { 0 };

	ids.at[AR_SCOPE_JOB] = p->id;
	ids.at[AR_SCOPE_TASK] = p->task ? p->task->id : AR_STR_NONE;
	ar_decide_emit(
		d, AR_EV_JOB_CREATED, &ids,
		&(struct ar_ev_job_created){
			.status = AR_JOB_CREATED_STATUS_PENDING,
			.instruction_ref = ar_decide_content(d, p->instruction),
			.input_refs = in->input_refs.count ? in->input_refs : (struct ar_texts){ &first, 1 },
			.output_schema_ref =
				ar_str_absent(p->schema) ? AR_STR_NONE : ar_decide_content(d, p->schema),
			.max_runtime = in->max_runtime.v,
			.item_count = (int64_t)p->items.count,
			.item_cursor = ar_job_cursor_text(d->arena, 0, first),
			.assigned_thread_ids = ar_texts_empty,
			.concurrency =
				AR_OPT_INT(in->concurrency.set ? in->concurrency.v : AR_JOB_CONCURRENCY),
			.options = in->options,
			.item_policy = &policy,
			.submitted_by = d->input->person,
			.schedule_id = schedule_of(d, in->report_to),
			.schedule_run_id = in->report_to,
			.max_attempts = in->max_attempts,
			.delivery = in->delivery,
			.inactivity_ms = in->inactivity_ms });
	return ar_session_job(d->session, p->id);
}

static void say_delegated(struct ar_decision *d, const struct ar_task *task, struct ar_str job)
{
	const struct ar_shape_relationship edge = { .kind = AR_STR("job"), .target_id = job };

	ar_task_emit(d, task, AR_EV_TASK_DELEGATED,
		     &(struct ar_ev_task_delegated){ .delegate_kind = AR_TASK_DELEGATED_DELEGATE_KIND_JOB,
						     .target_id = job,
						     .edge = &edge,
						     .reason = AR_STR("a job works for it") });
}

enum ar_status ar_decide_create_job(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_create_job_in *in = d->input->command.args;
	struct plan p = { 0 };
	struct ar_job *job;

	if (plan_job(d, in, &p, err) != AR_OK)
		return AR_E_REFUSED;
	if (d->session->head == 0)
		ar_decide_birth(d, in->create_policy, p.instruction, AR_STR(AR_SOURCE_JOB));
	p.id = ar_str_absent(in->job_id) ? ar_decide_mint(d, "job", &d->counters.job.v) : in->job_id;
	job = say_created(d, in, &p);
	if (d->fault != AR_OK)
		return AR_OK;
	if (p.task)
		say_delegated(d, p.task, p.id);
	if (!in->start.set || in->start.v)
		ar_job_begin(d, job);
	ar_decide_reply(d, AR_CMD_CREATE_JOB,
			&(struct ar_cmd_create_job_out){ .job_id = job->id,
							 .session_id = d->session->id,
							 .status = job->status == AR_JOB_PENDING
									   ? AR_CREATE_JOB_STATUS_PENDING
									   : AR_CREATE_JOB_STATUS_RUNNING,
							 .item_count = job->item_count });
	return AR_OK;
}

/* ---- start_job, cancel_job ---- */

enum ar_status ar_decide_start_job(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_start_job_in *in = d->input->command.args;
	struct ar_job *job;

	if (ar_job_need(d, in->job_id, &job, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_job_is_over(job))
		return ar_refuse(err, AR_ERR_ALREADY_STARTED, "job %.*s is %.*s", AR_STR_ARG(job->id),
				 AR_STR_ARG(ar_job_status_word(job)));
	if (job->status == AR_JOB_PENDING)
		ar_job_begin(d, job);
	ar_decide_reply(d, AR_CMD_START_JOB,
			&(struct ar_cmd_start_job_out){ .job_id = job->id,
							.status = AR_START_JOB_STATUS_RUNNING });
	return AR_OK;
}

static void say_cancelled(struct ar_decision *d, const struct ar_job *job, struct ar_str reason)
{
	struct ar_ids ids = ar_job_ids(d, job);
	const struct ar_shape_job_counts counts = ar_job_counts(job);

	ids.at[AR_SCOPE_TASK] = AR_STR_NONE;
	ar_decide_emit(d, AR_EV_JOB_CANCELLED, &ids,
		       &(struct ar_ev_job_cancelled){ .reason = reason,
						      .cancelled_by = ar_task_caller(d, NULL),
						      .counts = &counts });
	ar_decide_wake_cancel(d, job->id);
	ar_job_report(d, job);
	ar_delivery_begin_job(d, job);
}

static void cancel(struct ar_decision *d, struct ar_job *job, struct ar_str reason)
{
	struct ar_vec running = ar_vec_copy(d->arena, &job->running);

	ar_job_stop_turns(d, job, reason);
	for (size_t i = 0; i < running.count; i++)
		ar_job_item_failed(d, job, running.at[i],
				   &(struct ar_job_failure){ .category = AR_STR("cancelled"),
							     .message = reason });
	say_cancelled(d, job, reason);
}

void ar_jobs_cancel_task(struct ar_decision *d, const struct ar_task *task, struct ar_str reason)
{
	struct ar_vec jobs = ar_vec_copy(d->arena, &d->session->jobs);

	for (size_t i = 0; i < jobs.count; i++) {
		struct ar_job *job = jobs.at[i];

		if (ar_str_eq(job->task, task->id) && !ar_job_is_over(job))
			cancel(d, job, reason);
	}
}

enum ar_status ar_decide_cancel_job(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_cancel_job_in *in = d->input->command.args;
	struct ar_shape_job_counts counts;
	struct ar_job *job;

	if (ar_job_need(d, in->job_id, &job, err) != AR_OK)
		return AR_E_REFUSED;
	if (job->status == AR_JOB_COMPLETED || job->status == AR_JOB_FAILED)
		return ar_refuse(err, AR_ERR_ALREADY_TERMINAL, "job %.*s is %.*s", AR_STR_ARG(job->id),
				 AR_STR_ARG(ar_job_status_word(job)));
	if (!ar_job_is_over(job))
		cancel(d, job, in->reason);
	counts = ar_job_counts(job);
	ar_decide_reply(d, AR_CMD_CANCEL_JOB,
			&(struct ar_cmd_cancel_job_out){ .job_id = job->id,
							 .status = AR_CANCEL_JOB_STATUS_CANCELLED,
							 .counts = &counts });
	return AR_OK;
}

/* ---- time and restarts ---- */

/* When so many milliseconds after something are over, by the clock of now; 0: never. */
static ar_usec over_at(const struct ar_decision *d, int64_t ms, ar_usec began)
{
	return ms > 0 ? d->input->now + ms * 1000 - ar_decide_since(d, began) : 0;
}

void ar_job_set_clock(struct ar_decision *d, const struct ar_job *job)
{
	ar_usec time = over_at(d, job->max_runtime, job->started);
	ar_usec silence = over_at(d, job->inactivity_ms.v, job->alive);
	ar_usec due = time == 0 || (silence != 0 && silence < time) ? silence : time;

	if (due)
		ar_decide_wake(d, AR_IN_JOB_DUE, job->id, due);
}

static bool is_silent(const struct ar_decision *d, const struct ar_job *job)
{
	return job->inactivity_ms.v > 0 && ar_decide_since(d, job->alive) >= job->inactivity_ms.v * 1000;
}

/* True: its time is over, and it has failed. */
static bool fails_by_time(struct ar_decision *d, struct ar_job *job)
{
	if (job->max_runtime > 0 && ar_decide_since(d, job->started) >= job->max_runtime * 1000)
		ar_job_fail(d, job, AR_STR("timeout"), AR_STR("maxRuntime has passed"));
	else if (is_silent(d, job))
		ar_job_fail(d, job, AR_STR("inactivity"),
			    AR_STR("no item began or ended for as long as inactivityMs"));
	return ar_job_is_over(job);
}

enum ar_status ar_decide_job_due(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	struct ar_job *job = ar_session_job(d->session, d->input->due);

	if (job && ar_job_is_over(job))
		ar_delivery_due(d, &(struct ar_deliverable){ .job = job });
	if (!job || job->status != AR_JOB_RUNNING || fails_by_time(d, job))
		return AR_OK;
	if (job->inactivity_ms.v > 0) {
		ar_decide_wake_cancel(d, job->id);
		ar_job_set_clock(d, job);
	}
	ar_job_continue(d, job);
	return AR_OK;
}

void ar_jobs_recover(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->jobs.count; i++) {
		struct ar_job *job = d->session->jobs.at[i];

		ar_job_report(d, job);
		if (job->status != AR_JOB_RUNNING)
			continue;
		if (fails_by_time(d, job))
			continue;
		ar_job_set_clock(d, job);
		ar_job_resend(d, job);
		ar_job_continue(d, job);
	}
}
