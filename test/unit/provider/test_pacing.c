/* How long to wait and how much is left, as vendors write it into headers. */
#include "unit.h"

#include "pacing.h"

#define SECOND 1000000
#define DAY_MS (24 * 3600 * 1000)

/* Sun, 06 Nov 1994 08:49:37 GMT */
static const ar_usec then = INT64_C(784111777) * SECOND;

struct header {
	const char *name, *value;
};

static struct ar_str get(const void *owner, const char *name)
{
	for (const struct header *h = owner; h->name; h++) {
		if (strcmp(h->name, name) == 0)
			return ar_str_from(h->value);
	}
	return AR_STR_NONE;
}

static int64_t retry_after(const char *in_ms, const char *after)
{
	const struct header headers[] = { { "retry-after-ms", in_ms }, { "retry-after", after }, { 0 } };

	return ar_pacing_retry_after(&(struct ar_header_source){ get, headers }, then);
}

static void test_retry_after(void **state AR_UNUSED)
{
	assert_int_equal(retry_after(NULL, NULL), 0);
	assert_int_equal(retry_after(NULL, "2"), 2000);
	assert_int_equal(retry_after(NULL, "0.25"), 250);
	assert_int_equal(retry_after("30", "2"), 30);
	assert_int_equal(retry_after("soon", "2"), 2000);
	assert_int_equal(retry_after(NULL, "Sun, 06 Nov 1994 08:49:47 GMT"), 10000);
	assert_int_equal(retry_after(NULL, "Sun, 06 Nov 1994 08:49:27 GMT"), 0);
	assert_int_equal(retry_after(NULL, "99999999999"), DAY_MS);
	assert_int_equal(retry_after(NULL, "-5"), 0);
	assert_int_equal(retry_after(NULL, "nan"), 0);
}

static void test_durations(void **state AR_UNUSED)
{
	static const struct {
		const char *text;
		int64_t ms;
	} durations[] = {
		{ "34s", 34000 }, { "6m0s", 360000 }, { "20ms", 20 },	     { "1h2m3.5s", 3723500 },
		{ "0s", 0 },	  { "", 0 },	      { "12", 0 },	     { "s", 0 },
		{ "3 days", 0 },  { "-1s", 0 },	      { "999999h", DAY_MS }, { "1.2.3s", 1200 },
		{ "500us", 0 },	  { "1s2", 0 },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(durations); i++)
		assert_int_equal(ar_pacing_duration(ar_str_from(durations[i].text)), durations[i].ms);
}

static void test_limits_of_openai(void **state AR_UNUSED)
{
	const struct header headers[] = {
		{ "x-ratelimit-limit-requests", "60" },
		{ "x-ratelimit-remaining-requests", "59" },
		{ "x-ratelimit-reset-requests", "1s" },
		{ "x-ratelimit-limit-tokens", "1000" },
		{ "x-ratelimit-remaining-tokens", "0" },
		{ "x-ratelimit-reset-tokens", "6m0s" },
		{ 0 },
	};
	struct ar_rate_limit limits[AR_RATE_KINDS] = { 0 };

	ar_pacing_limits(&(struct ar_header_source){ get, headers }, then, limits);
	assert_int_equal(limits[AR_RATE_REQUESTS].limit.v, 60);
	assert_int_equal(limits[AR_RATE_REQUESTS].remaining.v, 59);
	assert_int_equal(limits[AR_RATE_REQUESTS].reset_ms.v, 1000);
	assert_int_equal(limits[AR_RATE_TOKENS].reset_ms.v, 360000);
	assert_false(limits[AR_RATE_INPUT_TOKENS].limit.set);
	assert_int_equal(ar_pacing_reset(limits), 360000);
	limits[AR_RATE_TOKENS].remaining.v = 1;
	assert_int_equal(ar_pacing_reset(limits), 0);
}

static void test_limits_of_anthropic(void **state AR_UNUSED)
{
	const struct header headers[] = {
		{ "anthropic-ratelimit-input-tokens-limit", "100" },
		{ "anthropic-ratelimit-input-tokens-remaining", "0" },
		{ "anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:49:47Z" },
		{ "anthropic-ratelimit-requests-limit", "many" },
		{ 0 },
	};
	struct ar_rate_limit limits[AR_RATE_KINDS] = { 0 };

	ar_pacing_limits(&(struct ar_header_source){ get, headers }, then, limits);
	assert_int_equal(limits[AR_RATE_INPUT_TOKENS].limit.v, 100);
	assert_int_equal(limits[AR_RATE_INPUT_TOKENS].reset_ms.v, 10000);
	assert_false(limits[AR_RATE_REQUESTS].limit.set);
	assert_int_equal(ar_pacing_reset(limits), 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_limits_of_openai),
		cmocka_unit_test(test_limits_of_anthropic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
