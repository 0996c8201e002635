/* See place.h. Content is written under another name and moved into place, as in write/put.c. It is made
 * durable for all files at once: one that is lost with the machine is still in the store. */
#include "checkpoint/place.h"

#include "beneath.h"
#include "io/descriptor.h"
#include "workspace.h"
#include "write/put.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NEW_FOLDER_MODE 0755
#define X_BITS 0111u

/* ---- the folder ---- */

static size_t folder_len(struct ar_str path)
{
	size_t len = path.len;

	while (len > 0 && path.p[len - 1] != '/')
		len--;
	return len > 0 ? len - 1 : 0;
}

static void leave_folder(struct ar_place *p)
{
	if (p->folder >= 0 && p->folder != p->root)
		close(p->folder);
	p->folder = -1;
}

/* One level down; made if it may be. */
static int step(int folder, const char *name, bool makes)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT || !makes)
		return fd;
	if (mkdirat(folder, name, NEW_FOLDER_MODE) != 0 && errno != EEXIST)
		return -1;
	return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Level by level from the workspace; the path is in p->path. */
static int walk_down(struct ar_place *p, bool makes)
{
	char *name = p->path;
	int fd = p->root;

	while (*name) {
		size_t len = strcspn(name, "/");
		bool is_last = name[len] == '\0';

		name[len] = '\0';
		int next = step(fd, name, makes), code = errno;

		name[len] = is_last ? '\0' : '/';
		if (fd != p->root)
			close(fd);
		errno = code;
		if (next < 0)
			return -1;
		fd = next;
		name += len + !is_last;
	}
	return fd;
}

static bool enter_folder(struct ar_place *p, struct ar_str path, bool makes)
{
	size_t len = folder_len(path);

	if (p->folder >= 0 && strlen(p->path) == len && memcmp(p->path, path.p, len) == 0)
		return true;
	leave_folder(p);
	memcpy(p->path, path.p, len);
	p->path[len] = '\0';
	p->folder = walk_down(p, makes);
	return p->folder >= 0;
}

static const char *name_of(struct ar_str path)
{
	size_t len = folder_len(path);

	return path.p + (len > 0 ? len + 1 : 0);
}

/* ---- one file ---- */

/* 0: it is as it was saved. */
static int check_state(const struct ar_place *p, const char *name, const struct ar_tree_entry *was,
		       struct stat *ret)
{
	if (fstatat(p->folder, name, ret, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT && !was ? 0 : errno == ENOENT ? ESTALE : errno;
	return was && ar_tree_entry_is_same_stat(was, ret) ? 0 : ESTALE;
}

/* A program may be run by all who may read it. */
static mode_t mode_of(uint32_t mode, const struct stat *st, bool existed)
{
	mode_t bits = existed ? st->st_mode & 0777 : 0644;

	return mode == AR_TREE_ENTRY_PROGRAM ? bits | ((bits >> 2) & X_BITS) | S_IXUSR : bits & ~X_BITS;
}

static void keep_owner(int fd, const struct ar_place *p, const struct stat *st, bool existed)
{
	struct stat wanted;

	if (geteuid() != 0)
		return;
	if (existed)
		wanted = *st;
	else if (fstat(p->folder, &wanted) != 0)
		return;
	(void)!fchown(fd, wanted.st_uid, wanted.st_gid);
}

static int write_file(const struct ar_place *p, const char *temp, struct ar_str content, mode_t mode,
		      const struct stat *st)
{
	AR_AUTO(ar_workspace_closep)
	int fd = openat(p->folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	keep_owner(fd, p, st, st->st_mode != 0);
	if (ar_fd_write_all(fd, content) && fchmod(fd, mode) == 0)
		return 0;
	return errno;
}

static int write_link(const struct ar_place *p, const char *temp, struct ar_str content)
{
	char target[4096];

	if (content.len == 0 || content.len >= sizeof(target) || memchr(content.p, '\0', content.len))
		return EINVAL;
	memcpy(target, content.p, content.len);
	target[content.len] = '\0';
	return symlinkat(target, p->folder, temp) == 0 ? 0 : errno;
}

static int move(const struct ar_place *p, const char *temp, const char *name, bool existed)
{
	int failed = existed ? renameat(p->folder, temp, p->folder, name)
			     : renameat2(p->folder, temp, p->folder, name, RENAME_NOREPLACE);

	return failed ? errno : 0;
}

int ar_place_put(struct ar_place *p, struct ar_str path, const struct ar_tree_entry *was, uint32_t mode,
		 struct ar_str content)
{
	const char *name = name_of(path);
	char temp[AR_PUT_TEMP_MAX];
	struct stat st = { 0 };
	int code;

	if (!enter_folder(p, path, true))
		return errno;
	code = check_state(p, name, was, &st);
	if (code)
		return code;
	if (!was || S_ISLNK(st.st_mode))
		st = (struct stat){ 0 };
	ar_put_temp_name(temp);
	if (mode == AR_TREE_ENTRY_LINK)
		code = write_link(p, temp, content);
	else
		code = write_file(p, temp, content, mode_of(mode, &st, st.st_mode != 0), &st);
	if (code == 0)
		code = move(p, temp, name, was != NULL);
	if (code)
		(void)unlinkat(p->folder, temp, 0);
	return code;
}

/* ---- a file like another ---- */

static int copy_bytes(int from, int to)
{
	char part[65536];
	ssize_t n;

	while ((n = read(from, part, sizeof(part))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || !ar_fd_write_all(to, (struct ar_str){ part, (size_t)n }))
			return errno;
	}
	return 0;
}

int ar_place_clone(struct ar_place *p, struct ar_str path, int source, mode_t mode, bool *ret_is_shared)
{
	int code = enter_folder(p, path, true) ? 0 : errno;
	AR_AUTO(ar_workspace_closep)
	int fd = code ? -1
		      : openat(p->folder, name_of(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			       0600);

	if (fd < 0)
		return code ? code : errno;
	keep_owner(fd, p, NULL, false);
	*ret_is_shared = ioctl(fd, FICLONE, source) == 0;
	if (!*ret_is_shared)
		code = lseek(source, 0, SEEK_SET) == 0 ? copy_bytes(source, fd) : errno;
	return code == 0 && fchmod(fd, mode & 0777) != 0 ? errno : code;
}

/* ---- what is gone ---- */

/* From the innermost folder up, as long as nothing else is in it. */
static void remove_folders(struct ar_place *p, struct ar_str path)
{
	char part[AR_TREE_ENTRY_PATH_MAX + 1];
	size_t len = folder_len(path);

	leave_folder(p);
	while (len > 0) {
		struct ar_str folder = { part, len };

		memcpy(part, path.p, len);
		part[len] = '\0';
		if (!enter_folder(p, folder, false) ||
		    unlinkat(p->folder, name_of(folder), AT_REMOVEDIR) != 0)
			return;
		len = folder_len(folder);
	}
}

int ar_place_remove(struct ar_place *p, const struct ar_tree_entry *was)
{
	char path[AR_TREE_ENTRY_PATH_MAX + 1];
	struct ar_str copy = { path, was->path.len };
	struct stat st;
	int code;

	memcpy(path, was->path.p, was->path.len);
	path[was->path.len] = '\0';
	if (!enter_folder(p, copy, false))
		return errno;
	code = check_state(p, name_of(copy), was, &st);
	if (code == 0 && unlinkat(p->folder, name_of(copy), 0) != 0)
		code = errno;
	if (code == 0)
		remove_folders(p, copy);
	return code;
}

bool ar_place_sync(const struct ar_place *p)
{
	AR_AUTO(ar_workspace_closep) int fd = openat(p->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && syncfs(fd) == 0;
}

void ar_place_fini(struct ar_place *p)
{
	leave_folder(p);
}
