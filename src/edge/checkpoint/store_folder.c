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

/* ---- folders of sessions and agents ---- */

#define SESSIONS "sessions"
#define DEPTH_MAX 3 /* below it: session, agent, files */

/* One name of the path, as a text that ends; false: there is none, or not one that we make. */
static bool take_name(struct ar_str *rest, char name[AR_STORE_NAME_MAX])
{
	struct ar_str part;

	*rest = ar_str_split(*rest, '/', &part);
	if (ar_str_empty(part) || part.p[0] == '.' || part.len >= AR_STORE_NAME_MAX)
		return false;
	memcpy(name, part.p, part.len);
	name[part.len] = '\0';
	return true;
}

/* The last folder of `rest`, made below the one that is open, which is closed; -1: errno says why. */
static int make_path(int at, struct ar_str rest)
{
	char name[AR_STORE_NAME_MAX];

	for (int depth = 0; at >= 0 && !ar_str_empty(rest); depth++) {
		AR_AUTO(ar_fd_close) int above = at;

		if (depth == DEPTH_MAX || !take_name(&rest, name)) {
			errno = EINVAL;
			return -1;
		}
		at = make_below(above, name);
	}
	return at;
}

/* It belongs to whom the origin does: one map of ids in the sandbox serves both. */
static bool give_like(int files, const struct stat *owner)
{
	struct stat st;

	if (fstat(files, &st) != 0)
		return false;
	if (st.st_uid == owner->st_uid && st.st_gid == owner->st_gid)
		return true;
	errno = EPERM;
	return st.st_uid == geteuid() && fchown(files, owner->st_uid, owner->st_gid) == 0;
}

enum ar_status ar_own_folder_make(const struct ar_store_folder *f, struct ar_str path, struct ar_arena *a,
				  struct ar_error *err)
{
	struct ar_str above = ar_arena_fmt(a, "%.*s/%s/%s", AR_STR_ARG(f->dir), f->tenant, f->workspace);
	struct ar_str prefix = ar_arena_fmt(a, "%.*s/" SESSIONS "/", AR_STR_ARG(above));
	AR_AUTO(ar_fd_close) int workspace = -1;
	AR_AUTO(ar_fd_close) int files = -1;
	struct stat owner;

	if (!ar_str_starts(path, prefix))
		return AR_OK;
	workspace = open(above.p, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	files = workspace < 0
			? -1
			: make_path(make_below(workspace, SESSIONS), ar_str_sub(path, prefix.len, path.len));
	if (files >= 0 && stat_folder(ar_arena_str(a, f->folder).p, &owner) && give_like(files, &owner))
		return AR_OK;
	return ar_fail(err, AR_E_UNAVAILABLE, "a folder below workspaces.dir cannot be made: %s",
		       strerror(errno));
}

bool ar_own_folder_is_gone(struct ar_str path, struct ar_arena *a)
{
	struct stat st;

	return lstat(ar_arena_str(a, path).p, &st) != 0 && errno == ENOENT;
}

enum ar_status ar_own_folder_remove(struct ar_str path, struct ar_arena *a, struct ar_error *err)
{
	char *name = ar_arena_alloc(a, path.len + 1);

	memcpy(name, path.p, path.len);
	if (rmdir(name) != 0)
		return ar_fail(err, AR_E_UNAVAILABLE, "the empty folder cannot be removed: %s",
			       strerror(errno));
	for (int above = 1; above < DEPTH_MAX; above++) {
		*strrchr(name, '/') = '\0';
		if (ar_str_ends(ar_str_from(name), AR_STR("/" SESSIONS)) || rmdir(name) != 0)
			break;
	}
	return AR_OK;
}
