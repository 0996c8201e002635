/* See git.h: one child with a fixed environment, its output read until its end or the call's. */
#include "git/git.h"

#include "clock.h"
#include "shown.h"
#include "workspace.h"
#include "write/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 64
#define SAID_MAX 2048
#define LINE_SHOWN ((size_t)2000)

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

struct child {
	pid_t pid;
	int out, err; /* reading ends */
};

static bool open_pipes(int out[2], int err[2])
{
	if (pipe2(out, O_CLOEXEC) != 0)
		return false;
	if (pipe2(err, O_CLOEXEC) == 0)
		return true;
	close(out[0]);
	close(out[1]);
	return false;
}

static int spawn(const char *const *args, const char *workspace, int out, int err, pid_t *ret)
{
	const char *argv[AR_ARRAY_LEN(always) + ARGS_MAX + 1];
	size_t count = AR_ARRAY_LEN(always);
	posix_spawn_file_actions_t actions;

	memcpy(argv, always, sizeof(always));
	for (size_t i = 0; args[i]; i++)
		argv[count++] = args[i];
	argv[count] = NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_adddup2(&actions, err, 2);
	posix_spawn_file_actions_addchdir_np(&actions, workspace);
	int code = posix_spawnp(ret, "git", &actions, NULL, (char *const *)(void *)argv, environment);

	posix_spawn_file_actions_destroy(&actions);
	return code;
}

static bool start(struct ar_files_work *w, const char *const *args, struct child *ret)
{
	int out[2], err[2], code;

	if (!open_pipes(out, err)) {
		ar_files_fail(w, "io", "Try again.", "git cannot be run: %s.", strerror(errno));
		return false;
	}
	code = spawn(args, w->workspace.p, out[1], err[1], &ret->pid);
	close(out[1]);
	close(err[1]);
	ret->out = out[0];
	ret->err = err[0];
	if (code == 0)
		return true;
	close(out[0]);
	close(err[0]);
	ar_files_fail(w, "not_found", "Tell the user that git is missing here.", "git cannot be run: %s.",
		      strerror(code));
	return false;
}

/* Takes what is there; what does not fit is thrown away, so that git never waits for us. */
static bool read_some(int fd, struct ar_buf *to)
{
	char part[65536];
	ssize_t n = read(fd, part, sizeof(part));

	if (n <= 0)
		return n < 0 && errno == EINTR;
	size_t room = to->cap - to->len, len = (size_t)n < room ? (size_t)n : room;

	ar_buf_add(to, part, len);
	to->failed = to->failed || len < (size_t)n;
	return true;
}

/* False: the time of the call is over. */
static bool read_all(struct ar_files_work *w, struct child *c, struct ar_buf *out, struct ar_buf *err)
{
	struct pollfd fds[] = { { c->out, POLLIN, 0 }, { c->err, POLLIN, 0 } };
	struct ar_clock *clock = ar_clock_system();

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		ar_usec left = w->until - clock->mono(clock);

		if (left <= 0)
			return false;
		if (poll(fds, 2, (int)(left / 1000 + 1)) <= 0)
			continue;
		for (int i = 0; i < 2; i++) {
			if (fds[i].revents && !read_some(fds[i].fd, i ? err : out))
				fds[i].fd = -1;
		}
	}
	return true;
}

static void fail_with(struct ar_files_work *w, const struct ar_buf *said)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

	ar_shown_add_text(&text, ar_line_trimmed(ar_buf_str(said)));
	if (memmem(text.p ? text.p : "", text.len, "not a git repository", 20))
		ar_files_fail(w, "not_a_repository", "Use list_files and read_file instead.",
			      "The workspace is not a git repository.");
	else
		ar_files_fail(w, "tool_error", "Correct what git names, or use other arguments.",
			      "git failed: %.*s", AR_STR_ARG(ar_buf_str(&text)));
}

bool ar_git_run(struct ar_files_work *w, const char *const *args, struct ar_buf *ret)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(w);
	AR_AUTO(ar_buf_fini) struct ar_buf said = { .cap = SAID_MAX };
	struct child c;
	int status = 0;

	if (root < 0 || !start(w, args, &c))
		return false;
	bool is_whole = read_all(w, &c, ret, &said);

	if (!is_whole)
		kill(c.pid, SIGKILL);
	while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
		continue;
	close(c.out);
	close(c.err);
	if (!is_whole)
		ar_files_fail(w, "timeout", "Name a path to look at less.", "git took too long.");
	else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_with(w, &said);
	return !ar_files_failed(w);
}

static bool add_line(struct ar_files_work *w, struct ar_str line)
{
	struct ar_str bare = ar_line_bare(line), shown = ar_str_utf8_prefix(bare, LINE_SHOWN);

	if (!ar_files_fits(w, LINE_SHOWN * 3 + 200))
		return false;
	ar_shown_add_text(&w->text, shown);
	ar_buf_addz(&w->text, shown.len < bare.len ? " [line cut here]\n" : "\n");
	return true;
}

void ar_git_show(struct ar_files_work *w, const struct ar_buf *printed, const char *call)
{
	struct ar_lines lines = { 0 };
	size_t from = (size_t)w->args.offset - 1, i;

	if (!ar_lines_split(&w->arena, ar_buf_str(printed), &lines) || printed->failed)
		ar_buf_addz(&w->text, "(not complete: git printed more than can be kept; name a path)\n");
	for (i = from; i < lines.count && i - from < (size_t)w->args.limit; i++) {
		if (!add_line(w, lines.at[i]))
			break;
	}
	if (i < lines.count)
		ar_buf_addf(&w->text, "(%zu of %zu lines; call %s with offset=%zu for more)", i - from,
			    lines.count, call, i + 1);
}
