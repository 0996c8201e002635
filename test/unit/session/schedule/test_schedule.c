/* The log of a schedule: what is due gets a run once, what passed is made up for or missed by its policy,
 * runs wait for each other or not, and what was sent is sent again until it is answered. */
#include "desk.h"
#include "schedule/schedule.h"
#include "tenant.h"

#include <stdio.h>
#include <string.h>

#define SESSION "sess_01kdvqv800e0081040g20810g1"
#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

static enum ar_status command(struct desk *d, enum ar_command id, const void *args)
{
	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .command = { .id = id, .args = args },
					     .account = AR_STR("token:tok_1"),
					     .person = AR_STR("uid:1001"),
					     .tenant = AR_STR("acme") });
}

static const struct ar_shape_schedule_start in_session = { .text = AR_STR("work"),
							   .session_id = AR_STR(SESSION) };
static const struct ar_shape_schedule_start in_new_ones = { .text = AR_STR("work") };

static enum ar_status create(struct desk *d, const char *spec, int catch_up, int overlap,
			     const struct ar_shape_schedule_start *start)
{
	d->policy.schedule_late_ms = 60000;
	return command(d, AR_CMD_CREATE_SCHEDULE,
		       &(struct ar_cmd_create_schedule_in){ .name = AR_STR("report"),
							    .spec = ar_str_from(spec),
							    .catch_up = catch_up,
							    .overlap = overlap,
							    .start = start });
}

/* The engine wakes it at that time. */
static void wake_at(struct desk *d, ar_usec at)
{
	d->now = at - SECOND;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_SCHEDULE_DUE }), AR_OK);
}

static ar_usec next_of(const struct desk *d)
{
	return d->session.own_schedule->next_at;
}

static const struct ar_effect_send *sent(const struct desk *d, size_t index)
{
	for (size_t i = 0; i < d->decision.effect_count; i++) {
		if (d->decision.effects[i].kind == AR_EFFECT_SEND && index-- == 0)
			return &d->decision.effects[i].send;
	}
	return NULL;
}

static void expect_sent(struct desk *d, size_t index, enum ar_command what, const char *part)
{
	const struct ar_effect_send *send = sent(d, index);

	assert_non_null(send);
	assert_int_equal(send->command, what);
	assert_true(ar_str_is(send->person, "uid:1001"));
	if (!strstr(ar_arena_fmt(&d->arena, "%.*s", AR_STR_ARG(send->body)).p, part))
		fail_msg("%.*s does not have %s", AR_STR_ARG(send->body), part);
}

static struct ar_str run_id(struct desk *d, unsigned n)
{
	return ar_id_inner(&d->session.arena, "sched", d->session.session_key, n);
}

static void answer(struct desk *d, unsigned n, uint16_t code, const char *reply)
{
	const struct ar_sent s = { .subject = run_id(d, n), .code = code, .reply = ar_str_from(reply) };

	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_SENT, .sent = &s }), AR_OK);
}

static void accept(struct desk *d, unsigned n)
{
	answer(d, n, 0, "{\"threadId\":\"thread_x\",\"taskId\":\"task_x\"}");
}

static void report(struct desk *d, unsigned n, const char *status)
{
	const struct ar_cmd_report_turn_in in = { .to = run_id(d, n),
						  .turn_id = AR_STR("t"),
						  .session_id = AR_STR(SESSION),
						  .status = ar_str_from(status) };

	assert_int_equal(desk_do(d,
				 (struct ar_input){ .kind = AR_IN_COMMAND,
						    .is_runtime = true,
						    .command = { .id = AR_CMD_REPORT_TURN, .args = &in } }),
			 AR_OK);
}

/* The statuses of its runs, oldest first. */
static void expect_runs(struct desk *d, const char *expected)
{
	char all[512] = "";

	for (size_t i = 0; i < d->session.schedule_runs.count; i++) {
		static const char *const words[] = { "",	  "queued",    "starting",
						     "running",	  "completed", "failed",
						     "cancelled", "refused",   "missed" };

		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? " " : "",
			 words[d->session.schedule_runs.at[i].status]);
	}
	assert_string_equal(all, expected);
}

/* ---- records ---- */

static void it_is_created_changed_and_ended(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_update_schedule_in in = { .paused = AR_OPT_BOOL(true), .version = AR_OPT_INT(1) };

	desk_expect_refusal(d, create(d, "* *", 0, 0, &in_session), AR_ERR_INVALID_SCHEDULE);
	assert_int_equal(create(d, "@hourly", 0, 0, &in_session), AR_OK);
	desk_expect(d, "session.created schedule.created");
	desk_expect_payload(d, AR_EV_SCHEDULE_CREATED, "\"tenant\":\"acme\",\"createdBy\":\"uid:1001\"");
	assert_int_equal(next_of(d) % HOUR, 0);
	assert_int_equal(ar_session_due(&d->session), next_of(d));
	desk_expect_refusal(d, create(d, "@daily", 0, 0, &in_session), AR_ERR_ID_CONFLICT);

	assert_int_equal(command(d, AR_CMD_UPDATE_SCHEDULE, &in), AR_OK);
	desk_expect(d, "schedule.updated");
	assert_int_equal(ar_session_due(&d->session), 0);
	desk_expect_refusal(d, command(d, AR_CMD_UPDATE_SCHEDULE, &in), AR_ERR_VERSION_CONFLICT);
	d->now += 5 * HOUR;
	in = (struct ar_cmd_update_schedule_in){ .paused = AR_OPT_BOOL(false) };
	assert_int_equal(command(d, AR_CMD_UPDATE_SCHEDULE, &in), AR_OK);
	assert_true(next_of(d) > d->now && next_of(d) <= d->now + HOUR);

	assert_int_equal(command(d, AR_CMD_END_SCHEDULE, &(struct ar_cmd_end_schedule_in){ 0 }), AR_OK);
	desk_expect(d, "schedule.ended");
	assert_int_equal(ar_session_due(&d->session), 0);
	assert_int_equal(command(d, AR_CMD_END_SCHEDULE, &(struct ar_cmd_end_schedule_in){ 0 }), AR_OK);
	desk_expect(d, "");
	desk_expect_refusal(d, command(d, AR_CMD_RUN_SCHEDULE, &(struct ar_cmd_run_schedule_in){ 0 }),
			    AR_ERR_SCHEDULE_ENDED);
	desk_expect_refusal(d, command(d, AR_CMD_UPDATE_SCHEDULE, &in), AR_ERR_SCHEDULE_ENDED);
}

static void a_zone_that_is_not_known_is_refused(void **state)
{
	struct desk *d = *state;
	const struct ar_cmd_create_schedule_in in = { .name = AR_STR("x"),
						      .spec = AR_STR("@daily"),
						      .zone = AR_STR("Europe/Nowhere"),
						      .start = &in_session };

	desk_expect_refusal(d,
			    desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
							  .is_zone_unknown = true,
							  .command = { .id = AR_CMD_CREATE_SCHEDULE,
								       .args = &in } }),
			    AR_ERR_INVALID_SCHEDULE);
}

/* The zone went away: nobody can say when it is due next, so it is paused, and says so. */
static void a_zone_that_is_gone_pauses_it(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, "@hourly", 0, 0, &in_session), AR_OK);
	d->now = next_of(d);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_SCHEDULE_DUE, .is_zone_unknown = true }),
			 AR_OK);
	desk_expect(d, "schedule.missed schedule.updated");
	assert_int_equal(ar_session_due(&d->session), 0);
}

/* ---- runs ---- */

static void each_time_gets_one_run(void **state)
{
	struct desk *d = *state;
	ar_usec due;

	assert_int_equal(create(d, "@hourly", 0, 0, &in_session), AR_OK);
	due = next_of(d);
	wake_at(d, due - SECOND);
	desk_expect(d, "");
	wake_at(d, due);
	desk_expect(d, "schedule.fired");
	desk_expect_payload(d, AR_EV_SCHEDULE_FIRED, "\"trigger\":\"time\",\"status\":\"starting\"");
	expect_sent(d, 0, AR_CMD_SUBMIT_TURN, "\"sessionId\":\"" SESSION "\"");
	expect_sent(d, 0, AR_CMD_SUBMIT_TURN, "\"busyPolicy\":\"queue\"");
	assert_int_equal(next_of(d), due + HOUR);
	wake_at(d, due); /* the clock was set back, or the wake came twice */
	desk_expect(d, "");
	wake_at(d, due + MINUTE);
	desk_expect(d, "");
	expect_runs(d, "starting");
}

static void an_answer_and_a_report_come_in_either_order(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, "@hourly", 0, 0, &in_session), AR_OK);
	wake_at(d, next_of(d));
	accept(d, 1);
	desk_expect_payload(d, AR_EV_SCHEDULE_RUN_CHANGED, "\"status\":\"running\"");
	report(d, 1, "completed");
	expect_runs(d, "completed");
	report(d, 1, "completed"); /* a repeat */
	desk_expect(d, "");
	wake_at(d, next_of(d));
	report(d, 2, "failed");
	expect_runs(d, "completed failed");
	accept(d, 2);
	desk_expect(d, "");
	report(d, 99, "completed"); /* of one that is not known any more */
	desk_expect(d, "");
}

static void what_is_refused_ends_the_run(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, "@hourly", 0, 0, &in_session), AR_OK);
	wake_at(d, next_of(d));
	answer(d, 1, AR_ERR_SESSION_NOT_FOUND, "{\"error\":{\"message\":\"it is gone\"}}");
	expect_runs(d, "refused");
	desk_expect_payload(d, AR_EV_SCHEDULE_RUN_CHANGED,
			    "\"error\":{\"category\":\"session_not_found\",\"message\":\"it is gone\"}");
	assert_false(ar_session_is_active(&d->session));
}

static void what_was_not_answered_is_sent_again(void **state)
{
	struct desk *d = *state;
	struct ar_str first;

	assert_int_equal(create(d, "@hourly", 0, 0, &in_new_ones), AR_OK);
	wake_at(d, next_of(d));
	first = ar_arena_str(&d->session.arena, sent(d, 0)->body);
	assert_true(ar_session_is_active(&d->session));
	d->now += HOUR / 2;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_true(ar_str_eq(sent(d, 0)->body, first));
	accept(d, 1);
	assert_false(ar_session_is_active(&d->session));
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_null(sent(d, 0));
}

/* Each run has a session of its own, whose id the tenant may name. */
static void a_new_session_for_each_run(void **state)
{
	struct desk *d = *state;
	struct ar_str one, two;

	assert_int_equal(create(d, "@hourly", 0, AR_SCHEDULE_OVERLAP_CANCEL, &in_new_ones), AR_OK);
	wake_at(d, next_of(d));
	expect_sent(d, 0, AR_CMD_SUBMIT_TURN, "\"createPolicy\":{\"title\":\"report\"}");
	one = d->session.schedule_runs.at[0].session_id;
	report(d, 1, "completed");
	wake_at(d, next_of(d));
	two = d->session.schedule_runs.at[1].session_id;
	assert_false(ar_str_eq(one, two));
	assert_true(ar_tenant_may_name(AR_STR("acme"), ar_id_session_key(one)));
	assert_false(ar_tenant_may_name(AR_STR("zeta"), ar_id_session_key(one)));
	assert_true(ar_str_cmp(one, two) < 0); /* in the order of time */
}

static void a_run_now_leaves_the_times(void **state)
{
	struct desk *d = *state;
	ar_usec due;

	assert_int_equal(create(d, "@hourly", 0, 0, &in_session), AR_OK);
	due = next_of(d);
	assert_int_equal(command(d, AR_CMD_RUN_SCHEDULE, &(struct ar_cmd_run_schedule_in){ 0 }), AR_OK);
	desk_expect_payload(d, AR_EV_SCHEDULE_FIRED, "\"trigger\":\"request\"");
	assert_int_equal(next_of(d), due);
	assert_int_equal(command(d, AR_CMD_RUN_SCHEDULE, &(struct ar_cmd_run_schedule_in){ 0 }), AR_OK);
	desk_expect_reply(d, "\"status\":\"missed\""); /* the run before has not ended */
}

/* ---- overlap ---- */

static void overlap_skip(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, "@hourly", 0, AR_SCHEDULE_OVERLAP_SKIP, &in_session), AR_OK);
	wake_at(d, next_of(d));
	accept(d, 1);
	wake_at(d, next_of(d));
	desk_expect(d, "schedule.missed");
	desk_expect_payload(d, AR_EV_SCHEDULE_MISSED, "\"reason\":\"" AR_MISSED_OVERLAP "\"");
	assert_null(sent(d, 0));
	report(d, 1, "completed");
	wake_at(d, next_of(d));
	expect_runs(d, "completed missed starting");
}

static void overlap_queue(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, "@hourly", 0, AR_SCHEDULE_OVERLAP_QUEUE, &in_session), AR_OK);
	wake_at(d, next_of(d));
	accept(d, 1);
	wake_at(d, next_of(d));
	assert_null(sent(d, 0));
	wake_at(d, next_of(d));
	expect_runs(d, "running queued queued");
	report(d, 1, "failed");
	expect_runs(d, "failed starting queued");
	expect_sent(d, 0, AR_CMD_SUBMIT_TURN, "-2\"");
	for (unsigned i = 0; i < 40; i++)
		wake_at(d, next_of(d));
	assert_int_equal(ar_schedule_open(&d->session), AR_SCHEDULE_OPEN_MAX);
	desk_expect_payload(d, AR_EV_SCHEDULE_MISSED, "\"reason\":\"" AR_MISSED_FULL "\"");
	assert_int_equal(command(d, AR_CMD_END_SCHEDULE, &(struct ar_cmd_end_schedule_in){ 0 }), AR_OK);
	assert_int_equal(ar_schedule_open(&d->session), 1);
	report(d, 2, "completed");
	assert_null(sent(d, 0));
}

static void overlap_cancel(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, "@hourly", 0, AR_SCHEDULE_OVERLAP_CANCEL, &in_session), AR_OK);
	wake_at(d, next_of(d));
	accept(d, 1);
	wake_at(d, next_of(d));
	desk_expect(d, "schedule.run_changed schedule.fired");
	expect_sent(d, 0, AR_CMD_INTERRUPT_TURN, "\"sessionId\":\"" SESSION "\"");
	expect_sent(d, 1, AR_CMD_SUBMIT_TURN, "-2\"");
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	expect_sent(d, 0, AR_CMD_INTERRUPT_TURN, "");
	expect_sent(d, 1, AR_CMD_SUBMIT_TURN, "-2\"");
	report(d, 1, "cancelled");
	expect_runs(d, "cancelled starting");
	/* The next is due before the turn was accepted: it is stopped as soon as it is. */
	wake_at(d, next_of(d));
	accept(d, 2);
	expect_sent(d, 0, AR_CMD_INTERRUPT_TURN, "");
	/* Its turn is gone with its session: nobody reports it. */
	answer(d, 2, 0, "{}");
	assert_int_equal(desk_do(d,
				 (struct ar_input){
					 .kind = AR_IN_SENT,
					 .sent = &(struct ar_sent){ .subject = ar_arena_fmt(
									    &d->session.arena, "%.*s.stop",
									    AR_STR_ARG(run_id(d, 2))),
								    .code = AR_ERR_SESSION_NOT_FOUND,
								    .reply = AR_STR("{}") } }),
			 AR_OK);
	expect_runs(d, "cancelled cancelled starting");
}

/* ---- catching up ---- */

static void catch_up_skip(void **state)
{
	struct desk *d = *state;
	ar_usec due;

	assert_int_equal(create(d, "*/10 * * * *", AR_SCHEDULE_CATCH_UP_SKIP, 0, &in_session), AR_OK);
	due = next_of(d);
	wake_at(d, due + 2 * HOUR + 2 * MINUTE);
	desk_expect(d, "schedule.missed");
	desk_expect_payload(d, AR_EV_SCHEDULE_MISSED, "\"count\":13,\"reason\":\"" AR_MISSED_DOWN "\"");
	assert_int_equal(next_of(d), due + 2 * HOUR + 10 * MINUTE);
	assert_int_equal(d->session.own_schedule->missed, 13);
	/* The session that it was for has it as a task. */
	expect_sent(d, 0, AR_CMD_CREATE_TASK, "\"missedRun\":{\"scheduleId\":\"sched_");
	assert_true(ar_session_is_active(&d->session));
	answer(d, 1, 0, "{\"taskId\":\"task_1\"}");
	desk_expect_payload(d, AR_EV_SCHEDULE_RUN_CHANGED, "\"taskId\":\"task_1\"");
	assert_false(ar_session_is_active(&d->session));
	/* Late, but not too late. */
	wake_at(d, next_of(d) + MINUTE);
	desk_expect(d, "schedule.fired");
	desk_expect_payload(d, AR_EV_SCHEDULE_FIRED, "\"lateMs\":60000");
}

static void catch_up_once(void **state)
{
	struct desk *d = *state;
	ar_usec due;

	assert_int_equal(create(d, "*/10 * * * *", AR_SCHEDULE_CATCH_UP_ONCE, 0, &in_new_ones), AR_OK);
	due = next_of(d);
	wake_at(d, due + 2 * HOUR + 2 * MINUTE);
	desk_expect(d, "schedule.missed schedule.fired");
	desk_expect_payload(d, AR_EV_SCHEDULE_MISSED, "\"count\":12,");
	desk_expect_payload(d, AR_EV_SCHEDULE_FIRED, "\"trigger\":\"catch_up\"");
	assert_int_equal(d->session.schedule_runs.at[1].due_at, due + 2 * HOUR);
	expect_sent(d, 0, AR_CMD_SUBMIT_TURN, "");
	assert_null(sent(d, 1)); /* no session is there that a missed run could be told to */
}

static void catch_up_all(void **state)
{
	struct desk *d = *state;
	ar_usec due;

	assert_int_equal(create(d, "*/10 * * * *", AR_SCHEDULE_CATCH_UP_ALL, 0, &in_session), AR_OK);
	due = next_of(d);
	wake_at(d, due + 20 * MINUTE + 2 * MINUTE);
	expect_runs(d, "starting queued queued");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(d->session.schedule_runs.at[i].due_at, due + i * 10 * MINUTE);
	assert_int_equal(next_of(d), due + 30 * MINUTE);
}

/* A day of minutes: the newest 32 run, and the others are missed; the same of an interval. */
static void catch_up_all_is_capped(void **state)
{
	struct desk *d = *state;
	ar_usec due;

	assert_int_equal(create(d, "* * * * *", AR_SCHEDULE_CATCH_UP_ALL, 0, &in_session), AR_OK);
	due = next_of(d);
	wake_at(d, due + 24 * HOUR);
	desk_expect_payload(d, AR_EV_SCHEDULE_MISSED, "\"count\":1409,");
	assert_int_equal(ar_schedule_open(&d->session), 32);
	assert_int_equal(d->session.schedule_runs.at[1].due_at, due + 24 * HOUR - 31 * MINUTE);
	assert_int_equal(next_of(d), due + 24 * HOUR + MINUTE);
}

static void an_interval_that_was_long_down(void **state)
{
	struct desk *d = *state;
	ar_usec due;

	assert_int_equal(create(d, "every 1s", AR_SCHEDULE_CATCH_UP_ALL, 0, &in_session), AR_OK);
	due = next_of(d);
	wake_at(d, due + 2000 * HOUR);
	assert_int_equal(ar_schedule_open(&d->session), 32);
	assert_int_equal(next_of(d), due + 2000 * HOUR + SECOND);
}

/* ---- jobs ---- */

static const struct ar_shape_schedule_job cities = { .input = AR_STR("Rome\nOslo"),
						     .concurrency = { 1, true } };
static const struct ar_shape_schedule_start a_job = { .text = AR_STR("Describe it."), .job = &cities };

static void report_job(struct desk *d, unsigned n, struct ar_str job, int status)
{
	const struct ar_shape_job_counts counts = { .completed = AR_OPT_INT(2) };
	const struct ar_cmd_report_job_in in = { .to = run_id(d, n),
						 .job_id = job,
						 .session_id = AR_STR(SESSION),
						 .status = status,
						 .counts = &counts };

	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
						       .is_runtime = true,
						       .command = { .id = AR_CMD_REPORT_JOB, .args = &in } }),
			 AR_OK);
}

static void a_run_starts_a_job_and_ends_with_it(void **state)
{
	struct desk *d = *state;
	struct ar_str job;

	assert_int_equal(create(d, "@hourly", 0, 0, &a_job), AR_OK);
	wake_at(d, next_of(d));
	expect_sent(d, 0, AR_CMD_CREATE_JOB, "\"instruction\":\"Describe it.\"");
	expect_sent(d, 0, AR_CMD_CREATE_JOB, "\"input\":\"Rome\\nOslo\"");
	expect_sent(d, 0, AR_CMD_CREATE_JOB, "\"reportTo\":\"sched_");
	expect_sent(d, 0, AR_CMD_CREATE_JOB, "\"createPolicy\":{\"title\":\"report\"");
	job = ar_arena_str(&d->session.arena, d->session.schedule_runs.at[0].job_id);
	assert_true(ar_str_starts(job, AR_STR("job_")));
	assert_true(ar_str_absent(d->session.schedule_runs.at[0].turn_id));
	/* after a restart: the same job */
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	expect_sent(d, 0, AR_CMD_CREATE_JOB, ar_arena_fmt(&d->arena, "%.*s", AR_STR_ARG(job)).p);
	answer(d, 1, 0, "{\"jobId\":\"job_x\"}");
	expect_runs(d, "running");
	report_job(d, 1, AR_STR("job_another"), AR_REPORT_JOB_STATUS_COMPLETED);
	expect_runs(d, "running");
	report_job(d, 1, job, AR_REPORT_JOB_STATUS_COMPLETED);
	expect_runs(d, "completed");
	desk_expect_payload(d, AR_EV_SCHEDULE_RUN_CHANGED, "\"counts\":{\"completed\":2}");
	report_job(d, 1, job, AR_REPORT_JOB_STATUS_FAILED);
	desk_expect(d, "");
}

static void the_next_run_cancels_the_job_of_the_one_before(void **state)
{
	struct desk *d = *state;
	struct ar_sent stopped = { .code = AR_ERR_ALREADY_TERMINAL, .reply = AR_STR("{}") };
	struct ar_str job;

	assert_int_equal(create(d, "@hourly", 0, AR_SCHEDULE_OVERLAP_CANCEL, &a_job), AR_OK);
	wake_at(d, next_of(d));
	answer(d, 1, 0, "{}");
	job = ar_arena_str(&d->session.arena, d->session.schedule_runs.at[0].job_id);
	wake_at(d, next_of(d));
	expect_sent(d, 0, AR_CMD_CANCEL_JOB, ar_arena_fmt(&d->arena, "%.*s", AR_STR_ARG(job)).p);
	expect_sent(d, 1, AR_CMD_CREATE_JOB, "");
	/* it ended meanwhile: its report is on the way, and says how */
	stopped.subject = ar_arena_fmt(&d->session.arena, "%.*s.stop", AR_STR_ARG(run_id(d, 1)));
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_SENT, .sent = &stopped }), AR_OK);
	expect_runs(d, "running starting");
	report_job(d, 1, job, AR_REPORT_JOB_STATUS_COMPLETED);
	expect_runs(d, "completed starting");
}

static void a_job_that_would_be_refused_each_time_is_refused_now(void **state)
{
	struct desk *d = *state;
	struct ar_shape_schedule_job job = cities;
	struct ar_shape_schedule_start start = a_job;
	struct ar_cmd_report_job_in in = { .to = AR_STR("sched_x_1"), .status = AR_REPORT_JOB_STATUS_FAILED };

	start.job = &job;
	job.input = AR_STR("\n\n");
	desk_expect_refusal(d, create(d, "@hourly", 0, 0, &start), AR_ERR_INVALID_INPUT);
	job = cities;
	job.input_format = AR_JOB_INPUT_FORMAT_JSON;
	desk_expect_refusal(d, create(d, "@hourly", 0, 0, &start), AR_ERR_INVALID_INPUT);
	job = cities;
	job.output_schema = AR_STR("{\"type\":7}");
	desk_expect_refusal(d, create(d, "@hourly", 0, 0, &start), AR_ERR_INVALID_INPUT);
	job = cities;
	job.concurrency = AR_OPT_INT(0);
	desk_expect_refusal(d, create(d, "@hourly", 0, 0, &start), AR_ERR_INVALID_INPUT);
	job = cities;
	start.session_id = AR_STR(SESSION);
	start.thread_id = AR_STR("thread_x");
	desk_expect_refusal(d, create(d, "@hourly", 0, 0, &start), AR_ERR_INVALID_INPUT);
	start.thread_id = AR_STR_NONE;
	assert_int_equal(create(d, "@hourly", 0, 0, &start), AR_OK);
	desk_expect_refusal(d, command(d, AR_CMD_REPORT_JOB, &in), AR_ERR_NOT_AUTHORIZED);
}

static void jitter_is_fixed_for_each_time(void **state)
{
	struct desk *d = *state;
	ar_usec due, later;

	d->policy.schedule_late_ms = 60000;
	assert_int_equal(command(d, AR_CMD_CREATE_SCHEDULE,
				 &(struct ar_cmd_create_schedule_in){ .name = AR_STR("x"),
								      .spec = AR_STR("* * * * *"),
								      .jitter_ms = AR_OPT_INT(3600000),
								      .overlap = AR_SCHEDULE_OVERLAP_QUEUE,
								      .start = &in_session }),
			 AR_OK);
	due = next_of(d);
	later = ar_session_due(&d->session);
	assert_true(later >= due && later < due + HOUR);
	assert_int_equal(command(d, AR_CMD_UPDATE_SCHEDULE,
				 &(struct ar_cmd_update_schedule_in){ .name = AR_STR("y") }),
			 AR_OK);
	assert_int_equal(ar_session_due(&d->session), later);
	wake_at(d, later);
	/* Times whose own jitter is not over have not passed. */
	desk_expect(d, "schedule.fired");
	assert_int_equal(next_of(d), due + MINUTE);
}

/* ---- state ---- */

static void a_snapshot_keeps_it(void **state)
{
	struct desk *d = *state;
	struct ar_buf text = { 0 }, again = { 0 };
	struct ar_session copy;
	struct ar_json v;

	assert_int_equal(create(d, "@hourly", 0, AR_SCHEDULE_OVERLAP_QUEUE, &in_session), AR_OK);
	for (unsigned i = 0; i < 3; i++)
		wake_at(d, next_of(d));
	ar_session_snapshot(&d->session, &text);
	ar_session_init(&copy, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&text), &v, NULL), AR_OK);
	assert_int_equal(ar_session_restore(&copy, v, &d->err), AR_OK);
	assert_int_equal(copy.schedule_runs.count, 3);
	assert_int_equal(ar_session_due(&copy), ar_session_due(&d->session));
	assert_true(ar_session_sends_runs(&copy));
	ar_session_snapshot(&copy, &again);
	assert_true(ar_str_eq(ar_buf_str(&again), ar_buf_str(&text)));
	ar_session_fini(&copy);
	ar_buf_fini(&text);
	ar_buf_fini(&again);
}

static void ended_runs_leave_the_list(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, "@hourly", 0, 0, &in_session), AR_OK);
	for (unsigned i = 1; i <= 30; i++) {
		wake_at(d, next_of(d));
		report(d, i, "completed");
	}
	assert_int_equal(d->session.schedule_runs.count, AR_SCHEDULE_KEPT);
	assert_int_equal(d->session.schedule_runs.at[AR_SCHEDULE_KEPT - 1].number, 30);
	assert_int_equal(d->session.own_schedule->runs, 30);
}

#define T(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(it_is_created_changed_and_ended),
		T(a_zone_that_is_not_known_is_refused),
		T(a_zone_that_is_gone_pauses_it),
		T(each_time_gets_one_run),
		T(an_answer_and_a_report_come_in_either_order),
		T(what_is_refused_ends_the_run),
		T(what_was_not_answered_is_sent_again),
		T(a_new_session_for_each_run),
		T(a_run_now_leaves_the_times),
		T(overlap_skip),
		T(overlap_queue),
		T(overlap_cancel),
		T(catch_up_skip),
		T(catch_up_once),
		T(catch_up_all),
		T(catch_up_all_is_capped),
		T(an_interval_that_was_long_down),
		T(jitter_is_fixed_for_each_time),
		T(a_run_starts_a_job_and_ends_with_it),
		T(the_next_run_cancels_the_job_of_the_one_before),
		T(a_job_that_would_be_refused_each_time_is_refused_now),
		T(a_snapshot_keeps_it),
		T(ended_runs_leave_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
