/* See child.h. Loop thread only. */
#include "child.h"

#include "compiler.h"
#include "io/descriptor.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child and we hold of the same three streams. */
struct streams {
	int in, out[2], err[2]; /* of a pair: 0 = ours, 1 = its */
};

static const struct streams none = { -1, { -1, -1 }, { -1, -1 } };

static void close_streams(struct streams *s)
{
	ar_fd_close(&s->in);
	for (int i = 0; i < 2; i++) {
		ar_fd_close(&s->out[i]);
		ar_fd_close(&s->err[i]);
	}
}

static bool open_pipe(int fds[2])
{
	return pipe2(fds, O_CLOEXEC) == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0;
}

static bool open_streams(struct ar_str input, struct streams *s)
{
	*s = none;
	s->in = ar_spawn_input(input);
	return s->in >= 0 && open_pipe(s->out) && open_pipe(s->err);
}

static int spawn_shell(const struct ar_child_options *o, const struct streams *s, pid_t *ret)
{
	char *argv[] = { "sh", "-c", (char *)(uintptr_t)o->command, NULL };
	struct ar_spawn how = {
		.program = "/bin/sh",
		.workdir = "/", /* never a workspace: what lies there sandboxed commands may have written */
		.argv = argv,
		.envp = o->environment,
		.fds = { s->in, s->out[1], s->err[1] },
		.fd_count = 3,
		.has_session = true,
	};

	return ar_spawn(&how, ret);
}

enum ar_status ar_child_start(const struct ar_child_options *o, struct ar_child *ret, struct ar_error *err)
{
	struct ar_child child = { 0, -1, -1, -1 };
	struct streams s;
	int rc;

	if (!open_streams(o->input, &s)) {
		rc = errno;
		close_streams(&s);
		return ar_fail(err, AR_E_IO, "the input of the command could not be sent: %s", strerror(rc));
	}
	rc = spawn_shell(o, &s, &child.pid);
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
	ar_fd_close(&c->exit_fd);
	ar_fd_close(&c->out_fd);
	ar_fd_close(&c->err_fd);
	c->pid = 0;
	return status;
}
