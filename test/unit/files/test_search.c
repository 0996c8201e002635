/* search_files: which lines are found and how they are shown, where it looks, its caps, and expressions that
 * would never end. */
#include "tree.h"

#include <unistd.h>

static void fill(struct tree *t)
{
	tree_text(t, "src/b.c", "int alpha;\nint beta;\nint gamma;\nint delta;\nint Alpha2;\n");
	tree_text(t, "src/a.h", "alpha.beta\n");
	tree_text(t, "notes.md", "nothing\nALPHA\n");
	tree_text(t, ".git/x", "alpha\n");
	tree_file(t, "bin", "alpha\0\n", 7);
	assert_int_equal(symlink("notes.md", tree_path(t, "zlink")), 0);
}

static void test_found(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	fill(t);
	assert_string_equal(tree_call(t, "search_files", "{\"pattern\":\"alpha\"}"),
			    "src/a.h\n1:alpha.beta\n\nsrc/b.c\n1:int alpha;\n(2 matches in 2 of 3 files) (1 "
			    "binary left out)");
	assert_string_equal(tree_call(t, "search_files",
				      "{\"pattern\":\"ALPHA\\\\d?;\",\"ignore_case\":true,\"glob\":\"*.c\"}"),
			    "src/b.c\n1:int alpha;\n5:int Alpha2;\n(2 matches in 1 of 1 file)");
	assert_string_equal(tree_call(t, "search_files", "{\"pattern\":\"a.b\",\"literal\":true}"),
			    "src/a.h\n1:alpha.beta\n(1 match in 1 of 3 files) (1 binary left out)");
	assert_string_equal(tree_call(t, "search_files", "{\"pattern\":\"alpha\",\"path\":\".git\"}"),
			    ".git/x\n1:alpha\n(1 match in 1 of 1 file)");
	assert_string_equal(tree_call(t, "search_files", "{\"pattern\":\"nothing\",\"path\":\"zlink\"}"),
			    "zlink\n1:nothing\n(1 match in 1 of 1 file)");
	assert_string_equal(tree_call(t, "search_files", "{\"pattern\":\"zeta\",\"path\":\"src\"}"),
			    "(no match in 2 files)");
	assert_string_equal(tree_call(t, "search_files", "{\"pattern\":\"int\",\"limit\":2}"),
			    "src/b.c\n1:int alpha;\n2:int beta;\n"
			    "(the first 2 matches; there are more: use a narrower pattern, path or glob) (1 "
			    "binary left out)");
	tree_free(t);
}

static void test_context(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	fill(t);
	assert_string_equal(tree_call(t, "search_files",
				      "{\"pattern\":\"beta|Alpha2\",\"glob\":\"*.c\",\"context\":1}"),
			    "src/b.c\n1-int alpha;\n2:int beta;\n3-int gamma;\n4-int delta;\n5:int Alpha2;\n"
			    "(2 matches in 1 of 1 file)");
	tree_text(t, "n", "m\n2\n3\n4\n5\nm\nm\n8\n9\n");
	assert_string_equal(tree_call(t, "search_files", "{\"pattern\":\"m\",\"path\":\"n\",\"context\":1}"),
			    "n\n1:m\n2-2\n--\n5-5\n6:m\n7:m\n8-8\n(3 matches in 1 of 1 file)");
	tree_free(t);
}

static void test_refused(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	fill(t);
	assert_string_equal(tree_fails(t, "search_files", "{\"pattern\":\"(a\"}", "invalid_arguments"),
			    "The pattern cannot be read: missing closing parenthesis at byte 2. Correct it, "
			    "or use literal=true to "
			    "look for plain text.");
	tree_fails(t, "search_files", "{\"pattern\":\"a\",\"path\":\"../x\"}", "outside_workspace");
	tree_fails(t, "search_files", "{\"pattern\":\"a\",\"path\":\"nope\"}", "not_found");
	tree_fails(t, "search_files", "{\"pattern\":\"a\",\"context\":11}", "invalid_arguments");
	tree_free(t);
}

/* Nested repetition on a line that nearly matches: without limits this takes longer than the universe is
 * old. */
static void test_expression_without_end(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_text(t, "a",
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"
		  "\nab\n");
	assert_string_equal(tree_call(t, "search_files", "{\"pattern\":\"^(a|aa)+(b|\\\\1c)$\"}"),
			    "a\n2:ab\n(1 match in 1 of 1 file) (1 lines where the expression took too long; "
			    "use a simpler one)");
	tree_free(t);
}

static void test_long_lines(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	AR_AUTO(ar_buf_fini) struct ar_buf b = { 0 };

	for (int i = 0; i < 5000; i++)
		ar_buf_addz(&b, "\xc3\xa9");
	ar_buf_addz(&b, "needle");
	for (int i = 0; i < 300000; i++)
		ar_buf_addc(&b, 'x');
	ar_buf_addz(&b, "needle\nneedle\xff\n");
	tree_file(t, "a", b.p, b.len);
	const char *text = tree_call(t, "search_files", "{\"pattern\":\"needle\"}");

	assert_true(strlen(text) < 800);
	assert_memory_equal(text, "a\n1:[...]\xc3\xa9", 11);
	assert_non_null(strstr(text, "\xc3\xa9needlexxx"));
	assert_non_null(
		strstr(text,
		       "x[...]\n2:needle\xef\xbf\xbd\n(2 matches in 1 of 1 file) (1 long lines searched"));
	tree_free(t);
}

static void test_size_of_the_answer(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	AR_AUTO(ar_buf_fini) struct ar_buf b = { 0 };

	t->max_bytes = 65536;
	for (int i = 0; i < 20000; i++)
		ar_buf_addf(&b, "needle \xff%0390d\n", i);
	tree_file(t, "a", b.p, b.len);
	const char *text =
		tree_call(t, "search_files", "{\"pattern\":\"needle\",\"limit\":1000,\"context\":2}");

	assert_true(strlen(text) <= 65536);
	assert_non_null(strstr(text, "; there are more: use a narrower"));
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),	   cmocka_unit_test(test_context),
		cmocka_unit_test(test_refused),	   cmocka_unit_test(test_expression_without_end),
		cmocka_unit_test(test_long_lines), cmocka_unit_test(test_size_of_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
