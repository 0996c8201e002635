/* A schedule is created, changed, ended: commands to its own log. Pure. */
#include "job/job.h"
#include "schedule/schedule.h"
#include "tenant.h"

static const struct ar_ids none;

static struct ar_str caller_of(const struct ar_decision *d)
{
	return ar_str_absent(d->input->person) ? d->input->account : d->input->person;
}

/* ---- what a caller gives ---- */

enum ar_status ar_schedule_clock(const struct ar_decision *d, struct ar_str spec, struct ar_str zone,
				 ar_usec anchor, struct ar_cron_clock *ret, struct ar_error *err)
{
	struct ar_cron_clock clock = { .anchor = anchor, .zone = d->input->zone };
	struct ar_error why = { 0 };

	if (ar_cron_parse(spec, &clock.cron, &why) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_SCHEDULE, "%s", why.msg);
	if (d->input->is_zone_unknown)
		return ar_refuse(err, AR_ERR_INVALID_SCHEDULE,
				 "this server knows no zone '%.*s'; use a name such as Europe/Berlin",
				 AR_STR_ARG(ar_str_utf8_prefix(zone, 64)));
	*ret = clock;
	return AR_OK;
}

static bool is_session(struct ar_str id)
{
	struct ar_str key = ar_id_session_key(id);

	return !ar_str_absent(key) && ar_str_starts(id, AR_STR("sess_")) &&
	       id.len == AR_SESSION_KEY_LEN + 5 && !ar_key_is_reserved(key) && !ar_tenant_is_a_home(key);
}

/* What create_job would refuse each time. */
static enum ar_status check_job(struct ar_decision *d, const struct ar_shape_schedule_start *start,
				struct ar_error *err)
{
	const struct ar_shape_schedule_job *job = start->job;
	struct ar_job_list items = { 0 };

	if (!ar_str_absent(start->thread_id))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "start has a threadId or a job, not both: its items have their own");
	if ((job->concurrency.set && job->concurrency.v < 1) || job->max_runtime.v < 0 ||
	    job->max_runtime.v > INT64_MAX / 2000000 || (job->max_attempts.set && job->max_attempts.v < 1))
		return ar_refuse(
			err, AR_ERR_INVALID_INPUT,
			"start.job: concurrency and maxAttempts are 1 or more, maxRuntime not below 0");
	if (ar_job_check_schema(d, job->output_schema, err) != AR_OK ||
	    ar_job_split(d, job->input, job->input_format ? job->input_format : AR_JOB_INPUT_FORMAT_LINES,
			 &items, err) != AR_OK)
		return AR_E_REFUSED;
	if (items.count == 0)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "start.job.input has no items");
	return AR_OK;
}

static enum ar_status check_start(struct ar_decision *d, const struct ar_shape_schedule_start *start,
				  struct ar_error *err)
{
	bool has_session = !ar_str_absent(start->session_id);

	if (ar_str_empty(start->text))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "start.text is empty");
	if (has_session && !is_session(start->session_id))
		return ar_refuse(err, AR_ERR_SESSION_NOT_FOUND, "there is no session '%.*s'",
				 AR_STR_ARG(ar_str_utf8_prefix(start->session_id, 64)));
	if (has_session && start->create_policy)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "start has a sessionId or a createPolicy, not both");
	if (!has_session && !ar_str_absent(start->thread_id))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "start.threadId needs the sessionId, too");
	return start->job ? check_job(d, start, err) : AR_OK;
}

/* ---- create_schedule ---- */

static struct ar_shape_schedule_record new_record(struct ar_decision *d, const struct ar_cron_clock *clock)
{
	const struct ar_cmd_create_schedule_in *in = d->input->command.args;
	bool is_paused = in->paused.v;

	return (struct ar_shape_schedule_record){
		.schedule_id = ar_id_root(d->arena, AR_SCHEDULE_PREFIX, d->session->session_key),
		.tenant = ar_str_absent(d->input->tenant) ? AR_STR(AR_TENANT_LOCAL) : d->input->tenant,
		.created_by = caller_of(d),
		.name = in->name,
		.spec = in->spec,
		.zone = in->zone,
		.sentence = ar_cron_sentence(&clock->cron, in->zone, d->arena),
		.start = in->start,
		.person = d->input->person,
		.jitter_ms = in->jitter_ms,
		.catch_up = in->catch_up ? in->catch_up : AR_SCHEDULE_CATCH_UP_ONCE,
		.overlap = in->overlap ? in->overlap : AR_SCHEDULE_OVERLAP_SKIP,
		.status = is_paused ? AR_SCHEDULE_RECORD_STATUS_PAUSED : AR_SCHEDULE_RECORD_STATUS_ACTIVE,
		.anchor_at = d->input->now,
		.next_at = is_paused ? 0 : ar_cron_next(clock, d->input->now),
		.version = 1,
		.created_at = d->input->now,
		.updated_at = d->input->now,
	};
}

/* A log that is there under the key of a caller, without the receipt of it: its receipt has ended. */
enum ar_status ar_decide_create_schedule(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_create_schedule_in *in = d->input->command.args;
	struct ar_shape_schedule_record record;
	struct ar_cron_clock clock;

	if (d->session->head > 0)
		return ar_refuse(err, AR_ERR_ID_CONFLICT, "the key was used before for another schedule");
	if (ar_str_empty(in->name))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "the name is empty");
	if (check_start(d, in->start, err) != AR_OK ||
	    ar_schedule_clock(d, in->spec, in->zone, d->input->now, &clock, err) != AR_OK)
		return AR_E_REFUSED;
	record = new_record(d, &clock);
	ar_decide_emit(d, AR_EV_SESSION_CREATED, &none,
		       &(struct ar_ev_session_created){ .title = record.name,
							.account_ref = d->input->account,
							.created_at = d->input->now,
							.tenant = ar_tenant_told(d->input->tenant),
							.source = AR_STR(AR_SOURCE_SYSTEM) });
	ar_decide_emit(d, AR_EV_SCHEDULE_CREATED, &none,
		       &(struct ar_ev_schedule_created){ .schedule = &record });
	ar_decide_reply(d, AR_CMD_CREATE_SCHEDULE,
			&(struct ar_cmd_create_schedule_out){ .schedule = d->session->own_schedule });
	return AR_OK;
}

/* ---- update_schedule ---- */

static enum ar_status check_open(const struct ar_session *s, struct ar_error *err)
{
	if (!s->own_schedule)
		return ar_refuse(err, AR_ERR_SCHEDULE_NOT_FOUND, "%s", AR_NO_SCHEDULE);
	if (s->own_schedule->status != AR_SCHEDULE_RECORD_STATUS_ENDED)
		return AR_OK;
	return ar_refuse(err, AR_ERR_SCHEDULE_ENDED, "schedule %.*s has ended",
			 AR_STR_ARG(s->own_schedule->schedule_id));
}

static enum ar_status check_update(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_schedule_in *in = d->input->command.args;
	const struct ar_shape_schedule_record *record = d->session->own_schedule;

	if (check_open(d->session, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->name) && ar_str_empty(in->name))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "the name is empty");
	if (in->start && check_start(d, in->start, err) != AR_OK)
		return AR_E_REFUSED;
	if (in->version.set && in->version.v != record->version)
		return ar_refuse(err, AR_ERR_VERSION_CONFLICT,
				 "the schedule has version %lld, and the change is based on %lld",
				 (long long)record->version, (long long)in->version.v);
	return AR_OK;
}

static struct ar_str either(struct ar_str given, struct ar_str old)
{
	return ar_str_absent(given) ? old : given;
}

/* What its turns are for is the word of who said it last. */
static struct ar_shape_schedule_record changed_record(const struct ar_decision *d)
{
	const struct ar_cmd_update_schedule_in *in = d->input->command.args;
	struct ar_shape_schedule_record record = *d->session->own_schedule;

	record.name = either(in->name, record.name);
	record.spec = either(in->spec, record.spec);
	record.zone = either(in->zone, record.zone);
	if (in->start) {
		record.start = in->start;
		record.person = d->input->person;
	}
	if (in->jitter_ms.set)
		record.jitter_ms = in->jitter_ms;
	if (in->catch_up)
		record.catch_up = in->catch_up;
	if (in->overlap)
		record.overlap = in->overlap;
	if (in->paused.set)
		record.status =
			in->paused.v ? AR_SCHEDULE_RECORD_STATUS_PAUSED : AR_SCHEDULE_RECORD_STATUS_ACTIVE;
	record.version++;
	record.updated_at = d->input->now;
	return record;
}

/* Times that it had before the change are over; those of a pause are not made up for. */
static void set_next(const struct ar_decision *d, const struct ar_cron_clock *clock, bool is_new,
		     struct ar_shape_schedule_record *record)
{
	const struct ar_shape_schedule_record *old = d->session->own_schedule;

	if (record->status != AR_SCHEDULE_RECORD_STATUS_ACTIVE)
		record->next_at = 0;
	else if (is_new || old->status != AR_SCHEDULE_RECORD_STATUS_ACTIVE)
		record->next_at = ar_cron_next(clock, d->input->now);
}

enum ar_status ar_decide_update_schedule(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_schedule_in *in = d->input->command.args;
	bool is_new = !ar_str_absent(in->spec) || !ar_str_absent(in->zone);
	struct ar_shape_schedule_record record;
	struct ar_cron_clock clock;

	if (check_update(d, err) != AR_OK)
		return AR_E_REFUSED;
	record = changed_record(d);
	record.anchor_at = ar_str_absent(in->spec) ? record.anchor_at : d->input->now;
	if (ar_schedule_clock(d, record.spec, record.zone, record.anchor_at, &clock, err) != AR_OK)
		return AR_E_REFUSED;
	record.sentence = ar_cron_sentence(&clock.cron, record.zone, d->arena);
	set_next(d, &clock, is_new, &record);
	ar_decide_emit(d, AR_EV_SCHEDULE_UPDATED, &none,
		       &(struct ar_ev_schedule_updated){ .actor = d->input->account, .schedule = &record });
	ar_decide_reply(d, AR_CMD_UPDATE_SCHEDULE,
			&(struct ar_cmd_update_schedule_out){ .schedule = d->session->own_schedule });
	return AR_OK;
}

/* ---- end_schedule ---- */

enum ar_status ar_decide_end_schedule(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_end_schedule_in *in = d->input->command.args;
	const struct ar_shape_schedule_record *record = d->session->own_schedule;
	bool is_open = record && record->status != AR_SCHEDULE_RECORD_STATUS_ENDED;

	if (!record)
		return check_open(d->session, err);
	if (is_open) {
		ar_decide_emit(d, AR_EV_SCHEDULE_ENDED, &none,
			       &(struct ar_ev_schedule_ended){ .actor = d->input->account,
							       .reason = in->reason });
		ar_schedule_cancel_queued(d, AR_STR("the schedule has ended"));
	}
	ar_decide_reply(d, AR_CMD_END_SCHEDULE,
			&(struct ar_cmd_end_schedule_out){ .schedule_id = record->schedule_id,
							   .result =
								   is_open ? AR_END_SCHEDULE_RESULT_ENDED
									   : AR_END_SCHEDULE_RESULT_NO_OP });
	return AR_OK;
}
