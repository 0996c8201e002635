/* Patterns for names, row by row. */
#include "read/pattern.h"
#include "unit.h"

static const struct {
	const char *glob, *path;
	bool matches;
} rows[] = {
	{ "*.c", "a.c", true },
	{ "*.c", "d/e/a.c", true },
	{ "*.c", "a.cc", false },
	{ "*.c", "a.c/b", false },
	{ "*", "a\nb", true },
	{ "a?c", "abc", true },
	{ "a?c",
	  "a\xc3\xa9"
	  "c",
	  true },
	{ "a?c",
	  "a\xff"
	  "c",
	  true },
	{ "a?c", "abbc", false },
	{ "d/*.c", "d/a.c", true },
	{ "d/*.c", "d/e/a.c", false },
	{ "d/*.c", "x/d/a.c", false },
	{ "./d/*.c", "d/a.c", true },
	{ "d/**/*.c", "d/a.c", true },
	{ "d/**/*.c", "d/e/f/a.c", true },
	{ "d/**", "d/e/f", true },
	{ "d/**", "dd/e", false },
	{ "**/x", "x", true },
	{ "**/x", "a/b/x", true },
	{ "**/x", "a/bx", false },
	{ "[ab]c", "bc", true },
	{ "[!ab]c", "bc", false },
	{ "[!ab]c", "xc", true },
	{ "[]]c", "]c", true },
	{ "[^a]", "b", true },
	{ "d/[!a]x/y", "d//x/y", false },
	{ "[ab", "[ab", true },
	{ "{a,b*}.c", "bbb.c", true },
	{ "{a,b*}.c", "c.c", false },
	{ "{a,{b,c}}d", "cd", true },
	{ "a,b}", "a,b}", true },
	{ "{a", "{a", true },
	{ "a+(b)|c^$", "a+(b)|c^$", true },
	{ "a.c", "abc", false },
};

static void test_globs(void **state)
{
	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_error err = { 0 };
		AR_AUTO(ar_pattern_freep)
		struct ar_pattern *p = ar_pattern_new_glob(ar_str_from(rows[i].glob), &err);
		size_t from;

		assert_non_null(p);
		bool matches = ar_pattern_find(p, ar_str_from(rows[i].path), &from) == AR_PATTERN_YES;

		if (matches != rows[i].matches)
			fail_msg("'%s' and '%s': %d", rows[i].glob, rows[i].path, matches);
	}
}

/* Stars after stars cost no more than the limit allows. */
static void test_glob_without_end(void **state)
{
	(void)state;
	AR_AUTO(ar_pattern_freep)
	struct ar_pattern *p =
		ar_pattern_new_glob(AR_STR("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"), NULL);
	size_t from;

	assert_int_equal(
		ar_pattern_find(
			p, AR_STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabc"),
			&from),
		AR_PATTERN_GAVE_UP);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_globs),
					    cmocka_unit_test(test_glob_without_end) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
