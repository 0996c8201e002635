/* What a session changed, merged into the workspace. */
#include "isolation/pair.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>

static struct tree *filled(const char *files, char base[ID])
{
	struct tree *t = pair_new();

	pair_shell(t, files);
	pair_fill(t, "copy");
	memcpy(base, t->last.id.p, ID);
	return t;
}

static void merges(struct tree *t, const char *base, const char *more)
{
	struct call *c = pair_merge(t, base, more);

	if (c->outcome != AR_TOOL_OK)
		print_error("merge: %s\n", c->text.p);
	assert_int_equal(c->outcome, AR_TOOL_OK);
	assert_string_equal(c->conflicts.p, "");
}

static void conflicts(struct tree *t, const char *base, const char *more, const char *paths)
{
	struct call *c = pair_merge(t, base, more);
	char before[ID], after[ID];

	assert_int_equal(c->outcome, AR_TOOL_OK);
	assert_string_equal(c->conflicts.p, paths);
	store_state(t, before);
	pair_merge(t, base, more);
	store_state(t, after);
	assert_string_equal(before, after);
}

static void test_changes_of_both_sides_are_merged(void **state)
{
	(void)state;
	char base[ID];
	struct tree *t =
		filled("seq 20 > text; echo a > mine; echo b > theirs; echo c > gone; mkdir d; echo d > d/e",
		       base);

	pair_shell(t, "sed -i 's/^2$/two/' $SESSION/text; echo A > $SESSION/mine; rm $SESSION/gone; rm -r "
		      "$SESSION/d; echo n > "
		      "$SESSION/new; chmod 755 $SESSION/text; ln -s new $SESSION/link");
	pair_shell(t, "sed -i 's/^19$/nineteen/' text; echo B > theirs; echo o > other");
	merges(t, base, "");
	assert_int_equal(t->last.files, 6);
	pair_shell(t, "test \"$(sed -n '2p;19p' text | tr '\\n' ' ')\" = 'two nineteen '; test \"$(cat mine "
		      "theirs new other)\" = "
		      "\"$(printf 'A\\nB\\nn\\no')\"; test ! -e gone; test ! -e d; test -x text; test "
		      "\"$(readlink link)\" = new");
	tree_free(t);
}

static void test_a_repeat_changes_nothing_and_keeps_what_was_before(void **state)
{
	(void)state;
	char base[ID], before[ID], next[ID], first[ID], second[ID];
	struct tree *t = filled("seq 20 > text; echo a > mine", base);

	pair_shell(
		t,
		"sed -i 's/^2$/two/' $SESSION/text; echo A > $SESSION/mine; sed -i 's/^19$/nineteen/' text");
	merges(t, base, "");
	memcpy(before, t->last.id.p, ID);
	memcpy(next, t->last.base.p, ID);
	store_state(t, first);
	merges(t, base, ""); /* as after a crash: its end was never recorded */
	store_state(t, second);
	assert_string_equal(first, second);
	assert_string_equal(t->last.id.p, before);
	assert_string_equal(t->last.base.p, next);
	tree_free(t);
}

/* A try that was killed has written a part: the next writes the rest, and `before` is what the first saw. */
static void test_a_repeat_completes_what_was_begun(void **state)
{
	(void)state;
	char base[ID], before[ID];
	struct tree *t = filled("seq 20 > text; echo a > one; echo a > two; echo a > gone", base);

	pair_shell(t, "sed -i 's/^2$/two/' $SESSION/text; echo A > $SESSION/one; echo A > $SESSION/two; rm "
		      "$SESSION/gone; sed "
		      "-i 's/^19$/nineteen/' text");
	merges(t, base, ",\"paths\":[\"text\",\"one\"]");
	memcpy(before, t->last.id.p, ID);
	merges(t, base, "");
	assert_int_equal(t->last.files, 2);
	assert_string_equal(t->last.id.p, before);
	pair_shell(t, "test \"$(cat one two)\" = \"$(printf 'A\\nA')\"; test ! -e gone; test \"$(sed -n "
		      "'2p;19p' text | tr '\\n' ' ')\" "
		      "= 'two nineteen '");
	tree_free(t);
}

static void test_a_conflict_writes_nothing(void **state)
{
	(void)state;
	char base[ID];
	struct tree *t =
		filled("echo a > both; echo b > bin; echo c > del; echo d > rem; echo e > fine", base);

	pair_shell(t, "echo mine > $SESSION/both; printf 'm\\000' > $SESSION/bin; echo changed > "
		      "$SESSION/del; rm $SESSION/rem; "
		      "echo E > $SESSION/fine; echo m > $SESSION/add");
	pair_shell(t, "echo theirs > both; printf 't\\000' > bin; rm del; echo changed > rem; echo t > add");
	conflicts(t, base, "", "rem\nadd\nbin\nboth\ndel\n");
	pair_shell(t, "test \"$(cat fine)\" = e");
	tree_free(t);
}

static void test_the_same_on_both_sides_is_no_conflict(void **state)
{
	(void)state;
	char base[ID];
	struct tree *t = filled("echo a > gone; echo b > bin; ln -s a link", base);

	pair_shell(t, "for d in . $SESSION; do rm $d/gone; printf 'x\\000' > $d/bin; printf 'y\\000' > "
		      "$d/new; ln -sfn b $d/link; done");
	merges(t, base, "");
	assert_int_equal(t->last.files, 0);
	assert_true(pair_is_same(t));
	tree_free(t);
}

static void test_each_choice(void **state)
{
	(void)state;
	static const struct {
		const char *choice, *text, *gone, *again;
	} cases[] = {
		{ "session", "mine", "test ! -e rem", "" },
		{ "workspace", "theirs", "test -e rem", "" },
		{ "leave_out", "theirs", "test -e rem", "rem\nboth\n" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		char base[ID], more[64];
		struct tree *t = filled("echo a > both; echo d > rem; echo e > fine", base);

		pair_shell(t, "echo mine > $SESSION/both; rm $SESSION/rem; echo E > $SESSION/fine; echo "
			      "theirs > both; echo x > rem");
		snprintf(more, sizeof(more), ",\"choice\":\"%s\"", cases[i].choice);
		merges(t, base, more);
		assert_string_equal(tree_read(t, "fine"), "E\n");
		assert_int_equal(strncmp(tree_read(t, "both"), cases[i].text, strlen(cases[i].text)), 0);
		pair_shell(t, cases[i].gone);
		memcpy(base, t->last.base.p, ID);
		assert_int_equal(pair_merge(t, base, "")->outcome, AR_TOOL_OK);
		assert_string_equal(t->last.conflicts.p, cases[i].again);
		tree_free(t);
	}
}

/* A later merge begins where the last one ended. */
static void test_the_base_moves(void **state)
{
	(void)state;
	char base[ID];
	struct tree *t = filled("echo a > f", base);

	pair_shell(t, "echo one > $SESSION/f");
	merges(t, base, "");
	memcpy(base, t->last.base.p, ID);
	pair_shell(t, "echo 'of a person' > f; echo two > $SESSION/g");
	merges(t, base, "");
	assert_string_equal(tree_read(t, "f"), "of a person\n");
	assert_string_equal(tree_read(t, "g"), "two\n");
	tree_free(t);
}

static void test_only_the_paths_that_are_named(void **state)
{
	(void)state;
	char base[ID];
	struct tree *t = filled("echo a > a; mkdir d; echo b > d/b; echo c > dc", base);

	pair_shell(t, "for f in a d/b dc; do echo new > $SESSION/$f; done");
	merges(t, base, ",\"paths\":[\"d\"]");
	assert_int_equal(t->last.files, 1);
	assert_string_equal(tree_read(t, "d/b"), "new\n");
	assert_string_equal(tree_read(t, "dc"), "c\n");
	memcpy(base, t->last.base.p, ID);
	merges(t, base, "");
	assert_int_equal(t->last.files, 2);
	tree_free(t);
}

static void test_protected_paths_are_left_out(void **state)
{
	(void)state;
	char base[ID];
	struct tree *t = filled("mkdir .vscode; echo a > .vscode/tasks; echo m > f", base);

	pair_shell(t, "echo evil > $SESSION/.vscode/tasks; echo evil > $SESSION/.envrc; echo good > "
		      "$SESSION/f; mkdir -p "
		      "$SESSION/.git/hooks; echo evil > $SESSION/.git/hooks/pre-commit");
	merges(t, base, ",\"protected\":[\".vscode\",\".envrc\"]");
	assert_int_equal(t->last.left_out, 2);
	assert_string_equal(tree_read(t, ".vscode/tasks"), "a\n");
	assert_string_equal(tree_read(t, "f"), "good\n");
	pair_shell(t, "test ! -e .envrc; test ! -e .git");
	tree_free(t);
}

/* ---- hostile ---- */

/* What the session made a link of leads nowhere else: the link is merged as a link. */
static void test_links_lead_nowhere(void **state)
{
	(void)state;
	char base[ID];
	struct tree *t = filled("mkdir d; echo in > d/f; mkdir ../outside; echo kept > ../outside/f", base);

	pair_shell(t, "rm -r $SESSION/d; ln -s ../outside $SESSION/d");
	merges(t, base, "");
	pair_shell(t, "test \"$(readlink d)\" = ../outside; test \"$(cat ../outside/f)\" = kept");
	memcpy(base, t->last.base.p, ID);
	pair_shell(
		t,
		"rm $SESSION/d; mkdir $SESSION/d; echo evil > $SESSION/d/f; rm d; ln -s $PWD/../outside d");
	conflicts(t, base, "", "d\nd/f\n");
	merges(t, base, ",\"choice\":\"workspace\"");
	pair_shell(t, "test -L d");
	pair_shell(t, "test \"$(cat ../outside/f)\" = kept");
	tree_free(t);
}

static void test_a_folder_where_a_file_is(void **state)
{
	(void)state;
	char base[ID];
	struct tree *t = filled("echo x > x", base);

	pair_shell(t, "mkdir $SESSION/p; echo mine > $SESSION/p/q; echo file > p; echo X > $SESSION/x");
	conflicts(t, base, "", "p/q\n");
	merges(t, base, ",\"choice\":\"workspace\"");
	assert_string_equal(tree_read(t, "p"), "file\n");
	assert_string_equal(tree_read(t, "x"), "X\n");
	merges(t, base, ",\"choice\":\"session\"");
	assert_string_equal(tree_read(t, "p/q"), "mine\n");
	tree_free(t);
}

/* What no checkpoint holds is not replaced, and then nothing is. */
static void test_what_stands_in_the_way_takes_all_back(void **state)
{
	(void)state;
	char base[ID], before[ID], after[ID];
	struct tree *t = filled("echo a > a", base);

	pair_shell(t, "echo A > $SESSION/a; echo z > $SESSION/z; mkfifo z");
	store_state(t, before);
	assert_int_not_equal(pair_merge(t, base, "")->outcome, AR_TOOL_OK);
	store_state(t, after);
	assert_string_equal(before, after);
	assert_non_null(strstr(t->last.advice.p, "Nothing of the workspace was changed"));
	tree_free(t);
}

/* The workspace has no room for all of it: then it gets nothing of it. */
static void test_a_full_disk_takes_all_back(void **state)
{
	(void)state;
	struct tree *t = pair_new();
	char base[ID], before[ID], after[ID];

	if (!pair_mount(t->root, "size=1m,mode=0755")) {
		tree_free(t);
		skip();
	}
	pair_shell(t, "echo a > a; echo gone > gone");
	pair_fill(t, "copy");
	memcpy(base, t->last.id.p, ID);
	pair_shell(t, "echo A > $SESSION/a; rm $SESSION/gone; head -c 3000000 /dev/urandom > $SESSION/large");
	store_state(t, before);
	assert_int_not_equal(pair_merge(t, base, "")->outcome, AR_TOOL_OK);
	store_state(t, after);
	assert_string_equal(before, after);
	merges(t, base, ",\"paths\":[\"a\",\"gone\"]");
	assert_string_equal(tree_read(t, "a"), "A\n");
	assert_int_equal(umount(t->root), 0);
	tree_free(t);
}

static void test_names_of_all_kinds(void **state)
{
	(void)state;
	char base[ID];
	struct tree *t = filled("echo a > a", base);

	pair_shell(t, "printf n > \"$SESSION/$(printf 'new\\nline')\"; printf q > "
		      "\"$SESSION/\\\"quoted\\\"\"; printf u > "
		      "\"$SESSION/$(printf 'no\\377utf')\"; mkdir $SESSION/-p; printf d > $SESSION/-p/--");
	merges(t, base, "");
	assert_true(pair_is_same(t));
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes_of_both_sides_are_merged),
		cmocka_unit_test(test_a_repeat_changes_nothing_and_keeps_what_was_before),
		cmocka_unit_test(test_a_repeat_completes_what_was_begun),
		cmocka_unit_test(test_a_conflict_writes_nothing),
		cmocka_unit_test(test_the_same_on_both_sides_is_no_conflict),
		cmocka_unit_test(test_each_choice),
		cmocka_unit_test(test_the_base_moves),
		cmocka_unit_test(test_only_the_paths_that_are_named),
		cmocka_unit_test(test_protected_paths_are_left_out),
		cmocka_unit_test(test_links_lead_nowhere),
		cmocka_unit_test(test_a_folder_where_a_file_is),
		cmocka_unit_test(test_what_stands_in_the_way_takes_all_back),
		cmocka_unit_test(test_names_of_all_kinds),
		cmocka_unit_test(test_a_full_disk_takes_all_back),
	};

	signal(SIGPIPE, SIG_IGN); /* as agent-files does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
