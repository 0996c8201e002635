/* Retry-After as servers write it: seconds, a date, or nonsense. */
#include "cmocka_unit.h"
#include "header_value.h"

#define HOUR_MS (3600 * 1000)

/* Sun, 06 Nov 1994 08:49:37 GMT */
static const ar_usec then = INT64_C(784111777) * 1000000;

static void retry_after_is_read_and_has_a_limit(void **state AR_UNUSED)
{
	static const struct {
		const char *value;
		int64_t ms;
	} values[] = {
		{ "7", 7000 },
		{ "0.25", 250 },
		{ "0", 0 },
		{ "Sun, 06 Nov 1994 08:50:07 GMT", 30000 },
		{ "Sun, 06 Nov 1994 08:00:00 GMT", 0 },
		{ "Mon, 07 Nov 1994 08:00:00 GMT", HOUR_MS },
		{ "999999", HOUR_MS },
		{ "99999999999999999999999999", HOUR_MS },
		{ "999999999999999999999999999999999999999999999999999999999999999999", 0 },
		{ "soon", 0 },
		{ "12 monkeys", 0 },
		{ "-5", 0 },
		{ "nan", 0 },
		{ "", 0 },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(values); i++)
		assert_int_equal(ar_header_retry_after_ms(ar_str_from(values[i].value), then, HOUR_MS),
				 values[i].ms);
	assert_int_equal(ar_header_retry_after_ms(AR_STR_NONE, then, HOUR_MS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retry_after_is_read_and_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
