/* Patterns: the dialect of ECMA-262 where it differs from Perl's, what is refused, and that no search goes on
 * for ever. */
#include "cmocka_unit.h"
#include "regex.h"

#include "buf.h"
#include "mem.h"

static enum ar_regex_found search(const char *pattern, struct ar_str text)
{
	struct ar_regex *r = NULL;
	struct ar_error err;
	enum ar_regex_found found;
	uint64_t steps = 100000;

	assert_int_equal(ar_regex_compile(ar_str_from(pattern), &r, &err), AR_OK);
	found = ar_regex_search(r, text, &steps);
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

/* Cheap at each place where a match may begin, and there are 90,000 of these: the steps are those of the
 * whole search. */
static void test_long_text(void **state AR_UNUSED)
{
	static const char *const patterns[] = { "[a-w]*(?:y|z)",      "[a-w]*+(?:y|z)",	 "a.*?(?:y|z)",
						"[a-z]{9000}(?:1|2)", "(a+)(?:y|\\1z)",	 "(?i)[a-w]*(?:y|z)",
						"\\p{L}{50}(?:1|2)",  "(?:a|b)*+(?:1|2)" };
	struct ar_buf text = { 0 };

	while (text.len < 90000)
		ar_buf_addc(&text, 'a');
	for (size_t i = 0; i < AR_ARRAY_LEN(patterns); i++)
		assert_int_equal(search(patterns[i], ar_buf_str(&text)), AR_REGEX_GAVE_UP);
	ar_buf_fini(&text);
}

/* One character is compared with each member of a class, so a large class makes each step dear. */
static void test_large_class(void **state AR_UNUSED)
{
	static const char *const begins[] = { "[", "[[:alpha:]", "[\\Q]\\E" };
	struct ar_buf text = { 0 };

	for (int i = 0; i < 20000; i++)
		ar_buf_addz(&text, "\xe4\xb8\x81");
	for (size_t b = 0; b < AR_ARRAY_LEN(begins); b++) {
		struct ar_buf pattern = { 0 };

		ar_buf_addz(&pattern, begins[b]);
		for (int i = 0; i < 3000; i++)
			ar_buf_addf(&pattern, "\xe4%c%c", 0xb8 + i / 64 % 4, 0x80 + i % 64);
		ar_buf_addz(&pattern, "]*(?:1|2)");
		ar_buf_addc(&pattern, '\0');
		assert_int_equal(search(pattern.p, ar_buf_str(&text)), AR_REGEX_GAVE_UP);
		ar_buf_fini(&pattern);
	}
	ar_buf_fini(&text);
}

/* What common patterns take of the steps is small, and what was taken is told. */
static void test_steps(void **state AR_UNUSED)
{
	struct ar_regex *r = NULL;
	struct ar_error err;
	uint64_t steps = 1000;

	assert_int_equal(ar_regex_compile(AR_STR("^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"), &r, &err),
			 AR_OK);
	assert_int_equal(ar_regex_search(r, AR_STR("01234567-89ab-cdef-0123-456789abcdef"), &steps),
			 AR_REGEX_YES);
	assert_in_range(steps, 900, 998);
	steps = 3;
	assert_int_equal(ar_regex_search(r, AR_STR("01234567-89ab-cdef-0123-456789abcdef"), &steps),
			 AR_REGEX_GAVE_UP);
	assert_int_equal(steps, 0);
	ar_regex_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dialect),	    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bounded),	    cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_large_class), cmocka_unit_test(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
