/* write_file: what it puts in place, what it refuses, and what it says about what was there before. */
#include "tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD_HASH "cb9a3a4f4e09ba0d3a1e8c8c0e1d7d84cbea49cb64c6de7b5f7e7f4b5fb0b0bb"

static void test_new_and_replaced(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	struct stat st;

	assert_non_null(strstr(tree_call(t, "write_file", "{\"path\":\"a\",\"content\":\"one\\n\"}"),
			       "Created a (1 line, "));
	assert_string_equal(tree_read(t, "a"), "one\n");
	assert_string_equal(t->last.changes.p,
			    "[{\"path\":\"a\",\"kind\":\"created\",\"afterHash\":"
			    "\"2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806\"}]");
	assert_int_equal(chmod(tree_path(t, "a"), 0751), 0);
	assert_non_null(strstr(tree_call(t, "write_file", "{\"path\":\"a\",\"content\":\"\"}"),
			       "Replaced a (0 lines, "));
	assert_string_equal(tree_read(t, "a"), "");
	assert_non_null(strstr(t->last.changes.p,
			       "\"kind\":\"modified\",\"before\":\"one\\n\",\"encoding\":\"utf-8\""));
	assert_non_null(strstr(t->last.changes.p, "\"mode\":489"));
	assert_int_equal(stat(tree_path(t, "a"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0751);
	assert_int_equal(tree_count(t, "."), 1);
	tree_free(t);
}

static void test_again_changes_nothing(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	struct stat one, two;

	tree_call(t, "write_file", "{\"path\":\"a\",\"content\":\"x\"}");
	assert_int_equal(stat(tree_path(t, "a"), &one), 0);
	assert_non_null(strstr(tree_call(t, "write_file", "{\"path\":\"a\",\"content\":\"x\"}"),
			       "Nothing to do: a has this"));
	assert_string_equal(t->last.changes.p, "");
	assert_int_equal(stat(tree_path(t, "a"), &two), 0);
	assert_true(one.st_ino == two.st_ino);
	tree_free(t);
}

static void test_folders(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	assert_non_null(
		strstr(tree_fails(t, "write_file", "{\"path\":\"d/e/f\",\"content\":\"x\"}", "not_found"),
		       "createDirs"));
	assert_int_equal(tree_count(t, "."), 0);
	tree_call(t, "write_file", "{\"path\":\"d/e/f\",\"content\":\"x\",\"createDirs\":true}");
	assert_string_equal(tree_read(t, "d/e/f"), "x");
	tree_fails(t, "write_file", "{\"path\":\"d/e\",\"content\":\"x\"}", "not_a_file");
	tree_fails(t, "write_file", "{\"path\":\".\",\"content\":\"x\"}", "not_a_file");
	tree_fails(t, "write_file", "{\"path\":\"d/e/f/g\",\"content\":\"x\",\"createDirs\":true}",
		   "not_found");
	tree_free(t);
}

static void test_expected(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_call(t, "write_file", "{\"path\":\"a\",\"content\":\"one\\n\",\"expectedHash\":\"\"}");
	tree_fails(t, "write_file", "{\"path\":\"a\",\"content\":\"two\\n\",\"expectedHash\":\"\"}",
		   "conflict");
	tree_fails(t, "write_file",
		   "{\"path\":\"a\",\"content\":\"two\\n\",\"expectedHash\":\"" OLD_HASH "\"}", "conflict");
	tree_fails(t, "write_file",
		   "{\"path\":\"b\",\"content\":\"two\\n\",\"expectedHash\":\"" OLD_HASH "\"}", "conflict");
	assert_string_equal(tree_read(t, "a"), "one\n");
	tree_call(t, "write_file",
		  "{\"path\":\"a\",\"content\":\"two\\n\",\"expectedHash\":"
		  "\"2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806\"}");
	assert_string_equal(tree_read(t, "a"), "two\n");
	tree_free(t);
}

static const char *const outside[] = {
	"../x", "/etc/x", "d/../../x", "out/x", "abs/x", "/proc/self/root/etc/x", "d/..", "..",
};

/* Whatever the path, nothing appears or changes outside. */
static void test_outside(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	char args[256], path[128];

	snprintf(path, sizeof(path), "%s/other", t->base);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(symlink("../other", tree_path(t, "out")), 0);
	assert_int_equal(symlink(path, tree_path(t, "abs")), 0);
	tree_text(t, "d/f", "x");
	for (size_t i = 0; i < AR_ARRAY_LEN(outside); i++) {
		snprintf(args, sizeof(args), "{\"path\":\"%s\",\"content\":\"x\",\"createDirs\":true}",
			 outside[i]);
		struct call *c = tree_run(t, "write_file", args);

		assert_int_equal(c->outcome, AR_TOOL_ERROR);
		assert_true(strcmp(c->category.p, "outside_workspace") == 0 ||
			    strcmp(c->category.p, "not_a_file") == 0);
	}
	snprintf(path, sizeof(path), "../other");
	assert_int_equal(tree_count(t, path), 0);
	tree_free(t);
}

static void test_links_and_others(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_text(t, "file", "x");
	assert_int_equal(symlink("file", tree_path(t, "link")), 0);
	assert_int_equal(mkfifo(tree_path(t, "pipe"), 0644), 0);
	tree_fails(t, "write_file", "{\"path\":\"link\",\"content\":\"y\"}", "is_link");
	tree_fails(t, "edit_file", "{\"path\":\"link\",\"oldText\":\"x\",\"newText\":\"y\"}", "is_link");
	tree_fails(t, "write_file", "{\"path\":\"pipe\",\"content\":\"y\"}", "not_a_file");
	assert_string_equal(tree_read(t, "file"), "x");
	tree_text(t, "sparse", "x");
	assert_int_equal(truncate(tree_path(t, "sparse"), (off_t)9 << 20), 0);
	tree_fails(t, "write_file", "{\"path\":\"sparse\",\"content\":\"y\"}", "too_large");
	tree_text(t, "bin", "\xff\x00\x01");
	tree_call(t, "write_file", "{\"path\":\"bin\",\"content\":\"y\"}");
	assert_non_null(strstr(t->last.changes.p, "\"before\":\"/wAB\",\"encoding\":\"base64\""));
	tree_free(t);
}

/* The folder that is written into changes places with a link that leads out. */
static void test_swapped_for_a_link(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	struct tree_swap s;
	char path[128], args[128];
	int good = 0;

	snprintf(path, sizeof(path), "%s/other", t->base);
	assert_int_equal(mkdir(path, 0755), 0);
	tree_text(t, "d/f", "");
	assert_int_equal(symlink("../other", tree_path(t, "l")), 0);
	tree_swap_start(&s, t, "d", "l");
	for (int i = 0; i < 500; i++) {
		snprintf(args, sizeof(args), "{\"path\":\"d/f%d\",\"content\":\"%d\",\"createDirs\":true}", i,
			 i);
		good += tree_run(t, "write_file", args)->outcome == AR_TOOL_OK;
	}
	tree_swap_stop(&s);
	assert_true(good > 0);
	assert_int_equal(tree_count(t, "../other"), 0);
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_and_replaced),
		cmocka_unit_test(test_again_changes_nothing),
		cmocka_unit_test(test_folders),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_links_and_others),
		cmocka_unit_test(test_swapped_for_a_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
