/* Attempts to be more than one is: ids, capabilities, set-id files, priorities; and looks at the switches
 * that keep it so. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attempt.h"

#define NR_FCHMODAT2 452
#define LOST "EPERM EINVAL"
#define NO_BITS "EPERM ENOSYS EROFS EACCES"

static int become_root(const struct attempt *a)
{
	(void)a;
	return setresuid(0, 0, 0);
}

static int become_root_group(const struct attempt *a)
{
	(void)a;
	return setresgid(0, 0, 0);
}

static int take_groups(const struct attempt *a)
{
	gid_t groups[] = { 0, 42 };

	(void)a;
	return setgroups(2, groups);
}

static int take_capabilities(const struct attempt *a)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 1u << CAP_SYS_ADMIN, 1u << CAP_SYS_ADMIN, 0 } };

	(void)a;
	return (int)syscall(SYS_capset, &head, caps);
}

/* Worked: there is a capability of any kind left. */
static int has_capabilities(const struct attempt *a)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { 0 };

	(void)a;
	if (syscall(SYS_capget, &head, caps) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		if (caps[i].effective || caps[i].permitted || caps[i].inheritable)
			return 0;
	}
	return fail_with(EPERM);
}

static int has_bounding(const struct attempt *a)
{
	(void)a;
	for (int cap = 0; cap < 41; cap++) {
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			return 0;
	}
	return fail_with(EPERM);
}

static int raise_ambient(const struct attempt *a)
{
	(void)a;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0);
}

static int may_gain(const struct attempt *a)
{
	(void)a;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? fail_with(EPERM) : 0;
}

static int is_root(const struct attempt *a)
{
	(void)a;
	return getuid() == 0 || geteuid() == 0 || getgid() == 0 ? 0 : fail_with(EPERM);
}

static int honours_set_id(const struct attempt *a)
{
	struct statvfs fs;

	if (statvfs(expand(a->path), &fs) != 0)
		return -1;
	return fs.f_flag & ST_NOSUID ? fail_with(EPERM) : 0;
}

static int is_writable(const struct attempt *a)
{
	struct statvfs fs;

	if (statvfs(expand(a->path), &fs) != 0)
		return -1;
	return fs.f_flag & ST_RDONLY ? fail_with(EROFS) : 0;
}

static int honours_devices(const struct attempt *a)
{
	struct statvfs fs;

	if (statvfs(expand(a->path), &fs) != 0)
		return -1;
	return fs.f_flag & ST_NODEV ? fail_with(EPERM) : 0;
}

/* A file to try bits on: in the workspace, or where that is read-only in /tmp. */
static int own_file(char *path, size_t room)
{
	snprintf(path, room, "%s", expand("$WS/bits"));
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0755);

	if (fd >= 0)
		return fd;
	snprintf(path, room, "/tmp/bits-of-escape");
	return open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0755);
}

static int bits_fchmod(const struct attempt *a)
{
	char path[4096];
	int fd = own_file(path, sizeof(path));

	return fd < 0 ? -1 : fchmod(fd, (mode_t)a->args[0]);
}

static int bits_chmod(const struct attempt *a)
{
	char path[4096];

	return own_file(path, sizeof(path)) < 0 ? -1 : (int)syscall(SYS_chmod, path, a->args[0]);
}

static int bits_fchmodat(const struct attempt *a)
{
	char path[4096];

	return own_file(path, sizeof(path)) < 0 ? -1 : (int)syscall(SYS_fchmodat, AT_FDCWD, path, a->args[0]);
}

static int bits_fchmodat2(const struct attempt *a)
{
	char path[4096];

	return own_file(path, sizeof(path)) < 0 ? -1
						: (int)syscall(NR_FCHMODAT2, AT_FDCWD, path, a->args[0], 0);
}

static int bits_open(const struct attempt *a)
{
	unlink("/tmp/open-bits");
	return (int)syscall(SYS_openat, AT_FDCWD, "/tmp/open-bits", O_CREAT | O_RDWR, a->args[0]) < 0 ? -1
												      : 0;
}

static int bits_creat(const struct attempt *a)
{
	unlink("/tmp/creat-bits");
	return (int)syscall(SYS_creat, "/tmp/creat-bits", a->args[0]) < 0 ? -1 : 0;
}

static int bits_mknod(const struct attempt *a)
{
	unlink("/tmp/node-bits");
	return (int)syscall(SYS_mknod, "/tmp/node-bits", S_IFREG | a->args[0], 0);
}

static int bits_mkdir(const struct attempt *a)
{
	rmdir("/tmp/folder-bits");
	if (mkdir("/tmp/folder-bits", 0755) != 0)
		return -1;
	return (int)syscall(SYS_chmod, "/tmp/folder-bits", a->args[0]);
}

static int file_capabilities(const struct attempt *a)
{
	struct vfs_cap_data caps = { .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
				     .data = { { 1u << CAP_SYS_ADMIN, 0 }, { 0, 0 } } };
	char path[4096];

	(void)a;
	if (own_file(path, sizeof(path)) < 0)
		return -1;
	return setxattr(path, "security.capability", &caps, sizeof(caps), 0);
}

/* A set-id program of the system, asked for what only root may do. */
static int run_set_id(const struct attempt *a)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		int null = open("/dev/null", O_RDWR);

		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		execl(a->path, a->path, "--bind", "/tmp", "/tmp", (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : fail_with(EPERM);
}

static int raise_limit(const struct attempt *a)
{
	struct rlimit limit;

	(void)a;
	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return -1;
	limit.rlim_cur = limit.rlim_max = limit.rlim_max + 1 == 0 ? RLIM_INFINITY : limit.rlim_max + 4096;
	return setrlimit(RLIMIT_CORE, &limit);
}

static int be_urgent(const struct attempt *a)
{
	struct sched_param param = { .sched_priority = 50 };

	(void)a;
	return sched_setscheduler(0, SCHED_FIFO, &param);
}

static int be_nicer(const struct attempt *a)
{
	(void)a;
	return setpriority(PRIO_PROCESS, 0, -10);
}

static const struct attempt rows[] = {
	{ "setuid_root", become_root, NULL, LOST, LOST, LOST },
	{ "setgid_root", become_root_group, NULL, LOST, LOST, LOST },
	{ "setgroups", take_groups, NULL, LOST, LOST, LOST },
	{ "capset", take_capabilities, NULL, LOST, LOST, LOST },
	{ "has_capabilities", has_capabilities, NULL, "EPERM", "EPERM", "EPERM" },
	{ "has_bounding", has_bounding, NULL, "EPERM", "EPERM", "?" },
	{ "ambient", raise_ambient, NULL, LOST, LOST, LOST },
	{ "may_gain", may_gain, NULL, "EPERM", "EPERM", "?" },
	{ "is_root", is_root, NULL, "EPERM", "EPERM", "EPERM" },
	{ "set_id_on_workspace", honours_set_id, "$WS", "EPERM", "EPERM", "?" },
	{ "set_id_on_system", honours_set_id, "/usr", "EPERM", "EPERM", "?" },
	{ "set_id_on_tmp", honours_set_id, "/tmp", "EPERM", "EPERM", "?" },
	{ "writable_root", is_writable, "/", "EROFS", "EROFS", "?" },
	{ "writable_system", is_writable, "/usr", "EROFS", "EROFS", "?" },
	{ "writable_processes", is_writable, "/proc", "EROFS", "EROFS", "?" },
	{ "writable_hooks", is_writable, "$WS/.git/hooks", "EROFS", "EROFS", "?" },
	{ "writable_workspace", is_writable, "$WS", "EROFS", "ok", "?" },
	{ "devices_on_workspace", honours_devices, "$WS", "EPERM", "EPERM", "?" },
	{ "devices_on_tmp", honours_devices, "/tmp", "EPERM", "EPERM", "?" },
	{ "suid_fchmod", bits_fchmod, NULL, NO_BITS, NO_BITS, "?", NULL, 0, { 04755 } },
	{ "suid_chmod", bits_chmod, NULL, NO_BITS, NO_BITS, "?", NULL, 0, { 04755 } },
	{ "suid_fchmodat", bits_fchmodat, NULL, NO_BITS, NO_BITS, "?", NULL, 0, { 04755 } },
	{ "suid_fchmodat2", bits_fchmodat2, NULL, NO_BITS, NO_BITS, "?", NULL, 0, { 04755 } },
	{ "suid_open", bits_open, NULL, NO_BITS, NO_BITS, "-", NULL, 0, { 04755 } },
	{ "suid_creat", bits_creat, NULL, NO_BITS, NO_BITS, "-", NULL, 0, { 04755 } },
	{ "suid_mknod", bits_mknod, NULL, NO_BITS, NO_BITS, "-", NULL, 0, { 04755 } },
	{ "sgid_fchmod", bits_fchmod, NULL, NO_BITS, NO_BITS, "?", NULL, 0, { 02755 } },
	{ "sgid_chmod", bits_chmod, NULL, NO_BITS, NO_BITS, "?", NULL, 0, { 02755 } },
	{ "sgid_folder", bits_mkdir, NULL, NO_BITS, NO_BITS, "-", NULL, 0, { 02755 } },
	{ "sgid_high_bits",
	  bits_fchmod,
	  NULL,
	  NO_BITS,
	  NO_BITS,
	  "?",
	  NULL,
	  0,
	  { (long)0x100000000 | 02755 } },
	{ "file_capabilities", file_capabilities, NULL, NO_BITS, NO_BITS, "EPERM" },
	{ "run_mount", run_set_id, "/bin/mount", "EPERM", "EPERM", "-" },
	{ "run_fusermount", run_set_id, "/bin/fusermount3", "EPERM", "EPERM", "-" },
	{ "raise_limit", raise_limit, NULL, "EPERM", "EPERM", "?" },
	{ "priority_realtime", be_urgent, NULL, "EPERM", "EPERM", "EPERM" },
	{ "priority_negative", be_nicer, NULL, "EACCES EPERM", "EACCES EPERM", "EACCES EPERM" },
};

const struct attempt_list privilege_attempts = ATTEMPT_LIST(rows);
