/* See git.h. The process itself is child.c's. */
#include "git/git.h"

#include "git/child.h"
#include "shown.h"
#include "workspace.h"
#include "write/lines.h"

#include <string.h>

#define LINE_SHOWN ((size_t)2000)

static void fail_with(struct ar_files_work *w, const struct ar_buf *said)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

	ar_shown_add_text(&text, ar_line_trimmed(ar_buf_str(said)));
	if (memmem(text.p ? text.p : "", text.len, "not a git repository", 20))
		ar_files_fail(w, "not_a_repository", "Use list_files and read_file instead.",
			      "The workspace is not a git repository.");
	else
		ar_files_fail(w, "tool_error", "Correct what git names, or use other arguments.",
			      "git failed: %.*s", AR_STR_ARG(ar_buf_str(&text)));
}

bool ar_git_run(struct ar_files_work *w, const char *const *args, struct ar_buf *ret)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(w);
	struct ar_git_child c;

	if (root < 0 || !ar_git_child_open(w, w->workspace.p, args, &c))
		return false;
	ar_git_child_drain(&c, ret);
	bool is_ok = ar_git_child_close(&c);

	if (c.is_late)
		ar_files_fail(w, "timeout", "Name a path to look at less.", "git took too long.");
	else if (!is_ok)
		fail_with(w, &c.said);
	ar_git_child_fini(&c);
	return !ar_files_failed(w);
}

static bool add_line(struct ar_files_work *w, struct ar_str line)
{
	struct ar_str bare = ar_line_bare(line), shown = ar_str_utf8_prefix(bare, LINE_SHOWN);

	if (!ar_files_fits(w, LINE_SHOWN * 3 + 200))
		return false;
	ar_shown_add_text(&w->text, shown);
	ar_buf_addz(&w->text, shown.len < bare.len ? " [line cut here]\n" : "\n");
	return true;
}

void ar_git_show(struct ar_files_work *w, const struct ar_buf *printed, const char *call)
{
	struct ar_lines lines = { 0 };
	size_t from = (size_t)w->args.offset - 1, i;

	if (!ar_lines_split(&w->arena, ar_buf_str(printed), &lines) || printed->failed)
		ar_buf_addz(&w->text, "(not complete: git printed more than can be kept; name a path)\n");
	for (i = from; i < lines.count && i - from < (size_t)w->args.limit; i++) {
		if (!add_line(w, lines.at[i]))
			break;
	}
	if (i < lines.count)
		ar_buf_addf(&w->text, "(%zu of %zu lines; call %s with offset=%zu for more)", i - from,
			    lines.count, call, i + 1);
}
