/* See child.h. The input is a sealed file in memory, not a pipe: there is no writing side that a handler which does not read could
 * block or break. Loop thread only. */
#include "child.h"

#include "compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child and we hold of the same three streams. */
struct streams {
	int in, out[2], err[2]; /* of a pair: 0 = ours, 1 = its */
};

static const struct streams none = { -1, { -1, -1 }, { -1, -1 } };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_streams(struct streams *s)
{
	close_fd(&s->in);
	for (int i = 0; i < 2; i++) {
		close_fd(&s->out[i]);
		close_fd(&s->err[i]);
	}
}

static int input_file(struct ar_str input)
{
	int fd = memfd_create("hook-input", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	for (size_t done = 0; done < input.len;) {
		ssize_t n = pwrite(fd, input.p + done, input.len - done, (off_t)done);

		if (n < 0 && errno != EINTR) {
			close(fd);
			return -1;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}

static bool open_pipe(int fds[2])
{
	return pipe2(fds, O_CLOEXEC) == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0;
}

static bool open_streams(struct ar_str input, struct streams *s)
{
	*s = none;
	s->in = input_file(input);
	return s->in >= 0 && open_pipe(s->out) && open_pipe(s->err);
}

/* Signals as a shell expects them: ours ignores SIGPIPE, and its threads block what they do not want. */
static int spawn(const struct ar_child_options *o, const struct streams *s, pid_t *ret)
{
	char *argv[] = { "sh", "-c", (char *)(uintptr_t)o->command, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t unblocked, usual;
	int rc;

	sigemptyset(&unblocked);
	sigfillset(&usual);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, s->in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, s->out[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, s->err[1], STDERR_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	posix_spawnattr_init(&how);
	posix_spawnattr_setsigmask(&how, &unblocked);
	posix_spawnattr_setsigdefault(&how, &usual);
	posix_spawnattr_setflags(&how, (short)(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
					       POSIX_SPAWN_SETSIGDEF));
	rc = posix_spawn(ret, "/bin/sh", &files, &how, argv, o->environment);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

enum ar_status ar_child_start(const struct ar_child_options *o, struct ar_child *ret, struct ar_error *err)
{
	struct ar_child child = { 0, -1, -1, -1 };
	struct streams s;
	int rc;

	if (!open_streams(o->input, &s)) {
		rc = errno;
		close_streams(&s);
		return ar_fail(err, AR_E_IO, "the command could not be given its input: %s", strerror(rc));
	}
	rc = spawn(o, &s, &child.pid);
	if (rc == 0) {
		child.out_fd = s.out[0];
		child.err_fd = s.err[0];
		s.out[0] = s.err[0] = -1;
	}
	close_streams(&s);
	if (rc != 0)
		return ar_fail(err, AR_E_IO, "the command could not be started: %s", strerror(rc));
	child.exit_fd = pidfd_open(child.pid, 0); /* not yet waited for, so the id is still its own */
	if (child.exit_fd < 0) {
		rc = errno;
		ar_child_end(&child);
		return ar_fail(err, AR_E_IO, "the command could not be watched: %s", strerror(rc));
	}
	*ret = child;
	return AR_OK;
}

void ar_child_signal(const struct ar_child *c, int signum)
{
	kill(-c->pid, signum);
}

bool ar_child_has_exited(const struct ar_child *c)
{
	struct pollfd end = { .fd = c->exit_fd, .events = POLLIN };

	return poll(&end, 1, 0) == 1;
}

int ar_child_end(struct ar_child *c)
{
	int status = 0;

	/* Before it is waited for: until then no other process or group can have its id. */
	ar_child_signal(c, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	close_fd(&c->exit_fd);
	close_fd(&c->out_fd);
	close_fd(&c->err_fd);
	c->pid = 0;
	return status;
}
