/* list_files: what is in a folder, in one order. The walk is walk.c's. */
#include "shown.h"
#include "read/walk.h"
#include "workspace.h"

#include <limits.h>

static const struct ar_files_arg args[] = {
	{ "path", "Folder to list, relative to the workspace; left out: the workspace itself.", AR_FILES_STR,
	  false, offsetof(struct ar_files_args, path), 0, AR_FILES_PATH_MAX, 0 },
	{ "depth", "How many levels of folders to show; 1 is the folder alone.", AR_FILES_INT, false,
	  offsetof(struct ar_files_args, depth), 1, 20, 2 },
	{ "hidden", "Show names that begin with a dot, too.", AR_FILES_BOOL, false,
	  offsetof(struct ar_files_args, hidden), 0, 1, 0 },
	{ "limit", "How many entries at most.", AR_FILES_INT, false, offsetof(struct ar_files_args, limit), 1,
	  5000, 500 },
};

static const struct {
	mode_t type;
	const char *word;
} special_words[] = {
	{ S_IFIFO, " (fifo)" },
	{ S_IFSOCK, " (socket)" },
	{ S_IFCHR, " (device)" },
	{ S_IFBLK, " (device)" },
};

static void add_target(struct ar_files_work *w, int folder, struct ar_str path)
{
	char target[PATH_MAX];
	size_t len = ar_workspace_read_link(folder, path.p, target, sizeof(target));

	ar_buf_addz(&w->text, " -> ");
	ar_shown_add_path(&w->text, (struct ar_str){ target, len });
}

static void add_entry(struct ar_files_work *w, int folder, const struct ar_walk_entry *e)
{
	ar_shown_add_path(&w->text, e->path);
	if (S_ISDIR(e->mode))
		ar_buf_addz(&w->text, e->is_closed ? "/ (not opened; name it in path to see it)" : "/");
	if (S_ISREG(e->mode))
		ar_buf_addf(&w->text, "\t%lld", (long long)e->size);
	if (S_ISLNK(e->mode))
		add_target(w, folder, e->path);
	for (size_t i = 0; i < AR_ARRAY_LEN(special_words); i++) {
		if ((e->mode & S_IFMT) == special_words[i].type)
			ar_buf_addz(&w->text, special_words[i].word);
	}
	ar_buf_addc(&w->text, '\n');
}

/* At most: every byte of the path, and of the target of a link, escaped. */
static size_t room_of(const struct ar_walk_entry *e)
{
	return 4 * (e->path.len + (S_ISLNK(e->mode) ? (size_t)e->size : 0)) + 100;
}

static void list(struct ar_files_work *w, struct ar_walk *k)
{
	struct ar_walk_entry e;
	int64_t shown = 0;

	while (ar_walk_next(k, &e)) {
		if (shown == w->args.limit || !ar_files_fits(w, room_of(&e))) {
			ar_buf_addf(&w->text,
				    "(more than %lld entries; list a folder below, or use less depth)",
				    (long long)shown);
			return;
		}
		add_entry(w, k->folder, &e);
		shown++;
	}
	if (k->is_cut)
		ar_buf_addz(&w->text, "(not complete: the folder is too large; list a folder below)");
	else if (shown == 0)
		ar_buf_addz(&w->text, w->args.hidden ? "(the folder is empty)"
						     : "(nothing, or only hidden names: use hidden=true)");
	else
		ar_buf_addf(&w->text, "(%lld entr%s)", (long long)shown, shown == 1 ? "y" : "ies");
	ar_walk_report_unreadable(k, &w->text);
}

static void run(struct ar_files_work *w)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(w);
	struct ar_str path = ar_workspace_path(w, w->args.path);
	AR_AUTO(ar_workspace_closep) int folder = root < 0 ? -1 : ar_workspace_open_folder(w, root, path);

	if (folder < 0)
		return;
	AR_AUTO(ar_walk_fini)
	struct ar_walk k = {
		.work = w,
		.folder = folder,
		.max_depth = (uint32_t)w->args.depth,
		.shows_hidden = w->args.hidden,
		.named = { path, AR_STR_NONE },
	};

	ar_buf_addz(&w->text, "In ");
	ar_shown_add_path(&w->text, path);
	ar_buf_addz(&w->text, ":\n");
	list(w, &k);
}

const struct ar_files_kind ar_files_list_files = {
	.name = "list_files",
	.title = "List files",
	.is_idempotent = true,
	.description = "Lists a folder of the workspace, sorted by name: one path per line relative to that "
		       "folder, folders with a slash "
		       "at the end, files with a tab and their size in bytes, links with their target. Use "
		       "find_files to look for names "
		       "and search_files to look into files.",
	.args = args,
	.arg_count = AR_ARRAY_LEN(args),
	.run = run,
};
