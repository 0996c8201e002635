/* Quotas of tenants: what is compared with what, on which day, and what a session counts for them. */
#include "desk.h"
#include "limits/money.h"
#include "quota/quota.h"
#include "tenant.h"

#define TODAY ((int64_t)20454) /* of the desk's clock: 2026-01-01 */
#define DAY ((ar_usec)86400 * 1000000)

static struct ar_tenant_quota quotas[] = {
	{ .tenant = { "local", 5 }, .limits = { [AR_TENANT_TOKENS] = 1000, [AR_TENANT_TURNS] = 2 } },
	{ .tenant = { "*", 1 }, .limits = { [AR_TENANT_COST] = 5 } },
};

static int open_limited(void **state)
{
	struct desk *d;

	desk_open(state);
	d = *state;
	d->policy.tenant_quotas = quotas;
	d->policy.tenant_quota_count = AR_ARRAY_LEN(quotas);
	d->policy.max_rounds = 100;
	return 0;
}

static enum ar_status submit(struct desk *d, struct ar_tenant_usage usage, const char *turn)
{
	static const struct ar_shape_create_policy new_one;
	const struct ar_cmd_submit_turn_in in = { .text = AR_STR("hello"),
						  .turn_id = ar_str_from(turn),
						  .busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_QUEUE,
						  .create_policy = &new_one };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .usage = usage,
					     .command = { .id = AR_CMD_SUBMIT_TURN, .args = &in } });
}

static void answer(struct desk *d, struct ar_tenant_usage usage, int64_t tokens, size_t calls)
{
	struct ar_tool_use tool = { AR_STR("call"), AR_STR("look_up"), AR_STR("{}") };
	struct ar_step_output output = {
		.step = desk_active(d)->open_step, .text = AR_STR("x"), .tools = &tool, .tool_count = calls
	};

	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						       .usage = usage,
						       .model_done = { .output = &output,
								       .end =
									       &(struct ar_model_result){
										       .outcome = 1,
										       .has_usage = true,
										       .input_tokens =
											       tokens } } }),
			 AR_OK);
}

static bool has(const struct desk *d, enum ar_event_type type)
{
	for (size_t i = 0; i < d->decision.event_count; i++) {
		if (d->decision.events[i].type == type)
			return true;
	}
	return false;
}

static void test_an_entry_of_its_own_comes_before_that_of_all(void **state)
{
	struct desk *d = *state;
	const struct ar_policy none = { 0 };

	assert_ptr_equal(ar_tenant_quota(&d->policy, AR_STR("local")), &quotas[0]);
	assert_ptr_equal(ar_tenant_quota(&d->policy, AR_STR_NONE), &quotas[0]);
	assert_ptr_equal(ar_tenant_quota(&d->policy, AR_STR("acme")), &quotas[1]);
	assert_false(ar_tenant_quota_has_day(ar_tenant_quota(&none, AR_STR("acme"))));
	assert_false(ar_tenant_quota_has_work(ar_tenant_quota(&none, AR_STR("acme"))));
}

static void test_a_turn_is_refused_at_the_limit_and_not_before(void **state)
{
	struct desk *d = *state;

	desk_expect_refusal(d, submit(d, (struct ar_tenant_usage){ .day = TODAY, .other_tokens = 1000 }, "a"),
			    AR_ERR_TENANT_QUOTA_EXCEEDED);
	desk_expect_refusal(d, submit(d, (struct ar_tenant_usage){ .day = TODAY, .turns = 2 }, "a"),
			    AR_ERR_TENANT_QUOTA_EXCEEDED);
	assert_non_null(strstr(d->err.msg, "turns"));
	assert_int_equal(d->session.head, 0);
	assert_int_equal(submit(d, (struct ar_tenant_usage){ .day = TODAY, .other_tokens = 999, .turns = 1 },
				"a"),
			 AR_OK);
	/* Behind a turn that runs, nothing more is at work. */
	assert_int_equal(submit(d, (struct ar_tenant_usage){ .day = TODAY, .turns = 2 }, "b"), AR_OK);
}

static void test_what_cannot_be_read_is_not_taken_for_nothing(void **state)
{
	struct desk *d = *state;

	desk_expect_refusal(d, submit(d, (struct ar_tenant_usage){ .is_day_unread = true }, "a"),
			    AR_ERR_STORAGE_UNAVAILABLE);
	desk_expect_refusal(d, submit(d, (struct ar_tenant_usage){ .is_work_unread = true }, "a"),
			    AR_ERR_STORAGE_UNAVAILABLE);
	d->policy.tenant_quota_count = 0;
	assert_int_equal(submit(d, (struct ar_tenant_usage){ .is_day_unread = true, .is_work_unread = true },
				"a"),
			 AR_OK);
}

static void test_what_the_same_decision_records_counts(void **state)
{
	struct desk *d = *state;
	const struct ar_tenant_usage usage = { .day = TODAY, .other_tokens = 400 };

	assert_int_equal(submit(d, usage, "a"), AR_OK);
	answer(d, usage, 599, 1);
	assert_true(has(d, AR_EV_MODEL_REQUESTED));
	answer(d, usage, 1, 1);
	assert_false(has(d, AR_EV_MODEL_REQUESTED));
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	assert_true(has(d, AR_EV_TURN_FAILED));
	assert_true(ar_str_is(desk_thread(d, 0)->last_category, "tenant_quota_exceeded"));
}

static void test_an_answer_that_is_the_last_one_is_kept(void **state)
{
	struct desk *d = *state;

	assert_int_equal(submit(d, (struct ar_tenant_usage){ .day = TODAY }, "a"), AR_OK);
	answer(d, (struct ar_tenant_usage){ .day = TODAY }, 5000, 0);
	assert_true(has(d, AR_EV_TURN_COMPLETED));
	assert_int_equal(ar_day_tokens(&d->session, TODAY), 5000);
}

static void test_each_day_counts_from_nothing_and_never_backwards(void **state)
{
	struct desk *d = *state;

	assert_int_equal(submit(d, (struct ar_tenant_usage){ .day = TODAY }, "a"), AR_OK);
	answer(d, (struct ar_tenant_usage){ .day = TODAY }, 900, 1);
	assert_int_equal(ar_day_tokens(&d->session, TODAY), 900);
	d->now += DAY;
	answer(d, (struct ar_tenant_usage){ .day = TODAY + 1 }, 300, 1);
	assert_int_equal(ar_day_tokens(&d->session, TODAY), 0);
	assert_int_equal(ar_day_tokens(&d->session, TODAY + 1), 300);
	assert_true(has(d, AR_EV_MODEL_REQUESTED));
	d->now -= DAY;
	answer(d, (struct ar_tenant_usage){ .day = TODAY + 1 }, 50, 1);
	assert_int_equal(ar_day_tokens(&d->session, TODAY + 1), 350);
}

static void test_a_snapshot_keeps_the_day(void **state)
{
	struct desk *d = *state;
	struct ar_session again;
	struct ar_buf text = { 0 };
	struct ar_json v;

	assert_int_equal(submit(d, (struct ar_tenant_usage){ .day = TODAY }, "a"), AR_OK);
	answer(d, (struct ar_tenant_usage){ .day = TODAY }, 77, 0);
	ar_session_snapshot(&d->session, &text);
	ar_session_init(&again, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&again, v, &d->err), AR_OK);
	assert_int_equal(ar_day_tokens(&again, TODAY), 77);
	ar_session_fini(&again);
	ar_buf_fini(&text);
}

/* What was stored before there were quotas has no day, and is the same after replay. */
static void test_a_fact_without_a_day_counts_for_none(void **state)
{
	struct desk *d = *state;

	assert_int_equal(submit(d, (struct ar_tenant_usage){ .day = TODAY }, "a"), AR_OK);
	desk_fold(d, "cost.recorded",
		  "{\"inputTokens\":5,\"outputTokens\":5,\"cachedTokens\":0,\"amount\":\"unknown\"}");
	assert_int_equal(d->session.spent.input_tokens, 5);
	assert_false(d->session.day.number.set);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_limited, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_entry_of_its_own_comes_before_that_of_all),
		TEST(test_a_turn_is_refused_at_the_limit_and_not_before),
		TEST(test_what_cannot_be_read_is_not_taken_for_nothing),
		TEST(test_what_the_same_decision_records_counts),
		TEST(test_an_answer_that_is_the_last_one_is_kept),
		TEST(test_each_day_counts_from_nothing_and_never_backwards),
		TEST(test_a_snapshot_keeps_the_day),
		TEST(test_a_fact_without_a_day_counts_for_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
