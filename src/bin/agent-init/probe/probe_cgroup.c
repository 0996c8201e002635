/* Questions about cgroups: a group of our own beneath the one that we are in, with processes that try to get
 * away or to use too much. The unified hierarchy is preferred; counting and weighing may be those of version
 * 1. */
#include "file.h"
#include "probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX 65536
#define MEMORY_LIMIT "16777216"
#define MEMORY_USED ((size_t)128 << 20)
#define PIDS_LIMIT 4

struct group {
	char folder[PATH_MAX];
	bool is_unified;
};

/* The next line of a text that is being cut into lines; NULL: there is none. */
static char *next_line(char **text)
{
	char *line = *text, *stop;

	if (!*line)
		return NULL;
	stop = line + strcspn(line, "\n");
	*text = *stop ? stop + 1 : stop;
	*stop = '\0';
	return line;
}

static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (;;) {
		if (strncmp(list, word, len) == 0 &&
		    (list[len] == ',' || list[len] == '\0' || list[len] == ' '))
			return true;
		list = strchr(list, ',');
		if (!list++)
			return false;
	}
}

/* Where the hierarchy of this controller (NULL: the unified one) is mounted. */
static bool find_mount(const char *controller, char out[PATH_MAX])
{
	char text[TEXT_MAX], *rest = text, *line;

	if (ar_file_read(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text)) <= 0)
		return false;
	while ((line = next_line(&rest)) != NULL) {
		const char *tail = strstr(line, controller ? " - cgroup " : " - cgroup2 "), *options;

		if (!tail || sscanf(line, "%*s %*s %*s %*s %4095s", out) != 1)
			continue;
		options = strrchr(tail, ' ');
		if (!controller || (options && list_has(options + 1, controller)))
			return true;
	}
	return false;
}

/* The group in that hierarchy that we are in. */
static bool find_own(const char *controller, char out[PATH_MAX])
{
	char text[TEXT_MAX], *rest = text, *line;

	if (ar_file_read(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) <= 0)
		return false;
	while ((line = next_line(&rest)) != NULL) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		if (controller ? list_has(names + 1, controller) : names[1] == '\0') {
			snprintf(out, PATH_MAX, "%s", path);
			return true;
		}
	}
	return false;
}

static bool make_in(const char *controller, struct group *ret)
{
	char mount_point[PATH_MAX], own[PATH_MAX];
	int len;

	errno = 0;
	if (!find_mount(controller, mount_point) || !find_own(controller, own))
		return false;
	len = snprintf(ret->folder, sizeof(ret->folder), "%s%s/agent-init-XXXXXX", mount_point,
		       own[1] ? own : "");
	ret->is_unified = !controller;
	return len > 0 && (size_t)len < sizeof(ret->folder) && mkdtemp(ret->folder);
}

static bool set_value(const struct group *g, const char *name, const char *value)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", g->folder, name);
	return ar_file_write(AT_FDCWD, path, value) == 0;
}

/* A group with this limit: of the unified hierarchy when it has the controller, otherwise of its own. */
static bool make_limited(const char *controller, const char *const names[2], const char *value,
			 struct group *ret)
{
	if (make_in(NULL, ret)) {
		if (set_value(ret, names[0], value))
			return true;
		rmdir(ret->folder);
	}
	if (!make_in(controller, ret))
		return false;
	if (set_value(ret, names[1], value))
		return true;
	rmdir(ret->folder);
	return false;
}

/* Processes leave a group a moment after they were waited for. */
static bool remove_group(const struct group *g)
{
	for (int i = 0; i < 200; i++) {
		if (rmdir(g->folder) == 0)
			return true;
		usleep(5000);
	}
	return false;
}

static pid_t start_inside(const struct group *g)
{
	int fd = open(g->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct clone_args args = { .flags = CLONE_INTO_CGROUP,
				   .exit_signal = SIGCHLD,
				   .cgroup = (unsigned)fd };

	return fd < 0 ? -1 : (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* A second one in a session of its own, tied to the first for the case that nothing else ends it. The second
 * says when both are there: a kernel before 6.15 may miss a process that is forked while its group is killed,
 * and nobody would end that one. */
static void get_away(int ready)
{
	pid_t first = getpid(), second = fork();

	if (second == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		setsid();
	}
	if (second < 0 || (second == 0 && (getppid() != first || write(ready, "x", 1) != 1)))
		_exit(1);
	for (;;)
		pause();
}

/* The pipe ends with its last holder: a process that escaped would keep it open. */
static bool kill_group(struct ar_probe *p, const struct group *g, int end)
{
	char byte;

	if (read(end, &byte, 1) != 1)
		return ar_probe_fails(p, "what was started inside a group");
	if (!set_value(g, "cgroup.kill", "1"))
		return ar_probe_fails(p, "cgroup.kill");
	errno = 0;
	return read(end, &byte, 1) == 0 || ar_probe_fails(p, "a process got away from cgroup.kill");
}

static bool attack_group(struct ar_probe *p, const struct group *g)
{
	bool is_working;
	int ends[2];
	pid_t child;

	if (pipe(ends) < 0)
		return ar_probe_fails(p, "pipe");
	child = start_inside(g);
	if (child < 0)
		return ar_probe_fails(p, "starting inside a group");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		get_away(ends[1]);
	}
	close(ends[1]);
	is_working = kill_group(p, g, ends[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return is_working;
}

bool ar_probe_cgroup_kill(struct ar_probe *p)
{
	struct group g;
	bool is_working;

	if (!make_in(NULL, &g))
		return ar_probe_fails(p, "a group of the unified hierarchy");
	is_working = attack_group(p, &g);
	if (!remove_group(&g) && is_working)
		is_working = ar_probe_fails(p, "a process stayed in its group");
	return is_working;
}

/* As long as the process that counts; it may have ended before we could tie ourselves to it. */
static void stay_until_gone(pid_t counter)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while (getppid() == counter)
		pause();
	_exit(0);
}

static int count_forks(const struct group *g)
{
	pid_t counter = getpid();

	if (!set_value(g, "cgroup.procs", "0"))
		return 255;
	for (int i = 0; i < PIDS_LIMIT * 2; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return errno == EAGAIN ? i : 254;
		if (pid == 0)
			stay_until_gone(counter);
	}
	return PIDS_LIMIT * 2;
}

bool ar_probe_cgroup_pids(struct ar_probe *p)
{
	static const char *const names[2] = { "pids.max", "pids.max" };
	struct group g;
	int status = 0;
	pid_t child;

	if (!make_limited("pids", names, "4", &g))
		return ar_probe_fails(p, "a group with a limit of processes");
	child = fork();
	if (child == 0)
		_exit(count_forks(&g));
	waitpid(child, &status, 0);
	remove_group(&g);
	errno = 0;
	return (WIFEXITED(status) && WEXITSTATUS(status) < PIDS_LIMIT) ||
	       ar_probe_fails(p, "the limit of processes was passed");
}

static void use_memory(const struct group *g)
{
	volatile char *bytes;

	if (!set_value(g, "cgroup.procs", "0"))
		_exit(2);
	bytes = mmap(NULL, MEMORY_USED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED)
		_exit(3);
	for (size_t i = 0; i < MEMORY_USED; i += 4096)
		bytes[i] = 1;
	_exit(0);
}

bool ar_probe_cgroup_memory(struct ar_probe *p)
{
	static const char *const names[2] = { "memory.max", "memory.limit_in_bytes" };
	struct group g;
	int status = 0;
	pid_t child;

	if (!make_limited("memory", names, MEMORY_LIMIT, &g))
		return ar_probe_fails(p, "a group with a limit of memory");
	set_value(&g, g.is_unified ? "memory.swap.max" : "memory.memsw.limit_in_bytes",
		  g.is_unified ? "0" : MEMORY_LIMIT);
	child = fork();
	if (child == 0)
		use_memory(&g);
	waitpid(child, &status, 0);
	remove_group(&g);
	errno = 0;
	return (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
	       ar_probe_fails(p, "the limit of memory was passed");
}
