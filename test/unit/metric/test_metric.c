/* The text that a scraper gets: names, labels and help escaped, buckets that add up, exact decimals, a bound
 * on combinations of labels. */
#include "cmocka_unit.h"
#include "metric.h"

#include <stdio.h>

enum { PLAIN, LABELLED, TIMED, LEVEL, MONEY, COUNT };

static const struct ar_metric_desc descs[COUNT] = {
	[PLAIN] = { "a_total", "Counts \\ and\nmore.", AR_METRIC_COUNTER, 1, { NULL }, NULL, 0 },
	[LABELLED] = { "b_total", "B.", AR_METRIC_COUNTER, 1, { "x", "y" }, NULL, 0 },
	[TIMED] = { "c_seconds",
		    "C.",
		    AR_METRIC_HISTOGRAM,
		    1000000,
		    { NULL },
		    (const int64_t[]){ 500, 2500, 1000000 },
		    3 },
	[LEVEL] = { "d", "D.", AR_METRIC_GAUGE, 1, { NULL }, NULL, 0 },
	[MONEY] = { "e_total", "E.", AR_METRIC_COUNTER, 1000000000, { "currency" }, NULL, 0 },
};

static void assert_rendered(const struct ar_metrics *m, const char *want)
{
	struct ar_buf out = { 0 };

	ar_metrics_render(m, &out);
	ar_buf_addc(&out, '\0');
	assert_string_equal(out.p, want);
	ar_buf_fini(&out);
}

static void test_text(void **state)
{
	struct ar_metrics *m = ar_metrics_new(descs, COUNT);

	(void)state;
	ar_metric_add(m, PLAIN, AR_STR_NONE, AR_STR_NONE, 2);
	ar_metric_add(m, LABELLED, AR_STR("quo\"te\\"), AR_STR("two\nlines"), 1);
	ar_metric_add(m, LABELLED, AR_STR("quo\"te\\"), AR_STR("two\nlines"), 1);
	ar_metric_observe(m, TIMED, AR_STR_NONE, 500);
	ar_metric_observe(m, TIMED, AR_STR_NONE, 501);
	ar_metric_observe(m, TIMED, AR_STR_NONE, 2000000);
	ar_metric_set(m, LEVEL, AR_STR_NONE, AR_STR_NONE, -7);
	ar_metric_add(m, MONEY, AR_STR("USD"), AR_STR_NONE, 1000000005);
	assert_rendered(m,
			"# HELP a_total Counts \\\\ and\\nmore.\n# TYPE a_total counter\na_total 2\n"
			"# HELP b_total B.\n# TYPE b_total counter\n"
			"b_total{x=\"quo\\\"te\\\\\",y=\"two\\nlines\"} 2\n"
			"# HELP c_seconds C.\n# TYPE c_seconds histogram\n"
			"c_seconds_bucket{le=\"0.0005\"} 1\nc_seconds_bucket{le=\"0.0025\"} 2\n"
			"c_seconds_bucket{le=\"1\"} 2\nc_seconds_bucket{le=\"+Inf\"} 3\n"
			"c_seconds_sum 2.001001\nc_seconds_count 3\n"
			"# HELP d D.\n# TYPE d gauge\nd -7\n"
			"# HELP e_total E.\n# TYPE e_total counter\ne_total{currency=\"USD\"} 1.000000005\n");
	ar_metrics_free(m);
}

/* Found once and counted often, or looked for each time: one series. */
static void test_a_series_that_is_held(void **state)
{
	struct ar_metrics *m = ar_metrics_new(descs, COUNT);
	struct ar_metric_series *held = ar_metric_find(m, LABELLED, AR_STR("one"), AR_STR("two"));
	struct ar_metric_series *times = ar_metric_find(m, TIMED, AR_STR_NONE, AR_STR_NONE);

	(void)state;
	ar_metric_series_add(held, 2);
	ar_metric_add(m, LABELLED, AR_STR("one"), AR_STR("two"), 3);
	ar_metric_series_observe(times, 501);
	ar_metric_observe(m, TIMED, AR_STR_NONE, 2000000);
	assert_int_equal(ar_metric_value(m, LABELLED, AR_STR("one"), AR_STR("two")), 5);
	assert_int_equal(ar_metric_value(m, TIMED, AR_STR_NONE, AR_STR_NONE), 2);
	ar_metrics_free(m);
	assert_null(ar_metric_find(NULL, LABELLED, AR_STR("one"), AR_STR("two")));
	ar_metric_series_add(NULL, 1);
	ar_metric_series_observe(NULL, 1);
}

static void test_nothing_counted_is_zero(void **state)
{
	struct ar_metrics *m = ar_metrics_new(descs, 2);

	(void)state;
	assert_rendered(m, "# HELP a_total Counts \\\\ and\\nmore.\n# TYPE a_total counter\na_total 0\n"
			   "# HELP b_total B.\n# TYPE b_total counter\n");
	assert_int_equal(ar_metric_value(m, LABELLED, AR_STR("x"), AR_STR("y")), 0);
	ar_metric_add(NULL, PLAIN, AR_STR_NONE, AR_STR_NONE, 1);
	ar_metric_observe(NULL, TIMED, AR_STR_NONE, 1);
	ar_metrics_free(m);
}

static void test_combinations_are_bounded(void **state)
{
	struct ar_metrics *m = ar_metrics_new(descs, COUNT);
	char name[16];

	(void)state;
	for (int i = 0; i < AR_METRIC_SERIES * 3; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		ar_metric_add(m, LABELLED, ar_str_from(name), AR_STR("same"), 1);
	}
	assert_int_equal(ar_metric_value(m, LABELLED, AR_STR("v511"), AR_STR("same")), 1);
	assert_int_equal(ar_metric_value(m, LABELLED, AR_STR("v512"), AR_STR("same")), 0);
	assert_int_equal(ar_metric_value(m, LABELLED, AR_STR("other"), AR_STR("other")),
			 2 * AR_METRIC_SERIES);
	ar_metrics_free(m);
}

static void test_long_values_are_cut_at_a_letter(void **state)
{
	struct ar_metrics *m = ar_metrics_new(descs, COUNT);
	char text[AR_METRIC_VALUE_MAX + 2];

	(void)state;
	memset(text, 'a', AR_METRIC_VALUE_MAX - 1);
	memcpy(text + AR_METRIC_VALUE_MAX - 1, "\xc3\xa4", 3); /* a letter of two bytes across the limit */
	ar_metric_add(m, MONEY, ar_str_from(text), AR_STR_NONE, 4);
	text[AR_METRIC_VALUE_MAX - 1] = '\0';
	assert_int_equal(ar_metric_value(m, MONEY, ar_str_from(text), AR_STR_NONE), 4);
	ar_metrics_free(m);
}

static void test_counts_of_others_replace(void **state)
{
	struct ar_metrics *m = ar_metrics_new(descs, COUNT);

	(void)state;
	ar_metric_replace(m, TIMED, (const uint64_t[]){ 1, 0, 2, 3 }, 10);
	ar_metric_replace(m, TIMED, (const uint64_t[]){ 1, 0, 2, 4 }, 11);
	assert_int_equal(ar_metric_value(m, TIMED, AR_STR_NONE, AR_STR_NONE), 7);
	ar_metrics_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_a_series_that_is_held),
		cmocka_unit_test(test_nothing_counted_is_zero),
		cmocka_unit_test(test_combinations_are_bounded),
		cmocka_unit_test(test_long_values_are_cut_at_a_letter),
		cmocka_unit_test(test_counts_of_others_replace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
