/* Front matter of Markdown files from strangers: what is read, and what is refused. */
#include "text/front_matter.h"
#include "unit.h"

#include "buf.h"

static struct ar_arena arena;

static struct ar_front_matter read_text(const char *text)
{
	struct ar_front_matter f;
	struct ar_error err = { 0 };

	if (ar_front_matter_read(ar_str_from(text), &arena, &f, &err) != AR_OK)
		fail_msg("refused: %s", err.msg);
	return f;
}

static void expect_refusal(const char *text, const char *why)
{
	struct ar_front_matter f;
	struct ar_error err = { 0 };

	assert_int_equal(ar_front_matter_read(ar_str_from(text), &arena, &f, &err), AR_E_INVALID);
	if (!strstr(err.msg, why))
		fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void test_values(void **state AR_UNUSED)
{
	struct ar_front_matter f =
		read_text("---\nname: tea\r\n# a comment\ndescription: \"Say \\\"hi\\\"\\n\" # x\n"
			  "single: 'it''s'\nurl: http://x/#y\nempty:\n---\n\n# Body\n---\n");

	assert_str(ar_front_matter_get(&f, "name"), "tea");
	assert_str(ar_front_matter_get(&f, "description"), "Say \"hi\"\n");
	assert_str(ar_front_matter_get(&f, "single"), "it's");
	assert_str(ar_front_matter_get(&f, "url"), "http://x/#y");
	assert_str(ar_front_matter_get(&f, "empty"), "");
	assert_true(ar_str_absent(ar_front_matter_get(&f, "other")));
	assert_str(f.body, "\n# Body\n---\n");
	assert_str(read_text("---\n---").body, "");
}

static void test_values_on_lines(void **state AR_UNUSED)
{
	struct ar_front_matter f = read_text("---\na: >-\n  one\n\n  two\nb: |\n  one\n  two\nc: one\n  two\n"
					     "d:\n  e: nested\n  f: g\n---\n");

	assert_str(ar_front_matter_get(&f, "a"), "one two");
	assert_str(ar_front_matter_get(&f, "b"), "one\ntwo");
	assert_str(ar_front_matter_get(&f, "c"), "one two");
	assert_str(ar_front_matter_get(&f, "d"), "e: nested\nf: g");
	assert_true(ar_str_absent(ar_front_matter_get(&f, "e")));
}

static void expect_list(const struct ar_front_matter *f, const char *key, const char *a, const char *b)
{
	struct ar_texts list;

	assert_int_equal(ar_front_matter_list(f, key, &arena, &list, NULL), AR_OK);
	assert_int_equal(list.count, 2);
	assert_str(list.at[0], a);
	assert_str(list.at[1], b);
}

static void test_lists(void **state AR_UNUSED)
{
	struct ar_front_matter f = read_text(
		"---\na: [x, \"y z\"]\nb: Read, Grep\nc:\n  - x\n  - 'y'\nd:\n- x\n- y\ne: []\n---\n");
	struct ar_texts list;

	expect_list(&f, "a", "x", "y z");
	expect_list(&f, "b", "Read", "Grep");
	expect_list(&f, "c", "x", "y");
	expect_list(&f, "d", "x", "y");
	assert_int_equal(ar_front_matter_list(&f, "e", &arena, &list, NULL), AR_OK);
	assert_true(list.at && list.count == 0);
	assert_int_equal(ar_front_matter_list(&f, "none", &arena, &list, NULL), AR_OK);
	assert_null(list.at);
}

static void test_what_is_not_read(void **state AR_UNUSED)
{
	expect_refusal("", "no front matter");
	expect_refusal("# Title\n", "no front matter");
	expect_refusal(" ---\na: b\n---\n", "no front matter");
	expect_refusal("---\na: b\n", "no end");
	expect_refusal("---\na: &x b\n---\n", "anchors");
	expect_refusal("---\na: *x\n---\n", "anchors");
	expect_refusal("---\na: !!python/object x\n---\n", "anchors");
	expect_refusal("---\na: b\na: c\n---\n", "twice");
	expect_refusal("---\njust text\n---\n", "key: value");
	expect_refusal("---\na b: c\n---\n", "key: value");
	expect_refusal("---\na\x1b[2J: c\n---\n", "key: value");
	expect_refusal("---\na:b\n---\n", "blank");
	expect_refusal("---\na: \"b\n---\n", "no end on its line");
	expect_refusal("---\na: \"b\\x41\"\n---\n", "escape");
	expect_refusal("---\na: \"b\" c\n---\n", "follows");
}

static void test_sizes(void **state AR_UNUSED)
{
	struct ar_buf text = { 0 };
	struct ar_error err = { 0 };
	struct ar_front_matter f;
	struct ar_texts list;

	ar_buf_adds(&text, AR_STR("---\n"));
	for (int i = 0; i < 10 * 1024 * 1024 / 8; i++)
		ar_buf_adds(&text, AR_STR("# line \n"));
	assert_int_equal(ar_front_matter_read(ar_buf_str(&text), &arena, &f, &err), AR_E_INVALID);
	assert_non_null(strstr(err.msg, "bytes"));
	text.len = 4;
	for (int i = 0; i <= AR_FRONT_MATTER_KEYS_MAX; i++)
		ar_buf_addf(&text, "k%d: x\n", i);
	ar_buf_adds(&text, AR_STR("---\n"));
	assert_int_equal(ar_front_matter_read(ar_buf_str(&text), &arena, &f, &err), AR_E_INVALID);
	assert_non_null(strstr(err.msg, "keys"));
	text.len = 4;
	ar_buf_adds(&text, AR_STR("a: x"));
	for (int i = 0; i < AR_FRONT_MATTER_ITEMS_MAX; i++)
		ar_buf_adds(&text, AR_STR(", x"));
	ar_buf_adds(&text, AR_STR("\n---\n"));
	assert_int_equal(ar_front_matter_read(ar_buf_str(&text), &arena, &f, &err), AR_OK);
	assert_int_equal(ar_front_matter_list(&f, "a", &arena, &list, &err), AR_E_INVALID);
	assert_non_null(strstr(err.msg, "items"));
	ar_buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_values_on_lines),
		cmocka_unit_test(test_lists),  cmocka_unit_test(test_what_is_not_read),
		cmocka_unit_test(test_sizes),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	ar_arena_fini(&arena);
	return failed;
}
