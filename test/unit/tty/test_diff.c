/* Differences of two texts: what stays, what goes, what comes, with numbers. */
#include "unit.h"

#include "diff.h"

static void assert_diff(const char *before, const char *after, const char *want)
{
	struct ar_buf got = { 0 };
	struct ar_diff d;

	ar_diff(ar_str_from(before), ar_str_from(after), &d);
	for (size_t i = 0; i < d.count; i++)
		ar_buf_addf(&got, "%c%zu%.*s ", " -+"[d.lines[i].kind], d.lines[i].number,
			    AR_STR_ARG(d.lines[i].text));
	assert_str(ar_buf_str(&got), want);
	ar_diff_fini(&d);
	ar_buf_fini(&got);
}

static void test_diffs(void **state)
{
	(void)state;
	assert_diff("a\nb\nc\n", "a\nX\nc\n", " 0a -1b +1X  2c ");
	assert_diff("a\n", "a\nb\n", " 0a +1b ");
	assert_diff("", "a\nb", "+0a +1b ");
	assert_diff("a\nb", "", "-0a -1b ");
	assert_diff("a\nb\nc\nd", "b\nx\nd", "-0a  0b -2c +1x  2d ");
	assert_diff("same", "same", " 0same ");
	assert_diff("a\na\na", "a\na", " 0a  1a -2a ");
}

static void test_very_long_texts_are_shown_whole(void **state)
{
	struct ar_buf before = { 0 }, after = { 0 };
	struct ar_diff d;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		ar_buf_addf(&before, "a%d\n", i);
		ar_buf_addf(&after, "b%d\n", i);
	}
	ar_diff(ar_buf_str(&before), ar_buf_str(&after), &d);
	assert_int_equal(d.added, 1000);
	assert_int_equal(d.removed, 1000);
	ar_diff_fini(&d);
	ar_buf_fini(&before);
	ar_buf_fini(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diffs),
		cmocka_unit_test(test_very_long_texts_are_shown_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
