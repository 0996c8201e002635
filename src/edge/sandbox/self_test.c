/* See self_test.h. */
#include "self_test.h"

#include "buf.h"
#include "clock.h"
#include "path_list.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)256 << 10)
#define WITHOUT_MAX 32

static char **arguments(const struct ar_self_test *t, struct ar_arena *a)
{
	char **argv = ar_arena_alloc(a, (3 + 2 * WITHOUT_MAX) * sizeof(*argv));
	struct ar_str rest = t->without, name;
	size_t n = 0;

	argv[n++] = (char *)(uintptr_t)ar_arena_str(a, t->program).p;
	argv[n++] = "--probe";
	while (n + 2 < 3 + 2 * WITHOUT_MAX && ar_path_next(&rest, ",\n", &name)) {
		argv[n++] = "--without";
		argv[n++] = (char *)(uintptr_t)ar_arena_str(a, name).p;
	}
	return argv;
}

/* In a session of its own: what it starts goes with it when it is killed. */
static int start(char **argv, int out, pid_t *ret)
{
	static char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct ar_spawn how = { .program = argv[0],
				.argv = argv,
				.envp = environment,
				.workdir = "/",
				.fds = { nothing, out, nothing },
				.fd_count = 3,
				.has_session = true };
	int rc = nothing < 0 ? errno : ar_spawn(&how, ret);

	if (nothing >= 0)
		close(nothing);
	return rc;
}

/* Until the other end is closed; false: the deadline came first, or there was too much. */
static bool read_all(int fd, ar_usec deadline, struct ar_buf *out)
{
	struct ar_clock *clock = ar_clock_system();

	for (;;) {
		ar_usec left = deadline - clock->mono(clock);
		struct pollfd p = { .fd = fd, .events = POLLIN };
		char *room = ar_buf_room(out, 4096);
		ssize_t n;

		if (left <= 0 || !room)
			return false;
		if (poll(&p, 1, (int)(left / 1000) + 1) <= 0)
			continue;
		n = read(fd, room, 4096);
		if (n == 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
		out->len += n > 0 ? (size_t)n : 0;
	}
}

static void end_program(pid_t pid, bool has_ended)
{
	if (!has_ended)
		kill(-pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* An answer is a line. */
static size_t count_answers(const struct ar_buf *out)
{
	struct ar_str text = ar_buf_str(out);
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += text.p[i] == '\n';
	return n;
}

static enum ar_status read_output(int fd, pid_t pid, int64_t timeout_ms, struct ar_buf *out,
				  struct ar_error *err)
{
	struct ar_clock *clock = ar_clock_system();
	bool is_whole = read_all(fd, clock->mono(clock) + timeout_ms * 1000, out);

	end_program(pid, is_whole);
	if (!is_whole)
		return ar_fail(err, AR_E_TIMEOUT,
			       "the self-test of agent-init did not finish within %lld ms, with %zu answers",
			       (long long)timeout_ms, count_answers(out));
	if (out->len == 0)
		return ar_fail(err, AR_E_IO, "the self-test of agent-init printed nothing");
	return AR_OK;
}

enum ar_status ar_self_test_run(const struct ar_self_test *t, struct ar_arena *a, struct ar_str *ret_text,
				struct ar_error *err)
{
	struct ar_buf out = { .cap = TEXT_MAX };
	char **argv = arguments(t, a);
	enum ar_status rc;
	int fds[2], why;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return ar_fail(err, AR_E_IO, "the self-test could not be started: %s", strerror(errno));
	why = start(argv, fds[1], &pid);
	close(fds[1]);
	if (why != 0) {
		close(fds[0]);
		return ar_fail(err, why == ENOENT ? AR_E_NOT_FOUND : AR_E_IO, "%s could not be started: %s",
			       argv[0], strerror(why));
	}
	rc = read_output(fds[0], pid, t->timeout_ms, &out, err);
	close(fds[0]);
	if (rc == AR_OK)
		*ret_text = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return rc;
}
