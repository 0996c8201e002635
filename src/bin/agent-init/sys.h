/* System calls that the C library has no function for, and the few combinations of flags that everything here
 * uses. */
#ifndef AR_INIT_SYS_H
#define AR_INIT_SYS_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* O_CLOEXEC always. */
static inline int sys_openat2(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC), .resolve = resolve };

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* A detached copy of the mounts at and below dir/path; a link is not followed. */
static inline int sys_clone_tree(int dir, const char *path)
{
	return open_tree(dir, path,
			 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH |
				 AT_SYMLINK_NOFOLLOW);
}

static inline int sys_attach(int tree, int onto)
{
	return move_mount(tree, "", onto, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/* The same, onto a name that is no link. */
static inline int sys_attach_at(int tree, int dir, const char *name)
{
	return move_mount(tree, "", dir, name, MOVE_MOUNT_F_EMPTY_PATH);
}

/* Adds these MOUNT_ATTR_* to the mounts of a tree. */
static inline int sys_set_attr(int tree, uint64_t set)
{
	struct mount_attr attr = { .attr_set = set };

	return mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr));
}

#endif
