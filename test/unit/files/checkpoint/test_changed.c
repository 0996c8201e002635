/* What a save says has changed since another checkpoint: files by content, not those that the repository
 * ignores, not more than are listed. */
#include "checkpoint/store_tree.h"

#include <signal.h>
#include <stdio.h>

static void save_since(struct tree *t, const char *from)
{
	char more[128];

	snprintf(more, sizeof(more), ",\"from\":\"%s\"", from);
	assert_int_equal(store_run(t, "checkpoint_save", more)->outcome, AR_TOOL_OK);
}

static size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		n++;
	return n;
}

static bool names(const struct tree *t, const char *path)
{
	char member[256];

	snprintf(member, sizeof(member), "\"path\":\"%s\"", path);
	return strstr(t->last.versions.p, member) != NULL;
}

/* More paths than git is asked about at once, half of them ignored, more than are listed. */
static void test_many_files(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char first[ID];

	store_shell(t, "git init -q .; echo '*.o' > .gitignore");
	store_save(t, first);
	store_shell(t, "mkdir -p a-folder-with-a-long-name/and-another-one-in-it; cd a*/and*; for n in $(seq "
		       "2000); do echo $n > file$n.c; echo $n > file$n.o; done");
	save_since(t, first);
	assert_int_equal(t->last.changed, 2000);
	assert_int_equal(count_of(t->last.versions.p, "\"path\""), 256);
	assert_int_equal(count_of(t->last.versions.p, ".o\""), 0);
	tree_free(t);
}

static void test_without_a_repository(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char first[ID];

	store_shell(t,
		    "echo '*.o' > .gitignore; echo same > same; echo mode > mode; echo old > link-was-file");
	store_save(t, first);
	store_shell(t, "echo 1 > made.o; chmod +x mode; ln -s same link; rm link-was-file; ln -s same "
		       "link-was-file; head -c 1100000 /dev/zero > large");
	save_since(t, first);
	assert_int_equal(t->last.changed, 3);
	assert_true(names(t, "made.o") && names(t, "large") && names(t, "link-was-file"));
	assert_int_equal(count_of(t->last.versions.p, "\"content\""), 1); /* not of the large one */
	tree_free(t);
}

/* A checkpoint of another session says nothing of this one. */
static void test_only_since_its_own(void **state)
{
	(void)state;
	struct tree *t = store_tree();
	char first[ID];

	store_save(t, first);
	store_shell(t, "echo 1 > made");
	store_session("two");
	save_since(t, first);
	store_session("one");
	assert_int_equal(t->last.changed, 0);
	assert_string_equal(t->last.versions.p, "");
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_without_a_repository),
		cmocka_unit_test(test_only_since_its_own),
	};

	signal(SIGPIPE, SIG_IGN); /* as agent-files does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
