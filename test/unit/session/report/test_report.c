/* Turns that another session started: their ends are sent until they are answered. */
#include "desk.h"
#include "report/report.h"

#define TO "job_00000000000000000000000001_1"

static enum ar_status submit(struct desk *d, bool is_runtime)
{
	static const struct ar_shape_create_policy new_one;
	const struct ar_cmd_submit_turn_in in = { .text = AR_STR("hello"),
						  .turn_id = AR_STR("a"),
						  .report_to = AR_STR(TO),
						  .create_policy = &new_one };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .is_runtime = is_runtime,
					     .command = { .id = AR_CMD_SUBMIT_TURN, .args = &in } });
}

static const struct ar_effect_send *sent(const struct desk *d)
{
	for (size_t i = 0; i < d->decision.effect_count; i++) {
		if (d->decision.effects[i].kind == AR_EFFECT_SEND)
			return &d->decision.effects[i].send;
	}
	return NULL;
}

static enum ar_status answered(struct desk *d, uint16_t code)
{
	const struct ar_sent answer = { .subject = AR_STR("a"), .code = code, .reply = AR_STR("{}") };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_SENT, .sent = &answer });
}

static void only_the_runtime_asks_for_a_report(void **state)
{
	struct desk *d = *state;

	desk_expect_refusal(d, submit(d, false), AR_ERR_INVALID_INPUT);
	assert_int_equal(submit(d, true), AR_OK);
	desk_expect_payload(d, AR_EV_TURN_SUBMITTED, "\"reportTo\":\"" TO "\"");
}

static void the_end_is_sent_until_it_is_answered(void **state)
{
	struct desk *d = *state;

	assert_int_equal(submit(d, true), AR_OK);
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_non_null(sent(d));
	assert_int_equal(sent(d)->command, AR_CMD_REPORT_TURN);
	assert_non_null(strstr(ar_arena_fmt(&d->arena, "%.*s", AR_STR_ARG(sent(d)->body)).p,
			       "\"to\":\"" TO "\",\"turnId\":\"a\""));
	assert_true(ar_session_is_active(&d->session));

	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_non_null(sent(d));

	assert_int_equal(answered(d, 0), AR_OK);
	desk_expect_payload(d, AR_EV_TURN_REPORTED, "\"result\":\"accepted\"");
	assert_false(ar_session_is_active(&d->session));
	assert_int_equal(answered(d, 0), AR_OK); /* it came twice */
	desk_expect(d, "");
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_null(sent(d));
}

static void a_refused_report_is_over(void **state)
{
	struct desk *d = *state;

	assert_int_equal(submit(d, true), AR_OK);
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(answered(d, AR_ERR_NOT_FOUND), AR_OK);
	desk_expect_payload(d, AR_EV_TURN_REPORTED, "\"result\":\"refused\",\"code\":\"not_found\"");
	assert_false(ar_session_is_active(&d->session));
}

static void callers_report_nothing(void **state)
{
	struct desk *d = *state;
	const struct ar_cmd_report_turn_in in = { .to = AR_STR(TO),
						  .turn_id = AR_STR("a"),
						  .session_id = AR_STR("s"),
						  .status = AR_STR("completed") };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	desk_expect_refusal(d, desk_command(d, AR_CMD_REPORT_TURN, &in), AR_ERR_NOT_AUTHORIZED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_the_runtime_asks_for_a_report, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(the_end_is_sent_until_it_is_answered, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_refused_report_is_over, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(callers_report_nothing, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
