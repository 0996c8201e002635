/* read_file: what a model sees of texts, parts of texts, pictures and what cannot be read. */
#include "tree.h"

#include "mem.h"

#include <sys/stat.h>
#include <unistd.h>

static void test_lines(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_text(t, "src/a.txt", "one\ntwo\n\nfour");
	assert_string_equal(tree_call(t, "read_file", "{\"path\":\"src/a.txt\"}"),
			    "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n(end of file, 4 lines)");
	assert_string_equal(
		tree_call(t, "read_file", "{\"path\":\"./src//a.txt\",\"offset\":2,\"limit\":2}"),
		"     2\ttwo\n     3\t\n(the file continues; call read_file with offset=4 for more)");
	assert_string_equal(tree_call(t, "read_file", "{\"path\":\"src/a.txt\",\"offset\":4,\"limit\":1}"),
			    "     4\tfour\n(end of file, 4 lines)");
	tree_text(t, "empty", "");
	assert_string_equal(tree_call(t, "read_file", "{\"path\":\"empty\"}"), "(the file is empty)");
	tree_text(t, "crlf", "\xef\xbb\xbfone\r\ntwo\r\n");
	assert_string_equal(tree_call(t, "read_file", "{\"path\":\"crlf\"}"),
			    "     1\tone\n     2\ttwo\n(end of file, 2 lines) (lines end with CR LF)");
	tree_text(t, "latin", "caf\xe9!\n");
	assert_string_equal(tree_call(t, "read_file", "{\"path\":\"latin\"}"),
			    "     1\tcaf\xef\xbf\xbd!\n(end of file, 1 line)");
	tree_free(t);
}

static void test_absolute_path_below_the_workspace(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	char args[200];

	tree_text(t, "a", "one\n");
	snprintf(args, sizeof(args), "{\"path\":\"%s/a\"}", t->root);
	assert_string_equal(tree_call(t, "read_file", args), "     1\tone\n(end of file, 1 line)");
	snprintf(args, sizeof(args), "{\"path\":\"%s-other/a\"}", t->root);
	tree_fails(t, "read_file", args, "outside_workspace");
	tree_free(t);
}

static void test_what_cannot_be_read(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_text(t, "src/a.txt", "one\n");
	tree_file(t, "bin", "ELF\0\0", 5);
	assert_string_equal(tree_fails(t, "read_file", "{\"path\":\"src/b.txt\"}", "not_found"),
			    "'src/b.txt' does not exist in the workspace. Look for it with find_files, or "
			    "list its folder with "
			    "list_files.");
	assert_string_equal(tree_fails(t, "read_file", "{\"path\":\"src\"}", "not_a_file"),
			    "'src' is a folder. Use list_files for its contents.");
	tree_fails(t, "read_file", "{\"path\":\"src/a.txt/x\"}", "not_found");
	assert_string_equal(tree_fails(t, "read_file", "{\"path\":\"bin\"}", "binary_file"),
			    "'bin' is a binary file of 5 bytes. Only text and pictures (PNG, JPEG, GIF, "
			    "WebP) can be read.");
	assert_string_equal(tree_fails(t, "read_file", "{\"path\":\"src/a.txt\",\"offset\":9}",
				       "invalid_arguments"),
			    "'src/a.txt' has only 1 line. Call read_file with a smaller offset.");
	tree_fails(t, "read_file", "{}", "invalid_arguments");
	tree_fails(t, "read_file", "{\"path\":7}", "invalid_arguments");
	tree_fails(t, "read_file", "{\"path\":\"a\\u0000b\"}", "invalid_arguments");
	tree_fails(t, "read_file", "{\"path\":\"src/a.txt\",\"limit\":0}", "invalid_arguments");
	tree_fails(t, "read_file", "nonsense", "invalid_arguments");
	tree_free(t);
}

static void test_no_workspace(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	char root[80];

	memcpy(root, t->root, sizeof(root));
	for (int i = 0; i < 2; i++) {
		snprintf(t->root, sizeof(t->root), "%s", i ? "/nowhere/at/all" : "");
		struct call *c = tree_run(t, "list_files", "{}");

		assert_int_equal(c->outcome, AR_TOOL_NOT_RUN);
		assert_non_null(strstr(c->advice.p, "tools.workspace"));
	}
	memcpy(t->root, root, sizeof(root));
	tree_free(t);
}

static void test_caps(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	AR_AUTO(ar_buf_fini) struct ar_buf b = { 0 };

	t->max_bytes = 65536;

	for (int i = 1; i <= 50000; i++)
		ar_buf_addf(&b, "line %d\n", i);
	tree_file(t, "many", b.p, b.len);
	const char *text = tree_call(t, "read_file", "{\"path\":\"many\",\"limit\":100000}");
	const char *last = strstr(text, "(the file continues; call read_file with offset=");
	char args[100];
	int next = 0;

	assert_true(strlen(text) < 66000);
	assert_non_null(last);
	assert_int_equal(sscanf(last, "(the file continues; call read_file with offset=%d", &next), 1);
	snprintf(args, sizeof(args), "{\"path\":\"many\",\"limit\":1,\"offset\":%d}", next);
	snprintf(args + 60, 40, "%6d\tline %d\n", next, next);
	assert_memory_equal(tree_call(t, "read_file", args), args + 60, strlen(args + 60));

	ar_buf_clear(&b);
	for (int i = 0; i < 700000; i++)
		ar_buf_addc(&b, 'x');
	ar_buf_addz(&b, "\nshort\n");
	tree_file(t, "long", b.p, b.len);
	text = tree_call(t, "read_file", "{\"path\":\"long\"}");
	assert_true(strlen(text) < 2200);
	assert_non_null(strstr(
		text,
		"x [line cut here; it has more than 262144 bytes]\n     2\tshort\n(end of file, 2 lines)"));
	tree_free(t);
}

static void test_pictures(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	AR_AUTO(ar_buf_fini) struct ar_buf big = { 0 };

	tree_file(t, "p.png", "\x89PNG\r\n\x1a\n\0\0\0", 11);
	assert_string_equal(tree_call(t, "read_file", "{\"path\":\"p.png\"}"),
			    "(a picture, image/png, 11 bytes)");
	assert_string_equal(t->last.mime.p, "image/png");
	assert_string_equal(t->last.data.p, "iVBORw0KGgoAAAA=");
	tree_file(t, "p.webp", "RIFF\1\0\0\0WEBPVP8 ", 16);
	tree_call(t, "read_file", "{\"path\":\"p.webp\"}");
	assert_string_equal(t->last.mime.p, "image/webp");
	ar_buf_addz(&big, "GIF89a");
	for (int i = 0; i < 3840000; i++)
		ar_buf_addc(&big, '\0');
	tree_file(t, "big.gif", big.p, big.len);
	tree_fails(t, "read_file", "{\"path\":\"big.gif\"}", "too_large");
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_absolute_path_below_the_workspace),
		cmocka_unit_test(test_what_cannot_be_read),
		cmocka_unit_test(test_no_workspace),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_pictures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
