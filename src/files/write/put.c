/* See put.h. The order is: content durable under another name, rename, folder durable. */
#include "write/put.h"

#include "beneath.h"
#include "io/descriptor.h"
#include "shown.h"
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define NEW_FILE_MODE 0644
#define NEW_FOLDER_MODE 0755

/* ---- folders ---- */

/* Makes the folder at the end of `path` in its parent; true also when somebody else was faster. */
static bool make_folder(struct ar_changes *c, struct ar_str path)
{
	size_t from = path.len;

	while (from > 0 && path.p[from - 1] != '/')
		from--;
	struct ar_str parent =
		from > 0 ? ar_arena_str(&c->work->arena, ar_str_sub(path, 0, from)) : AR_STR(".");
	AR_AUTO(ar_workspace_closep)
	int fd = ar_beneath_open(c->root, parent.p, O_RDONLY | O_DIRECTORY, true);

	return fd >= 0 && (mkdirat(fd, path.p + from, NEW_FOLDER_MODE) == 0 || errno == EEXIST);
}

/* The folder of the file, level by level. */
static bool make_folders(struct ar_changes *c, struct ar_change *f)
{
	struct ar_str all = ar_change_folder(&c->work->arena, f);

	for (size_t i = 1; i <= all.len; i++) {
		if (i < all.len && all.p[i] != '/')
			continue;
		struct ar_str part = ar_arena_str(&c->work->arena, ar_str_sub(all, 0, i));
		AR_AUTO(ar_workspace_closep) int fd = ar_beneath_open(c->root, part.p, O_PATH, true);

		if (part.p[i - 1] == '/' || fd >= 0)
			continue;
		if (errno != ENOENT || !make_folder(c, part))
			return false;
		f->made++;
	}
	f->folder = ar_beneath_open(c->root, all.p, O_RDONLY | O_DIRECTORY, true);
	return f->folder >= 0;
}

static void remove_folders(struct ar_changes *c, struct ar_change *f)
{
	struct ar_str path = ar_change_folder(&c->work->arena, f);

	for (; f->made > 0; f->made--) {
		while (path.len > 0 && path.p[path.len - 1] == '/')
			path.len--;
		size_t from = path.len;

		while (from > 0 && path.p[from - 1] != '/')
			from--;
		struct ar_str parent =
			from > 0 ? ar_arena_str(&c->work->arena, ar_str_sub(path, 0, from)) : AR_STR(".");
		struct ar_str name = ar_arena_str(&c->work->arena, ar_str_sub(path, from, path.len));
		AR_AUTO(ar_workspace_closep) int fd = ar_beneath_open(c->root, parent.p, O_PATH, true);

		if (fd >= 0)
			(void)unlinkat(fd, name.p, AT_REMOVEDIR);
		path.len = from;
	}
}

/* ---- files ---- */

void ar_put_temp_name(char ret[AR_PUT_TEMP_MAX])
{
	uint64_t number = 0;

	(void)!getrandom(&number, sizeof(number), 0);
	snprintf(ret, AR_PUT_TEMP_MAX, ".agent-files-%016llx.tmp", (unsigned long long)number);
}

static int create_temp(struct ar_change *f)
{
	ar_put_temp_name(f->temp);
	return openat(f->folder, f->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* A process that may change owners keeps the owner as it was, or takes the folder's for a new one. */
static void keep_owner(int fd, const struct ar_change *f)
{
	struct stat now, wanted = f->seen;

	if (geteuid() != 0 || fstat(fd, &now) != 0 || (!f->existed && fstat(f->folder, &wanted) != 0))
		return;
	if (now.st_uid != wanted.st_uid || now.st_gid != wanted.st_gid)
		(void)!fchown(fd, wanted.st_uid, wanted.st_gid);
}

/* The content durable under a name of its own; errno says why not. */
static bool write_temp(struct ar_change *f, struct ar_str bytes)
{
	AR_AUTO(ar_workspace_closep) int fd = create_temp(f);

	if (fd < 0) {
		f->temp[0] = '\0';
		return false;
	}
	keep_owner(fd, f);
	return ar_fd_write_all(fd, bytes) && fchmod(fd, f->mode ? f->mode : NEW_FILE_MODE) == 0 &&
	       fsync(fd) == 0;
}

bool ar_put_prepare(struct ar_changes *c, struct ar_change *f)
{
	if ((f->folder < 0 && !make_folders(c, f)) || (f->exists && !write_temp(f, f->after))) {
		ar_workspace_refuse(c->work, f->path, errno);
		return false;
	}
	return true;
}

static bool is_as_read(const struct ar_change *f)
{
	struct stat now;

	if (fstatat(f->folder, f->name.p, &now, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT && !f->existed;
	return f->existed && now.st_ino == f->seen.st_ino && now.st_size == f->seen.st_size &&
	       now.st_mtim.tv_sec == f->seen.st_mtim.tv_sec && now.st_mtim.tv_nsec == f->seen.st_mtim.tv_nsec;
}

static bool move(const struct ar_change *f)
{
	if (!f->exists)
		return unlinkat(f->folder, f->name.p, 0) == 0;
	if (!f->existed) /* never over something that came meanwhile */
		return renameat2(f->folder, f->temp, f->folder, f->name.p, RENAME_NOREPLACE) == 0;
	return renameat(f->folder, f->temp, f->folder, f->name.p) == 0;
}

bool ar_put_finish(struct ar_changes *c, struct ar_change *f)
{
	if (!is_as_read(f)) {
		ar_files_fail(c->work, "conflict", "Read it again, then repeat the change.",
			      "'%s' was changed by somebody else meanwhile.",
			      ar_shown_path(&c->work->arena, f->path).p);
		return false;
	}
	if (!move(f)) {
		ar_workspace_refuse(c->work, f->path, errno);
		return false;
	}
	f->temp[0] = '\0';
	f->is_done = true;
	(void)fsync(f->folder); /* a file system that cannot do this for folders has its own promises */
	return true;
}

void ar_put_back(struct ar_changes *c, struct ar_change *f)
{
	if (f->temp[0])
		(void)unlinkat(f->folder, f->temp, 0);
	f->temp[0] = '\0';
	if (f->is_done && !f->existed)
		(void)unlinkat(f->folder, f->name.p, 0);
	if (f->is_done && f->existed && write_temp(f, f->before))
		(void)renameat(f->folder, f->temp, f->folder, f->name.p);
	remove_folders(c, f);
}
