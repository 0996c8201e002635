/* What a run that the runtime executes records by itself: progress at a bounded rate, from the time of the
 * inputs alone; and an answer is held to the schema of its task. */
#include "desk.h"
#include "task/task.h"

#define SECOND INT64_C(1000000)

/* The id of a task whose run is a turn in the first thread; it lives in the session. */
static struct ar_str run_task(struct desk *d, const char *constraints)
{
	static const struct ar_shape_party agent = { .kind = AR_STR("agent") };
	struct ar_str task;

	assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_CREATE_TASK,
				      &(struct ar_cmd_create_task_in){
					      .session_id = d->session.id,
					      .objective = AR_STR("find it"),
					      .constraints = desk_read(d, &ar_shape_task_constraints_desc,
								       constraints) }),
			 AR_OK);
	task = ((const struct ar_task *)d->session.declared.at[0])->id;
	assert_int_equal(desk_command(d, AR_CMD_START_TASK,
				      &(struct ar_cmd_start_task_in){ .task_id = task,
								      .worker = &agent,
								      .thread_id = desk_thread(d, 0)->id }),
			 AR_OK);
	return task;
}

static size_t count(struct desk *d, enum ar_event_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < d->decision.event_count; i++)
		n += d->decision.events[i].type == type;
	return n;
}

static void test_soon(void **state)
{
	struct desk *d = *state;

	d->policy.progress_ms = 10000;
	run_task(d, "{}");
	d->now += 5 * SECOND;
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(count(d, AR_EV_TASK_PROGRESS), 0);
}

static void test_late(void **state)
{
	struct desk *d = *state;
	struct ar_str task;

	d->policy.progress_ms = 10000;
	task = run_task(d, "{}");
	d->now += 11 * SECOND;
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(count(d, AR_EV_TASK_PROGRESS), 1);
	desk_expect_payload(d, AR_EV_TASK_PROGRESS, "\"currentStep\":\"model\"");
	desk_expect_payload(d, AR_EV_TASK_PROGRESS, "\"modelSteps\":1");
	desk_expect_payload(d, AR_EV_TASK_PROGRESS, "\"outputTokens\":5");
	assert_int_equal(ar_session_declared(&d->session, task)->status, AR_TASK_COMPLETED);
}

/* A turn that executes no task says nothing, however long it takes. */
static void test_plain_turn(void **state)
{
	struct desk *d = *state;

	d->policy.progress_ms = 10000;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	d->now += 60 * SECOND;
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(count(d, AR_EV_TASK_PROGRESS), 0);
}

static void test_switched_off(void **state)
{
	struct desk *d = *state;

	run_task(d, "{}");
	d->now += 60 * SECOND;
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(count(d, AR_EV_TASK_PROGRESS), 0);
}

/* A retryable failure: the policy of the task decides on another attempt. */
static void test_answer_that_does_not_fit(void **state)
{
	struct desk *d = *state;
	struct ar_str task = run_task(d, "{\"outputSchema\":{\"type\":\"array\"},"
					 "\"retryPolicy\":{\"maxAttempts\":2,\"backoffMs\":1}}");

	assert_int_equal(desk_answer(d, "{}"), AR_OK);
	desk_expect_payload(d, AR_EV_TASK_ATTEMPT_FAILED, "output_invalid");
	assert_true(ar_session_declared(&d->session, task)->sheet->retry_at > 0);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = task }), AR_OK);
	assert_int_equal(ar_session_declared(&d->session, task)->attempts, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_soon, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_late, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_plain_turn, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_switched_off, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_answer_that_does_not_fit, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
