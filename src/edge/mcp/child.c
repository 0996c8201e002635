/* See child.h. Loop thread only.
 *
 * A server must not outlive us, also when we are killed and can do nothing about it. Its standard
 * input ends then, which most servers obey; for the others, and for what they started, a guard
 * stands beside each child: a shell that reads from a pipe of ours, in which nothing is ever
 * written. When the pipe ends we are dead, and it kills the child's group; when the child ends in
 * order the guard is killed first. posix_spawn has no parent-death signal, and that signal would
 * reach the child alone and not its group. */
#include "child.h"

#include "arena.h"
#include "io/descriptor.h"
#include "mem.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIST_MAX 256 /* arguments, and settings of the environment */

static const char guard_script[] = "read word; kill -s TERM -- \"-$1\" 2>/dev/null; sleep 2; "
				   "kill -s KILL -- \"-$1\" 2>/dev/null";

/* What a program needs to find its way; everything else of ours, keys above all, stays here. */
static const char *const handed_on[] = { "HOME",  "LANG", "LC_ALL", "LOGNAME", "PATH",
					 "SHELL", "TERM", "TMPDIR", "TZ",      "USER" };

/* Pipes between us and it: 0 = the reading end. */
struct streams {
	int in[2], out[2], err[2];
};

static void close_streams(struct streams *s)
{
	for (int i = 0; i < 2; i++) {
		ar_fd_close(&s->in[i]);
		ar_fd_close(&s->out[i]);
		ar_fd_close(&s->err[i]);
	}
}

static bool open_streams(struct streams *s)
{
	*s = (struct streams){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	return pipe2(s->in, O_CLOEXEC) == 0 && pipe2(s->out, O_CLOEXEC) == 0 && pipe2(s->err, O_CLOEXEC) == 0;
}

static char **argv_of(const struct ar_mcp_options *o)
{
	char **argv = ar_new0((LIST_MAX + 2) * sizeof(*argv));
	size_t n = 0;

	argv[n++] = (char *)(uintptr_t)o->command;
	for (size_t i = 0; o->args && o->args[i] && i < LIST_MAX; i++)
		argv[n++] = (char *)(uintptr_t)o->args[i];
	return argv;
}

static char **envp_of(const struct ar_mcp_options *o, struct ar_arena *a)
{
	char **envp = ar_new0((LIST_MAX + AR_ARRAY_LEN(handed_on) + 1) * sizeof(*envp));
	size_t n = 0;

	/* The configured ones first: of two with one name, programs take the first. */
	for (size_t i = 0; o->env && o->env[i] && i < LIST_MAX; i++)
		envp[n++] = (char *)(uintptr_t)o->env[i];
	for (size_t i = 0; i < AR_ARRAY_LEN(handed_on); i++) {
		const char *value = getenv(handed_on[i]);

		if (value)
			envp[n++] = (char *)(uintptr_t)ar_arena_fmt(a, "%s=%s", handed_on[i], value).p;
	}
	return envp;
}

static int spawn_server(const struct ar_mcp_options *o, const struct streams *s, pid_t *ret)
{
	struct ar_arena arena = { 0 };
	char **argv = argv_of(o), **envp = envp_of(o, &arena);
	struct ar_spawn how = {
		.program = o->command,
		.argv = argv,
		.envp = envp,
		.workdir = o->workdir,
		.fds = { s->in[0], s->out[1], s->err[1] },
		.fd_count = 3,
	};
	int rc = ar_spawn(&how, ret);

	ar_free(argv);
	ar_free(envp);
	ar_arena_fini(&arena);
	return rc;
}

/* Without a guard the server still sees the end of its input. */
static void spawn_guard(struct ar_mcp_child *c)
{
	char group[16];
	char *argv[] = { "agentd-mcp-guard", "-c", (char *)(uintptr_t)guard_script, "guard", group, NULL };
	char *envp[] = { "PATH=/usr/bin:/bin", NULL };
	struct ar_spawn how = { .program = "/bin/sh", .argv = argv, .envp = envp, .fd_count = 3 };
	int word[2], null;

	if (pipe2(word, O_CLOEXEC) != 0)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	snprintf(group, sizeof(group), "%d", (int)c->pid);
	how.fds[0] = word[0];
	how.fds[1] = how.fds[2] = null;
	if (null >= 0 && ar_spawn(&how, &c->guard) == 0)
		c->guard_fd = word[1];
	else
		close(word[1]);
	close(word[0]);
	ar_fd_close(&null);
}

enum ar_status ar_mcp_child_start(const struct ar_mcp_options *o, struct ar_mcp_child *ret,
				  struct ar_error *err)
{
	struct ar_mcp_child c = { .exit_fd = -1, .guard_fd = -1 };
	struct streams s;
	int rc;

	if (!open_streams(&s)) {
		rc = errno;
		close_streams(&s);
		return ar_fail(err, AR_E_IO, "the pipes to '%s' could not be created: %s", o->command,
			       strerror(rc));
	}
	rc = spawn_server(o, &s, &c.pid);
	if (rc != 0) {
		close_streams(&s);
		return ar_fail(err, AR_E_IO, "'%s' could not be started: %s", o->command, strerror(rc));
	}
	c.exit_fd = pidfd_open(c.pid, 0); /* not waited for yet, so the id is still its own */
	if (c.exit_fd < 0) {
		rc = errno;
		close_streams(&s);
		ar_mcp_child_end(&c);
		return ar_fail(err, AR_E_IO, "'%s' cannot be watched: %s", o->command, strerror(rc));
	}
	spawn_guard(&c);
	c.in = s.in[1];
	c.out = s.out[0];
	c.err = s.err[0];
	s.in[1] = s.out[0] = s.err[0] = -1;
	close_streams(&s);
	*ret = c;
	return AR_OK;
}

void ar_mcp_child_signal(const struct ar_mcp_child *c, int signum)
{
	kill(-c->pid, signum);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void dismiss_guard(struct ar_mcp_child *c)
{
	if (c->guard_fd < 0)
		return;
	kill(c->guard, SIGKILL);
	wait_for(c->guard);
	ar_fd_close(&c->guard_fd);
	c->guard = 0;
}

int ar_mcp_child_end(struct ar_mcp_child *c)
{
	int status;

	/* All before the child is waited for: until then no other process or group can have its id. */
	ar_mcp_child_signal(c, SIGKILL);
	dismiss_guard(c);
	status = wait_for(c->pid);
	ar_fd_close(&c->exit_fd);
	c->pid = 0;
	return status;
}
