/* What must not have come along: descriptors, variables, a terminal, and identity of the one who started
 * it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attempt.h"

extern char **environ;

static int through_descriptor(const struct attempt *a)
{
	int fd = openat((int)a->args[0], "etc/passwd", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : close(fd);
}

static int write_descriptor(const struct attempt *a)
{
	return write((int)a->args[0], "x", 1) < 0 ? -1 : 0;
}

/* Worked: a descriptor above 2 is open that this process did not open itself (one is the pipe it answers
 * through). */
static int any_descriptor(const struct attempt *a)
{
	int open_ones = 0;

	(void)a;
	for (int fd = 3; fd < 4096; fd++)
		open_ones += fcntl(fd, F_GETFD) >= 0;
	return open_ones > 1 ? 0 : fail_with(EBADF);
}

static int has_variable(const struct attempt *a)
{
	for (char **v = environ; *v; v++) {
		if (strncmp(*v, a->path, strlen(a->path)) == 0)
			return 0;
	}
	return fail_with(ENOENT);
}

static int has_value(const struct attempt *a)
{
	const char *secret = expand(a->path);

	for (char **v = environ; *v; v++) {
		if (strstr(*v, secret) && strncmp(*v, "ESC_", 4) != 0)
			return 0;
	}
	return fail_with(ENOENT);
}

/* Input is nothing, or a pipe; never a file or terminal of the host. */
static int host_input(const struct attempt *a)
{
	struct stat st;

	(void)a;
	if (fstat(0, &st) != 0)
		return -1;
	bool is_null = S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
	return is_null || S_ISFIFO(st.st_mode) ? fail_with(ENODEV) : 0;
}

static int in_host_session(const struct attempt *a)
{
	(void)a;
	return getsid(0) == 0 || getpgrp() == 0 ? 0 : fail_with(ESRCH);
}

/* A signal that the parent ignored would be ignored here, too. */
static int ignores_signals(const struct attempt *a)
{
	struct sigaction now;
	sigset_t blocked;

	(void)a;
	for (int s = 1; s < 32; s++) {
		if (s != SIGKILL && s != SIGSTOP && sigaction(s, NULL, &now) == 0 &&
		    now.sa_handler == SIG_IGN)
			return 0;
	}
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int s = 1; s < 32; s++) {
		if (sigismember(&blocked, s) == 1)
			return 0;
	}
	return fail_with(ENOENT);
}

static const struct attempt rows[] = {
	{ "descriptor_root", through_descriptor, NULL, "EBADF", "EBADF", "EBADF", NULL, 0, { 9 } },
	{ "descriptor_victim", write_descriptor, NULL, "EBADF", "EBADF", "EBADF", NULL, 0, { 20 } },
	{ "descriptor_far", through_descriptor, NULL, "EBADF", "EBADF", "EBADF", NULL, 0, { 900 } },
	{ "descriptor_any", any_descriptor, NULL, "EBADF", "EBADF", "EBADF" },
	{ "environment_secret", has_value, "$LEAK", "ENOENT", "ENOENT", "ENOENT" },
	{ "environment_preload", has_variable, "LD_", "ENOENT", "ENOENT", "ENOENT" },
	{ "environment_agent", has_variable, "SSH_AUTH_SOCK", "ENOENT", "ENOENT", "ENOENT" },
	{ "environment_shell", has_variable, "BASH_ENV", "ENOENT", "ENOENT", "ENOENT" },
	{ "host_input", host_input, NULL, "ENODEV", "ENODEV", "ENODEV" },
	{ "host_session", in_host_session, NULL, "ESRCH", "ESRCH", "ESRCH" },
	{ "signals_ignored", ignores_signals, NULL, "ENOENT", "ENOENT", "ENOENT" },
};

const struct attempt_list hygiene_attempts = ATTEMPT_LIST(rows);
