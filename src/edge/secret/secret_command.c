/* See secret_priv.h. No shell, a small environment, no input, the root folder: what it runs is what the
 * settings say, wherever agentd was started. It has a session of its own, and what is left of that at the end
 * is killed. */
#include "secret_priv.h"

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLICE_MS 100 /* how late a stop is noticed */

struct run {
	const struct ar_secret_order *order;
	pid_t pid;
	int out; /* the reading end */
};

static enum ar_status start(struct run *r, int null, int writing, struct ar_error *err)
{
	const struct ar_secret_source *s = r->order->source;
	AR_AUTO(ar_buf_fini) struct ar_buf home = { 0 };
	char *env[] = {
		(char *)(uintptr_t) "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		(char *)(uintptr_t) "LANG=C.UTF-8", NULL, NULL
	};
	int rc;

	ar_buf_addf(&home, "HOME=%s%c", getenv("HOME") ? getenv("HOME") : "/", '\0');
	env[2] = home.p;
	rc = ar_spawn(&(struct ar_spawn){ .program = s->argv[0],
					  .argv = s->argv,
					  .envp = env,
					  .workdir = "/",
					  .fds = { null, writing, null },
					  .fd_count = 3,
					  .has_session = true },
		      &r->pid);
	if (rc != 0)
		return ar_fail(err, AR_E_NOT_FOUND,
			       "'%.100s' cannot be started: %s; check the path and its "
			       "permissions",
			       s->argv[0], strerror(rc));
	return AR_OK;
}

/* Its output up to the end; more than a secret can have ends it at once. */
static enum ar_status collect(const struct run *r, struct ar_buf *out, struct ar_error *err)
{
	char piece[4096];
	ssize_t n = 1;

	while (n != 0) {
		struct pollfd p = { r->out, POLLIN, 0 };

		if (ar_secret_check_time(r->order, err) != AR_OK)
			return err->status;
		if (poll(&p, 1, SLICE_MS) <= 0)
			continue;
		n = read(r->out, piece, sizeof(piece));
		if (n > 0)
			ar_buf_add(out, piece, (size_t)n);
		if (out->len > AR_SECRET_MAX)
			return ar_fail(err, AR_E_LIMIT,
				       "'%.100s' writes more than %d bytes, which no secret has",
				       r->order->source->argv[0], AR_SECRET_MAX);
	}
	explicit_bzero(piece, sizeof(piece));
	return AR_OK;
}

/* It has closed its output, and most likely ended. */
static enum ar_status await(const struct run *r, struct ar_error *err)
{
	const char *name = r->order->source->argv[0];
	siginfo_t end = { 0 };

	while (waitid(P_PID, (id_t)r->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == 0) {
		if (ar_secret_check_time(r->order, err) != AR_OK)
			return err->status;
		poll(NULL, 0, 5);
	}
	if (end.si_code != CLD_EXITED)
		return ar_fail(err, AR_E_IO, "'%.100s' was killed by signal %d", name, end.si_status);
	if (end.si_status != 0)
		return ar_fail(err, AR_E_IO, "'%.100s' ended with status %d; run it by hand to see why", name,
			       end.si_status);
	return AR_OK;
}

enum ar_status ar_secret_run(const struct ar_secret_order *o, struct ar_buf *out, struct ar_error *err)
{
	struct run r = { .order = o };
	int ends[2] = { -1, -1 }, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	enum ar_status st;

	if (null < 0 || pipe2(ends, O_CLOEXEC) != 0) {
		st = ar_fail(err, AR_E_IO, "no program can be started: %s", strerror(errno));
	} else {
		r.out = ends[0];
		st = start(&r, null, ends[1], err);
	}
	if (null >= 0)
		close(null);
	if (ends[1] >= 0)
		close(ends[1]);
	if (!st)
		st = collect(&r, out, err);
	if (!st)
		st = await(&r, err);
	if (r.pid > 0) {
		/* Before it is waited for: until then its number is nobody else's. */
		kill(-r.pid, SIGKILL);
		waitpid(r.pid, NULL, 0);
	}
	if (ends[0] >= 0)
		close(ends[0]);
	return st;
}
