/* Workspaces that are made to mislead a checkpoint: repositories with programs in their configuration, links
 * that lead out, names that change while they are looked at, what is no file, what is too much. */
#include "checkpoint/store_tree.h"

#include "checkpoint/save.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET "the secret outside"

/* Programs that a repository names would write here. */
static bool has_run(const struct tree *t)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/ran", t->base);
	return access(path, F_OK) == 0;
}

static void test_nothing_of_a_repository_runs(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], first[ID], now[ID];

	store_shell(
		t,
		"git init -q .; git init -q sub; for r in . sub; do git -C $r config core.fsmonitor 'touch "
		"'$PWD'/../ran; "
		"false'; git -C $r config filter.evil.clean 'touch '$PWD'/../ran; cat'; git -C $r config "
		"filter.evil.smudge 'touch '$PWD'/../ran; cat'; git -C $r config diff.evil.textconv 'touch "
		"'$PWD'/../ran; cat'; done; echo '* filter=evil diff=evil text eol=crlf' > .gitattributes; "
		"cp "
		".gitattributes sub; printf 'a\\r\\nb\\n' > sub/file; mkdir -p bare; git init -q --bare "
		"bare/x; rm -f "
		"../ran");
	store_state(t, first);
	store_save(t, one);
	assert_true(t->last.left_out == 2); /* .git and sub/.git */
	store_shell(t, "printf 'other\\n' > sub/file; rm -r bare");
	store_diff(t, one, NULL);
	assert_non_null(strstr(t->last.diff.p, "+other"));
	store_restore(t, one);
	store_state(t, now);
	assert_string_equal(now, first);
	assert_false(has_run(t));
	assert_int_equal(access(tree_path(t, "sub/.git/config"), F_OK), 0);
	store_shell(t, "test -z \"$(git for-each-ref)\"; test ! -e .git/index; test -z \"$(find .git/objects "
		       "-type f)\"");
	tree_free(t);
}

/* A folder that has to go holds a repository: that stays, and is told. */
static void test_nested_repository_is_not_deleted(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], more[128];

	tree_text(t, "place", "a file\n");
	store_save(t, one);
	store_shell(t, "rm place; mkdir place; git init -q place; echo work > place/file");
	snprintf(more, sizeof(more), ",\"to\":\"%s\"", one);
	store_run(t, "checkpoint_restore", more);
	assert_string_equal(t->last.category.p, "incomplete");
	assert_non_null(strstr(t->last.text.p, "place: what is there now is in no checkpoint"));
	assert_int_equal(access(tree_path(t, "place/.git/HEAD"), F_OK), 0);
	assert_int_equal(strlen(t->last.id.p), ID - 1); /* and what was there before can be had back */
	assert_int_equal(t->last.files, 1);
	store_restore(t, t->last.id.p);
	assert_string_equal(tree_read(t, "place/file"), "work\n");
	tree_free(t);
}

static void put_secret(struct tree *t)
{
	store_shell(t, "mkdir ../outside; echo '" SECRET "' > ../outside/file");
}

static void test_links_are_kept_as_links(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], target[64] = "";

	put_secret(t);
	store_shell(t, "ln -s ../outside out; ln -s ../outside/file file; ln -s /proc/self/root magic; ln -s "
		       "x .gitmodules");
	store_save(t, one);
	assert_int_equal(t->last.files, 3);
	assert_int_equal(t->last.left_out, 1);
	assert_false(store_holds(t, SECRET));
	/* What is written goes where the name is, never where a link leads. */
	store_shell(t, "rm out file; mkdir out; echo mine > out/file; echo mine > file");
	store_save(t, one);
	store_shell(t, "rm -r out file; ln -s ../outside out; ln -s ../outside/file file");
	store_restore(t, one);
	assert_string_equal(tree_read(t, "../outside/file"), SECRET "\n");
	assert_string_equal(tree_read(t, "out/file"), "mine\n");
	assert_int_equal(readlink(tree_path(t, "magic"), target, sizeof(target)), 15);
	tree_free(t);
}

static void test_swapped_while_it_is_looked_at(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	struct tree_swap file, folder;
	char one[ID];

	put_secret(t);
	store_shell(
		t, "echo mine > a; ln -s ../outside/file b; mkdir c; echo mine > c/file; ln -s ../outside d");
	tree_swap_start(&file, t, "a", "b");
	tree_swap_start(&folder, t, "c", "d");
	for (int i = 0; i < 30; i++)
		store_save(t, one);
	tree_swap_stop(&file);
	tree_swap_stop(&folder);
	assert_false(store_holds(t, SECRET));
	store_save(t, one);
	assert_int_equal(t->last.files, 4);
	tree_free(t);
}

static void test_what_is_no_file_is_left_out(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], deep[1200] = "";

	assert_int_equal(mkfifo(tree_path(t, "fifo"), 0600), 0);
	tree_text(t, "kept", "kept\n");
	store_shell(t, "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\"");
	for (int i = 0; i < 300; i++)
		strcat(deep, "d/");
	strcat(deep, "file");
	tree_file(t, deep, "x", 1);
	store_save(t, one);
	assert_int_equal(t->last.files, 1);
	assert_int_equal(t->last.left_out, 3);
	store_shell(t, "rm kept; mkfifo kept"); /* never replaced: no checkpoint holds it */
	char more[128];

	snprintf(more, sizeof(more), ",\"to\":\"%s\"", one);
	store_run(t, "checkpoint_restore", more);
	assert_string_equal(t->last.category.p, "incomplete");
	struct stat st;

	assert_int_equal(stat(tree_path(t, "kept"), &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	tree_free(t);
}

static void test_large_files(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], two[ID], more[128];

	store_shell(t, "echo small > grows; echo x > other; truncate -s 65M large");
	store_save(t, one);
	assert_int_equal(t->last.files, 2);
	assert_int_equal(t->last.left_out, 1);
	store_shell(t, "truncate -s 65M grows; echo y > other");
	store_save(t, two);
	assert_int_equal(t->last.files, 1);
	snprintf(more, sizeof(more), ",\"to\":\"%s\"", one);
	store_run(t, "checkpoint_restore", more);
	assert_string_equal(t->last.category.p, "incomplete");
	assert_non_null(strstr(t->last.text.p, "grows: what is there now is in no checkpoint"));
	assert_non_null(strstr(t->last.text.p, "1 of 2 files"));
	struct stat st;

	assert_int_equal(stat(tree_path(t, "grows"), &st), 0); /* no checkpoint has this content */
	assert_int_equal(st.st_size, 65 << 20);
	assert_string_equal(tree_read(t, "other"), "x\n");
	assert_int_equal(stat(tree_path(t, "large"), &st), 0);
	tree_free(t);
}

static void check_refused(struct tree *t, size_t files_max, int64_t bytes_max)
{
	struct ar_files_work w = { .until = INT64_MAX };
	struct ar_saved saved;
	struct ar_store s;
	int root = open(t->root, O_PATH | O_DIRECTORY);

	assert_true(ar_store_open(&s, &w, ar_str_from(store_path(t, "")), AR_STR("one")));
	s.files_max = files_max;
	s.bytes_max = bytes_max;
	assert_false(ar_save(&s, root, true, &saved));
	assert_string_equal(w.category, "too_large");
	ar_saved_fini(&saved);
	ar_store_close(&s);
	ar_arena_fini(&w.arena);
	close(root);
}

static void test_too_much_is_refused(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID];

	store_shell(t, "for n in $(seq 20); do echo 1234567 > $n; done");
	check_refused(t, 19, 1000);
	check_refused(t, 20, 159);
	assert_int_equal(store_packs(t), 0);
	assert_int_equal(access(store_path(t, "index"), F_OK), -1);
	store_save(t, one);
	assert_int_equal(t->last.files, 20);
	assert_int_equal(t->last.bytes, 160);
	tree_free(t);
}

/* The store is on a file system of its own that is full; the checkpoints that it has stay. */
static void test_full_disk(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID];

	/* In a namespace of this process: nothing is left when it ends early. */
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", store_path(t, ""), "tmpfs", 0, "size=2m,mode=0700") != 0) {
		tree_free(t);
		skip();
	}
	store_shell(t, "echo small > f");
	store_save(t, one);
	store_shell(t, "head -c 8000000 /dev/urandom > large; echo changed > f");
	assert_int_equal(store_run(t, "checkpoint_save", "")->outcome, AR_TOOL_ERROR);
	assert_string_equal(t->last.category.p, "no_space");
	store_shell(t, "rm large");
	store_restore(t, one);
	assert_string_equal(tree_read(t, "f"), "small\n");
	assert_int_equal(umount(store_path(t, "")), 0);
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_of_a_repository_runs),
		cmocka_unit_test(test_nested_repository_is_not_deleted),
		cmocka_unit_test(test_links_are_kept_as_links),
		cmocka_unit_test(test_swapped_while_it_is_looked_at),
		cmocka_unit_test(test_what_is_no_file_is_left_out),
		cmocka_unit_test(test_large_files),
		cmocka_unit_test(test_too_much_is_refused),
		cmocka_unit_test(test_full_disk),
	};

	signal(SIGPIPE, SIG_IGN); /* as agent-files does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
