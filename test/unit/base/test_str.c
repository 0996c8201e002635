/* Borrowed strings: absent versus empty, cutting, decimal numbers, UTF-8. */
#include "unit.h"

static void test_absent_is_not_empty(void **state AR_UNUSED)
{
	assert_true(ar_str_absent(ar_str_from(NULL)));
	assert_false(ar_str_eq(AR_STR_NONE, AR_STR("")));
	assert_true(ar_str_eq(AR_STR_NONE, AR_STR_NONE));
	assert_true(ar_str_is(AR_STR(""), ""));
	assert_true(ar_str_absent(ar_str_sub(AR_STR_NONE, 3, 4)));
	assert_false(ar_str_starts(AR_STR_NONE, AR_STR("")));
}

static void test_order_and_affixes(void **state AR_UNUSED)
{
	assert_true(ar_str_cmp(AR_STR("ab"), AR_STR("abc")) < 0);
	assert_true(ar_str_cmp(AR_STR("b"), AR_STR("abc")) > 0);
	assert_true(ar_str_cmp(AR_STR("\xff"), AR_STR("a")) > 0);
	assert_int_equal(ar_str_cmp(AR_STR("x"), AR_STR("x")), 0);
	assert_true(ar_str_starts(AR_STR("sess_1"), AR_STR("sess_")));
	assert_false(ar_str_starts(AR_STR("ses"), AR_STR("sess_")));
	assert_true(ar_str_ends(AR_STR("a.c"), AR_STR(".c")));
	assert_false(ar_str_ends(AR_STR("c"), AR_STR(".c")));
}

static void test_sub_and_split(void **state AR_UNUSED)
{
	struct ar_str head, rest;

	assert_str(ar_str_sub(AR_STR("hello"), 1, 3), "ell");
	assert_str(ar_str_sub(AR_STR("hello"), 3, SIZE_MAX), "lo");
	assert_str(ar_str_sub(AR_STR("hello"), 9, 2), "");
	rest = ar_str_split(AR_STR("a=b=c"), '=', &head);
	assert_str(head, "a");
	assert_str(rest, "b=c");
	rest = ar_str_split(AR_STR("a="), '=', &head);
	assert_str(rest, "");
	rest = ar_str_split(AR_STR("abc"), '=', &head);
	assert_str(head, "abc");
	assert_true(ar_str_absent(rest));
}

static void test_trim(void **state AR_UNUSED)
{
	assert_str(ar_str_trim(AR_STR(" \ta b\t "), " \t"), "a b");
	assert_str(ar_str_trim(AR_STR("\ra\r"), " "), "\ra\r");
	assert_str(ar_str_trim(AR_STR(" \t "), "\t "), "");
	assert_true(ar_str_eq(ar_str_trim(AR_STR("\0 "), " "), AR_STR("\0")));
	assert_true(ar_str_absent(ar_str_trim(AR_STR_NONE, " ")));
}

static const struct {
	const char *text;
	bool u64_ok, i64_ok;
	uint64_t u64;
	int64_t i64;
} numbers[] = {
	{ "0", true, true, 0, 0 },
	{ "007", true, true, 7, 7 },
	{ "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
	{ "9223372036854775808", true, false, (uint64_t)INT64_MAX + 1, 0 },
	{ "18446744073709551615", true, false, UINT64_MAX, 0 },
	{ "18446744073709551616", false, false, 0, 0 },
	{ "99999999999999999999999", false, false, 0, 0 },
	{ "-1", false, true, 0, -1 },
	{ "-9223372036854775808", false, true, 0, INT64_MIN },
	{ "-9223372036854775809", false, false, 0, 0 },
	{ "", false, false, 0, 0 },
	{ "-", false, false, 0, 0 },
	{ "+1", false, false, 0, 0 },
	{ " 1", false, false, 0, 0 },
	{ "1a", false, false, 0, 0 },
	{ "--1", false, false, 0, 0 },
};

static void test_numbers(void **state AR_UNUSED)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(numbers); i++) {
		uint64_t u = 77;
		int64_t n = 77;

		assert_int_equal(ar_str_to_u64(ar_str_from(numbers[i].text), &u), numbers[i].u64_ok);
		assert_true(u == (numbers[i].u64_ok ? numbers[i].u64 : 77));
		assert_int_equal(ar_str_to_i64(ar_str_from(numbers[i].text), &n), numbers[i].i64_ok);
		assert_true(n == (numbers[i].i64_ok ? numbers[i].i64 : 77));
	}
}

static const struct {
	const char *text;
	bool ok;
} utf8[] = {
	{ "", true },
	{ "plain", true },
	{ "\xC3\xA9", true },
	{ "\xE2\x82\xAC", true },
	{ "\xF0\x9F\x98\x80", true },
	{ "\xF4\x8F\xBF\xBF", true },
	{ "\xED\x9F\xBF", true },
	{ "\x80", false },
	{ "\xC0\xAF", false },
	{ "\xC1\xBF", false },
	{ "\xE0\x80\xAF", false },
	{ "\xED\xA0\x80", false },
	{ "\xF0\x80\x80\x80", false },
	{ "\xF4\x90\x80\x80", false },
	{ "\xF5\x80\x80\x80", false },
	{ "\xFF", false },
	{ "a\xE2\x82", false },
	{ "\xC3(", false },
	{ "\xE2\x82(", false },
	{ "\xF0\x9F\x98(", false },
};

static void test_utf8(void **state AR_UNUSED)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(utf8); i++)
		assert_int_equal(ar_str_is_utf8(ar_str_from(utf8[i].text)), utf8[i].ok);
}

static void test_lines(void **state AR_UNUSED)
{
	assert_true(ar_str_is_line(AR_STR("a b \xc3\xa4"), 6));
	assert_false(ar_str_is_line(AR_STR("a b \xc3\xa4"), 5));
	assert_false(ar_str_is_line(AR_STR(""), 5));
	assert_false(ar_str_is_line(AR_STR_NONE, 5));
	assert_false(ar_str_is_line(AR_STR("a\n"), 5));
	assert_false(ar_str_is_line(AR_STR("\x1b[2J"), 5));
	assert_false(ar_str_is_line(AR_STR("a\x7f"), 5));
	assert_false(ar_str_is_line(AR_STR("\xff"), 5));
}

static void test_utf8_prefix(void **state AR_UNUSED)
{
	struct ar_str s = AR_STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
	static const size_t kept[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };

	for (size_t max = 0; max < AR_ARRAY_LEN(kept); max++)
		assert_int_equal(ar_str_utf8_prefix(s, max).len, kept[max]);
	assert_int_equal(ar_str_utf8_prefix(AR_STR("\x80\x80\x80\x80"), 3).len, 3);
	assert_true(ar_str_absent(ar_str_utf8_prefix(AR_STR_NONE, 3)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent_is_not_empty),
		cmocka_unit_test(test_order_and_affixes),
		cmocka_unit_test(test_sub_and_split),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_utf8_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
