/* See clear.h. A descriptor is open for each level, so the depth has a limit. */
#include "isolation/clear.h"

#include "checkpoint/scan.h"
#include "workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 512

static bool clear_level(struct ar_files_work *w, int folder, unsigned depth);

static bool fail(struct ar_files_work *w)
{
	ar_files_fail(w, "io", "Tell the operator.", "The folder of the session cannot be emptied: %s.",
		      strerror(errno));
	return false;
}

/* A folder that its owner may not enter is opened up first. */
static int open_level(int folder, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(folder, name, flags);

	if (fd >= 0 || errno != EACCES || fchmodat(folder, name, 0700, 0) != 0)
		return fd;
	return openat(folder, name, flags);
}

static bool remove_name(struct ar_files_work *w, int folder, const char *name, unsigned depth)
{
	if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
		return true;
	if (errno != EISDIR && errno != EPERM)
		return fail(w);
	errno = ELOOP;
	AR_AUTO(ar_workspace_closep) int fd = depth < DEPTH_MAX ? open_level(folder, name) : -1;

	if (fd < 0)
		return fail(w);
	return clear_level(w, fd, depth + 1) && (unlinkat(folder, name, AT_REMOVEDIR) == 0 || fail(w));
}

static bool is_itself(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool remove_names(struct ar_files_work *w, DIR *dir, unsigned depth)
{
	struct dirent *d;

	while ((errno = 0, d = readdir(dir)) != NULL) {
		if (ar_files_is_late(w)) {
			errno = ETIME;
			return fail(w);
		}
		if (!is_itself(d->d_name) && !remove_name(w, dirfd(dir), d->d_name, depth))
			return false;
	}
	return errno == 0 || fail(w);
}

static bool clear_level(struct ar_files_work *w, int folder, unsigned depth)
{
	int fd;
	DIR *dir;
	bool is_ok;

	(void)fchmod(folder, 0700); /* its owner must be able to remove names */
	fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		is_ok = fail(w);
		ar_workspace_closep(&fd);
		return is_ok;
	}
	is_ok = remove_names(w, dir, depth);
	closedir(dir);
	return is_ok;
}

bool ar_clear_folder(struct ar_files_work *w, int folder)
{
	return clear_level(w, folder, 0);
}
