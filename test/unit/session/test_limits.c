/* The facts about a turn's model: once per turn, one per hop, and what is said when nobody can answer. */
#include "desk.h"
#include "limits/route.h"

static const struct ar_model_entry models[] = {
	{ .name = AR_STR("first"),
	  .provider = AR_STR("fake"),
	  .model = AR_STR("f"),
	  .currency = AR_STR("USD"),
	  .price = { 3000000000, 15000000000, -1, -1 },
	  .context_tokens = 1000,
	  .capabilities = AR_CAN_TOOLS | AR_CAN_JSON,
	  .has_credentials = true },
	{ .name = AR_STR("small"),
	  .provider = AR_STR("fake"),
	  .model = AR_STR("s"),
	  .price = { -1, -1, -1, -1 },
	  .context_tokens = 500,
	  .capabilities = AR_CAN_TOOLS | AR_CAN_JSON,
	  .has_credentials = true },
	{ .name = AR_STR("large"),
	  .provider = AR_STR("fake"),
	  .model = AR_STR("l"),
	  .price = { -1, -1, -1, -1 },
	  .context_tokens = 9000,
	  .capabilities = AR_CAN_TOOLS | AR_CAN_JSON,
	  .has_credentials = true },
};

#define ROUTED \
	"task.profile.resolved routing.candidates.resolved routing.decided cost.estimated " \
	"context.resolved model.requested"
#define FAILS "task.attempt.failed task.failed turn.failed thread.updated"

static struct desk *three_models(void **state)
{
	struct desk *d = *state;

	d->policy.models = models;
	d->policy.model_count = AR_ARRAY_LEN(models);
	return d;
}

static void fail_with(struct desk *d, const char *category, bool is_retryable, int64_t retry_after_ms)
{
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 2,
								    .category = ar_str_from(category),
								    .message = AR_STR("no"),
								    .retryable = is_retryable,
								    .retry_after_ms = retry_after_ms }),
			 AR_OK);
}

static const struct ar_route *route(struct desk *d)
{
	return desk_active(d)->route;
}

static void test_routed_once_per_turn(void **state)
{
	struct desk *d = three_models(state);

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	desk_expect_all(
		d, "session.created thread.started turn.submitted task.created task.accepted turn.started "
		   "task.attempt.started task.started thread.updated " ROUTED);
	assert_true(ar_str_is(route(d)->model, "first"));
	assert_int_equal(route(d)->chain.count, 2);
	assert_true(ar_str_is(route(d)->chain.at[0], "small"));
	assert_true(ar_str_is(route(d)->chain.at[1], "large"));
	desk_expect_payload(d, AR_EV_ROUTING_DECIDED, "\"fallbackChain\":[\"small\",\"large\"]");
	assert_true(ar_str_is(d->decision.effects[0].model_call.choice.entry->name, "first"));
	assert_true(ar_str_is(d->decision.effects[0].model_call.choice.model, "f"));
	fail_with(d, "network", true, 0);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RETRY_DUE, .due = AR_STR("a") }), AR_OK);
	desk_expect_all(d, "model.requested");
}

static void test_fallback_after_the_attempts(void **state)
{
	struct desk *d = three_models(state);

	d->policy.max_attempts = 1;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	fail_with(d, "network", true, 0);
	desk_expect_all(d, "model.failed routing.fallback.applied context.resolved model.requested");
	assert_true(ar_str_is(route(d)->model, "small"));
	fail_with(d, "network", true, 0);
	assert_true(ar_str_is(route(d)->model, "large"));
	assert_int_equal(route(d)->fallbacks, 2);
	fail_with(d, "network", true, 0);
	desk_expect_all(d, "model.failed " FAILS);
}

static void test_what_falls_back_at_once(void **state)
{
	static const struct {
		const char *category;
		bool is_retryable;
		const char *then; /* NULL: nobody */
	} ends[] = {
		{ "auth", false, "small" },	    { "quota", false, "small" },
		{ "not_found", false, "small" },    { "overloaded", true, "small" },
		{ "rate_limited", true, "small" },  { "context_length", false, "large" },
		{ "invalid_request", false, NULL }, { "content_filter", false, NULL },
	};
	struct desk *d = three_models(state);

	for (size_t i = 0; i < AR_ARRAY_LEN(ends); i++) {
		const struct ar_turn *turn;

		d->now += 10000000; /* limits of the turn before are over */
		assert_int_equal(desk_submit(d, NULL), AR_OK);
		fail_with(d, ends[i].category, ends[i].is_retryable, 0);
		turn = ar_thread_active(desk_thread(d, 0));
		if (!ar_str_eq(turn ? turn->route->model : AR_STR_NONE, ar_str_from(ends[i].then)))
			fail_msg("%s: %.*s", ends[i].category, AR_STR_ARG(d->decision.events[0].event_id));
		if (turn)
			assert_int_equal(desk_answer(d, "done"), AR_OK);
	}
}

static void test_fallback_may_be_denied(void **state)
{
	struct desk *d = three_models(state);

	assert_int_equal(desk_submit_with(d, "a", "{\"fallback\":\"deny\"}"), AR_OK);
	assert_int_equal(route(d)->chain.count, 0);
	desk_expect_payload(d, AR_EV_ROUTING_DECIDED, "\"fallbackChain\":[]");
	fail_with(d, "auth", false, 0);
	desk_expect_all(d, "model.failed " FAILS);
}

static void test_a_model_that_is_not_configured(void **state)
{
	struct desk *d = three_models(state);

	assert_int_equal(desk_submit_with(d, "a", "{\"model\":\"who\"}"), AR_E_REFUSED);
	assert_int_equal(desk_submit_with(d, "a", "{\"fallback\":\"dney\"}"), AR_E_REFUSED);
	assert_int_equal(desk_submit_with(d, "a", "{}"), AR_OK);
	assert_int_equal(desk_submit_with(d, "b", "{\"model\":\"large\",\"fallback\":\"deny\"}"), AR_OK);
	d->policy.model_count = 2; /* it left the configuration while its turn waited */
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_true(ar_str_is(desk_thread(d, 0)->last_category, "no_candidate"));
}

static void test_rate_limit_is_kept_and_passed_over(void **state)
{
	struct desk *d = three_models(state);

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	fail_with(d, "rate_limited", true, 60000);
	desk_expect_all(
		d, "model.failed rate_limit.hit routing.fallback.applied context.resolved model.requested");
	assert_true(ar_str_is(route(d)->model, "small"));
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_true(ar_str_is(route(d)->model, "small"));
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	d->now += 60000000;
	assert_int_equal(desk_submit(d, "c"), AR_OK);
	assert_true(ar_str_is(route(d)->model, "first"));
}

/* The bytes that logs of every version have. */
static void test_facts_of_a_route_as_json(void **state)
{
	struct desk *d = three_models(state);
	struct ar_model_entry without_key[] = { models[0], models[1], models[2] };

	without_key[2].has_credentials = false;
	d->policy.models = without_key;
	assert_int_equal(desk_submit_with(d, "a", "{\"model\":\"first\"}"), AR_OK);
	assert_string_equal(
		desk_payload(d, AR_EV_ROUTING_CANDIDATES_RESOLVED),
		"{\"candidateCount\":2,\"candidates\":[{\"provider\":\"fake\",\"model\":\"first\",\"capab"
		"ilities\":[\"tools\",\"json\"],\"costClass\":\"priced\",\"limitState\":\"ok\"},{\"provide"
		"r\":\"fake\",\"model\":\"small\",\"capabilities\":[\"tools\",\"json\"],\"costClass\":\"unkn"
		"own\",\"limitState\":\"ok\"}],\"excluded\":[{\"candidate\":\"large\",\"reason\":\"no_cred"
		"ential\"}],\"hardConstraints\":[],\"preferences\":[{\"model\":\"first\"}],\"singleCan"
		"didate\":false,\"gaps\":{\"credentials\":1}}");
	desk_expect_payload(d, AR_EV_COST_ESTIMATED, ",\"covers\":\"input\"}");
	desk_expect_payload(d, AR_EV_ROUTING_DECIDED, "\"limitStateSnapshot\":{\"state\":\"ok\"}");
	fail_with(d, "rate_limited", true, 60000);
	desk_expect_payload(d, AR_EV_RATE_LIMIT_HIT,
			    "\"limit\":{\"provider\":\"fake\",\"model\":\"first\",\"pauseMs\":60000}");
	desk_expect_payload(
		d, AR_EV_ROUTING_FALLBACK_APPLIED,
		"{\"from\":{\"provider\":\"fake\",\"model\":\"first\"},\"to\":{\"provider\":"
		"\"fake\",\"model\":\"small\"},\"reason\":\"rate_limited\",\"fallbackChain\":[]}");
}

static void test_odd_members_of_an_old_fact_are_left_alone(void **state)
{
	struct desk *d = three_models(state);

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	desk_fold(d, "rate_limit.hit",
		  "{\"source\":\"provider\",\"requestId\":\"r\",\"limit\":{\"model\":\"first\","
		  "\"pauseMs\":\"soon\",\"tier\":3}}");
	assert_int_equal(d->session.throttles.count, 1);
	desk_fold(d, "routing.fallback.applied",
		  "{\"from\":{},\"to\":{\"provider\":7,\"model\":\"large\"},\"reason\":\"auth\","
		  "\"fallbackChain\":[\"small\",4]}");
	assert_true(ar_str_is(route(d)->model, "large"));
	assert_true(ar_str_absent(route(d)->provider));
	assert_int_equal(route(d)->chain.count, 2);
	desk_fold(d, "limit.changed",
		  "{\"limitKind\":\"budget\",\"limitState\":{\"quotaKind\":\"turn_tokens\",\"limit\":"
		  "500},\"scope\":{\"turnId\":null}}");
	assert_int_equal(desk_active(d)->budget.marks[AR_QUOTA_TOKENS].limit.v, 500);
}

static void test_no_key_blocks_until_resumed(void **state)
{
	struct ar_model_entry keyless = models[0];
	struct desk *d = three_models(state);

	keyless.has_credentials = false;
	d->policy.models = &keyless;
	d->policy.model_count = 1;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	desk_expect(
		d,
		"session.created thread.started turn.submitted task.created task.accepted turn.started "
		"task.attempt.started task.started thread.updated routing.not_possible task.attempt.failed "
		"task.waiting thread.updated");
	assert_int_equal(desk_thread(d, 0)->status, AR_THREAD_STATUS_BLOCKED);
	assert_int_equal(d->decision.effect_count, 0);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	desk_expect(d, "");
	keyless.has_credentials = true;
	assert_int_equal(desk_command(d, AR_CMD_RESUME_THREAD,
				      &(struct ar_cmd_resume_thread_in){ .thread_id =
										 desk_thread(d, 0)->id }),
			 AR_OK);
	assert_true(ar_str_is(route(d)->model, "first"));
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_true(ar_str_is(desk_thread(d, 0)->last_outcome, "completed"));
}

static void test_what_was_spent_is_kept_exactly(void **state)
{
	struct desk *d = three_models(state);
	const struct ar_turn *turn;
	struct ar_model_result end = { .outcome = 1,
				       .stop_reason = AR_STR("stop"),
				       .has_usage = true,
				       .input_tokens = 1001,
				       .output_tokens = 7 };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	turn = desk_active(d);
	assert_int_equal(desk_end_step(d, end), AR_OK);
	assert_int_equal(turn->spent.cost, 1001 * 3000 + 7 * 15000);
	assert_int_equal(d->session.spent.cost, turn->spent.cost);
	assert_int_equal(desk_submit_with(d, "b", "{\"model\":\"large\"}"), AR_OK);
	turn = desk_active(d);
	assert_int_equal(desk_end_step(d, end), AR_OK);
	assert_int_equal(turn->spent.unpriced, 1);
	assert_int_equal(turn->spent.input_tokens, 1001);
	assert_int_equal(d->session.spent.input_tokens, 2002);
	assert_int_equal(d->session.spent.unpriced, 1);
	assert_int_equal(d->session.spent.cost, 1001 * 3000 + 7 * 15000);
}

static void test_a_model_that_left_the_configuration(void **state)
{
	struct desk *d = three_models(state);

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	d->policy.models = &models[1];
	d->policy.model_count = 1;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_true(ar_str_is(route(d)->model, "small"));
	assert_true(ar_str_is(route(d)->mode, "single_candidate"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_routed_once_per_turn),
		TEST(test_fallback_after_the_attempts),
		TEST(test_what_falls_back_at_once),
		TEST(test_fallback_may_be_denied),
		TEST(test_a_model_that_is_not_configured),
		TEST(test_rate_limit_is_kept_and_passed_over),
		TEST(test_facts_of_a_route_as_json),
		TEST(test_odd_members_of_an_old_fact_are_left_alone),
		TEST(test_no_key_blocks_until_resumed),
		TEST(test_what_was_spent_is_kept_exactly),
		TEST(test_a_model_that_left_the_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
