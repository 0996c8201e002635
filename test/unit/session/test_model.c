/* One model step: how it ends, and what follows. */
#include "desk.h"

static const struct ar_model_result weather = {
	.outcome = 4, .category = { "network", 7 }, .message = { "cut", 3 }, .retryable = true
};

static void test_no_model(void **state)
{
	struct desk *d = *state;

	d->policy.model_count = 0;
	assert_int_equal(desk_submit(d, NULL), AR_OK);
	assert_true(ar_str_is(desk_thread(d, 0)->last_category, "no_model_configured"));
	assert_int_equal(d->decision.effect_count, 0);
}

static void test_retry_then_give_up(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_end_step(d, weather), AR_OK);
	desk_expect(d, "model.failed run.status thread.updated");
	assert_int_equal(d->decision.effects[0].kind, AR_EFFECT_WAKE);
	assert_int_equal(d->decision.effects[0].wake.at, d->now + 100 * 1000);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RETRY_DUE, .due = AR_STR("a") }), AR_OK);
	desk_expect(d, "model.requested");
	assert_int_equal(desk_end_step(d, weather), AR_OK);
	desk_expect(d, "model.failed task.attempt.failed task.failed turn.failed thread.updated");
}

static void test_retry_after_is_kept(void **state)
{
	struct desk *d = *state;
	struct ar_model_result end = weather;

	end.retry_after_ms = 5000;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_end_step(d, end), AR_OK);
	assert_int_equal(d->decision.effects[0].wake.at, d->now + 5000 * 1000);
	end.retry_after_ms = INT64_C(1) << 40;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RETRY_DUE, .due = AR_STR("a") }), AR_OK);
	d->policy.max_attempts = 9;
	assert_int_equal(desk_end_step(d, end), AR_OK);
	assert_int_equal(d->decision.effects[0].wake.at,
			 d->now + 60 * 1000000); /* never longer than a minute */
}

static void test_refusal_is_final(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 2,
								    .category = AR_STR("auth"),
								    .http = 401,
								    .message = AR_STR("no") }),
			 AR_OK);
	desk_expect(d, "model.failed task.attempt.failed task.failed turn.failed thread.updated");
	assert_true(ar_str_is(desk_thread(d, 0)->last_category, "auth"));
}

static void test_interrupt_while_waiting_for_retry(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_end_step(d, weather), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("x") }),
			 AR_OK);
	desk_expect(
		d, "thread.updated run.status task.attempt.failed task.cancelled turn.failed thread.updated");
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RETRY_DUE, .due = AR_STR("a") }), AR_OK);
	desk_expect(d, "");
}

static void test_unknown_step_changes_nothing(void **state)
{
	struct desk *d = *state;
	struct ar_step_output out = { .step = AR_STR("step_x") };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						       .model_done = { .output = &out,
								       .end =
									       &(struct ar_model_result){
										       .outcome = 1 } } }),
			 AR_OK);
	desk_expect(d, "");
}

static enum ar_status call_tools(struct desk *d, size_t count)
{
	struct ar_tool_use tools[8];
	struct ar_step_output out = { .step = desk_active(d)->open_step,
				      .text = AR_STR("let me see"),
				      .tools = tools,
				      .tool_count = count };

	for (size_t i = 0; i < count; i++)
		tools[i] = (struct ar_tool_use){ AR_STR("call"), AR_STR("look_up"), AR_STR("{}") };
	return desk_do(d, (struct ar_input){
				  .kind = AR_IN_MODEL_DONE,
				  .model_done = { .output = &out,
						  .end = &(struct ar_model_result){ .outcome = 1 } } });
}

static void test_tools_are_answered_until_the_round_limit(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(call_tools(d, 2), AR_OK);
		desk_expect(
			d,
			"model.completed tool.started tool.failed tool.started tool.failed model.requested");
	}
	assert_int_equal(call_tools(d, 1), AR_OK);
	desk_expect(d, "model.completed tool.started tool.failed task.attempt.failed task.failed turn.failed "
		       "thread.updated");
	assert_true(ar_str_is(desk_thread(d, 0)->last_category, "round_limit"));
}

/* The message that made the calls goes along with their answers, whatever the bounds. */
static void test_request_never_begins_with_an_answer(void **state)
{
	struct desk *d = *state;
	const struct ar_effect_model_call *call = NULL;

	d->policy.context_max = 2;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(call_tools(d, 4), AR_OK);
	call = &d->decision.effects[0].model_call;
	assert_int_equal(call->message_count, 5);
	assert_int_equal(call->messages[0].role, AR_CONTEXT_ASSISTANT);
	assert_int_equal(call->messages[4].role, AR_CONTEXT_TOOL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_model),
		TEST(test_retry_then_give_up),
		TEST(test_retry_after_is_kept),
		TEST(test_refusal_is_final),
		TEST(test_interrupt_while_waiting_for_retry),
		TEST(test_unknown_step_changes_nothing),
		TEST(test_tools_are_answered_until_the_round_limit),
		TEST(test_request_never_begins_with_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
