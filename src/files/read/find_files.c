/* find_files: files whose path matches a pattern, the newest first. The walk is walk.c's, matching
 * pattern.c's. */
#include "mem.h"
#include "read/pattern.h"
#include "shown.h"
#include "read/walk.h"
#include "workspace.h"

#include <stdlib.h>

static const struct ar_files_arg args[] = {
	{ "pattern",
	  "Pattern for names, for example *.c, src/**/*.ts or {Makefile,*.mk}. Without a slash it is "
	  "compared with the name of each file, with "
	  "one with the whole path from the folder.",
	  AR_FILES_STR, true, offsetof(struct ar_files_args, pattern), 1, AR_PATTERN_TEXT_MAX, 0 },
	{ "path", "Folder to look in, relative to the workspace; left out: the workspace itself.",
	  AR_FILES_STR, false, offsetof(struct ar_files_args, path), 0, AR_FILES_PATH_MAX, 0 },
	{ "limit", "How many files at most.", AR_FILES_INT, false, offsetof(struct ar_files_args, limit), 1,
	  2000, 200 },
};

struct found {
	struct ar_walk_entry *entries;
	size_t count, room;
};

static void found_fini(struct found *f)
{
	ar_free(f->entries);
}

/* Newest first, then by path: the same order every time. */
static int compare(const void *left, const void *right)
{
	const struct ar_walk_entry *a = left, *b = right;

	if (a->changed != b->changed)
		return a->changed > b->changed ? -1 : 1;
	return ar_str_cmp(a->path, b->path);
}

static void collect(struct ar_walk *k, struct ar_pattern *p, struct found *f)
{
	struct ar_walk_entry e;
	size_t from;

	while (ar_walk_next(k, &e)) {
		if (S_ISDIR(e.mode) || ar_pattern_find(p, e.path, &from) != AR_PATTERN_YES)
			continue;
		if (f->count == f->room) {
			f->room = f->room ? f->room * 2 : 64;
			f->entries = ar_grow(f->entries, f->room, sizeof(*f->entries));
		}
		f->entries[f->count++] = e;
	}
	if (f->count > 0)
		qsort(f->entries, f->count, sizeof(*f->entries), compare);
}

static void add_path(struct ar_files_work *w, struct ar_str folder, struct ar_str path)
{
	struct ar_str parts[] = { folder, AR_STR("/"), path };

	if (ar_str_is(folder, "."))
		ar_shown_add_path(&w->text, path);
	else
		ar_shown_add_path(&w->text, ar_arena_join(&w->arena, parts, 3));
	ar_buf_addc(&w->text, '\n');
}

static void show(struct ar_files_work *w, const struct ar_walk *k, const struct found *f,
		 struct ar_str folder)
{
	size_t shown = 0;

	/* At most four bytes for one of a path: an escape. */
	while (shown < f->count && shown < (size_t)w->args.limit &&
	       ar_files_fits(w, 4 * (folder.len + f->entries[shown].path.len) + 8))
		add_path(w, folder, f->entries[shown++].path);
	if (shown < f->count)
		ar_buf_addf(&w->text, "(the newest %zu of %zu files; use a narrower pattern for others)",
			    shown, f->count);
	else
		ar_buf_addf(&w->text,
			    shown ? "(%zu file%s, newest first)" : "(no file has such a name; %zu file%s)",
			    shown, shown == 1 ? "" : "s");
	if (k->is_cut)
		ar_buf_addz(&w->text, " (not complete: there is too much to look at; name a folder in path)");
	ar_walk_report_unreadable(k, &w->text);
}

static void run(struct ar_files_work *w)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(w);
	struct ar_str path = ar_workspace_path(w, w->args.path);
	AR_AUTO(ar_workspace_closep) int folder = root < 0 ? -1 : ar_workspace_open_folder(w, root, path);
	struct ar_error err = { 0 };
	AR_AUTO(ar_pattern_freep)
	struct ar_pattern *p = folder < 0 ? NULL : ar_pattern_new_glob(w->args.pattern, &err);
	AR_AUTO(found_fini) struct found f = { 0 };

	if (folder < 0)
		return;
	if (!p) {
		ar_files_fail(w, "invalid_arguments", "Use a pattern like *.c or src/**/*.ts.",
			      "The pattern cannot be read: %s.", err.msg);
		return;
	}
	AR_AUTO(ar_walk_fini)
	struct ar_walk k = {
		.work = w,
		.folder = folder,
		.max_depth = AR_WALK_DEPTH_MAX,
		.shows_hidden = true,
		.named = { path, w->args.pattern },
	};

	collect(&k, p, &f);
	show(w, &k, &f, path);
}

const struct ar_files_kind ar_files_find_files = {
	.name = "find_files",
	.title = "Find files by name",
	.is_idempotent = true,
	.description = "Finds files of the workspace by a pattern for their names and returns their paths, "
		       "the most recently changed first. "
		       "* and ? match within a name, ** also across folders, [abc] one of these characters, "
		       "{a,b} one of these texts. "
		       "The folders .git and node_modules are left out unless path or pattern names them.",
	.args = args,
	.arg_count = AR_ARRAY_LEN(args),
	.run = run,
};
