/* Attempts through /proc, /sys and the cgroup tree: other processes' insides, the kernel's switches, and out
 * of one's own limits. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attempt.h"

#define UNSEEN "ENOENT"
#define SHUT "EACCES EPERM EROFS ENOENT"
#define DAC "EACCES EPERM EROFS ENOENT"

/* Whether a file holds the text; NUL bytes count as any other. */
static int file_has(const char *path, const char *text)
{
	static char bytes[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	ssize_t n = read(fd, bytes, sizeof(bytes));
	int error = errno;
	close(fd);
	if (n < 0)
		return fail_with(error);
	return memmem(bytes, (size_t)n, text, strlen(text)) ? 0 : fail_with(ENOENT);
}

/* The victim by its name, among all that this /proc shows. */
static int find_victim(const struct attempt *a)
{
	char path[300];
	DIR *dir = opendir("/proc");
	int found = -1;

	(void)a;
	for (struct dirent *e; dir && found != 0 && (e = readdir(dir));) {
		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		if (atoi(e->d_name) > 0)
			found = file_has(path, "escape-victim");
	}
	if (dir)
		closedir(dir);
	return found == 0 ? 0 : fail_with(ENOENT);
}

static int init_environment(const struct attempt *a)
{
	return file_has(a->path, expand("$LEAK"));
}

static int host_socket_table(const struct attempt *a)
{
	char port[16];

	snprintf(port, sizeof(port), ":%04lX", given_number("PORT"));
	return file_has(a->path, port);
}

static int open_both(const struct attempt *a)
{
	int fd = open(expand(a->path), O_RDWR | O_CLOEXEC);

	return fd < 0 ? -1 : close(fd);
}

static int less_killable(const struct attempt *a)
{
	int fd = open(a->path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : write(fd, "-900", 4) < 0 ? -1 : 0;
}

static int map_ids(const struct attempt *a)
{
	int fd = open(a->path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : write(fd, "0 0 1", 5) < 0 ? -1 : 0;
}

static int make_cgroup(const struct attempt *a)
{
	return mkdir(a->path, 0755) != 0 ? -1 : rmdir(a->path);
}

static int kernel_addresses(const struct attempt *a)
{
	char line[32] = "";
	int fd = open(a->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, line, 16) < 0)
		return -1;
	return strncmp(line, "0000000000000000", 16) == 0 ? fail_with(EPERM) : 0;
}

static const struct attempt rows[] = {
	{ "victim_found", find_victim, NULL, UNSEEN, UNSEEN, "?" },
	{ "victim_environ", try_read, "/proc/$PID/environ", UNSEEN, UNSEEN, "?" },
	{ "victim_cmdline", try_read, "/proc/$PID/cmdline", UNSEEN, UNSEEN, "?" },
	{ "victim_maps", try_read, "/proc/$PID/maps", UNSEEN, UNSEEN, "?" },
	{ "victim_mem", open_both, "/proc/$PID/mem", UNSEEN, UNSEEN, "?" },
	{ "victim_fd", try_list, "/proc/$PID/fd", UNSEEN, UNSEEN, "?" },
	{ "victim_root", try_read, "/proc/$PID/root/etc/passwd", UNSEEN, UNSEEN, "?" },
	{ "victim_cwd", try_list, "/proc/$PID/cwd", UNSEEN, UNSEEN, "?" },
	{ "victim_ns", try_read, "/proc/$PID/ns/net", UNSEEN, UNSEEN, "?" },
	{ "init_root", try_read, "/proc/1/root$OUT/secret", SHUT, SHUT, "?" },
	{ "init_environ", init_environment, "/proc/1/environ", SHUT, SHUT, "?" },
	{ "init_mem", open_both, "/proc/1/mem", SHUT, SHUT, SHUT },
	{ "init_fd", try_list, "/proc/1/fd", SHUT, SHUT, SHUT },
	{ "init_cwd", try_list, "/proc/1/cwd", SHUT, SHUT, SHUT },
	{ "host_sockets", host_socket_table, "/proc/net/tcp", SHUT, SHUT, "?" },
	{ "sys_core_pattern", try_overwrite, "/proc/sys/kernel/core_pattern", SHUT, SHUT, DAC },
	{ "sys_hostname", try_overwrite, "/proc/sys/kernel/hostname", SHUT, SHUT, DAC },
	{ "sys_drop_caches", try_overwrite, "/proc/sys/vm/drop_caches", SHUT, SHUT, DAC },
	{ "sys_userns", try_overwrite, "/proc/sys/user/max_user_namespaces", SHUT, SHUT, DAC },
	{ "sys_ip_forward", try_overwrite, "/proc/sys/net/ipv4/ip_forward", SHUT, SHUT, DAC },
	{ "sysrq", try_overwrite, "/proc/sysrq-trigger", SHUT, SHUT, DAC },
	{ "binfmt", try_overwrite, "/proc/sys/fs/binfmt_misc/register", SHUT, SHUT, DAC },
	{ "kcore", try_read, "/proc/kcore", SHUT, SHUT, DAC },
	{ "kmsg", try_read, "/proc/kmsg", SHUT, SHUT, DAC },
	{ "kallsyms", kernel_addresses, "/proc/kallsyms", SHUT, SHUT, DAC },
	{ "oom_score", less_killable, "/proc/self/oom_score_adj", SHUT, SHUT, DAC },
	{ "loginuid", map_ids, "/proc/self/loginuid", SHUT " EINVAL", SHUT " EINVAL", DAC " EINVAL" },
	{ "uid_map", map_ids, "/proc/self/uid_map", SHUT, SHUT, DAC },
	{ "gid_map", map_ids, "/proc/self/gid_map", SHUT, SHUT, DAC },
	{ "cgroup_join", try_overwrite, "/sys/fs/cgroup/pids/cgroup.procs", SHUT, SHUT, DAC },
	{ "cgroup_join_unified", try_overwrite, "/sys/fs/cgroup/unified/cgroup.procs", SHUT, SHUT, DAC },
	{ "cgroup_make", make_cgroup, "/sys/fs/cgroup/unified/ar-escape", SHUT, SHUT, DAC },
	{ "cgroup_limit", try_overwrite, "/sys/fs/cgroup/memory/memory.limit_in_bytes", SHUT, SHUT, DAC },
	{ "sysfs_power", try_overwrite, "/sys/power/state", SHUT, SHUT, DAC },
	{ "sysfs_debug", try_list, "/sys/kernel/debug", SHUT, SHUT, "?" },
	{ "sysfs_uevent", try_overwrite, "/sys/kernel/uevent_helper", SHUT, SHUT, DAC },
};

const struct attempt_list proc_attempts = ATTEMPT_LIST(rows);
