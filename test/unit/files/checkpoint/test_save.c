/* Checkpoints: what was there comes back, whatever a shell command did meanwhile; what did not change is not
 * read again; what is forgotten goes; a process that is killed leaves a store that works. */
#include "checkpoint/store_tree.h"

#include "checkpoint/content.h"
#include "checkpoint/index.h"
#include "checkpoint/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char thousand[] = "for d in a b c d e f g h i j; do mkdir -p src/$d; for n in $(seq 100); do "
			       "echo \"$d $n\" > src/$d/file$n; done; done; chmod +x src/a/file1";

static void test_thousand_files_come_back(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char first[ID], now[ID], before[ID], damaged[ID], id[ID], kept[ID];

	store_shell(t, thousand);
	store_state(t, before);
	store_save(t, id);
	assert_int_equal(t->last.files, 1000);
	memcpy(first, id, ID);
	store_shell(t, "rm -r src/a src/b src/c src/d src/e; for f in src/*/*; do echo rewritten > $f; done; "
		       "mkdir new; echo added > new/file; ln -s file new/link");
	store_state(t, damaged);
	store_restore(t, first);
	assert_int_equal(t->last.files, 1002);
	memcpy(kept, t->last.id.p, ID);
	store_state(t, now);
	assert_string_equal(now, before);
	store_save(t, id);
	assert_string_equal(id, first);
	assert_int_equal(access(tree_path(t, "new"), F_OK), -1);
	store_restore(t, kept); /* and the restore itself can be taken back */
	store_state(t, now);
	assert_string_equal(now, damaged);
	tree_free(t);
}

static void test_kinds_change(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], two[ID], id[ID], first[ID], second[ID], now[ID];

	store_shell(t, "echo 1 > file; echo 2 > was-file; mkdir was-folder; echo 3 > was-folder/in; ln -s "
		       "file was-link;"
		       "ln -s a turns; echo 4 > mode; mkdir -p deep/er; echo 5 > deep/er/in; ln -s file "
		       "link-folder");
	store_state(t, first);
	store_save(t, one);
	store_shell(
		t,
		"rm was-file; mkdir was-file; echo x > was-file/in; rm -r was-folder; ln -s deep was-folder;"
		"rm was-link; echo now a file > was-link; ln -sfn b turns; chmod +x mode; rm -r deep; echo 6 "
		"> "
		"deep; rm link-folder; mkdir -p link-folder/a/b; echo 7 > link-folder/a/b/c; mv file "
		"renamed");
	store_state(t, second);
	store_save(t, two);
	assert_string_not_equal(one, two);
	store_restore(t, one);
	store_state(t, now);
	assert_string_equal(now, first);
	store_restore(t, two);
	store_state(t, now);
	assert_string_equal(now, second);
	store_save(t, id);
	assert_string_equal(id, two);
	tree_free(t);
}

static void test_unchanged_files_are_not_read(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], two[ID];

	tree_text(t, "a", "a\n");
	tree_text(t, "b/c", "c\n");
	store_save(t, one);
	usleep(50000); /* older than what a tick of the clock could hide */
	store_save(t, one);
	size_t packs = store_packs(t);
	struct stat before, after;

	assert_int_equal(stat(store_path(t, "index"), &before), 0);
	store_save(t, two);
	assert_int_equal(stat(store_path(t, "index"), &after), 0);
	assert_string_equal(one, two);
	assert_int_equal(store_packs(t), packs);
	assert_int_equal(before.st_ino, after.st_ino); /* not even the index was written */
	store_shell(t, "touch a");
	store_save(t, two);
	assert_string_equal(one, two);
	assert_int_equal(store_packs(t), packs);
	tree_free(t);
}

/* Rewrites the index so that its only entry has a wrong object, and is racy or not; whether it had the right
 * one. */
static bool change_index(struct tree *t, bool is_racy)
{
	bool was_right;
	char bytes[4096];
	FILE *f = fopen(store_path(t, "index"), "r+");
	size_t len = fread(bytes, 1, sizeof(bytes), f);
	struct ar_tree_entries l = { 0 };
	struct ar_buf out = { 0 };
	struct ar_hash tree;

	assert_true(ar_index_parse((struct ar_str){ bytes, len }, &l, &tree));
	assert_int_equal(l.count, 1);
	was_right = l.at[0].object.b[0] != 7;
	memset(&l.at[0].object, 7, sizeof(l.at[0].object));
	l.at[0].is_racy = is_racy;
	ar_index_print(&l, &tree, &out);
	rewind(f);
	assert_int_equal(fwrite(out.p, 1, out.len, f), out.len);
	fclose(f);
	ar_buf_fini(&out);
	ar_tree_entries_fini(&l);
	return was_right;
}

static void test_racy_entries_are_read_again(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	struct ar_tree_entry e = { .ctime = 1700000000500000000 };
	char id[ID];

	tree_text(t, "file", "content\n");
	store_save(t, id);
	change_index(t, false);
	store_save(t, id);
	assert_false(change_index(t, true)); /* by its times it was what the index says */
	store_save(t, id);
	assert_true(change_index(t, true)); /* it was read again */
	assert_true(ar_content_is_racy(&e, e.ctime));
	assert_true(ar_content_is_racy(&e, e.ctime + 1000000));
	assert_false(ar_content_is_racy(&e, e.ctime + 1000000000));
	e.ctime = 1700000000000000000; /* a file system that has whole seconds */
	assert_true(ar_content_is_racy(&e, e.ctime + 1000000000));
	assert_false(ar_content_is_racy(&e, e.ctime + 3000000000));
	tree_free(t);
}

/* The same size, the times set back: only ctime and the inode tell. */
static void test_hidden_changes_are_seen(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], two[ID], three[ID];

	store_shell(t, "echo aaaa > f; touch -d 2020-01-01 f");
	usleep(50000); /* so that it is not read again because it is new */
	store_save(t, one);
	store_shell(t, "echo bbbb > f; touch -d 2020-01-01 f");
	store_save(t, two);
	assert_string_not_equal(one, two);
	store_shell(t, "echo cccc > g; touch -d 2020-01-01 g; mv g f");
	store_save(t, three);
	assert_string_not_equal(two, three);
	store_restore(t, one);
	assert_string_equal(tree_read(t, "f"), "aaaa\n");
	tree_free(t);
}

static void test_what_changed_meanwhile_is_not_replaced(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	struct ar_place p = { .root = open(t->root, O_PATH | O_DIRECTORY), .folder = -1 };
	struct ar_tree_entry was = { .path = AR_STR("f") };
	struct stat st;

	store_shell(t, "echo saved > f");
	assert_int_equal(stat(tree_path(t, "f"), &st), 0);
	ar_tree_entry_set_stat(&was, &st);
	store_shell(t, "echo other > f");
	assert_int_equal(ar_place_put(&p, was.path, &was, AR_TREE_ENTRY_FILE, AR_STR("x")), ESTALE);
	assert_int_equal(ar_place_put(&p, was.path, NULL, AR_TREE_ENTRY_FILE, AR_STR("x")), ESTALE);
	assert_int_equal(ar_place_remove(&p, &was), ESTALE);
	assert_string_equal(tree_read(t, "f"), "other\n");
	assert_int_equal(tree_count(t, "."), 1);
	ar_place_fini(&p);
	close(p.root);
	tree_free(t);
}

static void test_diff(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], two[ID];

	store_shell(t, "printf 'a\\nb\\n' > changed; echo gone > deleted; echo same > same");
	store_save(t, one);
	store_shell(t,
		    "printf 'a\\nB\\n' > changed; rm deleted; echo new > added; printf '\\377\\n' > bytes");
	store_diff(t, one, NULL);
	assert_string_equal(
		t->last.changes.p,
		"[{\"path\":\"added\",\"change\":\"added\"},{\"path\":\"bytes\",\"change\":\"added\"},{"
		"\"path\":\"changed\",\"change\":\"changed\"},{\"path\":\"deleted\",\"change\":\"deleted\"}"
		"]");
	assert_int_equal(t->last.files, 4);
	assert_int_equal(t->last.bytes, 4 + 2 + 4);
	assert_non_null(strstr(t->last.diff.p, "-b\n+B\n"));
	assert_false(t->last.is_cut);
	store_save(t, two);
	store_diff(t, two, one);
	assert_non_null(strstr(t->last.diff.p, "-B\n+b\n"));
	store_shell(t, "head -c 3000000 /dev/zero | tr '\\0' x | fold > large");
	store_diff(t, one, NULL);
	assert_true(t->last.is_cut);
	assert_true(strlen(t->last.diff.p) <= 1 << 20);
	tree_free(t);
}

static void test_forgetting(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char ids[40][ID], id[ID];

	for (int i = 0; i < 40; i++) {
		char text[64];

		snprintf(text, sizeof(text), "state number %d of the file\n", i);
		tree_file(t, "file", text, strlen(text));
		store_save(t, ids[i]);
	}
	assert_true(store_packs(t) > 32);
	for (int i = 0; i < 40; i++) {
		if (i != 20)
			store_forget(t, ids[i]);
	}
	assert_true(store_packs(t) < 5);
	assert_false(store_holds(t, "state number 10 of"));
	assert_true(store_holds(t, "state number 20 of"));
	char more[128];

	snprintf(more, sizeof(more), ",\"to\":\"%s\"", ids[10]);
	assert_int_equal(store_run(t, "checkpoint_restore", more)->outcome, AR_TOOL_ERROR);
	assert_string_equal(t->last.category.p, "not_found");
	assert_string_equal(tree_read(t, "file"), "state number 39 of the file\n");
	store_save(t, id); /* the last state was forgotten, and is kept again */
	assert_string_equal(id, ids[39]);
	store_restore(t, ids[20]);
	assert_string_equal(tree_read(t, "file"), "state number 20 of the file\n");
	store_restore(t, ids[39]);
	assert_string_equal(tree_read(t, "file"), "state number 39 of the file\n");
	store_forget(t, ids[1]); /* once more is no mistake */
	tree_free(t);
}

/* Two sessions of one workspace have the same files: what one forgets stays for the other. */
static void test_sessions_keep_for_themselves(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], two[ID], more[256];

	store_shell(t, "echo 1 > f");
	store_save(t, one);
	store_session("two");
	store_save(t, two);
	assert_string_equal(one, two);
	store_shell(t, "echo 2 > f");
	store_save(t, two);
	store_session("one");
	store_forget(t, one);
	snprintf(more, sizeof(more), ",\"to\":\"%s\"", one);
	assert_int_equal(store_run(t, "checkpoint_restore", more)->outcome, AR_TOOL_ERROR);
	assert_string_equal(t->last.category.p, "not_found");
	store_session("two");
	store_restore(t, one);
	assert_string_equal(tree_read(t, "f"), "1\n");
	store_session("one");
	tree_fails(t, "checkpoint_save", "{\"store\":\"/tmp\",\"session\":\"../x\"}", "invalid_arguments");
	tree_free(t);
}

static bool has_begun(const struct tree *t)
{
	char command[512];

	snprintf(command, sizeof(command), "ls '%s' 2>/dev/null | grep -q tmp_pack",
		 store_path(t, "checkpoints.git/objects/pack"));
	return system(command) == 0;
}

/* A save in a process of its own, killed with its git once that writes its pack. */
static void kill_a_save(struct tree *t)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		setpgid(0, 0);
		store_run(t, "checkpoint_save", "");
		_exit(0);
	}
	(void)setpgid(pid, pid);
	while (!has_begun(t) && waitpid(pid, &status, WNOHANG) == 0)
		usleep(1000);
	kill(-pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void test_killed_in_the_middle(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], two[ID], again[ID], first[ID], now[ID];

	store_shell(t, "echo first > file");
	store_state(t, first);
	store_save(t, one);
	store_shell(t, "mkdir many; for n in $(seq 40); do head -c 2000000 /dev/urandom > many/$n; done; "
		       "echo 2 > file");
	kill_a_save(t);
	store_shell(t, "touch $STORE/checkpoints.git/refs/base.lock "
		       "$STORE/checkpoints.git/refs/checkpoints/one/x.lock");
	store_save(t, two);
	assert_int_equal(t->last.files, 41);
	assert_false(has_begun(t)); /* what it left is removed */
	store_restore(t, one);
	store_state(t, now);
	assert_string_equal(now, first);
	store_restore(t, two);
	store_save(t, again);
	assert_string_equal(again, two);
	tree_free(t);
}

static void test_damaged_store(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char one[ID], two[ID];

	store_shell(t, "echo 1 > f; echo 2 > g");
	store_save(t, one);
	store_shell(t, "printf x >> $STORE/index; echo 3 > f"); /* torn: everything is read again */
	store_save(t, two);
	store_restore(t, one);
	/* A disk that lost what was written. */
	store_shell(t, "rm $STORE/checkpoints.git/objects/pack/*; echo 4 > f");
	store_save(t, one);
	assert_int_equal(t->last.files, 2);
	store_shell(t, "echo 5 > f");
	store_restore(t, one);
	assert_string_equal(tree_read(t, "f"), "4\n");
	tree_free(t);
}

static void test_no_store(void **state)
{
	(void)state;
	struct tree *t = store_tree();

	assert_int_equal(rmdir(store_path(t, "")), 0);
	assert_int_equal(store_run(t, "checkpoint_save", "")->outcome, AR_TOOL_ERROR);
	assert_string_equal(t->last.category.p, "unavailable");
	tree_fails(t, "checkpoint_save", "{}", "invalid_arguments");
	tree_fails(t, "checkpoint_restore", "{\"store\":\"/\",\"to\":\"../../x\"}", "invalid_arguments");
	tree_free(t);
}

static size_t refs_of(struct tree *t, const char *name)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "../store/checkpoints.git/refs/checkpoints/%s", name);
	return access(tree_path(t, folder), F_OK) == 0 ? tree_count(t, folder) : 0;
}

static void save_keeping(struct tree *t, const char *days)
{
	char more[64];

	snprintf(more, sizeof(more), ",\"keepDays\":%s", days);
	assert_int_equal(store_run(t, "checkpoint_save", more)->outcome, AR_TOOL_OK);
}

static void make_old_unused(struct tree *t)
{
	store_shell(t, "touch -d '40 days ago' \"$STORE/checkpoints.git/refs/checkpoints/old\"");
}

/* A session that nobody uses any more forgets nothing: others do it. */
static void test_unused_sessions_are_forgotten(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char id[ID];

	store_shell(t, "echo old > file");
	store_session("old");
	store_save(t, id);
	make_old_unused(t);
	store_session("one");
	store_shell(t, "echo new > file");
	save_keeping(t, "60");
	save_keeping(t, "0");
	assert_int_equal(refs_of(t, "old"), 1);
	store_session("old");
	save_keeping(t, "30"); /* it is used: nothing of it goes */
	assert_int_equal(refs_of(t, "old"), 2);
	make_old_unused(t);
	store_session("one");
	save_keeping(t, "30");
	assert_int_equal(refs_of(t, "old"), 0);
	assert_int_equal(refs_of(t, "one"), 1);
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thousand_files_come_back),
		cmocka_unit_test(test_kinds_change),
		cmocka_unit_test(test_unchanged_files_are_not_read),
		cmocka_unit_test(test_racy_entries_are_read_again),
		cmocka_unit_test(test_hidden_changes_are_seen),
		cmocka_unit_test(test_what_changed_meanwhile_is_not_replaced),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_forgetting),
		cmocka_unit_test(test_sessions_keep_for_themselves),
		cmocka_unit_test(test_killed_in_the_middle),
		cmocka_unit_test(test_damaged_store),
		cmocka_unit_test(test_no_store),
		cmocka_unit_test(test_unused_sessions_are_forgotten),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
