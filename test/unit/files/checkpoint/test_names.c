/* Names of every kind in checkpoints, the order of entries, and the index as bytes that nobody has to
 * believe. */
#include "checkpoint/store_tree.h"

#include "checkpoint/differences.h"
#include "checkpoint/import.h"
#include "checkpoint/index.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {
	"plain", "with space", "new\nline",  "\"quoted\"",
	"\"",	 "-dash",      "--",	     "back\\slash",
	"\\n",	 "tab\ttab",   "\xff\xfe",   "\xc3\xa9t\xc3\xa9",
	"\x7f",	 "a\001b",     "100644 x",   "M 100644 inline y",
	"'",	 "*",	       "#hash",	     ":1",
	"a.b",	 "a-b",	       "done",	     "inline",
	"git~1", ".gitfoo",    ".gitignore", ".gitattributes",
	"CON",	 "a:b",	       " lead",	     "trail ",
	"...",	 "x.lock",     "refs",	     "HEAD",
};

static void test_names_come_back(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], first[ID], now[ID], path[512];
	size_t count = sizeof(names) / sizeof(names[0]);

	for (size_t i = 0; i < count; i++) {
		tree_file(t, names[i], names[i], strlen(names[i]));
		snprintf(path, sizeof(path), "in/%s/%s", names[i], names[count - 1 - i]);
		tree_file(t, path, names[i], strlen(names[i]));
		snprintf(path, sizeof(path), "link-%s", names[i]);
		assert_int_equal(symlink(names[i], tree_path(t, path)), 0);
	}
	store_state(t, first);
	store_save(t, one);
	assert_int_equal(t->last.files, (int64_t)(3 * count));
	assert_int_equal(t->last.left_out, 0);
	store_shell(t, "find . -type f -exec sh -c 'echo more >> \"$1\"' - {} ';'; rm -r in");
	store_restore(t, one);
	assert_int_equal(t->last.files, (int64_t)(2 * count));
	store_state(t, now);
	assert_string_equal(now, first);
	store_shell(t, "find . -mindepth 1 -delete");
	store_restore(t, one);
	store_state(t, now);
	assert_string_equal(now, first);
	store_diff(t, one, NULL);
	assert_int_equal(t->last.files, 0);
	tree_free(t);
}

/* Ignored files are kept, too. */
static void test_ignored_files_are_kept(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID];

	store_shell(t, "echo '*' > .gitignore; echo build > out.o");
	store_save(t, one);
	assert_int_equal(t->last.files, 2);
	store_shell(t, "rm out.o");
	store_restore(t, one);
	assert_string_equal(tree_read(t, "out.o"), "build\n");
	tree_free(t);
}

static void test_order(void **state)
{
	(void)state;
	static const char *const sorted[] = { "a",   "a/b", "a/b/c", "a/c", "a\001",
					      "a-b", "a.b", "ab",    "b",   "\xff" };

	for (size_t i = 0; i + 1 < sizeof(sorted) / sizeof(sorted[0]); i++) {
		struct ar_str low = ar_str_from(sorted[i]), high = ar_str_from(sorted[i + 1]);

		assert_true(ar_tree_entry_compare(low, high) < 0);
		assert_true(ar_tree_entry_compare(high, low) > 0);
		assert_int_equal(ar_tree_entry_compare(low, low), 0);
	}
}

static void test_paths(void **state)
{
	(void)state;
	static const char *const wrong[] = { "",    "/a",   "a/",	"a//b", ".",	 "..",	  "a/../b",
					     "./a", ".git", "a/.GIT/b", ".Git", "a/./b", "a/.git" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(ar_tree_entry_is_path(ar_str_from(wrong[i])));
	assert_true(ar_tree_entry_is_path(AR_STR("a/.gitignore/.github")));
	assert_false(ar_tree_entry_is_path((struct ar_str){ "a\0b", 3 }));
}

static void make_index(struct ar_buf *out)
{
	struct ar_tree_entries l = { 0 };
	struct ar_hash tree = { { 1, 2, 3 } };

	ar_tree_entries_add(&l, &(struct ar_tree_entry){
					.path = AR_STR("a"), .mode = AR_TREE_ENTRY_FILE, .size = 3 });
	ar_tree_entries_add(&l, &(struct ar_tree_entry){
					.path = AR_STR("b/c"), .mode = AR_TREE_ENTRY_LINK, .is_racy = true });
	ar_index_print(&l, &tree, out);
	ar_tree_entries_fini(&l);
}

/* With a sum that is right, so that it is not the sum alone that refuses. */
static bool parses(struct ar_str body)
{
	struct ar_buf b = { 0 };
	struct ar_tree_entries l = { 0 };
	struct ar_hash tree, sum = ar_hash_of(body);

	ar_buf_adds(&b, body);
	ar_buf_add(&b, &sum, sizeof(sum));
	bool is_ok = ar_index_parse(ar_buf_str(&b), &l, &tree);

	assert_true(is_ok || l.count == 0);
	ar_tree_entries_fini(&l);
	ar_buf_fini(&b);
	return is_ok;
}

static void test_index_bytes(void **state)
{
	(void)state;
	struct ar_buf b = { 0 };
	struct ar_tree_entries l = { 0 };
	struct ar_hash tree;

	make_index(&b);
	assert_true(ar_index_parse(ar_buf_str(&b), &l, &tree));
	assert_int_equal(l.count, 2);
	assert_str(l.at[1].path, "b/c");
	assert_true(l.at[1].is_racy && !l.at[0].is_racy);
	assert_int_equal(tree.b[2], 3);
	ar_tree_entries_fini(&l);
	for (size_t len = 0; len < b.len; len++)
		assert_false(ar_index_parse((struct ar_str){ b.p, len }, &l, &tree));
	struct ar_str body = { b.p, b.len - AR_HASH_LEN };

	assert_true(parses(body));
	for (size_t len = 0; len < body.len; len++)
		assert_false(parses((struct ar_str){ b.p, len }));
	char *first = memmem(b.p, b.len, "b/c", 3);

	memcpy(first, "a/.", 3);
	assert_false(parses(body));
	memcpy(first, "A/c", 3); /* out of order */
	assert_false(parses(body));
	ar_buf_fini(&b);
}

static void test_quoting(void **state)
{
	(void)state;
	struct ar_buf b = { 0 };

	ar_import_add_path(&b, AR_STR("a\"b\\c\nd\xff"));
	assert_str(ar_buf_str(&b), "\"a\\042b\\134c\\012d\xff\"");
	ar_buf_fini(&b);
}

static void test_differences_of_git_are_checked(void **state)
{
	(void)state;
#define ZEROES "0000000000000000000000000000000000000000000000000000000000000000"
	static const char good[] = ":100644 100755 " ZEROES " " ZEROES " M\0path";
	static const char bad[][sizeof(good)] = {
		":100644 160000 " ZEROES " " ZEROES " M\0path",
		":100644 100755 " ZEROES " " ZEROES " M\0/ath",
		"x100644 100755 " ZEROES " " ZEROES " M\0path",
		":100644 100755 " ZEROES " Z" ZEROES "M\0path",
	};
	struct ar_differences d = { 0 };

	ar_buf_add(&d.raw, good, sizeof(good));
	assert_true(ar_differences_parse(&d));
	assert_int_equal(d.count, 1);
	assert_int_equal(d.at[0].is, AR_TREE_ENTRY_PROGRAM);
	ar_differences_fini(&d);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ar_buf_add(&d.raw, bad[i], sizeof(bad[i]));
		assert_false(ar_differences_parse(&d));
		ar_differences_fini(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_come_back),
		cmocka_unit_test(test_ignored_files_are_kept),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_index_bytes),
		cmocka_unit_test(test_quoting),
		cmocka_unit_test(test_differences_of_git_are_checked),
	};

	signal(SIGPIPE, SIG_IGN); /* as agent-files does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
