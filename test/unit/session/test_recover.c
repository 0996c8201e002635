/* Coming back after a crash, and resume_thread. */
#include "desk.h"

#define LOST "history.reconstructed model.failed task.attempt.failed "

static enum ar_status recover(struct desk *d)
{
	return desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER });
}

static enum ar_status resume(struct desk *d, struct ar_str thread)
{
	struct ar_cmd_resume_thread_in in = { .session_id = d->session.id, .thread_id = thread };

	return desk_command(d, AR_CMD_RESUME_THREAD, &in);
}

static void test_tries_again_by_itself(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(recover(d), AR_OK);
	desk_expect(d, LOST "task.retrying task.attempt.started thread.updated model.requested");
	assert_int_equal(desk_active(d)->restarts, 1);
}

static void test_keeps_what_was_saved(void **state)
{
	struct desk *d = *state;
	struct ar_segment segment = { 1, 0, 4 };
	struct ar_step_output saved = { .text = AR_STR("half"), .segments = &segment, .segment_count = 1 };
	const struct ar_ev_model_failed *p;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	saved.step = desk_active(d)->open_step;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER,
						       .recover = { .outputs = &saved, .output_count = 1 } }),
			 AR_OK);
	p = d->decision.events[1].payload;
	assert_int_equal(p->outcome, AR_MODEL_FAILED_OUTCOME_INTERRUPTED);
	assert_true(ar_str_is(p->segments, "[[\"text\",0,4]]"));
	assert_false(ar_str_absent(p->output_ref));
}

static void test_gives_up_and_is_resumed(void **state)
{
	struct desk *d = *state;
	struct ar_str thread;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	thread = desk_thread(d, 0)->id;
	assert_int_equal(recover(d), AR_OK);
	assert_int_equal(recover(d), AR_OK);
	desk_expect(d, LOST "action.required task.blocked thread.updated");
	assert_int_equal(desk_thread(d, 0)->status, AR_THREAD_STATUS_BLOCKED);
	assert_int_equal(recover(d), AR_OK);
	desk_expect(d, ""); /* said already */
	assert_int_equal(resume(d, thread), AR_OK);
	desk_expect(d, "history.window.loaded history.reconstructed snapshot.updated action.resolved "
		       "task.retrying task.attempt.started thread.updated model.requested");
	desk_expect_reply(d, "\"result\":\"resumed\"");
	assert_int_equal(desk_active(d)->restarts, 0);
}

static void test_a_bystander_is_not_counted(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	for (int i = 0; i < 5; i++)
		assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER,
							       .recover = { .is_bystander = true } }),
				 AR_OK);
	assert_int_equal(desk_thread(d, 0)->status, AR_THREAD_STATUS_RUNNING);
	assert_int_equal(desk_active(d)->restarts, 0);
}

static void test_waits_when_told_to(void **state)
{
	struct desk *d = *state;

	d->policy.auto_resume = false;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(recover(d), AR_OK);
	desk_expect(d, LOST "task.lost thread.updated");
	assert_int_equal(desk_thread(d, 0)->status, AR_THREAD_STATUS_STALE);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("x") }),
			 AR_OK);
	desk_expect(d, "thread.updated run.status task.cancelled turn.failed thread.updated");
}

static void test_interrupted_turn_ends_cancelled(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("x") }),
			 AR_OK);
	assert_int_equal(recover(d), AR_OK);
	desk_expect(d, LOST
		    "task.cancelled turn.failed queue.changed turn.started task.attempt.started task.started "
		    "thread.updated context.resolved model.requested");
	assert_true(ar_str_is(desk_thread(d, 0)->last_outcome, "cancelled"));
	assert_true(ar_str_is(desk_active(d)->id, "b"));
}

static void test_resume_has_nothing_to_do(void **state)
{
	struct desk *d = *state;
	struct ar_str thread;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	thread = desk_thread(d, 0)->id;
	desk_expect_refusal(d, resume(d, AR_STR("thread_no")), AR_ERR_THREAD_NOT_FOUND);
	assert_int_equal(resume(d, thread), AR_OK);
	desk_expect_reply(d, "already_active");
	desk_expect(d, "");
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(resume(d, thread), AR_OK);
	desk_expect_reply(d, "nothing_to_resume");
	desk_expect(d, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tries_again_by_itself),    TEST(test_keeps_what_was_saved),
		TEST(test_gives_up_and_is_resumed),  TEST(test_a_bystander_is_not_counted),
		TEST(test_waits_when_told_to),	     TEST(test_interrupted_turn_ends_cancelled),
		TEST(test_resume_has_nothing_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
