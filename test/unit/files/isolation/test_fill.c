/* The folder of a session, filled from that of its workspace. */
#include "isolation/pair.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

static void test_a_copy_is_the_same(void **state)
{
	(void)state;
	struct tree *t = pair_new();

	pair_shell(t, "mkdir -p a/b 'with space'; printf 'x\\r\\n' > a/b/c; printf '\\000\\377' > bin; echo "
		      "run > tool; "
		      "chmod 755 tool; ln -s a/b/c link; ln -s /etc/passwd out; printf y > \"$(printf "
		      "'new\\nline')\"; "
		      "printf z > \"$(printf 'no\\377utf')\"; mkdir -p deep/.git; echo n > deep/.git/config; "
		      "mkfifo fifo");
	pair_fill(t, "copy");
	assert_int_equal(t->last.files, 7);
	assert_int_equal(t->last.left_out, 2); /* deep/.git and the fifo */
	assert_true(pair_is_same(t));
	pair_shell(t, "test \"$(readlink $SESSION/out)\" = /etc/passwd; test ! -e $SESSION/deep; test ! -e "
		      "$SESSION/fifo");
	tree_free(t);
}

/* A try that was killed left something: it is gone, and nothing behind its links is. */
static void test_a_second_fill_begins_anew(void **state)
{
	(void)state;
	struct tree *t = pair_new();

	pair_shell(t, "echo one > one; mkdir ../outside; echo kept > ../outside/file; mkdir -p $SESSION/x/y; "
		      "echo old > "
		      "$SESSION/x/y/z; ln -s ../outside $SESSION/x/away; mkdir -m 0 $SESSION/shut; echo half "
		      "> $SESSION/one");
	pair_fill(t, "copy");
	assert_true(pair_is_same(t));
	pair_shell(t,
		   "test ! -e $SESSION/x; test ! -e $SESSION/shut; test \"$(cat ../outside/file)\" = kept");
	tree_free(t);
}

static void test_an_empty_one_has_nothing(void **state)
{
	(void)state;
	struct tree *t = pair_new();

	pair_shell(t, "echo one > one");
	pair_fill(t, "empty");
	assert_string_equal(t->last.method.p, "none");
	assert_int_equal(t->last.files, 0);
	pair_shell(t, "test -z \"$(ls -A $SESSION)\"");
	tree_free(t);
}

static void test_a_large_file_is_brought(void **state)
{
	(void)state;
	struct tree *t = pair_new();

	pair_shell(t, "truncate -s 65M big; echo end >> big; echo small > small");
	pair_fill(t, "copy");
	assert_int_equal(t->last.files, 1);
	assert_int_equal(t->last.left_out, 1);
	assert_true(pair_is_same(t));
	tree_free(t);
}

/* Two files change places all the time: the folder has one state of them, which is the base. */
static void test_what_changes_meanwhile_is_one_state(void **state)
{
	(void)state;
	struct tree *t = pair_new();
	struct tree_swap swap;

	pair_shell(t, "for i in $(seq 300); do echo $i > f$i; done; echo long-one > a; echo two > b");
	tree_swap_start(&swap, t, "a", "b");
	for (int i = 0; i < 8; i++) {
		struct call *c = pair_try_fill(t, "copy");

		if (c->outcome != AR_TOOL_OK)
			print_error("fill: %s\n", c->text.p);
		assert_int_equal(c->outcome, AR_TOOL_OK);
		pair_shell(t, "case $(cat $SESSION/a)-$(cat $SESSION/b) in long-one-*|two-*) ;; *) exit 1;; "
			      "esac; test $(ls "
			      "$SESSION | wc -l) -ge 301");
	}
	tree_swap_stop(&swap);
	tree_free(t);
}

/* ---- worktree ---- */

static void test_a_worktree_has_history_and_what_was_not_committed(void **state)
{
	(void)state;
	struct tree *t = pair_new();

	pair_shell(t,
		   "git init -q .; git config user.email a@b; git config user.name n; echo one > f; git add "
		   "f; git commit "
		   "-qm first; echo two > f; git commit -qam second; echo dirty > f; echo new > untracked");
	pair_fill(t, "worktree");
	assert_true(pair_is_same(t));
	pair_shell(
		t,
		"cd $SESSION; test \"$(git rev-list --count HEAD)\" = 2; test \"$(git symbolic-ref HEAD)\" = "
		"refs/heads/agent/one; test \"$(git status --porcelain)\" = \"$(printf ' M f\\n?? "
		"untracked')\"; git "
		"fsck --strict 2>/dev/null; git -c user.email=a@b -c user.name=n commit -qam third");
	pair_shell(
		t,
		"test \"$(git rev-list --count --all)\" = 2"); /* the person's repository has nothing of it */
	tree_free(t);
}

static void test_a_worktree_without_a_commit(void **state)
{
	(void)state;
	struct tree *t = pair_new();

	pair_shell(t, "git init -q .; echo one > f");
	pair_fill(t, "worktree");
	pair_shell(t, "cd $SESSION; test \"$(git status --porcelain)\" = '?? f'");
	tree_free(t);
}

static void test_what_is_no_repository_is_said(void **state)
{
	(void)state;
	struct tree *t = pair_new();

	pair_shell(t, "echo one > f");
	assert_int_not_equal(pair_try_fill(t, "worktree")->outcome, AR_TOOL_OK);
	assert_string_equal(t->last.category.p, "not_a_repository");
	pair_shell(t, "echo 'gitdir: /etc' > .git");
	assert_int_not_equal(pair_try_fill(t, "worktree")->outcome, AR_TOOL_OK);
	assert_string_equal(t->last.category.p, "not_a_repository");
	tree_free(t);
}

/* Configuration, hooks, filters and alternates of the person's repository do not come along, and nothing of
 * them runs. */
static void test_a_hostile_repository(void **state)
{
	(void)state;
	struct tree *t = pair_new();
	char ran[128];

	snprintf(ran, sizeof(ran), "%s/ran", t->base);
	pair_shell(t, "git init -q .; git config user.email a@b; git config user.name n; echo one > f; git "
		      "add f; git commit "
		      "-qm first; R=\"touch $PWD/../ran\"; git config core.fsmonitor \"$R\"; git config "
		      "filter.evil.smudge "
		      "\"$R; cat\"; git config filter.evil.clean \"$R; cat\"; git config filter.evil.process "
		      "\"$R\"; git config "
		      "uploadpack.packObjectsHook \"$R\"; git config core.sshCommand \"$R\"; git config "
		      "core.alternateRefsCommand "
		      "\"$R\"; for h in post-checkout reference-transaction post-index-change pre-auto-gc; "
		      "do printf '#!/bin/sh\\n%s' "
		      "\"$R\" > .git/hooks/$h; chmod 755 .git/hooks/$h; done; echo '* filter=evil' > "
		      ".gitattributes; echo /etc "
		      "> .git/objects/info/alternates; rm -f ../ran");
	pair_fill(t, "worktree");
	assert_int_not_equal(access(ran, F_OK), 0);
	pair_shell(t, "cd $SESSION; ! grep -q evil .git/config; test ! -e .git/hooks; test ! -e "
		      ".git/objects/info/alternates; git status --porcelain > /dev/null");
	assert_int_not_equal(access(ran, F_OK), 0);
	tree_free(t);
}

/* The folder of the session is on a file system that is too small: it is said, and with room it works. */
static void test_a_full_disk(void **state)
{
	(void)state;
	struct tree *t = pair_new();
	char session[128];

	snprintf(session, sizeof(session), "%s/session", t->base);
	if (!pair_mount(session, "size=1m,mode=0700")) {
		tree_free(t);
		skip();
	}
	pair_shell(t, "head -c 3000000 /dev/urandom > large; echo small > small");
	assert_int_not_equal(pair_try_fill(t, "copy")->outcome, AR_TOOL_OK);
	assert_string_equal(t->last.category.p, "no_space");
	pair_shell(t, "rm large");
	pair_fill(t, "copy");
	assert_true(pair_is_same(t));
	assert_int_equal(umount(session), 0);
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_copy_is_the_same),
		cmocka_unit_test(test_a_second_fill_begins_anew),
		cmocka_unit_test(test_an_empty_one_has_nothing),
		cmocka_unit_test(test_a_large_file_is_brought),
		cmocka_unit_test(test_what_changes_meanwhile_is_one_state),
		cmocka_unit_test(test_a_worktree_has_history_and_what_was_not_committed),
		cmocka_unit_test(test_a_worktree_without_a_commit),
		cmocka_unit_test(test_what_is_no_repository_is_said),
		cmocka_unit_test(test_a_hostile_repository),
		cmocka_unit_test(test_a_full_disk),
	};

	signal(SIGPIPE, SIG_IGN); /* as agent-files does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
