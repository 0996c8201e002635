/* Which model answers: tables of models and needs against who is chosen and who is left out; prices and
 * sums. */
#include "cmocka_unit.h"
#include "limits/price.h"
#include "limits/route.h"
#include "state.h"

#define UNPRICED \
	{ \
		-1, -1, -1, -1 \
	}

static const struct ar_model_entry models[] = {
	{ .name = AR_STR("keyless"), .model = AR_STR("k"), .price = UNPRICED, .capabilities = AR_CAN_ALL },
	{ .name = AR_STR("plain"),
	  .model = AR_STR("p-wire"),
	  .price = UNPRICED,
	  .capabilities = AR_CAN_TOOLS | AR_CAN_JSON,
	  .has_credentials = true },
	{ .name = AR_STR("seeing"),
	  .model = AR_STR("s"),
	  .price = UNPRICED,
	  .capabilities = AR_CAN_VISION | AR_CAN_TOOLS,
	  .has_credentials = true },
	{ .name = AR_STR("near"),
	  .model = AR_STR("n"),
	  .price = UNPRICED,
	  .capabilities = AR_CAN_TOOLS,
	  .has_credentials = true,
	  .is_local = true },
};

enum {
	OK = AR_EXCLUSION_NONE,
	KEY = AR_EXCLUSION_CREDENTIAL,
	CAN = AR_EXCLUSION_CAPABILITY,
	FAR = AR_EXCLUSION_NOT_LOCAL,
	SLOW = AR_EXCLUSION_RATE_LIMITED
};

static const struct {
	const char *why;
	struct ar_need need;
	const char *slow; /* a model with a rate limit */
	const char *chosen; /* NULL: none */
	int why_not[4];
} cases[] = {
	{ "nothing asked: the first that can",
	  { .may_fall_back = true },
	  NULL,
	  "plain",
	  { KEY, OK, OK, OK } },
	{ "vision",
	  { .capabilities = AR_CAN_VISION, .may_fall_back = true },
	  NULL,
	  "seeing",
	  { KEY, CAN, OK, CAN } },
	{ "vision and json at once",
	  { .capabilities = AR_CAN_VISION | AR_CAN_JSON },
	  NULL,
	  NULL,
	  { KEY, CAN, CAN, CAN } },
	{ "local only",
	  { .is_local_only = true, .may_fall_back = true },
	  NULL,
	  "near",
	  { KEY, FAR, FAR, OK } },
	{ "by name", { .model = AR_STR("seeing") }, NULL, "seeing", { KEY, OK, OK, OK } },
	{ "by the server's name", { .model = AR_STR("p-wire") }, NULL, "plain", { KEY, OK, OK, OK } },
	{ "asked for one without a key",
	  { .model = AR_STR("keyless"), .may_fall_back = true },
	  NULL,
	  "plain",
	  { KEY, OK, OK, OK } },
	{ "the same, and no other may answer",
	  { .model = AR_STR("keyless") },
	  NULL,
	  NULL,
	  { KEY, OK, OK, OK } },
	{ "asked for one that nobody knows",
	  { .model = AR_STR("who"), .may_fall_back = true },
	  NULL,
	  "plain",
	  { KEY, OK, OK, OK } },
	{ "the first is slowed down", { .may_fall_back = true }, "plain", "seeing", { KEY, SLOW, OK, OK } },
	{ "the only one is slowed down: it is waited for",
	  { .capabilities = AR_CAN_VISION, .may_fall_back = true },
	  "seeing",
	  "seeing",
	  { KEY, CAN, OK, CAN } },
};

static void test_routes(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_throttle slow = { ar_str_from(cases[i].slow), 100 };
		void *at[] = { &slow };
		struct ar_vec throttles = { at, cases[i].slow ? 1 : 0, 1 };
		struct ar_model_set set = { models, AR_ARRAY_LEN(models), &throttles, 99 };
		struct ar_routing r = ar_route_resolve(&set, &cases[i].need, &a);

		for (size_t k = 0; k < AR_ARRAY_LEN(models); k++) {
			if ((int)r.all[k].why_not != cases[i].why_not[k])
				fail_msg("%s: model %zu is %d", cases[i].why, k, (int)r.all[k].why_not);
		}
		if (!ar_str_eq(r.choice.name, ar_str_from(cases[i].chosen)))
			fail_msg("%s: %.*s is chosen", cases[i].why, AR_STR_ARG(r.choice.name));
	}
	ar_arena_fini(&a);
}

static void test_the_cheapest_where_prices_are_known(void **state AR_UNUSED)
{
	static const struct ar_model_entry priced[] = {
		{ .name = AR_STR("unknown"), .price = UNPRICED, .has_credentials = true },
		{ .name = AR_STR("dear"), .price = { 2, 9, -1, -1 }, .has_credentials = true },
		{ .name = AR_STR("cheap"), .price = { 3, 1, -1, -1 }, .has_credentials = true },
		{ .name = AR_STR("keyless"), .price = { 0, 0, -1, -1 } },
	};
	struct ar_vec none = { 0 };
	struct ar_model_set set = { priced, AR_ARRAY_LEN(priced), &none, 0 };
	struct ar_arena a = { 0 };

	assert_true(ar_str_is(ar_route_resolve(&set, &(struct ar_need){ .is_frugal = true }, &a).choice.name,
			      "cheap"));
	set.count = 1;
	assert_true(ar_str_is(ar_route_resolve(&set, &(struct ar_need){ .is_frugal = true }, &a).choice.name,
			      "unknown"));
	ar_arena_fini(&a);
}

static void test_a_limit_is_over_in_time(void **state AR_UNUSED)
{
	struct ar_throttle slow = { AR_STR("plain"), 100 };
	void *at[] = { &slow };
	struct ar_vec throttles = { at, 1, 1 };

	assert_int_equal(ar_route_throttled(&throttles, AR_STR("plain"), 99), 100);
	assert_int_equal(ar_route_throttled(&throttles, AR_STR("plain"), 100), 0);
	assert_int_equal(ar_route_throttled(&throttles, AR_STR("near"), 0), 0);
}

static void test_an_open_model_takes_any_name(void **state AR_UNUSED)
{
	const struct ar_model_entry open = { .name = AR_STR("default"),
					     .model = AR_STR("default"),
					     .takes_any = true };
	struct ar_choice c = ar_routing_find(&open, 1, AR_STR("gpt-x"));

	assert_ptr_equal(c.entry, &open);
	assert_true(ar_str_is(c.name, "gpt-x") && ar_str_is(c.model, "gpt-x"));
	assert_true(ar_str_is(ar_routing_find(&open, 1, AR_STR("default")).model, "default"));
	assert_null(ar_routing_find(models, 1, AR_STR("gpt-x")).entry);
}

/* ---- money ---- */

static const struct {
	const char *text;
	int64_t nano;
} amounts[] = {
	{ "0", 0 },
	{ "3", 3000000000 },
	{ "0.25", 250000000 },
	{ "12.000000001", 12000000001 },
	{ "0.999999999", 999999999 },
	{ "9000000000", INT64_C(9000000000000000000) },
};

static void test_amounts_as_text(void **state AR_UNUSED)
{
	static const char *const wrong[] = { "",   "-1",  "1e3",	  "1,5",	" 1", ".5",
					     "1.", "1.x", "1.0000000001", "9000000001", "0x1" };
	struct ar_arena a = { 0 };
	int64_t nano;

	for (size_t i = 0; i < AR_ARRAY_LEN(amounts); i++) {
		assert_true(ar_money_parse(ar_str_from(amounts[i].text), &nano));
		assert_int_equal(nano, amounts[i].nano);
		assert_true(ar_str_is(ar_money_text(&a, nano), amounts[i].text));
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(wrong); i++) {
		if (ar_money_parse(ar_str_from(wrong[i]), &nano))
			fail_msg("'%s' is taken", wrong[i]);
	}
	assert_true(ar_money_parse(AR_STR("3.00"), &nano));
	assert_true(ar_str_is(ar_money_text(&a, nano), "3"));
	ar_arena_fini(&a);
}

#define DOLLAR INT64_C(1000000000)

static const struct {
	struct ar_price price;
	struct ar_token_count count;
	int64_t want;
} costs[] = {
	{ { 3 * DOLLAR, 15 * DOLLAR, -1, -1 }, { 1000000, 1000000, 0, 0 }, 18 * DOLLAR },
	{ { 3 * DOLLAR, 15 * DOLLAR, -1, -1 }, { 1, 1, 0, 0 }, 18000 },
	{ { 3 * DOLLAR, 15 * DOLLAR, DOLLAR / 10, 4 * DOLLAR }, { 10, 0, 4, 5 }, 3000 + 4 * 100 + 5 * 4000 },
	{ { 3 * DOLLAR, 15 * DOLLAR, -1, -1 }, { 10, 0, 4, 5 }, 30000 }, /* caches at the price of reading */
	{ { 1, 0, -1, -1 },
	  { 1, 0, 0, 0 },
	  1 }, /* a fraction of a billionth is one: never less than it costs */
	{ { 1, 1, -1, -1 }, { 500000, 500000, 0, 0 }, 1 }, /* and rounded once, not per item */
	{ { 0, 0, 0, 0 }, { 100, 100, 0, 0 }, 0 }, /* free is not unknown */
	{ UNPRICED, { 100, 100, 0, 0 }, AR_MONEY_UNKNOWN },
	{ { DOLLAR, -1, -1, -1 }, { 100, 0, 0, 0 }, AR_MONEY_UNKNOWN },
	{ { DOLLAR, DOLLAR, -1, -1 }, { -7, -7, -7, -7 }, 0 }, /* what no honest server counts */
	{ { DOLLAR, DOLLAR, -1, -1 }, { 5, 0, 9, 9 }, 5000 }, /* more cached than read */
	{ { 9 * DOLLAR * DOLLAR, DOLLAR, -1, -1 }, { INT64_MAX, 0, 0, 0 }, INT64_MAX },
};

static void test_costs(void **state AR_UNUSED)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(costs); i++) {
		int64_t got = ar_price_cost(&costs[i].price, &costs[i].count);

		if (got != costs[i].want)
			fail_msg("cost %zu is %lld", i, (long long)got);
	}
}

static void test_sums_carry(void **state AR_UNUSED)
{
	const struct ar_price price = { 300000000, 1100000000, -1, -1 }; /* 0.3 and 1.1 */
	const struct ar_token_count count = { 1, 1, 0, 0 };
	struct ar_arena a = { 0 };
	int64_t sum = 0;

	for (int i = 0; i < 1000000; i++)
		sum += ar_price_cost(&price, &count);
	assert_true(ar_str_is(ar_money_text(&a, sum), "1.4"));
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_the_cheapest_where_prices_are_known),
		cmocka_unit_test(test_a_limit_is_over_in_time),
		cmocka_unit_test(test_an_open_model_takes_any_name),
		cmocka_unit_test(test_amounts_as_text),
		cmocka_unit_test(test_costs),
		cmocka_unit_test(test_sums_carry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
