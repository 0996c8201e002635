/* Attempts on the view itself: mount, unmount, change mounts, new namespaces, back into the old ones, another
 * root. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

#define NR_MOUNT_SETATTR 442
#define DENIED "EPERM"
#define NEAR AT_FDCWD

static int mount_new(const struct attempt *a)
{
	return mount("none", "/tmp", a->path, 0, NULL);
}

static int mount_bind(const struct attempt *a)
{
	return mount(expand(a->path), "/tmp", NULL, MS_BIND, NULL);
}

static int remount(const struct attempt *a)
{
	return mount(NULL, expand(a->path), NULL, MS_REMOUNT | MS_BIND, NULL);
}

static int propagate(const struct attempt *a)
{
	return mount(NULL, expand(a->path), NULL, MS_SHARED | MS_REC, NULL);
}

static int unmount(const struct attempt *a)
{
	return umount2(expand(a->path), MNT_DETACH);
}

static int open_tree_of(const struct attempt *a)
{
	return syscall(SYS_open_tree, AT_FDCWD, expand(a->path), 1 /* OPEN_TREE_CLONE */) < 0 ? -1 : 0;
}

static int set_mount(const struct attempt *a)
{
	struct {
		uint64_t set, clear, propagation, userns;
	} attr = { .clear = 1 /* MOUNT_ATTR_RDONLY */ };

	return (int)syscall(NR_MOUNT_SETATTR, AT_FDCWD, expand(a->path), 0, &attr, sizeof(attr));
}

static int other_root(const struct attempt *a)
{
	return chroot(expand(a->path));
}

static int swap_root(const struct attempt *a)
{
	return (int)syscall(SYS_pivot_root, expand(a->path), expand(a->path));
}

static int clone_with(const struct attempt *a)
{
	long child = syscall(SYS_clone, a->args[0] | SIGCHLD, 0, 0, 0, 0);

	if (child == 0)
		_exit(0);
	if (child < 0)
		return -1;
	waitpid((pid_t)child, NULL, 0);
	return 0;
}

static int clone3_with(const struct attempt *a)
{
	struct clone_args args = { .flags = (uint64_t)a->args[0], .exit_signal = SIGCHLD };
	long child = syscall(SYS_clone3, &args, sizeof(args));

	if (child == 0)
		_exit(0);
	return child < 0 ? -1 : 0;
}

static int enter(const struct attempt *a)
{
	int fd = open(expand(a->path), O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : setns(fd, 0);
}

/* Without the filter the same user could open its own namespaces' files; then setns itself must say no. */
static int enter_nothing(const struct attempt *a)
{
	(void)a;
	return setns(-1, CLONE_NEWNET);
}

#define ENTER "EPERM EACCES ENOENT"
#define UNSHARE(name, flag) \
	{ \
		"unshare_" name, try_system_call, NULL, DENIED, DENIED, "?", "notify", SYS_unshare, \
		{ \
			flag \
		} \
	}
#define CLONE(name, flag) \
	{ \
		"clone_" name, clone_with, NULL, DENIED, DENIED, "?", "notify", 0, \
		{ \
			flag \
		} \
	}

static const struct attempt rows[] = {
	{ "mount_tmpfs", mount_new, "tmpfs", DENIED, DENIED, DENIED, "notify" },
	{ "mount_proc", mount_new, "proc", DENIED, DENIED, DENIED, "notify" },
	{ "mount_sysfs", mount_new, "sysfs", DENIED, DENIED, DENIED, "notify" },
	{ "mount_bind", mount_bind, "/", DENIED, DENIED, DENIED, "notify" },
	{ "mount_bind_hooks", mount_bind, "$WS/.git/hooks", DENIED, DENIED, DENIED, "notify" },
	{ "remount_hooks", remount, "$WS/.git/hooks", DENIED, DENIED, DENIED " EINVAL", "notify" },
	{ "remount_workspace", remount, "$WS", DENIED, DENIED, DENIED " EINVAL", "notify" },
	{ "remount_usr", remount, "/usr", DENIED, DENIED, DENIED " EINVAL", "notify" },
	{ "propagate_root", propagate, "/", DENIED, DENIED, DENIED, "notify" },
	{ "umount_hooks", unmount, "$WS/.git/hooks", DENIED, DENIED, DENIED " EINVAL", "notify" },
	{ "umount_git", unmount, "$WS/.git", DENIED, DENIED, DENIED " EINVAL", "notify" },
	{ "umount_workspace", unmount, "$WS", DENIED, DENIED, DENIED " EINVAL", "notify" },
	{ "umount_proc", unmount, "/proc", DENIED, DENIED, DENIED, "notify" },
	{ "open_tree", open_tree_of, "/", DENIED, DENIED, DENIED, "notify" },
	{ "move_mount",
	  try_system_call,
	  NULL,
	  DENIED,
	  DENIED,
	  "?",
	  "notify",
	  SYS_move_mount,
	  { NEAR, 1, NEAR, 1 } },
	{ "fsopen", try_system_call, NULL, DENIED, DENIED, "?", "notify", SYS_fsopen, { 1 } },
	{ "fsconfig", try_system_call, NULL, DENIED, DENIED, "?", "notify", SYS_fsconfig, { -1 } },
	{ "fsmount", try_system_call, NULL, DENIED, DENIED, "?", "notify", SYS_fsmount, { -1 } },
	{ "fspick", try_system_call, NULL, DENIED, DENIED, "?", "notify", SYS_fspick, { NEAR, 1 } },
	{ "mount_setattr", set_mount, "$WS/.git/hooks", DENIED, DENIED, "?", "notify" },
	{ "chroot", other_root, "/tmp", DENIED, DENIED, DENIED, "notify" },
	{ "pivot_root", swap_root, "/tmp", DENIED, DENIED, DENIED, "notify" },
	UNSHARE("user", CLONE_NEWUSER),
	UNSHARE("mount", CLONE_NEWNS),
	UNSHARE("net", CLONE_NEWNET),
	UNSHARE("pid", CLONE_NEWPID),
	CLONE("user", CLONE_NEWUSER),
	CLONE("mount", CLONE_NEWNS),
	CLONE("user_net", CLONE_NEWUSER | CLONE_NEWNET),
	CLONE("pid", CLONE_NEWPID),
	{ "clone3_user", clone3_with, NULL, "ENOSYS EPERM", "ENOSYS EPERM", "?", NULL, 0, { CLONE_NEWUSER } },
	{ "setns_init_net", enter, "/proc/1/ns/net", ENTER, ENTER, ENTER },
	{ "setns_init_mount", enter, "/proc/1/ns/mnt", ENTER, ENTER, ENTER },
	{ "setns_init_user", enter, "/proc/1/ns/user", ENTER, ENTER, ENTER " EINVAL" },
	{ "setns_victim", enter, "/proc/$PID/ns/net", ENTER, ENTER, "?" },
	{ "setns", enter_nothing, NULL, DENIED, DENIED, "?", "notify" },
};

const struct attempt_list mounts_attempts = ATTEMPT_LIST(rows);
