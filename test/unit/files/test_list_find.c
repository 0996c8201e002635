/* list_files and find_files: order, depth, hidden names, links, folders that are left out, patterns, caps. */
#include "json.h"
#include "tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void fill(struct tree *t)
{
	tree_text(t, "b.c", "12345");
	tree_text(t, "a/x.c", "1");
	tree_text(t, "a/deep/y.c", "");
	tree_text(t, ".hidden", "");
	tree_text(t, ".git/config", "");
	tree_text(t, "node_modules/m/index.js", "");
	tree_text(t, "Z.md", "");
	assert_int_equal(symlink("b.c", tree_path(t, "link")), 0);
}

static void test_list(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	fill(t);
	assert_string_equal(tree_call(t, "list_files", "{}"),
			    "In .:\nZ.md\t0\na/\na/deep/\na/x.c\t1\nb.c\t5\nlink -> b.c\n"
			    "node_modules/ (not opened; name it in path to see it)\n(7 entries)");
	tree_free(t);
}

static void test_list_choices(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	fill(t);
	assert_string_equal(tree_call(t, "list_files", "{\"depth\":1,\"hidden\":true,\"limit\":3}"),
			    "In .:\n.git/ (not opened; name it in path to see it)\n.hidden\t0\nZ.md\t0\n"
			    "(more than 3 entries; list a folder below, or use less depth)");
	assert_string_equal(tree_call(t, "list_files", "{\"path\":\"a/\",\"depth\":3}"),
			    "In a:\ndeep/\ndeep/y.c\t0\nx.c\t1\n(3 entries)");
	assert_string_equal(tree_call(t, "list_files", "{\"path\":\".git\"}"),
			    "In .git:\nconfig\t0\n(1 entry)");
	assert_string_equal(tree_call(t, "list_files", "{\"path\":\"node_modules\"}"),
			    "In node_modules:\nm/\nm/index.js\t0\n(2 entries)");
	assert_int_equal(mkdir(tree_path(t, "none"), 0755), 0);
	assert_string_equal(tree_call(t, "list_files", "{\"path\":\"none\",\"hidden\":true}"),
			    "In none:\n(the folder is empty)");
	tree_fails(t, "list_files", "{\"path\":\"b.c\"}", "not_a_folder");
	tree_fails(t, "list_files", "{\"path\":\"nope\"}", "not_found");
	tree_free(t);
}

static void age(struct tree *t, const char *path, int seconds)
{
	struct timespec times[2] = { { .tv_sec = 1700000000 - seconds }, { .tv_sec = 1700000000 - seconds } };

	assert_int_equal(utimensat(AT_FDCWD, tree_path(t, path), times, 0), 0);
}

static void test_find(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	fill(t);
	age(t, "a/x.c", 10);
	age(t, "b.c", 20);
	age(t, "a/deep/y.c", 10);
	assert_string_equal(tree_call(t, "find_files", "{\"pattern\":\"*.c\"}"),
			    "a/deep/y.c\na/x.c\nb.c\n(3 files, newest first)");
	assert_string_equal(
		tree_call(t, "find_files", "{\"pattern\":\"*.c\",\"limit\":2}"),
		"a/deep/y.c\na/x.c\n(the newest 2 of 3 files; use a narrower pattern for others)");
	assert_string_equal(tree_call(t, "find_files", "{\"pattern\":\"*.c\",\"path\":\"a\"}"),
			    "a/deep/y.c\na/x.c\n(2 files, newest first)");
	assert_string_equal(tree_call(t, "find_files", "{\"pattern\":\"a/*.c\"}"),
			    "a/x.c\n(1 file, newest first)");
	assert_string_equal(tree_call(t, "find_files", "{\"pattern\":\"config\"}"),
			    "(no file has such a name; 0 files)");
	assert_string_equal(tree_call(t, "find_files", "{\"pattern\":\".git/*\"}"),
			    ".git/config\n(1 file, newest first)");
	assert_string_equal(tree_call(t, "find_files", "{\"pattern\":\"*.js\",\"path\":\"node_modules\"}"),
			    "node_modules/m/index.js\n(1 file, newest first)");
	assert_string_equal(tree_call(t, "find_files", "{\"pattern\":\".hid*\"}"),
			    ".hidden\n(1 file, newest first)");
	tree_fails(t, "find_files", "{\"pattern\":\"\"}", "invalid_arguments");
	tree_free(t);
}

static void test_schemas(void **state)
{
	(void)state;
	const struct ar_files_kind *kind;
	size_t count = 0;

	for (; (kind = ar_files_kind_at(count)) != NULL; count++) {
		AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
		struct ar_json_parser *p = ar_json_parser_new();
		struct ar_json schema;

		ar_files_write_schema(kind, &text);
		assert_int_equal(ar_json_parse(p, ar_buf_str(&text), &schema, NULL), AR_OK);
		assert_true(ar_json_type(ar_json_get(schema, "properties")) == AR_JSON_OBJECT);
		assert_true(strlen(kind->description) > 100 &&
			    strlen(kind->description) < AR_TOOL_DESCRIPTION_MAX);
		assert_true(kind->writes || kind->is_idempotent);
		ar_json_parser_free(p);
	}
	assert_int_equal(count, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_choices),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_schemas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
