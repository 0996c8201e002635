/* See changes.h: reading what is there, and putting all in place or nothing. Folders and single files
 * are put.c's, the record record.c's. */
#include "write/changes.h"

#include "beneath.h"
#include "git/repository.h"
#include "shown.h"
#include "workspace.h"
#include "write/put.h"
#include "write/record.h"
#include "write/versions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool ar_changes_begin(struct ar_changes *c, struct ar_files_work *w, bool creates_folders)
{
	*c = (struct ar_changes){ .work = w, .creates_folders = creates_folders };
	c->root = ar_workspace_open(w);
	return c->root >= 0;
}

void ar_changes_fini(struct ar_changes *c)
{
	for (size_t i = 0; i < c->count; i++)
		ar_workspace_closep(&c->at[i]->folder);
	ar_workspace_closep(&c->root);
}

static bool is_name(struct ar_str name)
{
	return !ar_str_empty(name) && !ar_str_is(name, ".") && !ar_str_is(name, "..");
}

static struct ar_str last_name(struct ar_str path)
{
	size_t from = path.len;

	while (from > 0 && path.p[from - 1] != '/')
		from--;
	return ar_str_sub(path, from, path.len);
}

struct ar_str ar_change_folder(struct ar_arena *a, const struct ar_change *f)
{
	size_t len = f->path.len - f->name.len;

	return len == 0 ? AR_STR(".") : ar_arena_str(a, ar_str_sub(f->path, 0, len));
}

static struct ar_change *refuse_file(struct ar_changes *c, const struct ar_change *f, const char *category,
				     const char *advice, const char *what)
{
	ar_files_fail(c->work, category, advice, "'%s' %s.", ar_shown_path(&c->work->arena, f->path).p, what);
	return NULL;
}

static bool read_whole(struct ar_changes *c, struct ar_change *f, int fd)
{
	size_t len = (size_t)f->seen.st_size, got = 0;
	char *bytes = ar_arena_alloc(&c->work->arena, len + 1);

	while (got < len) {
		ssize_t n = read(fd, bytes + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	f->before = f->after = (struct ar_str){ bytes, got };
	c->bytes += got;
	return got == len;
}

/* What stands at its name now; false with the failure in the work. */
static bool read_file(struct ar_changes *c, struct ar_change *f)
{
	AR_AUTO(ar_workspace_closep)
	int fd = openat(f->folder, f->name.p, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return true;
	if (fd < 0 && errno == ELOOP)
		return refuse_file(c, f, "is_link", "Name the file that it points to.",
				   "is a link; links are never written through");
	if (fd < 0 && errno != ENXIO) {
		ar_workspace_refuse(c->work, f->path, errno);
		return false;
	}
	if (fd < 0 || fstat(fd, &f->seen) != 0 || !S_ISREG(f->seen.st_mode))
		return refuse_file(c, f, "not_a_file", "Name a regular file.", "is not a regular file");
	if ((size_t)f->seen.st_size > AR_CHANGES_FILE_MAX ||
	    c->bytes + (size_t)f->seen.st_size > AR_CHANGES_BYTES_MAX)
		return refuse_file(c, f, "too_large",
				   "Change it with a command, or change fewer files at once.",
				   "is too large to be kept for an undo (8 MiB each, 24 MiB in all)");
	f->existed = f->exists = true;
	f->mode = f->seen.st_mode & 0777;
	if (!read_whole(c, f, fd))
		return refuse_file(c, f, "conflict", "Try again.", "changes while it is read");
	return true;
}

/* The same file under another path: two changes of it would undo each other. */
static bool is_alias(const struct ar_change *a, const struct ar_change *b)
{
	struct stat one, two;

	return a->folder >= 0 && b->folder >= 0 && ar_str_eq(a->name, b->name) &&
	       fstat(a->folder, &one) == 0 && fstat(b->folder, &two) == 0 && one.st_dev == two.st_dev &&
	       one.st_ino == two.st_ino;
}

static bool open_folder(struct ar_changes *c, struct ar_change *f)
{
	f->folder = ar_beneath_open(c->root, ar_change_folder(&c->work->arena, f).p, O_RDONLY | O_DIRECTORY,
				    true);
	if (f->folder >= 0 || (errno == ENOENT && c->creates_folders))
		return true;
	if (errno == ENOENT)
		return refuse_file(c, f, "not_found", "Use createDirs=true to create it.",
				   "is in a directory that does not exist");
	ar_workspace_refuse(c->work, f->path, errno);
	return false;
}

static struct ar_change *open_change(struct ar_changes *c, struct ar_change *f)
{
	if (!open_folder(c, f))
		return NULL;
	for (size_t i = 0; i < c->count; i++) {
		if (is_alias(c->at[i], f)) {
			ar_workspace_closep(&f->folder);
			return refuse_file(c, f, "invalid_arguments", "Name each file by one path.",
					   "is the same file as another path of this call");
		}
	}
	c->at[c->count++] = f;
	if (f->folder >= 0 && !read_file(c, f))
		return NULL;
	return f;
}

struct ar_change *ar_changes_file(struct ar_changes *c, struct ar_str named)
{
	struct ar_files_work *w = c->work;
	struct ar_change *f = ar_arena_alloc(&w->arena, sizeof(*f));

	f->path = ar_workspace_path(w, named);
	f->name = last_name(f->path);
	f->folder = -1;
	for (size_t i = 0; i < c->count; i++) {
		if (ar_str_eq(c->at[i]->path, f->path))
			return c->at[i];
	}
	if (!is_name(f->name))
		return refuse_file(c, f, "not_a_file", "Name a file.", "is a folder");
	if (c->count == AR_CHANGES_MAX)
		return refuse_file(c, f, "too_large", "Change fewer files at once.",
				   "is one file too many: 256 can be changed at once");
	return open_change(c, f);
}

/* ---- all or nothing ---- */

bool ar_change_is_none(const struct ar_change *f)
{
	return f->existed == f->exists && (!f->exists || ar_str_eq(f->before, f->after)) &&
	       (!f->exists || !f->existed || f->mode == (f->seen.st_mode & 0777));
}

static bool check_sizes(struct ar_changes *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->at[i]->exists && c->at[i]->after.len > AR_CHANGES_FILE_MAX)
			return refuse_file(c, c->at[i], "too_large", "Write it in parts with a command.",
					   "would have more than 8 MiB");
	}
	return true;
}

/* When all are in place: several files may make a repository together. */
static bool check_repositories(struct ar_changes *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->at[i]->is_done && ar_repository_has(c, c->at[i]))
			return refuse_file(c, c->at[i], "protected",
					   "Do not change it; tell the user if it must be changed.",
					   "belongs to a git repository inside the workspace, from which git "
					   "would run commands");
	}
	return true;
}

static bool put_all(struct ar_changes *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (!ar_change_is_none(c->at[i]) && !ar_put_prepare(c, c->at[i]))
			return false;
	}
	for (size_t i = 0; i < c->count; i++) {
		if (!ar_change_is_none(c->at[i]) && !ar_put_finish(c, c->at[i]))
			return false;
	}
	return check_repositories(c);
}

bool ar_changes_commit(struct ar_changes *c)
{
	if (!check_sizes(c))
		return false;
	bool is_done = put_all(c);

	for (size_t i = c->count; i > 0; i--) {
		if (!is_done)
			ar_put_back(c, c->at[i - 1]);
	}
	if (!is_done)
		return false;
	c->work->changes = ar_record_write(c);
	c->work->versions = ar_versions_write(c);
	return true;
}
