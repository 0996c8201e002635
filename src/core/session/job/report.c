/* A job that a schedule started reports its end there, as the command report_job, until the schedule has
 * answered. Pure. */
#include "describe.h"
#include "job/job.h"

#define REPORT "job_report:" /* before the id of a job: the answer is about its report */

static int status_of(const struct ar_job *job)
{
	if (job->status == AR_JOB_COMPLETED)
		return AR_REPORT_JOB_STATUS_COMPLETED;
	return job->status == AR_JOB_CANCELLED ? AR_REPORT_JOB_STATUS_CANCELLED : AR_REPORT_JOB_STATUS_FAILED;
}

void ar_job_report(struct ar_decision *d, const struct ar_job *job)
{
	const struct ar_shape_job_counts counts = ar_job_counts(job);
	const struct ar_cmd_report_job_in in = { .to = job->report_to,
						 .job_id = job->id,
						 .session_id = d->session->id,
						 .status = status_of(job),
						 .counts = &counts,
						 .error = job->error,
						 .reason = job->reason };
	struct ar_jw w;

	if (ar_str_absent(job->report_to) || !ar_job_is_over(job))
		return;
	w = ar_decide_json(d);
	ar_struct_encode(&ar_command_describe(AR_CMD_REPORT_JOB)->in, &in, AR_STR_NONE, &w);
	ar_decide_send(d, &(struct ar_effect_send){
				  .subject = ar_arena_fmt(d->arena, REPORT "%.*s", AR_STR_ARG(job->id)),
				  .command = AR_CMD_REPORT_JOB,
				  .body = ar_decide_json_end(d) });
}

/* Refused: the schedule is gone, or not what it was. Nobody else wants to know. */
bool ar_job_report_answered(struct ar_decision *d)
{
	struct ar_str subject = d->input->sent->subject;
	uint16_t code = d->input->sent->code;
	const struct ar_job *job;
	struct ar_ids ids;

	if (!ar_str_starts(subject, AR_STR(REPORT)))
		return false;
	job = ar_session_job(d->session, ar_str_sub(subject, sizeof(REPORT) - 1, subject.len));
	if (!job || ar_str_absent(job->report_to) || !ar_job_is_over(job))
		return true;
	ids = ar_job_ids(d, job);
	ids.at[AR_SCOPE_TASK] = AR_STR_NONE;
	ar_decide_emit(d, AR_EV_JOB_REPORTED, &ids,
		       &(struct ar_ev_job_reported){ .to = job->report_to,
						     .result = code ? AR_JOB_REPORTED_RESULT_REFUSED
								    : AR_JOB_REPORTED_RESULT_ACCEPTED,
						     .code = code ? ar_str_from(ar_error_describe(code)->name)
								  : AR_STR_NONE });
	return true;
}
