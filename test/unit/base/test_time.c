/* RFC 3339 in and out, against known instants and against the C library over many days. */
#include "unit.h"
#include "clock.h"

#include <stdio.h>
#include <time.h>

#define REFUSED INT64_MIN
#define SECONDS(s) ((s)*INT64_C(1000000))

static const struct {
	const char *text;
	int64_t t;
} parses[] = {
	{ "1970-01-01T00:00:00Z", 0 },
	{ "1970-01-01T00:00:00.000001Z", 1 },
	{ "1969-12-31T23:59:59.999999Z", -1 },
	{ "2026-11-15T01:55:26.123456Z", SECONDS(1794707726) + 123456 },
	{ "2026-11-15T01:55:26.1Z", SECONDS(1794707726) + 100000 },
	{ "2026-11-15T01:55:26.1234569999Z", SECONDS(1794707726) + 123456 },
	{ "2026-11-15t02:55:26+01:00", SECONDS(1794707726) },
	{ "2026-11-14 20:25:26-05:30", SECONDS(1794707726) },
	{ "2026-11-15T01:55:26-00:00", SECONDS(1794707726) },
	{ "2000-02-29T00:00:00z", SECONDS(951782400) },
	{ "2024-02-29T00:00:00Z", SECONDS(1709164800) },
	{ "2016-12-31T23:59:60Z", SECONDS(1483228800) },
	{ "2017-01-01T00:59:60.5+01:00", SECONDS(1483228800) + 500000 },
	{ "0000-01-01T00:00:00Z", SECONDS(-62167219200) },
	{ "9999-12-31T23:59:59.999999Z", SECONDS(253402300800) - 1 },
	{ "2016-12-31T22:59:60Z", REFUSED },
	{ "1900-02-29T00:00:00Z", REFUSED },
	{ "2023-02-29T00:00:00Z", REFUSED },
	{ "2023-04-31T00:00:00Z", REFUSED },
	{ "2023-00-01T00:00:00Z", REFUSED },
	{ "2023-13-01T00:00:00Z", REFUSED },
	{ "2023-01-00T00:00:00Z", REFUSED },
	{ "2023-01-01T24:00:00Z", REFUSED },
	{ "2023-01-01T00:60:00Z", REFUSED },
	{ "2023-01-01T00:00:61Z", REFUSED },
	{ "2023-01-01T00:00:00", REFUSED },
	{ "2023-01-01T00:00:00.Z", REFUSED },
	{ "2023-01-01T00:00:00+24:00", REFUSED },
	{ "2023-01-01T00:00:00+01", REFUSED },
	{ "2023-01-01T00:00:00+0100", REFUSED },
	{ "2023-01-01T00:00:00Zx", REFUSED },
	{ "2023-01-01", REFUSED },
	{ "23-01-01T00:00:00Z", REFUSED },
	{ "-023-01-01T00:00:00Z", REFUSED },
	{ "", REFUSED },
};

static void test_parse(void **state AR_UNUSED)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(parses); i++) {
		ar_usec t = REFUSED;
		bool ok = ar_time_parse(ar_str_from(parses[i].text), &t);

		if (t != parses[i].t || ok != (t != REFUSED))
			fail_msg("%s: %lld", parses[i].text, (long long)t);
	}
}

static void test_format(void **state AR_UNUSED)
{
	char out[AR_TIME_TEXT];

	assert_str(ar_time_format(0, out), "1970-01-01T00:00:00.000000Z");
	assert_str(ar_time_format(-1, out), "1969-12-31T23:59:59.999999Z");
	assert_str(ar_time_format(SECONDS(1794707726) + 123456, out), "2026-11-15T01:55:26.123456Z");
	assert_int_equal(out[AR_TIME_TEXT - 1], '\0');
	assert_str(ar_time_format(INT64_MIN, out), "0000-01-01T00:00:00.000000Z");
	assert_str(ar_time_format(INT64_MAX, out), "9999-12-31T23:59:59.999999Z");
}

/* Every 11th day of all years; gmtime_r is the second opinion. */
static void test_every_year_against_libc(void **state AR_UNUSED)
{
	for (int64_t s = -62167219200; s < 253402300800; s += 11 * 86400 + 3671) {
		char out[AR_TIME_TEXT], want[80];
		time_t seconds = (time_t)s;
		struct tm tm;
		ar_usec back;

		gmtime_r(&seconds, &tm);
		snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02d.000000Z", tm.tm_year + 1900,
			 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
		assert_str(ar_time_format(SECONDS(s), out), want);
		assert_true(ar_time_parse(ar_str_from(want), &back) && back == SECONDS(s));
	}
}

static void test_system_clock(void **state AR_UNUSED)
{
	struct ar_clock *c = ar_clock_system();
	ar_usec before = c->mono(c);

	assert_true(c->wall(c) > SECONDS(1700000000));
	assert_true(c->mono(c) >= before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_every_year_against_libc),
		cmocka_unit_test(test_system_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
