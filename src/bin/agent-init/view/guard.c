/* Carve-outs. A read-only mount alone is not enough: renaming its parent removes it. A mount point
 * cannot be renamed, so every folder of the chain is made one. Paths are opened beneath the workspace without
 * links; mounts are put on what was opened, never on a name. */
#include "view/guard.h"

#include "message.h"
#include "sys.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static int open_beneath(int workspace, const char *path)
{
	return sys_openat2(workspace, path, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

static bool is_mount(int fd)
{
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH, 0, &stx) == 0 && (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* Puts what stands there on top of itself. */
static int mount_itself(int fd, uint64_t attrs)
{
	int tree = sys_clone_tree(fd, ""), failed, saved;

	if (tree < 0)
		return -1;
	failed = (attrs && sys_set_attr(tree, attrs) < 0) || sys_attach(tree, fd) < 0 ? -1 : 0;
	saved = errno;
	close(tree);
	errno = saved;
	return failed;
}

static int pin_path(int workspace, const char *path)
{
	int fd = open_beneath(workspace, path), failed = 0, saved;

	if (fd < 0)
		return -1;
	if (!is_mount(fd))
		failed = mount_itself(fd, 0);
	saved = errno;
	close(fd);
	errno = saved;
	return failed;
}

static int pin_parents(int workspace, const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(part, path, len + 1);
	for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (pin_path(workspace, part) < 0)
			return -1;
		*slash = '/';
	}
	return 0;
}

static int guard_itself(int workspace, const char *path)
{
	int fd, failed, saved;

	if (pin_parents(workspace, path) < 0)
		return -1;
	fd = open_beneath(workspace, path);
	if (fd < 0)
		return -1;
	failed = mount_itself(fd, MOUNT_ATTR_RDONLY);
	saved = errno;
	close(fd);
	errno = saved;
	return failed;
}

/* Where a path with links leads, relative to the workspace; NULL with errno: nowhere, or (ret_is_safe) to
 * where nothing can be written anyway. */
static const char *follow_links(const struct ar_init *in, int workspace, const char *path, char out[PATH_MAX],
				bool *ret_is_safe)
{
	const char *base = in->plan.workspace;
	char name[32];
	struct statvfs fs;
	int fd = openat(workspace, path, O_PATH | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return NULL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = readlink(name, out, PATH_MAX - 1);
	*ret_is_safe = fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY);
	close(fd);
	errno = EXDEV;
	if (len <= 0)
		return NULL;
	out[len] = '\0';
	if (strncmp(out, base, strlen(base)) != 0 || out[strlen(base)] != '/')
		return NULL;
	return out + strlen(base) + 1;
}

static int guard_target(struct ar_init *in, int workspace, const char *path, enum ar_guarded *ret)
{
	char room[PATH_MAX];
	bool is_safe = false;
	const char *target = follow_links(in, workspace, path, room, &is_safe);

	*ret = AR_GUARDED_TARGET;
	if (is_safe)
		return 0;
	return target ? guard_itself(workspace, target) : -1;
}

static int guard_path(struct ar_init *in, int workspace, size_t n)
{
	const char *path = in->plan.protected_paths.at[n];
	int failed;

	in->guarded[n] = AR_GUARDED_ITSELF;
	if (in->plan.mode == AR_PLAN_READ_ONLY) /* as everything is there */
		failed = faccessat(workspace, path, F_OK, AT_SYMLINK_NOFOLLOW);
	else
		failed = guard_itself(workspace, path);
	if (failed && errno == ELOOP)
		failed = guard_target(in, workspace, path, &in->guarded[n]);
	if (failed && (errno == ENOENT || errno == ENOTDIR)) {
		in->guarded[n] = AR_GUARDED_NOT;
		return 0;
	}
	return failed ? ar_init_fail(in, "protected path", path) : 0;
}

int ar_guard_paths(struct ar_init *in)
{
	size_t count = in->plan.protected_paths.count;
	int workspace, failed = 0;

	if (!ar_init_is_bounded(in) || count == 0)
		return 0;
	workspace = open(in->plan.workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (workspace < 0)
		return ar_init_fail(in, "workspace", in->plan.workspace);
	for (size_t i = 0; i < count && !failed; i++)
		failed = guard_path(in, workspace, i);
	close(workspace);
	return failed;
}
