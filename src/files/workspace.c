/* See workspace.h: the sentences for what beneath.c refuses. What is read or listed is not known here. */
#include "workspace.h"

#include "beneath.h"
#include "shown.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void ar_workspace_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int ar_workspace_open(struct ar_files_work *w)
{
	if (ar_str_empty(w->workspace)) {
		ar_files_fail(w, "not_configured", "Set tools.workspace to the folder that tools may read.",
			      "There is no workspace to read.");
		w->outcome = AR_TOOL_NOT_RUN;
		return -1;
	}
	int fd = w->workspace.p[0] == '/' ? open(w->workspace.p, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd < 0) {
		ar_files_fail(w, "not_configured",
			      "Check that tools.workspace names an existing folder by its absolute path.",
			      "The workspace cannot be opened.");
		w->outcome = AR_TOOL_NOT_RUN;
	}
	return fd;
}

/* The part of an absolute path below the workspace; absent: it is not below. */
static struct ar_str below(struct ar_str workspace, struct ar_str path)
{
	while (workspace.len > 0 && workspace.p[workspace.len - 1] == '/')
		workspace.len--;
	if (!ar_str_starts(path, workspace) || (path.len > workspace.len && path.p[workspace.len] != '/'))
		return AR_STR_NONE;
	return ar_str_sub(path, workspace.len, path.len);
}

struct ar_str ar_workspace_path(struct ar_files_work *w, struct ar_str named)
{
	struct ar_str path = ar_shown_read_path(&w->arena, named);
	bool is_inside = false;

	if (path.len > 0 && path.p[0] == '/') {
		struct ar_str rest = below(w->workspace, path);

		is_inside = !ar_str_absent(rest);
		path = is_inside ? rest : path;
	}
	while (is_inside && path.len > 0 && path.p[0] == '/')
		path = ar_str_sub(path, 1, path.len);
	while (path.len > 1 && path.p[path.len - 1] == '/')
		path.len--;
	while (ar_str_starts(path, AR_STR("./")) && path.len > 2)
		path = ar_str_sub(path, 2, path.len);
	return ar_str_empty(path) ? AR_STR(".") : ar_arena_str(&w->arena, path);
}

struct refusal {
	int code;
	const char *category, *sentence, *advice;
};

#define FIND_IT "Look for it with find_files, or list its folder with list_files."

static const struct refusal refusals[] = {
	{ ENOENT, "not_found", "'%s' does not exist in the workspace.", FIND_IT },
	{ ENOTDIR, "not_found", "A part of '%s' is a file, not a folder.", FIND_IT },
	{ EXDEV, "outside_workspace",
	  "'%s' leads out of the workspace: it is absolute, climbs above it, or goes through a link that is "
	  "absolute or climbs out.",
	  "Use a path inside the workspace, relative to it. What lies outside cannot be read with this "
	  "tool." },
	{ ELOOP, "outside_workspace", "'%s' contains links that are broken or are never followed.",
	  "Use a path without these links." },
	{ EACCES, "permission", "'%s' may not be read or changed by the user that tools run as.",
	  "Use another file, or tell the user." },
	{ EPERM, "permission", "'%s' may not be read or changed by the user that tools run as.",
	  "Use another file, or tell the user." },
	{ EROFS, "protected",
	  "'%s' is read-only here: it is a protected path, or the sandbox allows no writing.",
	  "Do not change it; tell the user if it must be changed." },
	{ EBUSY, "protected", "'%s' is protected and cannot be replaced.",
	  "Do not change it; tell the user if it must be changed." },
	{ ENOSPC, "no_space", "There is no space left for '%s'.", "Tell the user." },
	{ EDQUOT, "no_space", "There is no space left for '%s'.", "Tell the user." },
	{ EFBIG, "too_large", "'%s' would be larger than a file may be here.", "Write less." },
	{ ENAMETOOLONG, "invalid_arguments", "'%s' has a name that is too long.", "Use a shorter path." },
	{ EAGAIN, "busy", "'%s' is renamed again and again.", "Try again later." },
};

static const struct refusal other_refusal = { 0, "io", "'%s' cannot be read.",
					      "Try again, or use another file." };

/* The sentences of the table hold the one %s that is filled here. */
void ar_workspace_refuse(struct ar_files_work *w, struct ar_str path, int code)
{
	const struct refusal *r = &other_refusal;

	for (size_t i = 0; i < AR_ARRAY_LEN(refusals); i++) {
		if (refusals[i].code == code)
			r = &refusals[i];
	}
	struct ar_str before, after = ar_str_split(ar_str_from(r->sentence), '%', &before);

	if (!ar_files_failed(w) && (code == EXDEV || code == EROFS || code == EBUSY)) {
		w->denied = ar_shown_path(&w->arena, path);
		w->denied_errno = code;
	}
	ar_files_fail(w, r->category, r->advice, "%.*s%s%s", AR_STR_ARG(before),
		      ar_shown_path(&w->arena, path).p, after.p + 1);
}

bool ar_workspace_stat(struct ar_files_work *w, int root, struct ar_str path, struct stat *ret)
{
	AR_AUTO(ar_workspace_closep) int fd = ar_beneath_open(root, path.p, O_PATH, true);

	if (fd >= 0 && fstat(fd, ret) == 0)
		return true;
	ar_workspace_refuse(w, path, errno);
	return false;
}

/* Opened only if it was regular a moment ago, without waiting for a peer, and looked at again: a fifo
 * that was put there meanwhile is closed unread. */
static int open_regular(int folder, const char *path, bool follows_links, struct stat *ret_stat)
{
	int fd = ar_beneath_open(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, follows_links);

	if (fd < 0)
		return -1;
	if (fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

int ar_workspace_open_file(struct ar_files_work *w, int root, struct ar_str path, struct stat *ret_stat)
{
	if (!ar_workspace_stat(w, root, path, ret_stat))
		return -1;
	if (S_ISDIR(ret_stat->st_mode)) {
		ar_files_fail(w, "not_a_file", "Use list_files for its contents.", "'%s' is a folder.",
			      ar_shown_path(&w->arena, path).p);
		return -1;
	}
	int fd = S_ISREG(ret_stat->st_mode) ? open_regular(root, path.p, true, ret_stat) : -1;

	if (fd < 0 && (!S_ISREG(ret_stat->st_mode) || errno == EINVAL))
		ar_files_fail(w, "not_a_file", "Use a regular file.",
			      "'%s' is a fifo, socket or device; these are never read.",
			      ar_shown_path(&w->arena, path).p);
	else if (fd < 0)
		ar_workspace_refuse(w, path, errno);
	return fd;
}

int ar_workspace_open_folder(struct ar_files_work *w, int root, struct ar_str path)
{
	struct stat st;

	if (!ar_workspace_stat(w, root, path, &st))
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		ar_files_fail(w, "not_a_folder",
			      "Use read_file for its contents, or name the folder that it is in.",
			      "'%s' is not a folder.", ar_shown_path(&w->arena, path).p);
		return -1;
	}
	int fd = ar_beneath_open(root, path.p, O_RDONLY | O_DIRECTORY, true);

	if (fd < 0)
		ar_workspace_refuse(w, path, errno);
	return fd;
}

int ar_workspace_reopen_file(int folder, const char *path, struct stat *ret_stat)
{
	return open_regular(folder, path, false, ret_stat);
}

int ar_workspace_reopen_folder(int folder, const char *path)
{
	return ar_beneath_open(folder, path, O_RDONLY | O_DIRECTORY, false);
}

size_t ar_workspace_read_link(int folder, const char *path, char *ret_target, size_t room)
{
	AR_AUTO(ar_workspace_closep)
	int fd = ar_beneath_open(folder, path, O_PATH | O_NOFOLLOW, false);
	ssize_t len = fd < 0 ? -1 : readlinkat(fd, "", ret_target, room);

	return len > 0 ? (size_t)len : 0;
}
