/* Patterns: the dialect of ECMA-262 where it differs from Perl's, what is refused, and that no search goes on for ever. */
#include "cmocka_unit.h"
#include "regex.h"

#include "mem.h"

static enum ar_regex_found search(const char *pattern, struct ar_str text)
{
	struct ar_regex *r = NULL;
	struct ar_error err;
	enum ar_regex_found found;

	assert_int_equal(ar_regex_compile(ar_str_from(pattern), &r, &err), AR_OK);
	found = ar_regex_search(r, text);
	ar_regex_free(r);
	return found;
}

static void test_dialect(void **state AR_UNUSED)
{
	static const struct {
		const char *pattern, *text;
		enum ar_regex_found want;
	} rows[] = {
		{ "b", "abc", AR_REGEX_YES },
		{ "^b", "abc", AR_REGEX_NO },
		{ "^a$", "a", AR_REGEX_YES },
		{ "^a$", "a\n", AR_REGEX_NO },
		{ "^.$", "\xc3\xa9", AR_REGEX_YES },
		{ "^\\u00e9$", "\xc3\xa9", AR_REGEX_YES },
		{ "^\\u{1F600}$", "\xf0\x9f\x98\x80", AR_REGEX_YES },
		{ "^[^]$", "\n", AR_REGEX_YES },
		{ "^\\d+$", "\xd9\xa3", AR_REGEX_NO }, /* digits are those of ASCII */
		{ "^\\p{Letter}+$", "\xce\xb1\xce\xb2", AR_REGEX_YES },
		{ "^\\p{Script=Greek}$", "\xce\xb1", AR_REGEX_YES },
		{ "^\\p{Script=Greek}$", "a", AR_REGEX_NO },
		{ "^\\P{L}$", "1", AR_REGEX_YES },
		{ "^\\\\p{Letter}$", "\\p{Letter}", AR_REGEX_YES }, /* an escaped backslash is no property */
		{ "^(?:(a)|b)\\1c$", "bc", AR_REGEX_YES }, /* a group that took no part matches nothing */
		{ "", "", AR_REGEX_YES },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		assert_int_equal(search(rows[i].pattern, ar_str_from(rows[i].text)), rows[i].want);
}

static void test_refused(void **state AR_UNUSED)
{
	static const char *const wrong[] = { "(", "a{2,1}", "[z-a]", "\\p{Nonsense}", "\\C", "\xff" };
	struct ar_regex *r = NULL;
	struct ar_error err;
	char *large = ar_new0(AR_REGEX_PATTERN_MAX + 2);

	for (size_t i = 0; i < AR_ARRAY_LEN(wrong); i++) {
		assert_int_equal(ar_regex_compile(ar_str_from(wrong[i]), &r, &err), AR_E_INVALID);
		assert_true(err.msg[0] != '\0');
	}
	memset(large, 'a', AR_REGEX_PATTERN_MAX + 1);
	assert_int_equal(ar_regex_compile(ar_str_from(large), &r, &err), AR_E_LIMIT);
	memset(large, '(', 1000);
	memset(large + 1000, ')', AR_REGEX_PATTERN_MAX - 1000);
	assert_int_equal(ar_regex_compile((struct ar_str){ large, 2000 }, &r, &err), AR_E_INVALID);
	ar_free(large);
}

static void test_bounded(void **state AR_UNUSED)
{
	assert_int_equal(search("^(a+)+$", AR_STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")),
			 AR_REGEX_GAVE_UP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dialect),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
