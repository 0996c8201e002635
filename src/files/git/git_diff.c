/* git_diff: what differs from the index or the last commit, as a unified diff. Running git is git.c's. */
#include "git/git.h"

#include <stdio.h>

#define PRINTED_MAX ((size_t)16 << 20)

static const struct ar_files_arg args[] = {
	{ "path", "Only this file or what is below this folder; left out: all of the workspace.",
	  AR_FILES_STR, false, offsetof(struct ar_files_args, path), 0, AR_FILES_PATH_MAX, 0 },
	{ "staged", "What is staged for the next commit, instead of what is not.", AR_FILES_BOOL, false,
	  offsetof(struct ar_files_args, staged), 0, 1, 0 },
	{ "context", "How many lines to show before and after each change.", AR_FILES_INT, false,
	  offsetof(struct ar_files_args, context), 0, 100, 3 },
	{ "offset", "Number of the first line wanted, counted from 1.", AR_FILES_INT, false,
	  offsetof(struct ar_files_args, offset), 1, INT32_MAX, 1 },
	{ "limit", "How many lines at most.", AR_FILES_INT, false, offsetof(struct ar_files_args, limit), 1,
	  100000, 2000 },
};

static void run(struct ar_files_work *w)
{
	char context[32];
	const char *words[12] = { "diff", "--no-ext-diff", "--no-textconv", "--no-color", context };
	size_t count = 5;
	AR_AUTO(ar_buf_fini) struct ar_buf printed = { .cap = PRINTED_MAX };

	snprintf(context, sizeof(context), "-U%lld", (long long)w->args.context);
	if (w->args.staged)
		words[count++] = "--cached";
	words[count++] = "--";
	words[count] = w->args.path.len ? w->args.path.p : ".";
	if (!ar_git_run(w, words, &printed))
		return;
	ar_git_show(w, &printed, "git_diff");
	if (printed.len == 0)
		ar_buf_addz(&w->text,
			    w->args.staged ? "(nothing is staged)"
					   : "(no difference; files that git does not know are not shown)");
}

const struct ar_files_kind ar_files_git_diff = {
	.name = "git_diff",
	.title = "Show changes",
	.description =
		"Shows what was changed in the workspace's git repository as a unified diff: the working "
		"tree "
		"against the index, or with staged=true the index against the last commit. Long ones come in "
		"parts: use offset and limit to go on, or path for less. Files that git does not know yet "
		"are "
		"listed by git_status.",
	.is_idempotent = true,
	.args = args,
	.arg_count = AR_ARRAY_LEN(args),
	.run = run,
};
