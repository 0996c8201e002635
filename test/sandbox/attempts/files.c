/* Attempts on files by plain ways: the workspace, the system's folders, a victim's folder beside the
 * workspace, what belongs to others. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attempt.h"

#define READ_ONLY "EROFS EACCES"
#define SYSTEM "EROFS EACCES ENOENT ETXTBSY"
#define UNSEEN "ENOENT"

static int rename_inside(const struct attempt *a)
{
	(void)a;
	return rename(expand("$WS/plain"), expand("$WS/plain2")) ||
	       rename(expand("$WS/plain2"), expand("$WS/plain"));
}

static int truncate_path(const struct attempt *a)
{
	return truncate(expand(a->path), 0);
}

static int chown_path(const struct attempt *a)
{
	return lchown(expand(a->path), getuid(), getgid());
}

static int chown_root(const struct attempt *a)
{
	return lchown(expand(a->path), 0, 0);
}

static int set_trusted(const struct attempt *a)
{
	return setxattr(expand(a->path), "trusted.escape", "1", 1, 0);
}

static int set_immutable(const struct attempt *a)
{
	int fd = open(expand(a->path), O_RDONLY | O_CLOEXEC), flags = FS_IMMUTABLE_FL;

	return fd < 0 ? -1 : ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int touch_path(const struct attempt *a)
{
	return utimensat(AT_FDCWD, expand(a->path), NULL, 0);
}

static int set_attribute(const struct attempt *a)
{
	return setxattr(expand(a->path), "user.escape", "1", 1, 0);
}

static int get_attribute(const struct attempt *a)
{
	char value[8];

	if (getxattr(expand(a->path), "user.escape", value, sizeof(value)) < 0 && errno != ENODATA &&
	    errno != ENOTSUP)
		return -1;
	return 0;
}

static int remove_folder(const struct attempt *a)
{
	return rmdir(expand(a->path));
}

static int nameless_file(const struct attempt *a)
{
	int fd = open(expand(a->path), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : close(fd);
}

static int watch_path(const struct attempt *a)
{
	int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 ? -1 : inotify_add_watch(fd, expand(a->path), IN_ALL_EVENTS) < 0 ? -1 : 0;
}

static int test_access(const struct attempt *a)
{
	return access(expand(a->path), F_OK);
}

static int up_from_folder(const struct attempt *a)
{
	int dir = open(expand("$WS"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0 ? -1 : openat(dir, expand(a->path), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return fd < 0 ? -1 : close(fd);
}

/* As many steps up as it takes to be at the top of whatever tree this is. */
static int up_to_the_top(const struct attempt *a)
{
	char path[4096];
	size_t at = (size_t)snprintf(path, sizeof(path), "%s", expand("$WS"));

	for (int i = 0; i < 40; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "/..");
	snprintf(path + at, sizeof(path) - at, "%s", expand(a->path));
	return write_at(path);
}

static int open_in_root(const struct attempt *a)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 0644 };

	return syscall(SYS_openat2, AT_FDCWD, expand(a->path), &how, sizeof(how)) < 0 ? -1 : 0;
}

/* A descriptor that may read is opened again through a magic link, now to write. */
static int reopen(const char *format, const char *path, int flags)
{
	char link[64];
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), format, fd);
	int again = open(link, O_WRONLY | O_CLOEXEC);
	int error = errno;
	close(fd);
	return again < 0 ? fail_with(error) : close(again);
}

static int reopen_proc(const struct attempt *a)
{
	return reopen("/proc/self/fd/%d", expand(a->path), O_RDONLY);
}

static int reopen_dev(const struct attempt *a)
{
	return reopen("/dev/fd/%d", expand(a->path), O_RDONLY);
}

static int reopen_path_only(const struct attempt *a)
{
	return reopen("/proc/self/fd/%d", expand(a->path), O_PATH);
}

static int map_to_write(const struct attempt *a)
{
	int fd = open(expand(a->path), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	return mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0;
}

static const struct attempt rows[] = {
	{ "workspace_write", try_write, "$WS/new", READ_ONLY, "ok", "ok" },
	{ "workspace_mkdir", try_mkdir, "$WS/newdir", READ_ONLY, "ok", "ok" },
	{ "workspace_read", try_read, "$WS/plain", "ok", "ok", "ok" },
	{ "workspace_rename", rename_inside, NULL, READ_ONLY, "ok", "ok" },
	{ "workspace_truncate", truncate_path, "$WS/plain", READ_ONLY, "ok", "ok" },
	{ "workspace_chmod", try_chmod, "$WS/plain", READ_ONLY, "ok", "ok", NULL, 0, { 0640 } },
	{ "workspace_chown_root", chown_root, "$WS/plain", "EROFS EPERM EINVAL EACCES EOVERFLOW",
	  "EPERM EINVAL EOVERFLOW", "EPERM" },
	{ "workspace_trusted_xattr", set_trusted, "$WS/plain", "EROFS EPERM EACCES", "EPERM", "EPERM" },
	{ "workspace_immutable", set_immutable, "$WS/plain", "EROFS EPERM EACCES ENOTTY",
	  "EPERM ENOTTY EOPNOTSUPP", "EPERM ENOTTY EOPNOTSUPP" },
	{ "workspace_touch", touch_path, "$WS/plain", READ_ONLY, "ok", "ok" },
	{ "workspace_unlink", try_unlink, "$WS/doomed", READ_ONLY, "ok", "ok" },
	{ "workspace_nameless", nameless_file, "$WS", READ_ONLY, "ok", "ok" },
	{ "tmp_write", try_write, "/tmp/scratch-of-escape", "ok", "ok", "-" },
	{ "etc_write", try_write, "/etc/ar-escape", SYSTEM, SYSTEM, "EACCES EROFS" },
	{ "usr_write", try_write, "/usr/ar-escape", SYSTEM, SYSTEM, "EACCES EROFS" },
	{ "bin_write", try_write, "/bin/ar-escape", SYSTEM, SYSTEM, "EACCES EROFS" },
	{ "lib_write", try_write, "/usr/lib/ar-escape", SYSTEM, SYSTEM, "EACCES EROFS" },
	{ "root_write", try_write, "/ar-escape", SYSTEM, SYSTEM, "EACCES EROFS" },
	{ "root_mkdir", try_mkdir, "/ar-escape", SYSTEM, SYSTEM, "EACCES EROFS" },
	{ "passwd_overwrite", try_overwrite, "/etc/passwd", SYSTEM, SYSTEM, "EACCES EROFS" },
	{ "shell_overwrite", try_overwrite, "/bin/sh", SYSTEM, SYSTEM, "EACCES EROFS ETXTBSY" },
	{ "usr_chmod",
	  try_chmod,
	  "/usr",
	  "EROFS EPERM EACCES",
	  "EROFS EPERM EACCES",
	  "EPERM EROFS",
	  NULL,
	  0,
	  { 0777 } },
	{ "usr_touch", touch_path, "/usr", "EROFS EPERM EACCES", "EROFS EPERM EACCES", "EACCES EROFS" },
	{ "outside_write", try_write, "$OUT/target", UNSEEN, UNSEEN, "ok" },
	{ "outside_create", try_write, "$OUT/created", UNSEEN, UNSEEN, "ok" },
	{ "outside_mkdir", try_mkdir, "$OUT/dir/made", UNSEEN, UNSEEN, "ok" },
	{ "outside_truncate", truncate_path, "$OUT/target", UNSEEN, UNSEEN, "ok" },
	{ "outside_chmod", try_chmod, "$OUT/target", UNSEEN, UNSEEN, "ok", NULL, 0, { 0777 } },
	{ "outside_chown", chown_path, "$OUT/target", UNSEEN, UNSEEN, "?" },
	{ "outside_touch", touch_path, "$OUT/target", UNSEEN, UNSEEN, "ok" },
	{ "outside_setxattr", set_attribute, "$OUT/target", UNSEEN, UNSEEN, "?" },
	{ "outside_getxattr", get_attribute, "$OUT/target", UNSEEN, UNSEEN, "?" },
	{ "outside_unlink", try_unlink, "$OUT/doomed", UNSEEN, UNSEEN, "ok" },
	{ "outside_rmdir", remove_folder, "$OUT/empty", UNSEEN, UNSEEN, "ok" },
	{ "outside_nameless", nameless_file, "$OUT", UNSEEN, UNSEEN, "ok" },
	{ "outside_read", try_read, "$OUT/target", UNSEEN, UNSEEN, "ok" },
	{ "outside_stat", try_stat, "$OUT/target", UNSEEN, UNSEEN, "ok" },
	{ "outside_access", test_access, "$OUT/target", UNSEEN, UNSEEN, "ok" },
	{ "outside_list", try_list, "$OUT", UNSEEN, UNSEEN, "ok" },
	{ "outside_watch", watch_path, "$OUT", UNSEEN, UNSEEN, "ok" },
	{ "outside_dotdot", try_write, "$WS/../outside/dotdot", UNSEEN, UNSEEN, "ok" },
	{ "outside_dotdot_at", up_from_folder, "../outside/dotdot-at", UNSEEN, UNSEEN, "ok" },
	{ "outside_dotdot_top", up_to_the_top, "$OUT/dotdot-top", UNSEEN, UNSEEN, "ok" },
	{ "outside_proc_root", try_write, "/proc/self/root$OUT/proc-root", UNSEEN, UNSEEN, "ok" },
	{ "outside_proc_cwd", try_write, "/proc/self/cwd/../outside/proc-cwd", UNSEEN, UNSEEN, "ok" },
	{ "outside_task_root", try_write, "/proc/thread-self/root$OUT/task-root", UNSEEN, UNSEEN, "ok" },
	{ "outside_openat2", open_in_root, "$OUT/openat2", "ENOSYS ENOENT", "ENOSYS ENOENT", "?" },
	{ "shadow_read", try_read, "/etc/shadow", "ENOENT EACCES", "ENOENT EACCES", "EACCES" },
	{ "gshadow_read", try_read, "/etc/gshadow", "ENOENT EACCES", "ENOENT EACCES", "EACCES" },
	{ "sudoers_read", try_read, "/etc/sudoers", "ENOENT EACCES", "ENOENT EACCES", "ENOENT EACCES" },
	{ "host_key_read", try_read, "/etc/ssh/ssh_host_rsa_key", "ENOENT EACCES", "ENOENT EACCES",
	  "ENOENT EACCES" },
	{ "private_key_list", try_list, "/etc/ssl/private", "ENOENT EACCES", "ENOENT EACCES",
	  "ENOENT EACCES" },
	{ "machine_id_read", try_read, "/etc/machine-id", "ENOENT EACCES", "ENOENT EACCES", "?" },
	{ "decoy_key_read", try_read, "/home/agent/.ssh/id_rsa", "ENOENT EACCES", "ENOENT EACCES", "?" },
	{ "decoy_cloud_read", try_read, "/home/agent/.aws/credentials", "ENOENT EACCES", "ENOENT EACCES",
	  "?" },
	{ "run_list", try_list, "/run", "ENOENT EACCES", "ENOENT EACCES", "?" },
	{ "var_list", try_list, "/var/lib", "ENOENT EACCES", "ENOENT EACCES", "?" },
	{ "boot_list", try_list, "/boot", "ENOENT EACCES", "ENOENT EACCES", "?" },
	{ "sys_list", try_list, "/sys", "ENOENT EACCES", "ENOENT EACCES", "?" },
	{ "home_write", try_write, "/home/agent/scratch", "ok", "ok", "-" },
	{ "root_home_list", try_list, "/root", "ENOENT EACCES", "ENOENT EACCES", "?" },
	{ "other_workspace_read", try_read, "$OTHER/plain", UNSEEN, UNSEEN, "EACCES" },
	{ "other_workspace_list", try_list, "$OTHER", UNSEEN, UNSEEN, "EACCES" },
	{ "state_read", try_read, "$STATE/journal", UNSEEN, UNSEEN, "EACCES" },
	{ "state_write", try_write, "$STATE/journal", UNSEEN, UNSEEN, "EACCES" },
	{ "reopen_proc_fd", reopen_proc, "/etc/passwd", READ_ONLY, READ_ONLY, "EACCES EROFS" },
	{ "reopen_dev_fd", reopen_dev, "/etc/passwd", READ_ONLY " ENOENT", READ_ONLY " ENOENT",
	  "EACCES EROFS" },
	{ "reopen_path_fd", reopen_path_only, "/etc/passwd", READ_ONLY, READ_ONLY, "EACCES EROFS" },
	{ "reopen_workspace", reopen_proc, "$WS/plain", READ_ONLY, "ok", "ok" },
	{ "map_to_write", map_to_write, "/etc/passwd", "EACCES", "EACCES", "EACCES" },
};

const struct attempt_list files_attempts = ATTEMPT_LIST(rows);
