/* Standard streams of the command. Nothing that we inherited goes on to it but descriptor 0 and those behind
 * the plan, and those only when the plan says so. */
#include "streams.h"

#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* To where the command finds them; everything else that is open goes. */
static int move_given(struct ar_init *in)
{
	unsigned given = in->plan.given;

	for (unsigned i = given; i-- > 0;) {
		if (dup3(AR_INIT_PLAN_FD + 1 + (int)i, AR_INIT_GIVEN_FD + (int)i, O_CLOEXEC) < 0)
			return ar_init_fail(in, "given descriptor", NULL);
	}
	if (close_range(AR_INIT_PLAN_FD, AR_INIT_GIVEN_FD - 1, 0) < 0 ||
	    close_range(AR_INIT_GIVEN_FD + given, ~0u, 0) < 0)
		return ar_init_fail(in, "close_range", NULL);
	return 0;
}

int ar_streams_clear(struct ar_init *in)
{
	int null;

	if (move_given(in) < 0)
		return -1;
	if (fcntl(AR_INIT_FD, F_SETFD, FD_CLOEXEC) < 0)
		return ar_init_fail(in, "socket", NULL);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return ar_init_fail(in, "/dev/null", NULL);
	for (int fd = in->plan.stdin_is_given ? 1 : 0; fd < 3; fd++) {
		if (null != fd && dup2(null, fd) < 0)
			return ar_init_fail(in, "/dev/null", NULL);
	}
	if (null > 2)
		close(null);
	return 0;
}

static int put_at(int fd, int number, int flags)
{
	int failed = flags ? dup3(fd, number, flags) : dup2(fd, number);

	close(fd);
	return failed < 0 ? -1 : 0;
}

int ar_streams_set_given(struct ar_init *in, int stdin_fd, const int *given, size_t count)
{
	if (stdin_fd >= 0 && put_at(stdin_fd, STDIN_FILENO, 0) < 0)
		return ar_init_fail(in, "given input", NULL);
	for (size_t i = 0; i < count; i++) {
		if (put_at(given[i], AR_INIT_GIVEN_FD + (int)i, O_CLOEXEC) < 0)
			return ar_init_fail(in, "given descriptor", NULL);
	}
	return 0;
}

/* A pipe whose command's end is in->stdio[which]. */
static int open_pipe(struct ar_init *in, int which, enum ar_init_fd other)
{
	int ends[2];
	bool is_input = which == 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return ar_init_fail(in, "pipe", NULL);
	in->stdio[which] = ends[is_input ? 0 : 1];
	in->fds[other] = ends[is_input ? 1 : 0];
	return 0;
}

static int open_terminal(struct ar_init *in)
{
	struct winsize size = { .ws_row = in->plan.rows ? in->plan.rows : 24,
				.ws_col = in->plan.columns ? in->plan.columns : 80 };
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), unlocked = 0, slave;

	if (master < 0)
		return ar_init_fail(in, "/dev/ptmx", NULL);
	in->fds[AR_INIT_FD_TTY] = master;
	if (ioctl(master, TIOCSPTLCK, &unlocked) < 0 || ioctl(master, TIOCSWINSZ, &size) < 0)
		return ar_init_fail(in, "terminal", NULL);
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return ar_init_fail(in, "terminal", NULL);
	for (int i = 0; i < 3; i++)
		in->stdio[i] = slave;
	return 0;
}

int ar_streams_open(struct ar_init *in)
{
	if (in->plan.tty)
		return open_terminal(in);
	in->stdio[0] = STDIN_FILENO; /* /dev/null, or what was given */
	if (in->plan.keeps_stdin && open_pipe(in, 0, AR_INIT_FD_STDIN) < 0)
		return -1;
	if (open_pipe(in, 1, AR_INIT_FD_STDOUT) < 0)
		return -1;
	return open_pipe(in, 2, AR_INIT_FD_STDERR);
}

void ar_streams_close_passed(struct ar_init *in)
{
	for (size_t i = 0; i < AR_INIT_FD_COUNT; i++) {
		if (in->fds[i] >= 0)
			close(in->fds[i]);
		in->fds[i] = -1;
	}
}

int ar_streams_set_stdio(const struct ar_init *in)
{
	for (int i = 0; i < 3; i++) {
		if (in->stdio[i] != i && dup2(in->stdio[i], i) < 0)
			return -1;
	}
	for (unsigned i = 0; i < in->plan.given; i++) {
		if (fcntl(AR_INIT_GIVEN_FD + (int)i, F_SETFD, 0) < 0)
			return -1;
	}
	return in->plan.tty ? ioctl(STDIN_FILENO, TIOCSCTTY, 0) : 0;
}

/* Whatever is still open but the socket: streams, and the three that lead nowhere. */
void ar_streams_close(struct ar_init *in)
{
	close_range(0, AR_INIT_FD - 1, 0);
	close_range(AR_INIT_FD + 1, ~0u, 0);
	for (int i = 0; i < 3; i++)
		in->stdio[i] = -1;
}
