/* See tree.h. */
#include "tree.h"

#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define DEPTH_MAX 4 /* from the first process up to the shim */
#define CHILDREN_MAX 64 /* of the first process, that are looked at */

/* linux/pidfd.h of Linux 6.16; older headers have none of it. */
struct pidfd_end {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t status;
};
#define END_IS_KNOWN (1u << 3)
#define GET_END _IOWR(0xFF, 11, struct pidfd_end)

static struct ar_str read_proc(pid_t pid, const char *name, char *out, size_t room)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, out, room - 1);
	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = '\0';
	return (struct ar_str){ out, n > 0 ? (size_t)n : 0 };
}

/* The last number of a line of /proc/PID/status; 0: there is none. */
static pid_t status_number(pid_t pid, const char *word)
{
	char text[4096], *line, *end;

	read_proc(pid, "status", text, sizeof(text));
	line = strstr(text, word);
	if (!line)
		return 0;
	end = strchrnul(++line, '\n'); /* the word begins with the end of the line before */
	*end = '\0';
	while (end > line && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return (pid_t)strtol(end, NULL, 10);
}

static bool is_below(pid_t pid, pid_t ancestor)
{
	for (int i = 0; i < DEPTH_MAX && pid > 1; i++) {
		pid = status_number(pid, "\nPPid:");
		if (pid == ancestor)
			return true;
	}
	return false;
}

int ar_tree_first(pid_t shim, pid_t first)
{
	int fd = shim > 1 && first > 1 ? pidfd_open(first, 0) : -1;

	/* Asked while it is held: the id cannot change its owner in between. */
	if (fd < 0 || (is_below(first, shim) && !ar_tree_has_ended(fd)))
		return fd;
	close(fd);
	return -1;
}

int ar_tree_command(pid_t first, pid_t inside, pid_t *ret_outside)
{
	char name[64], text[1024], *at = text, *end;

	snprintf(name, sizeof(name), "task/%d/children", (int)first);
	read_proc(first, name, text, sizeof(text));
	for (int i = 0; i < CHILDREN_MAX; i++) {
		pid_t child = (pid_t)strtol(at, &end, 10);
		int fd;

		if (end == at || child <= 1)
			return -1;
		at = end;
		fd = pidfd_open(child, 0);
		if (fd >= 0 && status_number(child, "\nNSpid:") == inside && is_below(child, first)) {
			*ret_outside = child;
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

bool ar_tree_has_ended(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	return poll(&end, 1, 0) == 1;
}

bool ar_tree_exit_of(int pidfd, int *ret_status)
{
	struct pidfd_end end = { .mask = END_IS_KNOWN };

	if (pidfd < 0 || ioctl(pidfd, GET_END, &end) != 0 || !(end.mask & END_IS_KNOWN))
		return false;
	*ret_status = end.status;
	return true;
}

void ar_tree_kill(int pidfd)
{
	if (pidfd >= 0)
		pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
}

void ar_tree_kill_cgroup(const char *folder)
{
	char path[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.kill", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	do
		n = write(fd, "1", 1);
	while (n < 0 && errno == EINTR);
	close(fd);
}

/* Member `nth` of /proc/PID/stat, counted after the name in parentheses, which may hold anything. */
static long stat_number(pid_t pid, int nth)
{
	char text[1024], *at;

	read_proc(pid, "stat", text, sizeof(text));
	at = strrchr(text, ')');
	for (int i = 0; at && i < nth; i++)
		at = strchr(at + 1, ' ');
	return at ? strtol(at, NULL, 10) : 0;
}

bool ar_tree_reads_terminal(pid_t command)
{
	long foreground = stat_number(command, 6); /* tpgid */
	char text[128];

	if (foreground <= 1)
		return false;
	/* "0 0x0 ...": read() of its standard input. */
	return ar_str_starts(read_proc((pid_t)foreground, "syscall", text, sizeof(text)), AR_STR("0 0x0 "));
}
