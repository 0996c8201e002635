/* When a schedule is due: fields, names, both day fields, clock changes of three zones, intervals, what is
 * refused, and the sentence. */
#include "zones.h"
#include "cron.h"

static struct ar_cron cron_of(const char *text)
{
	struct ar_cron c = { 0 };
	struct ar_error err = { 0 };

	if (ar_cron_parse(ar_str_from(text), &c, &err) != AR_OK)
		fail_msg("%s: %s", text, err.msg);
	return c;
}

static void test_next(void **state AR_UNUSED)
{
	static const struct {
		const char *cron, *zone, *after, *want;
	} rows[] = {
		{ "* * * * *", NULL, "2026-11-17T22:00:00Z", "2026-11-17T22:01:00Z" },
		{ "* * * * *", NULL, "2026-11-17T22:00:59.999999Z", "2026-11-17T22:01:00Z" },
		{ "*/15 * * * *", NULL, "2026-11-17T22:46:00Z", "2026-11-17T23:00:00Z" },
		{ "0 9 * * MON-FRI", NULL, "2026-11-20T09:00:00Z", "2026-11-23T09:00:00Z" },
		{ "0 9 * * mon-fri", NULL, "2026-11-20T08:59:59Z", "2026-11-20T09:00:00Z" },
		{ "30 4 1,15 * 5", NULL, "2026-11-15T04:30:00Z", "2026-11-20T04:30:00Z" }, /* either day */
		{ "30 4 1,15 * *", NULL, "2026-11-15T04:30:00Z", "2026-12-01T04:30:00Z" },
		{ "0 0 */2 * 1", NULL, "2026-11-17T00:00:00Z", "2026-11-23T00:00:00Z" }, /* both days */
		{ "0 0 * * 7", NULL, "2026-11-17T00:00:00Z", "2026-11-22T00:00:00Z" },
		{ "0 0 * * 5-7", NULL, "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z" },
		{ "0 0 29 2 *", NULL, "2026-11-17T00:00:00Z", "2028-02-29T00:00:00Z" },
		{ "0 0 29 2 *", NULL, "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z" },
		{ "0 0 29 2 */6", NULL, "2026-11-17T00:00:00Z", "2032-02-29T00:00:00Z" }, /* a Sunday */
		{ "0 0 31 * *", NULL, "2026-11-17T00:00:00Z", "2026-12-31T00:00:00Z" },
		{ "0 0 1 JAN *", NULL, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z" },
		{ "10-30/10,45 8 * * *", NULL, "2026-11-17T08:30:00Z", "2026-11-17T08:45:00Z" },
		{ "@hourly", NULL, "2026-11-17T22:00:00Z", "2026-11-17T23:00:00Z" },
		{ "@daily", NULL, "2026-11-17T22:00:00Z", "2026-11-18T00:00:00Z" },
		{ "@weekly", NULL, "2026-11-17T22:00:00Z", "2026-11-22T00:00:00Z" },
		{ "@monthly", NULL, "2026-11-17T22:00:00Z", "2026-12-01T00:00:00Z" },
		{ "@yearly", NULL, "2026-11-17T22:00:00Z", "2027-01-01T00:00:00Z" },
		{ "0 9 * * *", "Europe/Berlin", "2026-07-01T08:00:00Z", "2026-07-02T07:00:00Z" },
		{ "0 9 * * *", "Europe/Berlin", "2026-12-01T07:59:59Z", "2026-12-01T08:00:00Z" },
		/* Forward: 02:30 does not occur; the moment after the gap, once. */
		{ "30 2 * * *", "Europe/Berlin", "2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z" },
		{ "30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z" },
		{ "*/15 2 * * *", "Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z" },
		{ "*/15 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z" },
		{ "30 2 * * *", "America/New_York", "2026-03-08T00:00:00Z", "2026-03-08T07:00:00Z" },
		{ "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-03T15:30:00Z" },
		/* Back: 02:30 occurs twice; the first, once. */
		{ "30 2 * * *", "Europe/Berlin", "2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z" },
		{ "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z" },
		{ "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z" },
		{ "30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", "2026-11-01T05:30:00Z" },
		{ "30 1 * * *", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z" },
		{ "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", "2026-04-04T14:45:00Z" },
		{ "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z" },
		{ "*/30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_zone *z = rows[i].zone ? zone_of(rows[i].zone) : NULL;
		struct ar_cron_clock c = { .cron = cron_of(rows[i].cron), .zone = z };
		char got[AR_TIME_TEXT], want[AR_TIME_TEXT];

		ar_time_format(ar_cron_next(&c, time_of(rows[i].after)), got);
		ar_time_format(time_of(rows[i].want), want);
		if (!ar_str_eq(ar_str_from(got), ar_str_from(want)))
			fail_msg("%s %s after %s: %s, not %s", rows[i].cron,
				 rows[i].zone ? rows[i].zone : "UTC", rows[i].after, got, want);
		ar_zone_free(z);
	}
}

static void test_intervals(void **state AR_UNUSED)
{
	ar_usec anchor = time_of("2026-10-24T23:10:00Z"), last = 0;
	struct ar_cron_clock c = { .cron = cron_of("every 90m"), .anchor = anchor };

	assert_int_equal(ar_cron_next(&c, anchor), anchor + INT64_C(5400000000));
	assert_int_equal(ar_cron_next(&c, anchor + INT64_C(5400000000)), anchor + INT64_C(10800000000));
	assert_int_equal(ar_cron_next(&c, anchor - 1), anchor + INT64_C(5400000000));
	assert_int_equal(cron_of("every 1s").every, 1);
	assert_int_equal(cron_of("every hour").every, 3600);
	assert_int_equal(cron_of("every 2 days").every, 172800);
	assert_int_equal(ar_cron_count(&c, anchor, anchor + INT64_C(10800000000), 100, &last), 2);
	assert_int_equal(last, anchor + INT64_C(10800000000));
	last = 0;
	assert_int_equal(ar_cron_count(&c, anchor, anchor + 5, 100, &last), 0);
	assert_int_equal(last, 0);
}

static void test_count(void **state AR_UNUSED)
{
	struct ar_cron_clock c = { .cron = cron_of("*/10 * * * *") };
	ar_usec after = time_of("2026-11-17T10:00:00Z"), until = time_of("2026-11-17T12:00:00Z"), last = 0;

	assert_int_equal(ar_cron_count(&c, after, until, 1000, &last), 12);
	assert_int_equal(last, until);
	assert_int_equal(ar_cron_count(&c, after, until, 5, &last), 5);
	assert_int_equal(last, time_of("2026-11-17T10:50:00Z"));
}

static void test_refused(void **state AR_UNUSED)
{
	static const char *const wrong[] = { "",
					     "* * * *",
					     "* * * * * *",
					     "60 * * * *",
					     "* 24 * * *",
					     "* * 0 * *",
					     "* * 32 * *",
					     "* * * 13 *",
					     "* * * * 8",
					     "5-1 * * * *",
					     "*/0 * * * *",
					     "5/10 * * * *",
					     "1,,2 * * * *",
					     "a * * * *",
					     "* * * MOO *",
					     "0 0 30 2 *",
					     "0 0 31 4,6,9,11 *",
					     "@reboot",
					     "every",
					     "every 0s",
					     "every 5x",
					     "every -5m",
					     "every 400d",
					     "every 99999999999s",
					     "-1 * * * *",
					     "* * L * *",
					     "* * * * 5#3",
					     "001 * * * *" };
	struct ar_cron c;

	for (size_t i = 0; i < AR_ARRAY_LEN(wrong); i++) {
		struct ar_error err = { 0 };

		if (ar_cron_parse(ar_str_from(wrong[i]), &c, &err) != AR_E_INVALID)
			fail_msg("'%s' was accepted", wrong[i]);
		assert_true(err.msg[0] != '\0');
	}
}

static void test_sentence(void **state AR_UNUSED)
{
	static const char *const rows[][2] = {
		{ "0 9 * * MON-FRI", "every weekday at 09:00 Europe/Berlin" },
		{ "30 6,18 * * *", "every day at 06:30 and 18:30 Europe/Berlin" },
		{ "0 9 * * 1,3", "every Monday and Wednesday at 09:00 Europe/Berlin" },
		{ "0 0 1 * *", "on day 1 of the month at 00:00 Europe/Berlin" },
		{ "0 0 1 1 *", "on day 1 of the month in January at 00:00 Europe/Berlin" },
		{ "0 0 13 * 5", "on day 13 of the month and every Friday at 00:00 Europe/Berlin" },
		{ "*/5 * * * *", "every day every 5 minutes Europe/Berlin" },
		{ "* * * * *", "every day every minute Europe/Berlin" },
		{ "5 * * * *", "every day at minute 5 of every hour Europe/Berlin" },
		{ "*/20 9-17 * * *",
		  "every day every 20 minutes of hours 9, 10, 11, 12, 13, 14, 15, 16 and 17 Europe/Berlin" },
		{ "0 */2 * * *", "every day at minute 0 of every 2 hours Europe/Berlin" },
		{ "every 15m", "every 15 minutes" },
		{ "every 1h", "every hour" },
		{ "every 36h", "every 36 hours" },
	};
	struct ar_arena a = { 0 };

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_cron c = cron_of(rows[i][0]);

		assert_string_equal(ar_cron_sentence(&c, AR_STR("Europe/Berlin"), &a).p, rows[i][1]);
	}
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next),	 cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_count),	 cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
