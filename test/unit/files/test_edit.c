/* edit_file, row by row: what a file becomes, or what is said. */
#include "tree.h"

static const struct {
	const char *before, *args; /* args without the path */
	const char *after; /* NULL: refused */
	const char *said; /* part of the answer */
	const char *category;
} rows[] = {
	{ "a\nb\nc\n", "\"oldText\":\"b\",\"newText\":\"B\"", "a\nB\nc\n", "Changed f at line 2 ", NULL },
	{ "a\nb\nc\n", "\"oldText\":\"b\\n\",\"newText\":\"\"", "a\nc\n", "at line 2 ", NULL },
	{ "a\nb\nc", "\"oldText\":\"c\",\"newText\":\"d\\n\"", "a\nb\nd\n", "at line 3 ", NULL },
	{ "x\nx\nx\n", "\"oldText\":\"x\",\"newText\":\"yy\"", NULL,
	  "occurs 3 times in 'f', at lines 1, 2, 3.", "ambiguous" },
	{ "x\nx\nx\n", "\"oldText\":\"x\",\"newText\":\"yy\",\"replaceAll\":true", "yy\nyy\nyy\n",
	  "at lines 1, 2, 3 ", NULL },
	{ "aaa", "\"oldText\":\"aa\",\"newText\":\"b\"", "ba", "at line 1 ", NULL },
	{ "a\r\nb\r\nc\r\n", "\"oldText\":\"a\\nb\",\"newText\":\"A\\nB\"", "A\r\nB\r\nc\r\n", "CR LF",
	  NULL },
	{ "a\r\nb\nc\n", "\"oldText\":\"b\\nc\",\"newText\":\"B\"", "a\r\nB\n", "at line 2 ", NULL },
	{ "int a;\nint  b;\nint c;\n", "\"oldText\":\"int a;\\nint b;\",\"newText\":\"x\"", NULL,
	  "The most similar line is line 2, which is 'int  b;' where 'int b;' was given.", "no_match" },
	{ "\tif (x)\n\t\treturn;\n", "\"oldText\":\"    if (x)\\n        return;\",\"newText\":\"x\"", NULL,
	  "line 1, which is '\tif (x)' where '    if (x)' was given", "no_match" },
	{ "a\nlast\n", "\"oldText\":\"last\\nmore\",\"newText\":\"x\"", NULL,
	  "The file ends after line 2, where 'more'", "no_match" },
	{ "a\nb\n", "\"oldText\":\"zzzzzz\",\"newText\":\"x\"", NULL, "No line of the file is like",
	  "no_match" },
	{ "", "\"oldText\":\"a\",\"newText\":\"x\"", NULL, "The file is empty.", "no_match" },
	{ "a\n", "\"oldText\":\"a\",\"newText\":\"a\"", NULL, "are the same", "invalid_arguments" },
	{ "a\n", "\"oldText\":\"\",\"newText\":\"a\"", NULL, "oldText", "invalid_arguments" },
	{ NULL, "\"oldText\":\"a\",\"newText\":\"b\"", NULL, "does not exist", "not_found" },
};

static void check_row(struct tree *t, size_t i)
{
	char args[512];

	if (rows[i].before)
		tree_file(t, "f", rows[i].before, strlen(rows[i].before));
	else
		remove(tree_path(t, "f"));
	snprintf(args, sizeof(args), "{\"path\":\"f\",%s}", rows[i].args);
	struct call *c = tree_run(t, "edit_file", args);
	const char *now = tree_read(t, "f"), *wanted = rows[i].after ? rows[i].after : rows[i].before;

	if (!strstr(c->text.p, rows[i].said) || (now == NULL) != (wanted == NULL) ||
	    (now && strcmp(now, wanted) != 0) ||
	    strcmp(c->category.p, rows[i].category ? rows[i].category : "") != 0)
		fail_msg("row %zu: '%s' %s -> %s", i, c->text.p, c->category.p, now ? now : "(none)");
	assert_int_equal(c->changes.len > 1, rows[i].after != NULL);
}

static void test_rows(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		check_row(t, i);
	tree_free(t);
}

/* Many places: all are replaced, some are named. */
static void test_many_places(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	AR_AUTO(ar_buf_fini) struct ar_buf b = { 0 };

	for (int i = 0; i < 20000; i++)
		ar_buf_addz(&b, "x\n");
	tree_file(t, "f", b.p, b.len);
	assert_non_null(
		strstr(tree_call(t, "edit_file",
				 "{\"path\":\"f\",\"oldText\":\"x\",\"newText\":\"y\",\"replaceAll\":true}"),
		       "19, 20, ... (sha256"));
	assert_null(strchr(tree_read(t, "f"), 'x'));
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_many_places) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
