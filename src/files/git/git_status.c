/* git_status: branch and changed files, as git reports them. Running git is git.c's. */
#include "git/git.h"

#include <string.h>

#define PRINTED_MAX ((size_t)4 << 20)

static const struct ar_files_arg args[] = {
	{ "path", "Only what is below this path; left out: all of the workspace.", AR_FILES_STR, false,
	  offsetof(struct ar_files_args, path), 0, AR_FILES_PATH_MAX, 0 },
	{ "offset", "Number of the first line wanted, counted from 1.", AR_FILES_INT, false,
	  offsetof(struct ar_files_args, offset), 1, INT32_MAX, 1 },
	{ "limit", "How many lines at most.", AR_FILES_INT, false, offsetof(struct ar_files_args, limit), 1,
	  10000, 1000 },
};

static void run(struct ar_files_work *w)
{
	const char *words[] = { "status",   "--porcelain=v1",
				"--branch", "--untracked-files=normal",
				"--",	    w->args.path.len ? w->args.path.p : ".",
				NULL };
	AR_AUTO(ar_buf_fini) struct ar_buf printed = { .cap = PRINTED_MAX };

	if (!ar_git_run(w, words, &printed))
		return;
	ar_git_show(w, &printed, "git_status");
	if (w->args.offset == 1 &&
	    !memchr(printed.p ? printed.p : "", '\n', printed.len ? printed.len - 1 : 0))
		ar_buf_addz(&w->text, "(nothing is changed)");
}

const struct ar_files_kind ar_files_git_status = {
	.name = "git_status",
	.title = "Changed files",
	.description =
		"Shows the branch of the workspace's git repository and the files that differ from its last "
		"commit, in the short form of git status: two letters for index and working tree (M changed, "
		"A "
		"added, D deleted, R renamed, ?? not known to git), then the path.",
	.is_idempotent = true,
	.args = args,
	.arg_count = AR_ARRAY_LEN(args),
	.run = run,
};
