/* execve of the plan's command. vfork, since a copy of our memory would only be thrown away; why execve
 * failed comes through a pipe that success closes. The search along PATH happens here, behind the boundary:
 * it finds what the command would find. */
#include "command.h"

#include "message.h"
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path_of(const struct ar_plan *p)
{
	for (size_t i = 0; i < p->env_count; i++) {
		if (strncmp(p->env[i], "PATH=", 5) == 0)
			return p->env[i] + 5;
	}
	return "/usr/local/bin:/usr/bin:/bin";
}

/* Returns only when it fails. EACCES is worth telling even if a later folder has nothing at all. */
static void exec_from_path(const struct ar_plan *p)
{
	char file[PATH_MAX];
	const char *folder = path_of(p);
	int found = ENOENT;

	for (;;) {
		size_t len = strcspn(folder, ":");
		int size = snprintf(file, sizeof(file), "%.*s%s%s", (int)len, folder, len > 0 ? "/" : "./",
				    p->argv[0]);

		if (size > 0 && (size_t)size < sizeof(file)) {
			execve(file, (char *const *)p->argv, (char *const *)p->env);
			if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
				return;
			found = errno == EACCES ? EACCES : found;
		}
		if (folder[len] == '\0')
			break;
		folder += len + 1;
	}
	errno = found;
}

/* Never returns. */
static void exec_command(const struct ar_init *in, const sigset_t *none, int report)
{
	const struct ar_plan *p = &in->plan;
	int failed;

	sigprocmask(SIG_SETMASK, none, NULL);
	if (setsid() >= 0 && ar_streams_set_stdio(in) == 0) {
		if (strchr(p->argv[0], '/'))
			execve(p->argv[0], (char *const *)p->argv, (char *const *)p->env);
		else
			exec_from_path(p);
	}
	failed = errno;
	if (write(report, &failed, sizeof(failed)) < 0)
		_exit(126);
	_exit(127);
}

/* 0 once the other end is closed by execve, or what it failed with. */
static int wait_for_exec(int report)
{
	int failed = 0;

	while (read(report, &failed, sizeof(failed)) < 0 && errno == EINTR)
		;
	return failed;
}

pid_t ar_command_start(struct ar_init *in)
{
	int report[2], failed;
	sigset_t none;
	pid_t pid;

	sigemptyset(&none);
	if (pipe2(report, O_CLOEXEC) < 0)
		return ar_init_fail(in, "pipe", NULL);
	pid = vfork();
	if (pid == 0)
		exec_command(in, &none, report[1]);
	close(report[1]);
	if (pid < 0)
		return ar_init_fail(in, "vfork", NULL);
	failed = wait_for_exec(report[0]);
	close(report[0]);
	if (failed == 0)
		return pid;
	waitpid(pid, NULL, 0);
	errno = failed;
	return ar_init_fail(in, in->plan.argv[0], NULL);
}
