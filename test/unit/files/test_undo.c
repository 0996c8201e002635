/* undo: what calls changed is put back, what somebody changed since is kept. */
#include "tree.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes back what the last call changed. */
static struct call *undo(struct tree *t)
{
	AR_AUTO(ar_buf_fini) struct ar_buf args = { 0 };

	ar_buf_addf(&args, "{\"changes\":%s}", t->last.changes.p);
	ar_buf_addc(&args, '\0');
	return tree_run(t, "undo", args.p);
}

static void test_back(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	struct stat st;

	tree_text(t, "mod", "a\n");
	tree_text(t, "del", "\xff\0\1");
	tree_text(t, "old", "1\n");
	assert_int_equal(chmod(tree_path(t, "del"), 0640), 0);
	tree_call(
		t, "apply_patch",
		"{\"patch\":\"*** Begin Patch\\n*** Update File: mod\\n@@\\n-a\\n+b\\n*** Delete File: "
		"del\\n*** Add File: "
		"new\\n+x\\n*** Update File: old\\n*** Move to: moved\\n@@\\n-1\\n+2\\n*** End Patch\\n\"}");
	assert_null(tree_read(t, "del"));
	struct call *c = undo(t);

	assert_int_equal(c->outcome, AR_TOOL_OK);
	assert_string_equal(c->text.p,
			    "removed moved\nrestored old\nremoved new\nrestored del\nrestored mod\n");
	assert_string_equal(tree_read(t, "mod"), "a\n");
	assert_memory_equal(tree_read(t, "del"), "\xff\0\1", 3);
	assert_string_equal(tree_read(t, "old"), "1\n");
	assert_int_equal(tree_count(t, "."), 3);
	assert_int_equal(stat(tree_path(t, "del"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	tree_free(t);
}

static void test_conflicts(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_text(t, "a", "1\n");
	tree_text(t, "b", "1\n");
	tree_text(t, "c", "1\n");
	tree_call(t, "apply_patch",
		  "{\"patch\":\"*** Begin Patch\\n*** Update File: a\\n@@\\n-1\\n+2\\n*** Update File: "
		  "b\\n@@\\n-1\\n+2\\n*** Delete "
		  "File: c\\n*** Add File: d\\n+x\\n*** End Patch\\n\"}");
	tree_text(t, "a", "mine\n");
	tree_text(t, "c", "mine\n");
	tree_text(t, "d", "mine\n");
	struct call *c = undo(t);

	assert_int_equal(c->outcome, AR_TOOL_ERROR);
	assert_string_equal(c->category.p, "conflict");
	assert_non_null(
		strstr(c->text.p,
		       "kept d: it was changed since\nkept c: it was changed since\nrestored b\nkept a: it"));
	assert_string_equal(tree_read(t, "a"), "mine\n");
	assert_string_equal(tree_read(t, "b"), "1\n");
	assert_string_equal(tree_read(t, "c"), "mine\n");
	assert_string_equal(tree_read(t, "d"), "mine\n");
	tree_free(t);
}

static const char *const records[] = {
	/* What was in it is not what the hash says: a masked secret. */
	"{\"changes\":[{\"path\":\"a\",\"kind\":\"modified\",\"before\":\"key=***\",\"encoding\":\"utf-8\","
	"\"beforeHash\":"
	"\"00\",\"afterHash\":\"4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865\"}]}",
	"{\"changes\":[{\"path\":\"../"
	"x\",\"kind\":\"deleted\",\"before\":\"\",\"encoding\":\"utf-8\",\"beforeHash\":"
	"\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"}]}",
	"{\"changes\":[{\"path\":\"link\",\"kind\":\"created\",\"afterHash\":"
	"\"4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865\"}]}",
	"{\"changes\":[{}]}",
};

static void test_hostile_records(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_text(t, "a", "1\n");
	assert_int_equal(symlink("a", tree_path(t, "link")), 0);
	for (size_t i = 0; i < AR_ARRAY_LEN(records); i++) {
		if (tree_run(t, "undo", records[i])->outcome != AR_TOOL_ERROR)
			fail_msg("row %zu: %s", i, t->last.text.p);
		assert_string_equal(tree_read(t, "a"), "1\n");
		assert_int_equal(tree_count(t, "."), 2);
		assert_int_equal(tree_count(t, ".."), 1);
	}
	assert_int_equal(tree_run(t, "undo", "{\"changes\":[]}")->outcome, AR_TOOL_OK);
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_back), cmocka_unit_test(test_conflicts),
					    cmocka_unit_test(test_hostile_records) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
