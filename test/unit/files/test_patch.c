/* apply_patch: both forms, row by row, and patches made to mislead. */
#include "json.h"
#include "tree.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct call *patch(struct tree *t, const char *text)
{
	AR_AUTO(ar_buf_fini) struct ar_buf args = { 0 };
	struct ar_jw w = ar_jw(&args);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "patch", ar_str_from(text));
	ar_jw_close(&w);
	ar_buf_addc(&args, '\0');
	return tree_run(t, "apply_patch", args.p);
}

#define HEAD "--- a/f\n+++ b/f\n"
#define BEGIN "*** Begin Patch\n*** Update File: f\n"
#define END "*** End Patch\n"

static const struct {
	const char *before, *patch;
	const char *after; /* of f; NULL: refused, nothing changed */
	const char *said;
} rows[] = {
	{ "a\nb\nc\n", HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n", "Changed f\n(1 file, 1 hunk)" },
	{ "a\nb\nc\n", "diff --git a/f b/f\nindex 1..2 100644\n" HEAD "@@ -2 +2,2 @@ text\n-b\n+B\n+BB\n",
	  "a\nB\nBB\nc\n", "Changed f" },
	{ "a\nb\nc\n", "--- f\t2026-01-01\n+++ f\t2026-01-02\n@@ -3 +3 @@\n-c\n+C\n", "a\nb\nC\n",
	  "Changed f" },
	/* Without an end of line, before and after. */
	{ "a\nb", HEAD "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n", "a\nB\n", "Changed f" },
	{ "a\nb\n", HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+B\n\\ No newline at end of file\n", "a\nB", "Changed f" },
	{ "a\nb", HEAD "@@ -2 +2,2 @@\n b\n\\ No newline at end of file\n+c\n", "a\nb\nc\n", "Changed f" },
	/* Elsewhere than told. */
	{ "0\n0\n0\na\nb\n", HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "0\n0\n0\na\nB\n",
	  "(1 hunk applied at another line than given)" },
	{ "x\ny\nx\ny\nx\ny\n", HEAD "@@ -3,2 +3,2 @@\n x\n-y\n+Y\n", "x\ny\nx\nY\nx\ny\n", "Changed f\n" },
	{ "a\nb\nc\nd\n", HEAD "@@ -1 +1 @@\n-a\n+A\n@@ -4 +4 @@\n-d\n+D\n", "A\nb\nc\nD\n", "2 hunks" },
	{ "a\nb\n", HEAD "@@ -2 +2 @@\n-b\n+B\n@@ -1 +1 @@\n-a\n+A\n", NULL,
	  "hunk 2 (line 6 of the patch) does not fit" },
	{ "0\n0\nx\ny\nx\ny\nx\ny\n", HEAD "@@ -1,2 +1,2 @@\n x\n-y\n+Y\n@@ -5,2 +5,2 @@\n x\n-y\n+Z\n",
	  "0\n0\nx\nY\nx\ny\nx\nZ\n", "(2 hunks applied at another line than given)" },
	/* Ends of lines are the file's. */
	{ "a\r\nb\r\n", HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\r\nB\r\n", "Changed f" },
	{ "a\nb\n", "--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+B\r\n", "a\nB\n", "Changed f" },
	{ "a\nb\n", HEAD "@@ -2 +2 @@\n-b\n+B\r\n", "a\nB\r\n", "Changed f" },
	{ "a  \nb\n", HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a  \nB\n", "Changed f" },
	{ "a\n\nb\n", HEAD "@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", "a\n\nB\n", "Changed f" },
	/* Insertions: after the line that is told; in an empty file. */
	{ "a\nb\n", HEAD "@@ -1,0 +2 @@\n+x\n", "a\nx\nb\n", "Changed f" },
	{ "", HEAD "@@ -0,0 +1 @@\n+x\n", "x\n", "Changed f" },
	/* Lines that look like headers are lines. */
	{ "-- x\nb\n", HEAD "@@ -1,2 +1,2 @@\n--- x\n+++ y\n b\n", "++ y\nb\n", "Changed f" },
	{ "a\n", "From somebody\n\nSome words.\n" HEAD "@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n", "b\n",
	  "Changed f" },
	/* What does not fit or add up. */
	{ "a\nb\nc\n", HEAD "@@ -1,3 +1,3 @@\n a\n-x\n+B\n c\n", NULL,
	  "The most similar line is line 2, which is 'b' where 'x' was given" },
	{ "a\n", HEAD "@@ -1,3 +1,3 @@\n-a\n+b\n", NULL,
	  "hunk 1 of 'f' (line 6 of the patch): its lines do not add up" },
	{ "a\n", HEAD "@@ -1 +1 @@\n-a\n+b\n+c\n", NULL, "it has more lines than its header counts" },
	{ "a\n", HEAD "@@ bad @@\n-a\n+b\n", NULL, "its header is not of the form" },
	{ "a\n", HEAD "@@ -1,99999999999999999999 +1 @@\n-a\n+b\n", NULL, "its header is not of the form" },
	{ "a\n", HEAD "@@ -1,999999999 +1 @@\n-a\n+b\n", NULL, "do not add up" },
	{ "a\n", "@@ -1 +1 @@\n-a\n+b\n", NULL, "a hunk without the lines '--- a/FILE'" },
	{ "a\n", "nothing at all", NULL, "no file is named in it" },
	{ "a\n", "--- a/\n+++ b/\n@@ -1 +1 @@\n-a\n+b\n", NULL, "it names no file" },
	{ "a\n", "--- /dev/null\n+++ /dev/null\n", NULL, "it names no file" },
	{ "a\n", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", NULL, "does not fit" },
	{ "a\nb\n", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", NULL,
	  "has more lines than the patch deletes" },
	{ "a\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", NULL, "'f' exists already" },
	{ "a\n", "diff --git a/f b/f\nGIT binary patch\nliteral 3\n", NULL, "binary contents" },
	{ "a\n", "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n",
	  NULL, "links cannot be patched" },
	/* The other form. */
	{ "a\nb\nc\n", BEGIN "@@\n a\n-b\n+B\n c\n" END, "a\nB\nc\n", "Changed f" },
	{ "a\nb\nc\n", BEGIN " a\n-b\n+B\n" END, "a\nB\nc\n", "Changed f" },
	{ "f1\nx\nf2\nx\n", BEGIN "@@ f2\n-x\n+y\n" END, "f1\nx\nf2\ny\n", "Changed f" },
	{ "x\nx\nx\n", BEGIN "@@\n-x\n+y\n*** End of File\n" END, "x\nx\ny\n", "Changed f" },
	{ "a\n", BEGIN "@@\n+b\n" END, "a\nb\n", "Changed f" },
	{ "a\nb\nc\n", BEGIN "@@\n-a\n+A\n@@\n-c\n+C\n" END, "A\nb\nC\n", "2 hunks" },
	{ "a\n", BEGIN "@@ nowhere\n-a\n+b\n" END, NULL, "the line 'nowhere' does not occur after line 0" },
	{ "a\n", BEGIN "@@\n-a\n+b\n", NULL, "'*** End Patch' is missing" },
	{ "a\n", BEGIN "@@\nwrong\n" END, NULL, "line 4 of the patch: a line of a hunk begins with" },
	{ "a\n", BEGIN END, NULL, "an update without a hunk" },
	{ "a\n", "*** Begin Patch\n*** Burn File: f\n" END, NULL, "line 2 of the patch" },
	{ "a\n", "*** Begin Patch\n*** Update File: \n@@\n-a\n" END, NULL, "it names no file" },
	{ "a\n", "*** Begin Patch\n" END, NULL, "no file is named" },
	{ "a\n", "*** Begin Patch\n*** Add File: g\nno plus\n" END, NULL, "begins with '+'" },
};

static void check_row(struct tree *t, size_t i)
{
	tree_file(t, "f", rows[i].before, strlen(rows[i].before));
	struct call *c = patch(t, rows[i].patch);
	const char *wanted = rows[i].after ? rows[i].after : rows[i].before, *now = tree_read(t, "f");

	if (!strstr(c->text.p, rows[i].said) || !now || strcmp(now, wanted) != 0 ||
	    (c->outcome == AR_TOOL_OK) != (rows[i].after != NULL))
		fail_msg("row %zu: outcome %d '%s' -> '%s'", i, c->outcome, c->text.p, now ? now : "(none)");
	assert_int_equal(tree_count(t, "."), 1);
}

static void test_rows(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		check_row(t, i);
	tree_free(t);
}

static void test_several_files(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	struct stat st;

	tree_text(t, "mod", "a\n");
	tree_text(t, "del", "x\n");
	tree_text(t, "old", "1\n2\n");
	tree_text(t, "run", "#!\n");
	assert_int_equal(chmod(tree_path(t, "old"), 0700), 0);
	struct call *c = patch(t, "diff --git a/mod b/mod\n--- a/mod\n+++ b/mod\n@@ -1 +1 @@\n-a\n+A\n"
				  "diff --git a/del b/del\ndeleted file mode 100644\n--- a/del\n+++ "
				  "/dev/null\n@@ -1 +0,0 @@\n-x\n"
				  "diff --git a/n/new b/n/new\nnew file mode 100755\n--- /dev/null\n+++ "
				  "b/n/new\n@@ -0,0 +1 @@\n+hi\n"
				  "diff --git a/old b/n/moved\nsimilarity index 50%\nrename from old\nrename "
				  "to n/moved\n--- a/old\n"
				  "+++ b/n/moved\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"
				  "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
				  "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n");

	assert_string_equal(
		c->text.p,
		"Changed mod\nDeleted del\nCreated n/new\nRenamed old -> n/moved\nChanged run\nCreated e\n"
		"(6 files, 4 hunks)");
	assert_string_equal(tree_read(t, "mod"), "A\n");
	assert_null(tree_read(t, "del"));
	assert_null(tree_read(t, "old"));
	assert_string_equal(tree_read(t, "n/new"), "hi\n");
	assert_string_equal(tree_read(t, "n/moved"), "1\n3\n");
	assert_string_equal(tree_read(t, "e"), "");
	assert_int_equal(stat(tree_path(t, "n/new"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_int_equal(stat(tree_path(t, "n/moved"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(tree_path(t, "run"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_non_null(strstr(c->changes.p, "{\"path\":\"del\",\"kind\":\"deleted\",\"before\":\"x\\n\""));
	assert_non_null(strstr(c->changes.p, "{\"path\":\"n/moved\",\"kind\":\"created\",\"afterHash\""));
	tree_free(t);
}

/* The last of them does not fit: none is changed, no folder and no other file is left behind. */
static void test_all_or_nothing(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	const char *const patches[] = {
		"*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** Add File: d/e/n\n+x\n*** Delete File: "
		"b\n*** Update File: c\n@@\n-9\n+8\n" END,
		"*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** Add File: d/e/n\n+x\n*** Add File: "
		"../x\n+y\n" END,
		"*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** Add File: d/e/n\n+x\n*** Add File: "
		"d\n+y\n" END,
		"*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-1\n+2\n" END,
		"*** Begin Patch\n*** Add File: d/e/n\n+x\n*** Update File: l/c\n@@\n-3\n+2\n" END,
	};

	tree_text(t, "a", "1\n");
	tree_text(t, "b", "2\n");
	tree_text(t, "c", "3\n");
	assert_int_equal(symlink("../root", tree_path(t, "l")), 0);
	for (size_t i = 0; i < AR_ARRAY_LEN(patches); i++) {
		struct call *c = patch(t, patches[i]);

		if (c->outcome != AR_TOOL_ERROR || c->changes.len > 1)
			fail_msg("patch %zu: %s", i, c->text.p);
		assert_string_equal(tree_read(t, "a"), "1\n");
		assert_string_equal(tree_read(t, "b"), "2\n");
		assert_string_equal(tree_read(t, "c"), "3\n");
		assert_int_equal(tree_count(t, "."), 4);
	}
	tree_free(t);
}

static const char *const escapes[] = {
	"--- /dev/null\n+++ b/../evil\n@@ -0,0 +1 @@\n+x\n",
	"--- /dev/null\n+++ /tmp/../evil\n@@ -0,0 +1 @@\n+x\n",
	"--- /dev/null\n+++ \"b/..\\057evil\"\n@@ -0,0 +1 @@\n+x\n",
	"--- /dev/null\n+++ b/out/evil\n@@ -0,0 +1 @@\n+x\n",
	"diff --git a/f b/../evil\nrename from f\nrename to ../evil\n",
	"*** Begin Patch\n*** Update File: f\n*** Move to: ../evil\n@@\n-x\n+y\n*** End Patch\n",
	"*** Begin Patch\n*** Add File: d/../../evil\n+x\n*** End Patch\n",
	"*** Begin Patch\n*** Delete File: ../secret\n*** End Patch\n",
	"*** Begin Patch\n*** Update File: link\n@@\n-s\n+x\n*** End Patch\n",
	"*** Begin Patch\n*** Update File: d/f\n@@\n-x\n+y\n*** Update File: dd/f\n@@\n-x\n+z\n*** End "
	"Patch\n",
};

static void test_escapes(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_text(t, "f", "x\n");
	tree_text(t, "d/f", "x\n");
	tree_text(t, "../secret", "s\n");
	tree_text(t, "../other/s", "s\n");
	assert_int_equal(symlink("../other", tree_path(t, "out")), 0);
	assert_int_equal(symlink("../secret", tree_path(t, "link")), 0);
	assert_int_equal(symlink("d", tree_path(t, "dd")), 0);
	for (size_t i = 0; i < AR_ARRAY_LEN(escapes); i++) {
		if (patch(t, escapes[i])->outcome != AR_TOOL_ERROR)
			fail_msg("row %zu: %s", i, t->last.text.p);
		assert_int_equal(tree_count(t, ".."), 3);
		assert_int_equal(tree_count(t, "../other"), 1);
		assert_string_equal(tree_read(t, "../secret"), "s\n");
		assert_string_equal(tree_read(t, "f"), "x\n");
		assert_string_equal(tree_read(t, "d/f"), "x\n");
	}
	assert_non_null(strstr(t->last.text.p, "is the same file as another path of this call"));
	tree_free(t);
}

/* Many equal lines, where every place nearly fits: an answer in bounded time. */
static void test_costly(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	AR_AUTO(ar_buf_fini) struct ar_buf file = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

	for (int i = 0; i < 400000; i++)
		ar_buf_addz(&file, "x\n");
	tree_file(t, "f", file.p, file.len);
	ar_buf_addz(&text, HEAD "@@ -200000,100001 +200000,100000 @@\n");
	for (int i = 0; i < 100000; i++)
		ar_buf_addz(&text, " x\n");
	ar_buf_add(&text, "-y\n", 4);
	struct call *c = patch(t, text.p);

	assert_int_equal(c->outcome, AR_TOOL_ERROR);
	assert_non_null(strstr(c->text.p, "would take too long"));
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	       cmocka_unit_test(test_several_files),
		cmocka_unit_test(test_all_or_nothing), cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_costly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
