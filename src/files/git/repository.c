/* See repository.h. Every name is reached from the workspace without following a link. */
#include "git/repository.h"

#include "beneath.h"
#include "planted.h"
#include "shown.h"
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NUMBER_MAX 1000

static bool is_there(int folder, const char *prefix, const char *name)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", prefix, name);
	return fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What git takes for a repository, or would when the rest of it comes. */
static bool is_layout(int folder, const char *prefix)
{
	static const char *const parts[] = { "config", "hooks", "objects" };
	bool has_part = false;

	for (size_t i = 0; i < AR_ARRAY_LEN(parts); i++)
		has_part = has_part || is_there(folder, prefix, parts[i]);
	return has_part && is_there(folder, prefix, "HEAD");
}

static bool is_git_name(struct ar_str name)
{
	return name.len == 4 && strncasecmp(name.p, ".git", 4) == 0;
}

/* ---- what file tools leave alone ---- */

static bool names_repository(struct ar_str path)
{
	struct ar_str name;

	while (!ar_str_absent(path)) {
		path = ar_str_split(path, '/', &name);
		if (is_git_name(name))
			return true;
	}
	return false;
}

static bool is_part(struct ar_str name)
{
	return ar_str_is(name, "HEAD") || ar_str_is(name, "config") || ar_str_is(name, "config.worktree") ||
	       ar_str_is(name, "commondir");
}

static bool is_root(const struct ar_changes *c, int folder)
{
	struct stat one, two;

	return fstat(c->root, &one) != 0 || fstat(folder, &two) != 0 ||
	       (one.st_dev == two.st_dev && one.st_ino == two.st_ino);
}

/* Of the workspace's own repository what matters is protected by the boundary. */
bool ar_repository_has(const struct ar_changes *c, const struct ar_change *f)
{
	if (ar_str_starts(f->path, AR_STR(".git/")) || ar_str_is(f->path, ".git"))
		return false;
	return names_repository(f->path) || (is_part(f->name) && is_layout(f->folder, "")) ||
	       (!is_root(c, f->folder) && is_layout(f->folder, "../"));
}

/* ---- requests of the owner of the workspace ---- */

static bool on_found(void *arg, const char *what, const char *path)
{
	struct ar_files_work *w = arg;

	if (strcmp(what, "hide") == 0)
		ar_buf_addz(&w->text, "closed ");
	ar_shown_add_path(&w->text, ar_str_from(path));
	ar_buf_addc(&w->text, '\n');
	return ar_files_fits(w, PATH_MAX);
}

static bool is_over(void *arg)
{
	return ar_files_is_over(arg);
}

void ar_files_repositories(struct ar_files_work *w, struct ar_json args AR_UNUSED)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(w);

	if (root >= 0 && !ar_planted_find(&(struct ar_planted_search){
				 .workspace = root, .is_over = is_over, .found = on_found, .arg = w }))
		ar_buf_addz(&w->text, "(not all: the workspace has too many files)\n");
}

/* Renames to the first free `name.quarantined-N`; the new name is in `to`. */
static bool set_aside(int folder, const char *name, char to[NAME_MAX + 1])
{
	for (int n = 1; n < NUMBER_MAX; n++) {
		int len = snprintf(to, NAME_MAX + 1, "%s.quarantined-%d", name, n);

		if (len > NAME_MAX) {
			errno = ENAMETOOLONG;
			return false;
		}
		if (renameat2(folder, name, folder, to, RENAME_NOREPLACE) == 0)
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static bool disable_head(int folder)
{
	char to[NAME_MAX + 1];

	return set_aside(folder, "HEAD", to) || errno == ENOENT;
}

static void report_change(struct ar_files_work *w, struct ar_str path, const char *now)
{
	ar_buf_addz(&w->text, "quarantined ");
	ar_shown_add_path(&w->text, path);
	ar_buf_addf(&w->text, ": %s\n", now);
}

/* A folder first loses its HEAD, so that it is no repository under its new name either. */
static void quarantine_entry(struct ar_files_work *w, int parent, struct ar_str path, const char *name)
{
	AR_AUTO(ar_workspace_closep) int inner = ar_beneath_open(parent, name, O_PATH | O_DIRECTORY, false);
	char to[NAME_MAX + 1];

	if ((inner >= 0 && !disable_head(inner)) || !set_aside(parent, name, to)) {
		ar_workspace_refuse(w, path, errno);
		return;
	}
	report_change(w, path, ar_arena_fmt(&w->arena, "renamed to %s", to).p);
}

static void quarantine_bare(struct ar_files_work *w, int folder, struct ar_str path)
{
	char to[NAME_MAX + 1];

	if (!is_layout(folder, "")) {
		ar_files_fail(w, "not_found", "`agentctl sandbox repositories` lists those that there are.",
			      "'%s' is not a git repository.", ar_shown_path(&w->arena, path).p);
		return;
	}
	if (!set_aside(folder, "HEAD", to)) {
		ar_workspace_refuse(w, path, errno);
		return;
	}
	report_change(w, path, ar_arena_fmt(&w->arena, "its HEAD is renamed to %s", to).p);
}

/* The path of the .git entry that was named, or that lies in the folder that was; absent: there is none. */
static struct ar_str entry_of(struct ar_files_work *w, int root, struct ar_str path)
{
	struct ar_str inner =
		ar_str_is(path, ".") ? AR_STR(".git") : ar_arena_fmt(&w->arena, "%s/.git", path.p);
	size_t from = path.len;

	while (from > 0 && path.p[from - 1] != '/')
		from--;
	if (is_git_name(ar_str_sub(path, from, path.len)))
		return path;
	AR_AUTO(ar_workspace_closep) int fd = ar_beneath_open(root, inner.p, O_PATH | O_NOFOLLOW, false);

	return fd >= 0 ? inner : AR_STR_NONE;
}

static void quarantine(struct ar_files_work *w, int root, struct ar_str path)
{
	struct ar_str entry = entry_of(w, root, path);
	size_t from = entry.len;
	struct ar_str folder = path;

	while (from > 0 && entry.p[from - 1] != '/')
		from--;
	if (!ar_str_absent(entry))
		folder = from > 0 ? ar_arena_str(&w->arena, ar_str_sub(entry, 0, from - 1)) : AR_STR(".");
	AR_AUTO(ar_workspace_closep)
	int fd = ar_beneath_open(root, folder.p, O_RDONLY | O_DIRECTORY, false);

	if (fd < 0)
		ar_workspace_refuse(w, path, errno);
	else if (ar_str_absent(entry))
		quarantine_bare(w, fd, path);
	else
		quarantine_entry(w, fd, entry, entry.p + from);
}

void ar_files_quarantine(struct ar_files_work *w, struct ar_json args)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(w);
	struct ar_str named = AR_STR_NONE;

	if (root < 0)
		return;
	ar_json_str(ar_json_get(args, "path"), &named);
	if (ar_str_empty(named) || memchr(named.p, '\0', named.len)) {
		ar_files_fail(w, "invalid_arguments", "Name its path in the workspace.", "No path is given.");
		return;
	}
	quarantine(w, root, ar_workspace_path(w, named));
}
