/* Runs of a schedule: the turn or the job is sent to its session, and what became of it comes back, in the
 * answer and in a report, in either order. What is sent carries ids that follow from the run, so that a
 * repeat is the same. Pure. */
#include "describe.h"
#include "job/job.h"
#include "schedule/schedule.h"
#include "tenant.h"

#define STOP ".stop" /* behind the id of a run: the answer is about its interruption */

static const struct ar_ids none;

const struct ar_shape_schedule_run *ar_schedule_run(const struct ar_session *s, struct ar_str id)
{
	for (size_t i = 0; i < s->schedule_runs.count; i++) {
		if (ar_str_eq(s->schedule_runs.at[i].run_id, id))
			return &s->schedule_runs.at[i];
	}
	return NULL;
}

static bool is_open(const struct ar_shape_schedule_run *run)
{
	return !run->ended_at && run->status != AR_SCHEDULE_RUN_STATUS_MISSED;
}

size_t ar_schedule_open(const struct ar_session *s)
{
	size_t open = 0;

	for (size_t i = 0; i < s->schedule_runs.count; i++)
		open += is_open(&s->schedule_runs.at[i]);
	return open;
}

/* An answer is waited for. */
static bool is_sending(const struct ar_shape_schedule_run *run)
{
	return !run->ended_at && (run->status == AR_SCHEDULE_RUN_STATUS_STARTING ||
				  run->status == AR_SCHEDULE_RUN_STATUS_MISSED ||
				  (run->status == AR_SCHEDULE_RUN_STATUS_RUNNING && run->cancelling.v));
}

bool ar_session_sends_runs(const struct ar_session *s)
{
	for (size_t i = 0; i < s->schedule_runs.count; i++) {
		if (is_sending(&s->schedule_runs.at[i]))
			return true;
	}
	return false;
}

void ar_schedule_change(struct ar_decision *d, const struct ar_shape_schedule_run *run)
{
	ar_decide_emit(d, AR_EV_SCHEDULE_RUN_CHANGED, &none,
		       &(struct ar_ev_schedule_run_changed){ .run = run });
}

/* ---- what is sent ---- */

static struct ar_str encode(struct ar_decision *d, enum ar_command command, const void *in)
{
	struct ar_jw w = ar_decide_json(d);

	ar_struct_encode(&ar_command_describe(command)->in, in, AR_STR_NONE, &w);
	return ar_decide_json_end(d);
}

static void send_command(struct ar_decision *d, struct ar_str subject, enum ar_command command,
			 const void *in)
{
	ar_decide_send(d, &(struct ar_effect_send){ .subject = subject,
						    .command = command,
						    .body = encode(d, command, in),
						    .person = d->session->own_schedule->person });
}

/* An id of a caller's form: those of the runtime's own form are the other session's to make. */
static struct ar_str turn_id(struct ar_decision *d, const struct ar_shape_schedule_run *run)
{
	return ar_arena_fmt(d->arena, "%s-%.*s-%lld", AR_SCHEDULE_PREFIX, AR_STR_ARG(d->session->session_key),
			    (long long)run->number);
}

static struct ar_str metadata_of(struct ar_decision *d, const struct ar_shape_schedule_run *run)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "scheduleId", d->session->own_schedule->schedule_id);
	ar_jw_mstr(&w, "runId", run->run_id);
	ar_jw_key(&w, "dueAt");
	ar_jw_time(&w, run->due_at);
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

static struct ar_str new_session(struct ar_decision *d, const struct ar_shape_schedule_run *run)
{
	char *key = ar_arena_alloc(d->arena, AR_SESSION_KEY_LEN);

	ar_tenant_derive(ar_session_tenant(d->session), run->fired_at, run->run_id, key);
	return ar_id_root(d->arena, "sess", (struct ar_str){ key, AR_SESSION_KEY_LEN });
}

void ar_schedule_begin(struct ar_decision *d, struct ar_shape_schedule_run *run)
{
	const struct ar_shape_schedule_start *start = d->session->own_schedule->start;

	run->status = AR_SCHEDULE_RUN_STATUS_STARTING;
	run->session_id = ar_str_absent(start->session_id) ? new_session(d, run) : start->session_id;
	if (start->job)
		run->job_id = ar_arena_fmt(d->arena, "job_%.*s_%.*s",
					   AR_STR_ARG(ar_id_session_key(run->session_id)),
					   AR_STR_ARG(turn_id(d, run)));
	else
		run->turn_id = turn_id(d, run);
}

static bool is_of_job(const struct ar_shape_schedule_run *run)
{
	return !ar_str_absent(run->job_id);
}

/* What it starts may have been changed since the run began; then the run is refused, unless it was accepted
 * before. */
static void send_job(struct ar_decision *d, const struct ar_shape_schedule_run *run)
{
	static const struct ar_shape_create_policy by_default;
	static const struct ar_shape_schedule_job gone;
	const struct ar_shape_schedule_record *record = d->session->own_schedule;
	const struct ar_shape_schedule_start *start = record->start;
	const struct ar_shape_schedule_job *job = start->job ? start->job : &gone;
	struct ar_shape_create_policy made = start->create_policy ? *start->create_policy : by_default;
	const struct ar_cmd_create_job_in in = {
		.instruction = start->text,
		.job_id = run->job_id,
		.session_id = run->session_id,
		.create_policy = ar_str_absent(start->session_id) ? &made : NULL,
		.input = job->input,
		.input_format = job->input_format,
		.output_schema = job->output_schema,
		.concurrency = job->concurrency,
		.max_runtime = job->max_runtime,
		.max_attempts =
			job->max_attempts.set ? job->max_attempts : AR_OPT_INT(AR_JOB_ATTEMPTS_SCHEDULED),
		.options = start->options,
		.report_to = run->run_id,
	};

	if (ar_str_absent(made.title))
		made.title = record->name;
	send_command(d, run->run_id, AR_CMD_CREATE_JOB, &in);
}

static void send_turn(struct ar_decision *d, const struct ar_shape_schedule_run *run)
{
	static const struct ar_shape_create_policy by_default;
	const struct ar_shape_schedule_record *record = d->session->own_schedule;
	const struct ar_shape_schedule_start *start = record->start;
	bool is_new = ar_str_absent(start->session_id);
	struct ar_shape_create_policy made = start->create_policy ? *start->create_policy : by_default;
	const struct ar_cmd_submit_turn_in in = {
		.session_id = run->session_id,
		.create_policy = is_new ? &made : NULL,
		.thread_id = start->thread_id,
		.text = start->text,
		.turn_id = run->turn_id,
		.options = start->options,
		.metadata = metadata_of(d, run),
		.busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_QUEUE,
		.source = AR_STR("schedule"),
		.report_to = run->run_id,
	};

	if (ar_str_absent(made.title))
		made.title = record->name;
	send_command(d, run->run_id, AR_CMD_SUBMIT_TURN, &in);
}

static void send_task(struct ar_decision *d, const struct ar_shape_schedule_run *run)
{
	const struct ar_shape_schedule_record *record = d->session->own_schedule;
	const struct ar_shape_missed_run missed = { .schedule_id = record->schedule_id,
						    .run_id = run->run_id,
						    .due_at = run->due_at,
						    .count = run->count.v,
						    .reason = run->reason };
	const struct ar_cmd_create_task_in in = {
		.session_id = record->start->session_id,
		.objective = ar_str_utf8_prefix(record->start->text, 4096),
		.title = record->name,
		.task_kind = AR_STR("scheduled_run"),
		.missed_run = &missed,
		.idempotency_key = turn_id(d, run),
	};

	send_command(d, run->run_id, AR_CMD_CREATE_TASK, &in);
}

static void send_stop(struct ar_decision *d, const struct ar_shape_schedule_run *run)
{
	static const struct ar_str reason = { "the next run of its schedule is due", 35 };
	const struct ar_cmd_interrupt_turn_in turn = { .session_id = run->session_id,
						       .turn_id = run->turn_id,
						       .reason = reason,
						       .idempotency_key = turn_id(d, run) };
	const struct ar_cmd_cancel_job_in job = { .job_id = run->job_id,
						  .reason = reason,
						  .idempotency_key = turn_id(d, run) };
	struct ar_str subject = ar_arena_fmt(d->arena, "%.*s" STOP, AR_STR_ARG(run->run_id));

	if (is_of_job(run))
		send_command(d, subject, AR_CMD_CANCEL_JOB, &job);
	else
		send_command(d, subject, AR_CMD_INTERRUPT_TURN, &turn);
}

void ar_schedule_send(struct ar_decision *d, const struct ar_shape_schedule_run *run)
{
	if (run->status == AR_SCHEDULE_RUN_STATUS_MISSED)
		send_task(d, run);
	else if (run->status == AR_SCHEDULE_RUN_STATUS_STARTING)
		(is_of_job(run) ? send_job : send_turn)(d, run);
	else
		send_stop(d, run);
}

void ar_schedule_recover(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->schedule_runs.count; i++) {
		if (is_sending(&d->session->schedule_runs.at[i]))
			ar_schedule_send(d, &d->session->schedule_runs.at[i]);
	}
}

/* ---- ends ---- */

/* The facts change the list: it is gone through as it was. */
static void cancel(struct ar_decision *d, struct ar_str reason, bool is_all)
{
	const struct ar_shape_schedule_run_list runs = d->session->schedule_runs;

	for (size_t i = 0; i < runs.count; i++) {
		struct ar_shape_schedule_run run = runs.at[i];

		if (!is_open(&run) || run.cancelling.v)
			continue;
		if (run.status == AR_SCHEDULE_RUN_STATUS_QUEUED) {
			run.status = AR_SCHEDULE_RUN_STATUS_CANCELLED;
			run.reason = reason;
			run.ended_at = d->input->now;
			ar_schedule_change(d, &run);
		} else if (is_all) {
			run.cancelling = AR_OPT_BOOL(true);
			run.reason = reason;
			ar_schedule_change(d, &run);
			if (run.status == AR_SCHEDULE_RUN_STATUS_RUNNING)
				ar_schedule_send(d, &run);
		}
	}
}

void ar_schedule_cancel_open(struct ar_decision *d)
{
	cancel(d, AR_STR("the next run was due"), true);
}

void ar_schedule_cancel_queued(struct ar_decision *d, struct ar_str reason)
{
	cancel(d, reason, false);
}

static const struct ar_shape_schedule_run *first_queued(const struct ar_session *s)
{
	for (size_t i = 0; i < s->schedule_runs.count; i++) {
		const struct ar_shape_schedule_run *run = &s->schedule_runs.at[i];

		if (is_open(run) && run->status != AR_SCHEDULE_RUN_STATUS_QUEUED)
			return NULL; /* it waits for this one */
		if (is_open(run))
			return run;
	}
	return NULL;
}

static void end_run(struct ar_decision *d, struct ar_shape_schedule_run *run, int status)
{
	const struct ar_shape_schedule_run *next;
	struct ar_shape_schedule_run begun;

	run->status = status;
	run->cancelling = (struct ar_opt_bool){ 0 };
	run->ended_at = d->input->now;
	ar_schedule_change(d, run);
	next = first_queued(d->session);
	if (!next)
		return;
	begun = *next;
	ar_schedule_begin(d, &begun);
	ar_schedule_change(d, &begun);
	ar_schedule_send(d, &begun);
}

/* ---- what comes back ---- */

static struct ar_str text_at(const struct ar_decision *d, struct ar_json v, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(v, name), &text);
	return ar_arena_str(d->arena, text);
}

static struct ar_shape_failure *failure_of(struct ar_decision *d, struct ar_json reply)
{
	struct ar_shape_failure *failure = ar_arena_alloc(d->arena, sizeof(*failure));

	failure->category = ar_str_from(ar_error_describe(d->input->sent->code)->name);
	failure->message = ar_str_utf8_prefix(text_at(d, ar_json_get(reply, "error"), "message"), 1024);
	return failure;
}

/* Its id is ours: there was an earlier answer, whose receipt is gone. */
static bool is_accepted(uint16_t code)
{
	return code == 0 || code == AR_ERR_ID_CONFLICT;
}

static void start_answered(struct ar_decision *d, struct ar_shape_schedule_run *run, struct ar_json reply)
{
	if (!is_accepted(d->input->sent->code)) {
		run->error = failure_of(d, reply);
		end_run(d, run, AR_SCHEDULE_RUN_STATUS_REFUSED);
		return;
	}
	run->status = AR_SCHEDULE_RUN_STATUS_RUNNING;
	run->thread_id = text_at(d, reply, "threadId");
	run->task_id = text_at(d, reply, "taskId");
	ar_schedule_change(d, run);
	if (run->cancelling.v)
		ar_schedule_send(d, run);
}

static void task_answered(struct ar_decision *d, struct ar_shape_schedule_run *run, struct ar_json reply)
{
	run->task_id = text_at(d, reply, "taskId");
	if (d->input->sent->code)
		run->error = failure_of(d, reply);
	run->ended_at = d->input->now;
	ar_schedule_change(d, run);
}

/* The turn or the job is not there any more: nobody will report its end. A job that ended meanwhile does. */
static void stop_answered(struct ar_decision *d, struct ar_str id, struct ar_json reply)
{
	const struct ar_shape_schedule_run *known = ar_schedule_run(d->session, id);
	struct ar_shape_schedule_run run;

	if (!known || known->ended_at || d->input->sent->code == 0 ||
	    d->input->sent->code == AR_ERR_ALREADY_TERMINAL)
		return;
	run = *known;
	run.error = failure_of(d, reply);
	end_run(d, &run, AR_SCHEDULE_RUN_STATUS_CANCELLED);
}

void ar_schedule_sent(struct ar_decision *d)
{
	const struct ar_sent *sent = d->input->sent;
	const struct ar_shape_schedule_run *known = ar_schedule_run(d->session, sent->subject);
	struct ar_shape_schedule_run run;
	struct ar_json reply = { 0 };

	if (ar_json_parse(d->json, sent->reply, &reply, NULL) != AR_OK)
		reply = (struct ar_json){ 0 };
	if (!known && ar_str_ends(sent->subject, AR_STR(STOP)))
		stop_answered(d, ar_str_sub(sent->subject, 0, sent->subject.len - (sizeof(STOP) - 1)), reply);
	if (!known || known->ended_at)
		return;
	run = *known;
	if (run.status == AR_SCHEDULE_RUN_STATUS_STARTING)
		start_answered(d, &run, reply);
	else if (run.status == AR_SCHEDULE_RUN_STATUS_MISSED)
		task_answered(d, &run, reply);
}

static int status_of(struct ar_str outcome)
{
	if (ar_str_is(outcome, "completed"))
		return AR_SCHEDULE_RUN_STATUS_COMPLETED;
	return ar_str_is(outcome, "cancelled") ? AR_SCHEDULE_RUN_STATUS_CANCELLED
					       : AR_SCHEDULE_RUN_STATUS_FAILED;
}

static struct ar_shape_failure short_failure(const struct ar_shape_failure *error)
{
	struct ar_shape_failure ret = *error;

	ret.message = ar_str_utf8_prefix(ret.message, 1024);
	ret.recovery_advice = ar_str_utf8_prefix(ret.recovery_advice, 1024);
	return ret;
}

/* One that is not known has left the list: it had ended. A report may come before the answer. */
enum ar_status ar_schedule_report_turn(struct ar_decision *d, const struct ar_cmd_report_turn_in *in,
				       struct ar_error *err)
{
	const struct ar_shape_schedule_run *known = ar_schedule_run(d->session, in->to);
	struct ar_shape_schedule_run run;
	struct ar_shape_failure failure;

	if (!d->session->own_schedule)
		return ar_refuse(err, AR_ERR_NOT_FOUND, "%s", AR_NO_SCHEDULE);
	if (!known || !is_open(known))
		return AR_OK;
	run = *known;
	run.session_id = in->session_id;
	run.turn_id = in->turn_id;
	run.output_ref = in->output_ref;
	failure = in->error ? short_failure(in->error) : (struct ar_shape_failure){ 0 };
	run.error = in->error ? &failure : run.error;
	end_run(d, &run, status_of(in->status));
	return AR_OK;
}

static int status_of_job(int status)
{
	if (status == AR_REPORT_JOB_STATUS_COMPLETED)
		return AR_SCHEDULE_RUN_STATUS_COMPLETED;
	return status == AR_REPORT_JOB_STATUS_CANCELLED ? AR_SCHEDULE_RUN_STATUS_CANCELLED
							: AR_SCHEDULE_RUN_STATUS_FAILED;
}

enum ar_status ar_schedule_report_job(struct ar_decision *d, const struct ar_cmd_report_job_in *in,
				      struct ar_error *err)
{
	const struct ar_shape_schedule_run *known = ar_schedule_run(d->session, in->to);
	struct ar_shape_schedule_run run;
	struct ar_shape_failure failure;

	if (!d->session->own_schedule)
		return ar_refuse(err, AR_ERR_NOT_FOUND, "%s", AR_NO_SCHEDULE);
	if (!known || !is_open(known) || !ar_str_eq(known->job_id, in->job_id))
		return AR_OK;
	run = *known;
	run.counts = in->counts;
	failure = in->error ? short_failure(in->error) : (struct ar_shape_failure){ 0 };
	run.error = in->error ? &failure : run.error;
	if (!ar_str_absent(in->reason))
		run.reason = ar_str_utf8_prefix(in->reason, 256);
	end_run(d, &run, status_of_job(in->status));
	return AR_OK;
}
