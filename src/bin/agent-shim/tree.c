/* Kills by every way that is there: cgroup.kill, the members of a version 1 cgroup, the death of the
 * namespace's first process, and at last our own children: as subreaper we inherit whatever lost its parent.
 * Process groups are no such way, anybody can leave them. */
#include "tree.h"
#include "kernel_file.h"
#include "shim.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH_MAX 1024 /* parents that are followed upwards */

/* 0: no such process, or a zombie. */
static pid_t living_parent(pid_t pid)
{
	char path[32], text[512], *behind;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	ar_kernel_file_read(NULL, path, text, sizeof(text));
	/* PID (NAME) STATE PARENT ...; a name may hold anything. */
	behind = strrchr(text, ')');
	if (!behind || strlen(behind) < 5 || behind[2] == 'Z' || behind[2] == 'X')
		return 0;
	return (pid_t)strtol(behind + 4, NULL, 10);
}

static bool descends_from(pid_t pid, pid_t root)
{
	for (int i = 0; i < DEPTH_MAX && pid > 1; i++) {
		pid = living_parent(pid);
		if (pid == root)
			return true;
	}
	return false;
}

/* Calls `on` with every process that /proc shows. */
static void each_process(void (*on)(pid_t pid, void *arg), void *arg)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d)) != NULL) {
		long pid = strtol(e->d_name, NULL, 10);

		if (pid > 1)
			on((pid_t)pid, arg);
	}
	if (d)
		closedir(d);
}

struct counting {
	pid_t root;
	uint64_t count;
};

static void count_one(pid_t pid, void *arg)
{
	struct counting *c = arg;

	c->count += pid != c->root && descends_from(pid, c->root);
}

uint64_t ar_tree_count(pid_t root)
{
	struct counting c = { .root = root };

	if (root > 1)
		each_process(count_one, &c);
	return c.count;
}

static void kill_if_mine(pid_t pid, void *arg)
{
	const pid_t *self = arg;

	if (living_parent(pid) == *self)
		kill(pid, SIGKILL);
}

/* Without cgroup.kill (version 1) the first of its members; those that do not fit here are there the next
 * time. */
static void kill_cgroup(const char *folder)
{
	char text[4096], *at = text, *end;

	if (ar_kernel_file_write(folder, "cgroup.kill", "1"))
		return;
	ar_kernel_file_read(folder, "cgroup.procs", text, sizeof(text));
	for (long pid = strtol(at, &end, 10); end != at && *end == '\n'; pid = strtol(at, &end, 10)) {
		if (pid > 1 && pid != getpid())
			kill((pid_t)pid, SIGKILL);
		at = end + 1;
	}
}

void ar_tree_kill(struct ar_shim *s)
{
	pid_t self = getpid();

	for (size_t i = 0; i < s->options.cgroup_count; i++)
		kill_cgroup(s->options.cgroups[i]);
	if (s->init.fds[AR_INIT_FD_PID] >= 0)
		syscall(SYS_pidfd_send_signal, s->init.fds[AR_INIT_FD_PID], SIGKILL, NULL, 0);
	if (s->init.pid > 0)
		kill(s->init.pid, SIGKILL);
	if (s->init.pid == 0)
		each_process(kill_if_mine, &self);
}
