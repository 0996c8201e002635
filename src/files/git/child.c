/* See child.h. Our ends never block: every wait is a poll that ends with the time of the call. */
#include "git/child.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 64
#define SAID_MAX 2048
#define PART 65536
#define WRITE_MAX ((size_t)512 << 10) /* that is collected before it is handed over */
#define PIPE_BYTES (1 << 20)

static const char *const always[] = {
	"git",
	"--no-pager",
	"--no-optional-locks",
	"-c",
	"core.fsmonitor=false",
	"-c",
	"core.hooksPath=/dev/null",
	"-c",
	"core.untrackedCache=false",
	"-c",
	"safe.directory=*",
	"-c",
	"color.ui=false",
	"-c",
	"core.quotePath=false",
};

static char *const environment[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin",
	"HOME=/nonexistent",
	"LC_ALL=C.UTF-8",
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_PAGER=cat",
	"GIT_ASKPASS=/bin/false",
	"GIT_LITERAL_PATHSPECS=1",
	NULL,
};

struct pipes {
	int in[2], out[2], err[2];
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_ends(struct pipes *p, int which)
{
	close_fd(&p->in[1 - which]);
	close_fd(&p->out[which]);
	close_fd(&p->err[which]);
}

static bool open_pipes(struct pipes *p)
{
	*p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (pipe2(p->in, O_CLOEXEC) == 0 && pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->err, O_CLOEXEC) == 0 &&
	    fcntl(p->in[1], F_SETFL, O_NONBLOCK) == 0 && fcntl(p->out[0], F_SETFL, O_NONBLOCK) == 0 &&
	    fcntl(p->err[0], F_SETFL, O_NONBLOCK) == 0) {
		(void)fcntl(p->in[1], F_SETPIPE_SZ, PIPE_BYTES); /* faster with it, right without */
		return true;
	}
	int code = errno;

	close_ends(p, 0);
	close_ends(p, 1);
	errno = code;
	return false;
}

static int spawn(const char *const *args, const char *folder, const struct pipes *p, pid_t *ret)
{
	const char *argv[AR_ARRAY_LEN(always) + ARGS_MAX + 1];
	size_t count = AR_ARRAY_LEN(always);
	posix_spawn_file_actions_t actions;

	memcpy(argv, always, sizeof(always));
	for (size_t i = 0; args[i]; i++) {
		AR_ASSERT(i < ARGS_MAX);
		argv[count++] = args[i];
	}
	argv[count] = NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, p->in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, p->out[1], 1);
	posix_spawn_file_actions_adddup2(&actions, p->err[1], 2);
	posix_spawn_file_actions_addchdir_np(&actions, folder);
	int code = posix_spawnp(ret, "git", &actions, NULL, (char *const *)(void *)argv, environment);

	posix_spawn_file_actions_destroy(&actions);
	return code;
}

bool ar_git_child_open(struct ar_files_work *w, const char *folder, const char *const *args,
		       struct ar_git_child *ret)
{
	struct pipes p;
	int code;

	*ret = (struct ar_git_child){
		.work = w, .pid = -1, .in = -1, .out = -1, .err = -1, .said = { .cap = SAID_MAX }
	};
	if (!open_pipes(&p)) {
		ar_files_fail(w, "io", "Try again.", "git cannot be run: %s.", strerror(errno));
		return false;
	}
	code = spawn(args, folder, &p, &ret->pid);
	close_ends(&p, 1);
	if (code == 0) {
		ret->in = p.in[1];
		ret->out = p.out[0];
		ret->err = p.err[0];
		return true;
	}
	close_ends(&p, 0);
	ar_files_fail(w, "not_found", "Tell the user that git is missing here.", "git cannot be run: %s.",
		      strerror(code));
	return false;
}

/* ---- what goes in and comes out ---- */

/* Takes what is there; what does not fit is thrown away, so that git never waits for us. False: the end. */
static bool read_some(int fd, struct ar_buf *to)
{
	char part[PART];
	ssize_t n = read(fd, part, sizeof(part));

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN);
	if (!to)
		return true;
	size_t room = to->cap ? to->cap - to->len : (size_t)n, len = (size_t)n < room ? (size_t)n : room;

	ar_buf_add(to, part, len);
	to->failed = to->failed || len < (size_t)n;
	return true;
}

/* Waits until one of the descriptors can be used; false: the time of the call is over. */
static bool wait_for(struct ar_git_child *c, struct pollfd *fds, nfds_t count)
{
	struct ar_clock *clock = ar_clock_system();

	for (;;) {
		ar_usec left = c->work->until - clock->mono(clock);

		if (left <= 0) {
			c->is_late = true;
			return false;
		}
		if (poll(fds, count, (int)(left / 1000 + 1)) > 0)
			return true;
	}
}

static void read_stderr(struct ar_git_child *c, const struct pollfd *f)
{
	if (f->revents && !read_some(c->err, &c->said))
		close_fd(&c->err);
}

bool ar_git_child_flush(struct ar_git_child *c)
{
	size_t done = 0;

	while (done < c->to_write.len && c->in >= 0 && !c->is_late) {
		ssize_t n = write(c->in, c->to_write.p + done, c->to_write.len - done);
		struct pollfd fds[] = { { c->in, POLLOUT, 0 }, { c->err, POLLIN, 0 } };

		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			close_fd(&c->in);
		else if (wait_for(c, fds, 2))
			read_stderr(c, &fds[1]);
	}
	bool is_done = done == c->to_write.len;

	ar_buf_clear(&c->to_write);
	return is_done;
}

bool ar_git_child_write(struct ar_git_child *c, struct ar_str bytes)
{
	ar_buf_adds(&c->to_write, bytes);
	return c->in >= 0 && (c->to_write.len < WRITE_MAX || ar_git_child_flush(c));
}

static bool read_ahead(struct ar_git_child *c)
{
	struct pollfd fds[] = { { c->out, POLLIN, 0 }, { c->err, POLLIN, 0 } };

	if (c->out < 0 || c->is_late || !wait_for(c, fds, 2))
		return false;
	read_stderr(c, &fds[1]);
	if (fds[0].revents && !read_some(c->out, &c->ahead))
		close_fd(&c->out);
	return true;
}

static void drop_read(struct ar_git_child *c)
{
	if (c->at < c->ahead.len && c->at < PART)
		return;
	ar_buf_eat(&c->ahead, c->at);
	c->at = 0;
}

bool ar_git_child_line(struct ar_git_child *c, struct ar_str *ret)
{
	drop_read(c);
	for (;;) {
		size_t len = c->ahead.len - c->at;
		const char *from = len > 0 ? c->ahead.p + c->at : "", *end = memchr(from, '\n', len);

		if (end) {
			*ret = (struct ar_str){ from, (size_t)(end - from) };
			c->at += ret->len + 1;
			return true;
		}
		if (len > PART || !read_ahead(c))
			return false;
	}
}

bool ar_git_child_bytes(struct ar_git_child *c, size_t len, struct ar_str *ret)
{
	drop_read(c);
	while (c->ahead.len - c->at < len) {
		if (!read_ahead(c))
			return false;
	}
	*ret = (struct ar_str){ len > 0 ? c->ahead.p + c->at : "", len };
	c->at += len;
	return true;
}

void ar_git_child_drain(struct ar_git_child *c, struct ar_buf *to)
{
	ar_git_child_flush(c);
	close_fd(&c->in);
	while (c->out >= 0 || c->err >= 0) {
		struct pollfd fds[] = { { c->out, POLLIN, 0 }, { c->err, POLLIN, 0 } };

		if (c->is_late || !wait_for(c, fds, 2))
			return;
		read_stderr(c, &fds[1]);
		if (fds[0].revents && !read_some(c->out, to))
			close_fd(&c->out);
	}
}

/* ---- the end ---- */

void ar_git_child_kill(struct ar_git_child *c)
{
	if (c->pid > 0)
		kill(c->pid, SIGKILL);
}

bool ar_git_child_close(struct ar_git_child *c)
{
	int status = -1;

	ar_git_child_drain(c, NULL);
	if (c->is_late)
		ar_git_child_kill(c);
	while (c->pid > 0 && waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	c->pid = -1;
	close_fd(&c->in);
	close_fd(&c->out);
	close_fd(&c->err);
	return !c->is_late && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void ar_git_child_fini(struct ar_git_child *c)
{
	ar_buf_fini(&c->to_write);
	ar_buf_fini(&c->ahead);
	ar_buf_fini(&c->said);
}
