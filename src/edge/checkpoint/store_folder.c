/* See store_folder.h. Only folders that are this process's own are gone through; the last one, which a
 * sandboxed process writes, is opened and nothing in it. */
#include "store_folder.h"

#include "io/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE "checkpoints"

/* The folder with that name in the one that is open; made if it is not there. -1: errno says why. */
static int make_below(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, 0700) == 0) {
		if (fsync(parent) != 0)
			return -1;
	} else if (errno != EEXIST) {
		return -1;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd;
}

static bool stat_folder(const char *path, struct stat *ret)
{
	AR_AUTO(ar_fd_close) int fd = ar_fd_open_folder(path);

	return fd >= 0 && fstat(fd, ret) == 0;
}

/* A store that is new is given away; one that belongs to somebody else stays as it is. */
static enum ar_status give_away(int store, const struct stat *owner, struct ar_error *err)
{
	struct stat st;

	if (fstat(store, &st) == 0 && st.st_uid == owner->st_uid && st.st_gid == owner->st_gid)
		return AR_OK;
	if (st.st_uid == geteuid() && fchown(store, owner->st_uid, owner->st_gid) == 0)
		return AR_OK;
	return ar_fail(
		err, AR_E_UNAVAILABLE,
		"the store of checkpoints belongs to user %u, the workspace to user %u; delete the store "
		"or give the workspace back",
		(unsigned)st.st_uid, (unsigned)owner->st_uid);
}

static enum ar_status make_store(const struct ar_store_folder *f, const struct stat *owner,
				 struct ar_error *err)
{
	AR_AUTO(ar_fd_close) int dir = open(f->dir.p, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AR_AUTO(ar_fd_close) int tenant = dir < 0 ? -1 : make_below(dir, f->tenant);
	AR_AUTO(ar_fd_close) int workspace = tenant < 0 ? -1 : make_below(tenant, f->workspace);
	AR_AUTO(ar_fd_close) int store = workspace < 0 ? -1 : make_below(workspace, STORE);

	if (store < 0)
		return ar_fail(err, AR_E_UNAVAILABLE,
			       "a store of checkpoints below workspaces.dir cannot be made: %s",
			       strerror(errno));
	return give_away(store, owner, err);
}

enum ar_status ar_store_folder_make(const struct ar_store_folder *f, struct ar_arena *a, struct ar_str *ret,
				    struct ar_error *err)
{
	struct stat owner;
	enum ar_status rc;

	if (!stat_folder(ar_arena_str(a, f->folder).p, &owner))
		return ar_fail(err, AR_E_UNAVAILABLE, "the folder of the workspace cannot be opened: %s",
			       strerror(errno));
	rc = make_store(f, &owner, err);
	if (rc == AR_OK)
		*ret = ar_arena_fmt(a, "%.*s/%s/%s/" STORE, AR_STR_ARG(f->dir), f->tenant, f->workspace);
	return rc;
}
