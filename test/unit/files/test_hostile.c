/* Workspaces made to mislead: links and renames that lead out, fifos, huge and deep things, names that are no
 * text. */
#include "tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SECRET "the secret outside\n"

static void put_secret(struct tree *t)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/outside", t->base);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/outside/file", t->base);
	FILE *f = fopen(path, "w");

	fputs(SECRET, f);
	fclose(f);
}

static void test_links_out(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	char target[128];

	put_secret(t);
	tree_text(t, "in", "inside\n");
	snprintf(target, sizeof(target), "%s/outside", t->base);
	assert_int_equal(symlink(target, tree_path(t, "absolute")), 0);
	assert_int_equal(symlink("../outside", tree_path(t, "relative")), 0);
	assert_int_equal(symlink("/proc/self/root", tree_path(t, "magic")), 0);
	assert_int_equal(symlink("in", tree_path(t, "good")), 0);
	assert_int_equal(symlink("loop", tree_path(t, "loop")), 0);
	tree_fails(t, "read_file", "{\"path\":\"absolute/file\"}", "outside_workspace");
	tree_fails(t, "read_file", "{\"path\":\"relative/file\"}", "outside_workspace");
	tree_fails(t, "read_file", "{\"path\":\"magic/etc/passwd\"}", "outside_workspace");
	tree_fails(t, "read_file", "{\"path\":\"loop\"}", "outside_workspace");
	tree_fails(t, "read_file", "{\"path\":\"../outside/file\"}", "outside_workspace");
	tree_fails(t, "read_file", "{\"path\":\"/etc/passwd\"}", "outside_workspace");
	tree_fails(t, "list_files", "{\"path\":\"relative\"}", "outside_workspace");
	tree_fails(t, "find_files", "{\"path\":\"absolute\",\"pattern\":\"*\"}", "outside_workspace");
	assert_non_null(strstr(tree_call(t, "read_file", "{\"path\":\"good\"}"), "inside"));
	assert_non_null(
		strstr(tree_call(t, "search_files", "{\"pattern\":\"secret\"}"), "no match in 1 file"));
	assert_null(strstr(tree_call(t, "find_files", "{\"pattern\":\"**\"}"), "file\n"));
	tree_free(t);
}

static const char *const tries[][2] = {
	{ "search_files", "{\"pattern\":\".\"}" },
	{ "search_files", "{\"pattern\":\".\",\"path\":\"d\"}" },
	{ "list_files", "{\"path\":\"d\"}" },
	{ "read_file", "{\"path\":\"d/file\"}" },
};

/* A folder and a link that leads out change places all the time, while every tool is used on it. */
static void test_swapped_for_a_link(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	struct tree_swap s;
	int good = 0;

	put_secret(t);
	tree_text(t, "d/file", "inside\n");
	assert_int_equal(symlink("../outside", tree_path(t, "l")), 0);
	tree_swap_start(&s, t, "d", "l");
	for (int i = 0; i < 300; i++) {
		for (size_t c = 0; c < AR_ARRAY_LEN(tries); c++)
			assert_null(strstr(tree_run(t, tries[c][0], tries[c][1])->text.p, "secret"));
		good += t->last.outcome == AR_TOOL_OK;
	}
	tree_swap_stop(&s);
	assert_true(good > 0);
	tree_free(t);
}

static void test_no_files(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	tree_text(t, "a", "x\n");
	assert_int_equal(mkfifo(tree_path(t, "pipe"), 0644), 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", tree_path(t, "sock"));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	tree_fails(t, "read_file", "{\"path\":\"pipe\"}", "not_a_file");
	tree_fails(t, "read_file", "{\"path\":\"sock\"}", "not_a_file");
	tree_fails(t, "search_files", "{\"pattern\":\"x\",\"path\":\"pipe\"}", "not_a_file");
	assert_string_equal(tree_call(t, "search_files", "{\"pattern\":\"x\"}"),
			    "a\n1:x\n(1 match in 1 of 1 file)");
	assert_string_equal(tree_call(t, "list_files", "{}"),
			    "In .:\na\t2\npipe (fifo)\nsock (socket)\n(3 entries)");
	close(fd);
	tree_free(t);
}

/* A fifo takes the place of a file all the time: a reader that waited for a writer would never end. */
static void test_swapped_for_a_fifo(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	struct tree_swap s;
	int good = 0;

	tree_text(t, "f", "inside\n");
	assert_int_equal(mkfifo(tree_path(t, "p"), 0644), 0);
	tree_swap_start(&s, t, "f", "p");
	for (int i = 0; i < 5000; i++) {
		struct call *c = tree_run(t, "read_file", "{\"path\":\"f\"}");

		assert_non_null(strstr(c->text.p, c->outcome == AR_TOOL_OK ? "inside" : "is a fifo"));
		good += c->outcome == AR_TOOL_OK;
	}
	tree_swap_stop(&s);
	assert_true(good > 0);
	tree_free(t);
}

static void test_huge_file(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_text(t, "sparse", "");
	assert_int_equal(truncate(tree_path(t, "sparse"), (off_t)1 << 30), 0);
	assert_non_null(strstr(tree_fails(t, "read_file", "{\"path\":\"sparse\"}", "binary_file"),
			       "1073741824 bytes"));
	assert_string_equal(tree_call(t, "search_files", "{\"pattern\":\"x\"}"),
			    "(no match in 0 files) (1 binary left out)");
	tree_free(t);
}

static void test_deep_tree(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	AR_AUTO(ar_buf_fini) struct ar_buf path = { 0 };

	for (int i = 0; i < 150; i++)
		ar_buf_addz(&path, "d/");
	ar_buf_add(&path, "f", 2);
	tree_file(t, path.p, "x\n", 2);
	assert_non_null(
		strstr(tree_call(t, "find_files", "{\"pattern\":\"f\"}"), "(no file has such a name"));
	assert_non_null(strstr(tree_call(t, "list_files", "{\"depth\":20}"), "(20 entries)"));
	tree_free(t);
}

/* What is shown of such a name can be given back as a path. */
static void test_names_that_are_no_text(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_text(t, "new\nline", "one\n");
	tree_text(t, "b\xff\\d", "two\n");
	tree_text(t, "\"quoted\"", "three\n");
	assert_string_equal(
		tree_call(t, "list_files", "{}"),
		"In .:\n\"\\\"quoted\\\"\"\t6\n\"b\\xff\\\\d\"\t4\n\"new\\nline\"\t4\n(3 entries)");
	assert_non_null(strstr(tree_call(t, "read_file", "{\"path\":\"\\\"new\\\\nline\\\"\"}"), "one"));
	assert_non_null(strstr(tree_call(t, "read_file", "{\"path\":\"\\\"b\\\\xff\\\\\\\\d\\\"\"}"), "two"));
	assert_non_null(
		strstr(tree_call(t, "read_file", "{\"path\":\"\\\"\\\\\\\"quoted\\\\\\\"\\\"\"}"), "three"));
	assert_non_null(
		strstr(tree_call(t, "find_files", "{\"pattern\":\"b?\\\\*\"}"), "\"b\\xff\\\\d\"\n(1 file"));
	tree_free(t);
}

static void test_out_of_time(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	char name[32];

	t->max_ms = 1;

	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "d%d/f%d", i / 100, i);
		tree_text(t, name, "x\n");
	}
	assert_non_null(strstr(tree_call(t, "search_files", "{\"pattern\":\"y\"}"), "(not complete: "));
	assert_non_null(strstr(tree_call(t, "find_files", "{\"pattern\":\"y\"}"), "(not complete: "));
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links_out),
		cmocka_unit_test(test_swapped_for_a_link),
		cmocka_unit_test(test_swapped_for_a_fifo),
		cmocka_unit_test(test_no_files),
		cmocka_unit_test(test_huge_file),
		cmocka_unit_test(test_deep_tree),
		cmocka_unit_test(test_names_that_are_no_text),
		cmocka_unit_test(test_out_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
