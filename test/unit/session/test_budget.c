/* Budgets and the guard: when work stops, who is asked, what an answer changes, and that sums are right
 * inside one decision. */
#include "desk.h"
#include "action/action.h"
#include "limits/budget.h"
#include "provider.h"

#include <string.h>

static void answer(struct desk *d, int64_t in, int64_t out, size_t calls)
{
	struct ar_tool_use tools[4];
	struct ar_step_output output = {
		.step = desk_active(d)->open_step, .text = AR_STR("x"), .tools = tools, .tool_count = calls
	};

	for (size_t i = 0; i < calls; i++)
		tools[i] = (struct ar_tool_use){ AR_STR("call"), AR_STR("look_up"), AR_STR("{}") };
	assert_int_equal(desk_do(d,
				 (struct ar_input){
					 .kind = AR_IN_MODEL_DONE,
					 .model_done = { .output = &output,
							 .end = &(struct ar_model_result){ .outcome = 1,
											   .has_usage = true,
											   .input_tokens = in,
											   .output_tokens =
												   out } } }),
			 AR_OK);
}

static void submit(struct desk *d, const char *options)
{
	assert_int_equal(desk_submit_with(d, NULL, options), AR_OK);
}

static size_t count_of(const struct desk *d, enum ar_event_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < d->decision.event_count; i++)
		n += d->decision.events[i].type == type;
	return n;
}

static bool has(const struct desk *d, enum ar_event_type type)
{
	return count_of(d, type) > 0;
}

static const struct ar_action *question(struct desk *d)
{
	assert_true(d->session.actions.count > 0);
	return d->session.actions.at[d->session.actions.count - 1];
}

static void decide(struct desk *d, const char *decision)
{
	assert_int_equal(desk_command(d, AR_CMD_RESPOND_ACTION,
				      &(struct ar_cmd_respond_action_in){ .action_id = question(d)->id,
									  .decision =
										  ar_str_from(decision) }),
			 AR_OK);
}

static int open_asking(void **state)
{
	struct desk *d;

	desk_open(state);
	d = *state;
	d->policy.budget = (struct ar_budget_policy){ .warn_percent = 80, .is_asking = true };
	d->policy.max_rounds = 100;
	return 0;
}

static void test_low_then_blocked_then_extended(void **state)
{
	struct desk *d = *state;

	d->policy.budget.turn[AR_QUOTA_TOKENS] = 1000;
	submit(d, "{}");
	answer(d, 20, 580, 1);
	assert_false(has(d, AR_EV_QUOTA_LOW));
	answer(d, 20, 230, 1);
	assert_int_equal(count_of(d, AR_EV_QUOTA_LOW), 1);
	assert_true(has(d, AR_EV_MODEL_REQUESTED));
	answer(d, 20, 129, 1);
	assert_false(has(d, AR_EV_QUOTA_LOW));
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	assert_false(has(d, AR_EV_MODEL_REQUESTED));
	assert_int_equal(question(d)->type, AR_ACTION_BUDGET_OVERRIDE);
	decide(d, "extend");
	assert_true(has(d, AR_EV_LIMIT_CHANGED));
	assert_true(has(d, AR_EV_MODEL_REQUESTED));
	assert_int_equal(desk_active(d)->budget.marks[AR_QUOTA_TOKENS].limit.v, 2000);
	answer(d, 20, 681, 1);
	assert_true(has(d, AR_EV_QUOTA_LOW)); /* once for each limit */
}

static void test_a_session_is_asked_about_in_the_same_decision(void **state)
{
	struct desk *d = *state;

	d->policy.budget.session[AR_QUOTA_TOKENS] = 1000;
	submit(d, "{}");
	answer(d, 900, 99, 0);
	submit(d, "{}");
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	assert_false(has(d, AR_EV_MODEL_REQUESTED));
	decide(d, "extend");
	assert_true(has(d, AR_EV_MODEL_REQUESTED));
	assert_int_equal(d->session.budget.marks[AR_QUOTA_TOKENS].limit.v, 2000);
	answer(d, 1000, 1, 1); /* used by this answer counts before it is applied */
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	decide(d, "stop");
	assert_true(ar_str_is(desk_thread(d, 0)->last_category, "budget_exhausted"));
}

static void test_nobody_is_asked_when_nobody_may_be(void **state)
{
	struct desk *d = *state;

	d->policy.budget.turn[AR_QUOTA_TOKENS] = 10;
	d->policy.permission_mode = AR_MODE_NEVER;
	submit(d, "{}");
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	assert_true(has(d, AR_EV_TURN_FAILED));
	assert_int_equal(d->session.actions.count, 0);
}

static void test_a_turn_only_lowers(void **state)
{
	struct desk *d = *state;

	d->policy.budget.turn[AR_QUOTA_TOKENS] = 1000;
	submit(d, "{\"budget\":{\"tokens\":5000}}");
	answer(d, 999, 1, 1);
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	decide(d, "stop");
	submit(d,
	       /* What was said before is more than that */
	       "{\"budget\":{\"tokens\":500,\"cost\":\"0.25\"}}");
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	desk_expect_refusal(d, desk_submit_with(d, NULL, "{\"budget\":{\"ms\":0}}"), AR_ERR_INVALID_INPUT);
}

static void test_time_ends_a_turn_as_timed_out(void **state)
{
	struct desk *d = *state;
	struct ar_str task;

	d->policy.budget.turn_ms = 5000;
	submit(d, "{}");
	task = desk_active(d)->task->id;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_BUDGET_DUE, .due = task }), AR_OK);
	desk_expect(d, ""); /* too early: it is waited for again */
	assert_int_equal(d->decision.effects[0].kind, AR_EFFECT_WAKE);
	d->now += 5000000;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_BUDGET_DUE, .due = task }), AR_OK);
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 6 }), AR_OK);
	assert_true(has(d, AR_EV_TASK_TIMED_OUT));
	assert_true(ar_str_is(desk_thread(d, 0)->last_outcome, "timed_out"));
}

/* Set back by an hour in the middle of a turn: two seconds stay two seconds, here and after the next
 * decisions. */
static void test_durations_outlive_a_clock_that_is_set_back(void **state)
{
	const ar_usec hour = INT64_C(3600000000);
	struct desk *d = *state;
	const struct ar_cmd_submit_turn_in queued = { .text = AR_STR("later"),
						      .busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_QUEUE };
	const struct ar_ev_turn_completed *done = NULL;
	struct ar_str task;
	int64_t sequence;

	d->policy.budget.turn_ms = 60000;
	submit(d, "{}");
	task = desk_active(d)->task->id;
	sequence = (int64_t)d->session.head;
	d->now -= hour;
	assert_int_equal(desk_do(d,
				 (struct ar_input){ .kind = AR_IN_BUDGET_DUE, .due = task, .step = -hour }),
			 AR_OK);
	desk_expect(d, ""); /* its time is not over, and nothing is said without another fact */
	assert_true(d->decision.effects[0].wake.at - d->now <= 60000000);
	assert_int_equal(desk_do(d,
				 (struct ar_input){ .kind = AR_IN_COMMAND,
						    .command = { .id = AR_CMD_SUBMIT_TURN, .args = &queued },
						    .step = -hour }),
			 AR_OK);
	assert_int_equal(d->decision.events[0].type, AR_EV_RUNTIME_WARNING);
	assert_int_equal(d->decision.events[0].sequence, sequence + 1);
	answer(d, 1, 1, 0);
	for (size_t i = 0; i < d->decision.event_count; i++) {
		if (d->decision.events[i].type == AR_EV_TURN_COMPLETED)
			done = d->decision.events[i].payload;
	}
	assert_non_null(done);
	assert_in_range(done->duration_ms.v, 1000, 10000);
	assert_false(has(d, AR_EV_RUNTIME_WARNING));
}

static void test_silence_ends_a_turn_unless_somebody_is_waited_for(void **state)
{
	struct desk *d = *state;
	struct ar_input due = { .kind = AR_IN_SILENCE_DUE };
	struct ar_str asked;

	d->policy.budget.inactivity_ms = 5000;
	submit(d, "{}");
	due.due = desk_active(d)->task->id;
	asked = desk_ask(d,
			 (struct ar_ask){ .type = AR_ACTION_STRUCTURED_INPUT, .prompt = AR_STR("which?") });
	assert_true(asked.len > 0);
	assert_int_equal(desk_do(d, due), AR_OK);
	desk_expect(d, ""); /* somebody is asked: it listens again */
	assert_int_equal(desk_effects(d, AR_EFFECT_WAKE), 1);
	d->session.actions.count = 0;
	assert_int_equal(desk_do(d, due), AR_OK);
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 6 }), AR_OK);
	assert_true(has(d, AR_EV_TASK_TIMED_OUT));
	assert_true(ar_str_is(desk_thread(d, 0)->last_outcome, "timed_out"));
	assert_true(ar_str_is(desk_thread(d, 0)->last_category, "inactivity"));
}

static void test_repetition_is_counted_in_a_row(void **state)
{
	struct ar_repeat r = { 0 };
	struct ar_invocation call = { .name = AR_STR("a"),
				      .args_ref = AR_STR("1"),
				      .answer_ref = AR_STR("x") };

	(void)state;
	ar_guard_count(&r, &call);
	ar_guard_count(&r, &call);
	assert_int_equal(r.count.v, 2);
	call.answer_ref = AR_STR("y");
	ar_guard_count(&r, &call);
	assert_int_equal(r.count.v, 1);
}

/* Asked for by no tool that is there, answered the same each time. */
static void test_repetition_ends_a_turn(void **state)
{
	struct desk *d = *state;

	d->policy.budget.repeats = 3;
	submit(d, "{}");
	answer(d, 1, 1, 1);
	answer(d, 1, 1, 1);
	assert_false(has(d, AR_EV_TURN_FAILED));
	answer(d, 1, 1, 1);
	assert_true(has(d, AR_EV_TURN_FAILED));
	assert_true(ar_str_is(desk_thread(d, 0)->last_category, "no_progress"));
}

/* ---- money ---- */

#define CENT ((int64_t)10000000) /* billionths */

static const struct ar_model_entry priced = { .name = AR_STR("priced"),
					      .provider = AR_STR("stub"),
					      .model = AR_STR("m"),
					      .currency = AR_STR("USD"),
					      .price = { 3000000000, 15000000000, -1, 4000000000 },
					      .is_undeclared = true,
					      .has_credentials = true };

static struct desk *with_price(void **state)
{
	struct desk *d = *state;

	d->policy.models = &priced;
	d->policy.model_count = 1;
	d->policy.budget.output_tokens = 1000;
	return d;
}

static const struct ar_ev_model_requested *requested(struct desk *d)
{
	for (size_t i = 0; i < d->decision.event_count; i++) {
		if (d->decision.events[i].type == AR_EV_MODEL_REQUESTED)
			return d->decision.events[i].payload;
	}
	return NULL;
}

/* The price of what goes into a cache is the highest of those sent, and counts. */
static void test_money_is_set_aside_until_the_cost_is_known(void **state)
{
	struct desk *d = with_price(state);
	int64_t aside;

	submit(d, "{\"budget\":{\"cost\":\"0.05\"}}");
	assert_int_equal(requested(d)->max_output_tokens.v, 1000);
	aside = desk_active(d)->spent.reserved.v;
	assert_in_range(aside, 1000 * 15000 + 1024 * 4000, 1000 * 15000 + 1200 * 4000);
	assert_int_equal(d->session.spent.reserved.v, aside);
	answer(d, 1000, 1000, 1); /* and asks again at once */
	assert_int_equal(desk_active(d)->spent.cost, 1000 * 3000 + 1000 * 15000);
	assert_non_null(requested(d));
	assert_true(desk_active(d)->spent.reserved.v > 0);
	assert_true(d->session.spent.cost + d->session.spent.reserved.v <= 5 * CENT);
}

static void test_a_request_without_a_known_end_counts_in_full(void **state)
{
	struct desk *d = with_price(state);
	int64_t aside;

	d->policy.max_attempts = 5;
	submit(d, "{\"budget\":{\"cost\":\"0.10\"}}");
	aside = desk_active(d)->spent.reserved.v;
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = AR_MODEL_TIMEOUT,
								    .category = AR_STR("timeout"),
								    .message = AR_STR(""),
								    .retryable = true }),
			 AR_OK);
	assert_int_equal(desk_active(d)->spent.reserved.v, aside);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RETRY_DUE, .due = desk_active(d)->id }),
			 AR_OK);
	assert_int_equal(desk_active(d)->spent.reserved.v, 2 * aside);
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = AR_MODEL_REJECTED,
								    .category = AR_STR("overloaded"),
								    .message = AR_STR(""),
								    .http = 503,
								    .retryable = true }),
			 AR_OK);
	assert_int_equal(desk_active(d)->spent.reserved.v, aside); /* who refuses does not charge */
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RETRY_DUE, .due = desk_active(d)->id }),
			 AR_OK);
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = AR_MODEL_REJECTED,
								    .category = AR_STR("overloaded"),
								    .message = AR_STR(""),
								    .http = 504,
								    .retryable = true }),
			 AR_OK);
	assert_int_equal(desk_active(d)->spent.reserved.v, 2 * aside); /* a gateway gave up */
	assert_int_equal(d->session.spent.reserved.v, 2 * aside);
}

/* Each lost request may have been charged: after two of them there is no room for another. */
static void test_lost_requests_use_a_budget_up(void **state)
{
	struct desk *d = with_price(state);

	d->policy.max_attempts = 5;
	submit(d, "{\"budget\":{\"cost\":\"0.045\"}}");
	for (int i = 0; i < 2; i++) {
		assert_true(has(d, AR_EV_MODEL_REQUESTED));
		assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = AR_MODEL_CUT,
									    .category = AR_STR("network"),
									    .message = AR_STR("cut"),
									    .retryable = true }),
				 AR_OK);
		assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RETRY_DUE,
							       .due = desk_active(d)->id }),
				 AR_OK);
	}
	assert_false(has(d, AR_EV_MODEL_REQUESTED));
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	assert_int_equal(d->session.spent.cost, 0);
}

static void test_an_answer_is_shorter_or_a_person_is_asked(void **state)
{
	struct desk *d = with_price(state);

	submit(d, "{\"budget\":{\"cost\":\"0.0125\"}}");
	assert_in_range(requested(d)->max_output_tokens.v, 256, 999);
	assert_true(desk_active(d)->spent.reserved.v <= 12500000);
	answer(d, 1000, requested(d)->max_output_tokens.v, 1);
	assert_false(has(d, AR_EV_MODEL_REQUESTED));
	assert_true(has(d, AR_EV_QUOTA_BLOCKED));
	assert_int_equal(question(d)->type, AR_ACTION_BUDGET_OVERRIDE);
	assert_true(strstr(question(d)->prompt.p, "less left than the next request can cost") != NULL);
	decide(d, "extend");
	assert_true(has(d, AR_EV_MODEL_REQUESTED));
	assert_true(d->session.spent.cost + d->session.spent.reserved.v <= 25000000);
}

/* One that the turn names may be below what is worth a request otherwise. */
static void test_a_turn_may_want_less(void **state)
{
	struct desk *d = with_price(state);

	submit(d, "{\"maxOutputTokens\":10,\"budget\":{\"cost\":\"0.01\"}}");
	assert_int_equal(requested(d)->max_output_tokens.v, 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_asking, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_low_then_blocked_then_extended),
		TEST(test_a_session_is_asked_about_in_the_same_decision),
		TEST(test_nobody_is_asked_when_nobody_may_be),
		TEST(test_a_turn_only_lowers),
		TEST(test_time_ends_a_turn_as_timed_out),
		TEST(test_durations_outlive_a_clock_that_is_set_back),
		TEST(test_silence_ends_a_turn_unless_somebody_is_waited_for),
		TEST(test_repetition_is_counted_in_a_row),
		TEST(test_repetition_ends_a_turn),
		TEST(test_money_is_set_aside_until_the_cost_is_known),
		TEST(test_a_request_without_a_known_end_counts_in_full),
		TEST(test_lost_requests_use_a_budget_up),
		TEST(test_an_answer_is_shorter_or_a_person_is_asked),
		TEST(test_a_turn_may_want_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
