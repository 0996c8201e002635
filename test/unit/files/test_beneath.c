/* The way without openat2 gives what the kernel's gives, also for paths that are made to lead out. */
#include "beneath.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const paths[] = {
	"f",	     "d/f",	  "d/e/f",  "./d/./f",	 "d//f",    "d/../f",	 "d/e/../../f", "..",
	"../x",	     "d/../../x", "/etc",   "",		 "in/f",    "in/../f",	 "back/f",	"climb/x",
	"abs/x",     "loop",	  "loop/x", "chain/f",	 "missing", "missing/f", "f/x",		"f/",
	"d/",	     "d/.",	  "flink",  "flink/",	 "in",	    "in/",	 ".",		"./",
	"deep/../f", "dangling",  "abs",    "magic/etc",
};

static const int flag_rows[] = { O_RDONLY, O_PATH, O_RDONLY | O_DIRECTORY, O_PATH | O_NOFOLLOW };

static bool is_same_file(int one, int two)
{
	struct stat a, b;

	return fstat(one, &a) == 0 && fstat(two, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void compare(int root, const char *path, int flags, bool follows)
{
	int kernel = ar_beneath_open(root, path, flags, follows), code = errno;
	int walked = ar_beneath_walk(root, path, flags, follows), walked_code = errno;

	if ((kernel < 0) != (walked < 0) || (kernel >= 0 && !is_same_file(kernel, walked)))
		fail_msg("'%s' flags %x follows %d: %d (%d) and %d (%d)", path, flags, follows, kernel, code,
			 walked, walked_code);
	if (kernel < 0 && (code == EXDEV) != (walked_code == EXDEV))
		fail_msg("'%s' flags %x follows %d: errno %d and %d", path, flags, follows, code,
			 walked_code);
	if (kernel >= 0) {
		close(kernel);
		close(walked);
	}
}

static void test_as_the_kernel(void **state)
{
	(void)state;
	struct tree *t = tree_new();

	tree_text(t, "f", "x");
	tree_text(t, "d/f", "y");
	tree_text(t, "d/e/f", "z");
	assert_int_equal(symlink("d/e", tree_path(t, "in")), 0);
	assert_int_equal(symlink("../d", tree_path(t, "d/back")), 0);
	assert_int_equal(symlink("d/../d/back", tree_path(t, "back")), 0);
	assert_int_equal(symlink("../..", tree_path(t, "climb")), 0);
	assert_int_equal(symlink("/etc", tree_path(t, "abs")), 0);
	assert_int_equal(symlink("loop", tree_path(t, "loop")), 0);
	assert_int_equal(symlink("in", tree_path(t, "chain")), 0);
	assert_int_equal(symlink("d/f", tree_path(t, "flink")), 0);
	assert_int_equal(symlink("d/e", tree_path(t, "deep")), 0);
	assert_int_equal(symlink("nowhere", tree_path(t, "dangling")), 0);
	assert_int_equal(symlink("/proc/self/root", tree_path(t, "magic")), 0);
	int root = open(t->root, O_PATH | O_DIRECTORY);

	for (size_t i = 0; i < AR_ARRAY_LEN(paths); i++) {
		for (size_t k = 0; k < AR_ARRAY_LEN(flag_rows); k++) {
			compare(root, paths[i], flag_rows[k], true);
			compare(root, paths[i], flag_rows[k], false);
		}
	}
	close(root);
	tree_free(t);
}

static void test_swapped(void **state)
{
	(void)state;
	struct tree *t = tree_new();
	struct tree_swap s;
	char text[8];
	int good = 0;

	tree_text(t, "../other/f", "outside");
	tree_text(t, "d/f", "in");
	assert_int_equal(symlink("../other", tree_path(t, "l")), 0);
	int root = open(t->root, O_PATH | O_DIRECTORY);

	tree_swap_start(&s, t, "d", "l");
	for (int i = 0; i < 20000; i++) {
		int fd = ar_beneath_walk(root, "d/f", O_RDONLY, true);

		if (fd < 0)
			continue;
		assert_int_equal(read(fd, text, sizeof(text)), 2);
		close(fd);
		good++;
	}
	tree_swap_stop(&s);
	assert_true(good > 0);
	close(root);
	tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_as_the_kernel),
					    cmocka_unit_test(test_swapped) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
