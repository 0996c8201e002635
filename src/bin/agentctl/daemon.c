/* See daemon.h. The daemon is started in a session of its own, so that it outlives this terminal; what
 * it says goes to agentd.log in the data folder. One thread. */
#include "daemon.h"
#include "api.h"
#include "clock.h"
#include "io/start_file.h"
#include "mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_USEC 5000000
#define VERSION_MS 2000
#define SANDBOX_MS 5000
#define CHECK_MS 70000 /* every reference to a secret may be asked for */
#define SAID_MAX 65536
#define POLL_MS 10
#define RETURN_POLL_MS 100
#define LOG_TAIL ((off_t)2048) /* bytes of the log that are shown when the start fails */

#define LOOKS 4 /* at the table of locks */

#define WORKSPACES_DIR "AGENTD_WORKSPACES_DIR"
#define PERMISSION_MODE "AGENTD_PERMISSION_MODE"

extern char **environ;

bool ar_daemon_answers(struct ar_ctl *c)
{
	struct ar_http_request r = ar_api_request(c, "/health");
	struct ar_http_reply reply;
	bool is_ok;

	r.connect_ms = r.total_ms = 2000;
	r.signal_fd = -1;
	is_ok = ar_http_run(&r, &reply, NULL) == AR_OK && reply.status == 200;
	ar_buf_fini(&reply.body);
	return is_ok;
}

/* ---- who has the store ---- */

/* The process of the table's line for this inode; 0 when there is none. */
static pid_t find_holder(ino_t inode)
{
	FILE *table = fopen("/proc/locks", "re");
	char line[256];
	long found = 0;

	while (table && !found && fgets(line, sizeof(line), table)) {
		unsigned long long at;
		long pid;

		if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %ld %*x:%*x:%llu", &pid, &at) == 2 && at == inode)
			found = pid;
	}
	if (table)
		fclose(table);
	return (pid_t)found;
}

/* The kernel gives the table by the page: while locks of others come and go between two pages, a line can be
 * missed. So that there is none is believed after several looks. */
static pid_t holder_of(ino_t inode)
{
	pid_t found = 0;

	for (int i = 0; i < LOOKS && !found; i++)
		found = find_holder(inode);
	return found;
}

pid_t ar_daemon_holder(const char *data_dir)
{
	DIR *dir = opendir(data_dir);
	struct dirent *entry;
	pid_t found = 0;

	while (dir && !found && (entry = readdir(dir))) {
		struct stat st;

		if (ar_str_ends(ar_str_from(entry->d_name), AR_STR(".lock")) &&
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			found = holder_of(st.st_ino);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* ---- the program ---- */

static const char *program_in(struct ar_ctl *c, struct ar_str dir)
{
	struct ar_str path = ar_arena_fmt(&c->arena, "%.*s/agentd", AR_STR_ARG(dir));

	return access(path.p, X_OK) == 0 ? path.p : NULL;
}

static const char *program_beside(struct ar_ctl *c)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (len <= 0)
		return NULL;
	self[len] = '\0';
	slash = strrchr(self, '/');
	return slash ? program_in(c, (struct ar_str){ self, (size_t)(slash - self) }) : NULL;
}

const char *ar_daemon_program(struct ar_ctl *c)
{
	struct ar_str path = ar_str_from(getenv("PATH")), dir;
	const char *found = program_beside(c);

	while (!found && !ar_str_absent(path)) {
		path = ar_str_split(path, ':', &dir);
		if (ar_str_starts(dir, AR_STR("/")))
			found = program_in(c, dir);
	}
	return found;
}

/* ---- starting ---- */

bool ar_daemon_make_folder(const char *path)
{
	char *copy = ar_str_dup(ar_str_from(path));
	bool is_there;

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(copy, 0700);
		*slash = '/';
	}
	is_there = mkdir(copy, 0700) == 0 || errno == EEXIST;
	ar_free(copy);
	return is_there;
}

/* A folder that the daemon cannot make, or that others can change, would keep it from starting. */
static bool is_usable(struct ar_ctl *c, struct ar_str path)
{
	struct ar_str parent =
		ar_arena_str(&c->arena, ar_str_sub(path, 0, (size_t)(strrchr(path.p, '/') - path.p)));
	struct stat st;

	if (lstat(path.p, &st) == 0)
		return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
	return errno == ENOENT && (access(parent.p, W_OK | X_OK) == 0 || errno == ENOENT);
}

/* Where folders of workspaces are made, beside the data folder; absent: somebody else decides, or it cannot
 * be one. A settings file decides for itself, and nodes of a cluster need a folder that all of them have. */
static struct ar_str folder_for_workspaces(struct ar_ctl *c, const struct ar_start_file *last)
{
	struct ar_str data = ar_str_from(c->data_dir), path;

	if (ar_str_absent(data) || !ar_str_absent(last->config) ||
	    !ar_str_empty(ar_str_from(getenv(WORKSPACES_DIR))) ||
	    !ar_str_empty(ar_str_from(getenv("AGENTD_STORE"))))
		return AR_STR_NONE;
	while (data.len > 1 && data.p[data.len - 1] == '/')
		data.len--;
	path = ar_arena_fmt(&c->arena, "%.*s-workspaces", AR_STR_ARG(data));
	return is_usable(c, path) ? path : AR_STR_NONE;
}

/* Commands in the sandbox need no question then; the daemon asks about all that it cannot confine. A settings
 * file and a variable come first. */
static struct ar_str permission_mode(const struct ar_start_file *last)
{
	return ar_str_absent(last->config) && ar_str_empty(ar_str_from(getenv(PERMISSION_MODE)))
		       ? AR_STR("on_request")
		       : AR_STR_NONE;
}

char **ar_daemon_environ(struct ar_ctl *c, const struct ar_start_file *last)
{
	const struct {
		const char *name;
		struct ar_str value; /* absent: as it is */
	} added[] = { { WORKSPACES_DIR, folder_for_workspaces(c, last) },
		      { PERMISSION_MODE, permission_mode(last) } };
	size_t count = 0, n = 0;
	char **ret;

	while (environ[count])
		count++;
	ret = ar_arena_alloc(&c->arena, (count + AR_ARRAY_LEN(added) + 1) * sizeof(*ret));
	for (size_t i = 0; i < AR_ARRAY_LEN(added); i++) {
		if (!ar_str_absent(added[i].value))
			ret[n++] = (char *)(uintptr_t)ar_arena_fmt(&c->arena, "%s=%.*s", added[i].name,
								   AR_STR_ARG(added[i].value))
					   .p;
	}
	/* Of two with one name, the first is found: those that are set and empty come after. */
	for (size_t i = 0; i < count; i++)
		ret[n++] = environ[i];
	ret[n] = NULL;
	return ret;
}

struct start {
	pid_t pid;
	int log; /* descriptor, append */
	off_t log_from; /* its size before */
};

/* A session of its own, no terminal, default signals, nothing of ours open. */
static int spawn(char **argv, char **env, const int fds[3], pid_t *ret)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int failed;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawn_file_actions_init(&files);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&files, fds[i], i);
	posix_spawn_file_actions_addclosefrom_np(&files, 3);
	posix_spawn_file_actions_addchdir_np(&files, "/"); /* else it would keep the caller's folder busy */
	failed = posix_spawn(ret, argv[0], &files, &attr, argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return failed;
}

/* A settings file that is gone is not left out: its rules would be gone too. */
static enum ar_exit recall(struct ar_ctl *c, struct ar_start_file *ret)
{
	struct ar_error err = { 0 };

	if (ar_start_file_read(c->data_dir, &c->arena, ret, &err) != AR_OK)
		return ar_ctl_complain(
			c, AR_EXIT_UNREACHABLE,
			ar_arena_fmt(&c->arena, "start it yourself: agentd --config FILE --data-dir %s",
				     c->data_dir),
			"the daemon is not started, because its settings file is not known: %s", err.msg);
	if (ar_str_absent(ret->config) || access(ret->config.p, R_OK) == 0)
		return AR_EXIT_OK;
	return ar_ctl_complain(
		c, AR_EXIT_UNREACHABLE,
		ar_arena_fmt(
			&c->arena,
			"restore the file, or start the daemon with other settings: agentd --data-dir %s",
			c->data_dir),
		"the daemon is not started, because it ran with the settings file %s, which cannot be read: "
		"%s",
		ret->config.p, strerror(errno));
}

static enum ar_exit launch(struct ar_ctl *c, const char *program, const struct ar_start_file *last,
			   struct start *ret)
{
	bool has_file = !ar_str_absent(last->config);
	const char *listen = has_file ? last->listen.p : "off"; /* NULL: the settings file decides */
	const char *argv[10] = { program, "--data-dir", c->data_dir, "--socket", c->socket };
	size_t n = 5;
	const char *log = ar_arena_fmt(&c->arena, "%s/agentd.log", c->data_dir).p;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), failed;

	if (has_file) {
		argv[n++] = "--config";
		argv[n++] = last->config.p;
	}
	if (listen) {
		argv[n++] = "--listen";
		argv[n++] = listen;
	}
	ret->log = open(log, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (null < 0 || ret->log < 0)
		return ar_ctl_complain(c, AR_EXIT_UNREACHABLE,
				       AR_STR("check the owner of the data directory"),
				       "%s cannot be opened: %s", log, strerror(errno));
	ret->log_from = lseek(ret->log, 0, SEEK_END);
	failed = spawn((char **)argv, ar_daemon_environ(c, last), (const int[]){ null, null, ret->log },
		       &ret->pid);
	close(null);
	if (failed)
		return ar_ctl_complain(c, AR_EXIT_UNREACHABLE, AR_STR_NONE, "%s cannot be started: %s",
				       program, strerror(failed));
	return AR_EXIT_OK;
}

/* What the daemon wrote since we started it, at most the last lines. */
static void show_log(struct ar_ctl *c, const struct start *s)
{
	char text[LOG_TAIL];
	off_t end = lseek(s->log, 0, SEEK_END);
	off_t from = end - s->log_from > LOG_TAIL ? end - LOG_TAIL : s->log_from;
	ssize_t len = pread(s->log, text, sizeof(text), from);
	struct ar_str rest = { text, len > 0 ? (size_t)len : 0 }, line;

	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		ar_out_printf(&c->err, "  agentd: ");
		ar_out_line(&c->err, line);
		ar_out_printf(&c->err, "\n");
	}
}

/* Our own start may have lost against another's: then its exit means nothing as long as
 * somebody has the store. */
static bool is_hopeless(struct ar_ctl *c, pid_t pid, bool *has_exited)
{
	if (!*has_exited && waitpid(pid, NULL, WNOHANG) == pid)
		*has_exited = true;
	return *has_exited && !ar_daemon_holder(c->data_dir) && !ar_daemon_answers(c);
}

static enum ar_exit await(struct ar_ctl *c, const struct start *s)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec deadline = clock->mono(clock) + START_USEC;
	bool has_exited = false, is_over = false;

	while (!is_over && clock->mono(clock) < deadline) {
		if (ar_daemon_answers(c))
			return AR_EXIT_OK;
		is_over = is_hopeless(c, s->pid, &has_exited);
		if (!is_over)
			poll(NULL, 0, POLL_MS);
	}
	ar_ctl_complain(c, AR_EXIT_UNREACHABLE,
			ar_arena_fmt(&c->arena, "read %s/agentd.log, or run `agentctl doctor`", c->data_dir),
			is_over ? "agentd ended right after its start"
				: "agentd did not answer within five seconds");
	show_log(c, s);
	return AR_EXIT_UNREACHABLE;
}

enum ar_exit ar_daemon_ensure(struct ar_ctl *c)
{
	struct start start = { .log = -1 };
	struct ar_start_file last;
	const char *program;
	enum ar_exit exit;

	if (ar_daemon_answers(c))
		return AR_EXIT_OK;
	if (!c->socket)
		return ar_api_unreachable(c, AR_E_UNAVAILABLE, NULL);
	program = ar_daemon_program(c);
	if (!program)
		return ar_ctl_complain(c, AR_EXIT_UNREACHABLE,
				       AR_STR("put agentd next to agentctl or into a directory of PATH"),
				       "no daemon answers at %s, and agentd is not found to start one",
				       c->socket);
	if (!ar_daemon_make_folder(c->data_dir))
		return ar_ctl_complain(c, AR_EXIT_UNREACHABLE, AR_STR("name another with --data-dir"),
				       "the data directory %s cannot be created: %s", c->data_dir,
				       strerror(errno));
	exit = recall(c, &last);
	if (exit == AR_EXIT_OK)
		exit = launch(c, program, &last, &start);
	if (exit == AR_EXIT_OK)
		exit = await(c, &start);
	if (start.log >= 0)
		close(start.log);
	return exit;
}

/* ---- settings that a running daemon does not take ---- */

static struct ar_str real_path(struct ar_ctl *c, struct ar_str path)
{
	char real[PATH_MAX];

	return path.p && path.p[0] && realpath(path.p, real) ? ar_arena_str(&c->arena, ar_str_from(real))
							     : path;
}

void ar_daemon_compare(struct ar_ctl *c)
{
	struct ar_start_file has;
	const struct {
		const char *variable;
		const struct ar_str *value;
		bool is_path;
	} settings[] = { { "AGENTD_WORKSPACE", &has.workspace, true },
			 { "AGENTD_MODEL", &has.model, false },
			 { "AGENTD_PROVIDER", &has.provider, false } };
	bool differs = false;

	if (!c->socket || !c->data_dir || ar_start_file_read(c->data_dir, &c->arena, &has, NULL) != AR_OK ||
	    !ar_str_is(has.socket, c->socket)) /* another daemon is asked than that of the folder */
		return;
	for (size_t i = 0; i < AR_ARRAY_LEN(settings); i++) {
		struct ar_str own = ar_str_from(getenv(settings[i].variable)), its = *settings[i].value;

		if (settings[i].is_path) {
			own = real_path(c, own);
			its = real_path(c, its);
		}
		if (ar_str_empty(own) || ar_str_absent(its) || ar_str_eq(own, its))
			continue;
		differs = true;
		ar_ctl_note(c, "%s is %s here, but the running daemon has %s", settings[i].variable, own.p,
			    its.len ? its.p : "none");
	}
	if (differs)
		ar_ctl_note(
			c,
			"it keeps its settings until it ends; to use yours: agentctl stop, then run again");
}

bool ar_daemon_returns(struct ar_ctl *c)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec deadline = clock->mono(clock) + START_USEC;

	while (!ar_daemon_answers(c)) {
		if (clock->mono(clock) > deadline)
			return false;
		poll(NULL, 0, RETURN_POLL_MS);
	}
	return true;
}

const char *ar_daemon_how_to_start(struct ar_ctl *c)
{
	struct ar_start_file last = { 0 };

	if (!c->socket || !c->data_dir)
		return "agentd";
	if (ar_start_file_read(c->data_dir, &c->arena, &last, NULL) != AR_OK || ar_str_absent(last.config))
		return ar_arena_fmt(&c->arena, "agentd --data-dir %s", c->data_dir).p;
	return ar_arena_fmt(&c->arena, "agentd --data-dir %s --config %s", c->data_dir, last.config.p).p;
}

/* ---- what the program says ---- */

/* What it writes to the stream (1 or 2) until it ends; one that takes longer is killed.
 * Its wait status, or -1. */
static int listen_to(char **argv, char **env, int stream, int ms, struct ar_buf *out)
{
	int ends[2], null = open("/dev/null", O_RDWR | O_CLOEXEC), status = -1;
	struct ar_clock *clock = ar_clock_system();
	ar_usec deadline = clock->mono(clock) + (ar_usec)ms * 1000;
	char text[1024];
	ssize_t len = 1;
	pid_t pid;

	if (null < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	if (spawn(argv, env,
		  (const int[]){ null, stream == 1 ? ends[1] : null, stream == 2 ? ends[1] : null },
		  &pid) == 0) {
		close(ends[1]);
		ends[1] = -1;
		while (len > 0) {
			struct pollfd answer = { .fd = ends[0], .events = POLLIN };
			ar_usec left = deadline - clock->mono(clock);

			len = left > 0 && poll(&answer, 1, (int)(left / 1000) + 1) == 1
				      ? read(ends[0], text, sizeof(text))
				      : 0;
			if (len > 0 && out->len < SAID_MAX)
				ar_buf_add(out, text, (size_t)len);
		}
		if (clock->mono(clock) >= deadline)
			kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	close(null);
	close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
	return status;
}

struct ar_str ar_daemon_version(struct ar_ctl *c, const char *program)
{
	char *argv[] = { (char *)program, (char *)"--version", NULL };
	struct ar_str line = AR_STR_NONE;
	struct ar_buf said = { 0 };

	listen_to(argv, environ, 1, VERSION_MS, &said);
	if (said.len > 0)
		ar_str_split(ar_buf_str(&said), '\n', &line);
	line = ar_arena_str(&c->arena, line);
	ar_buf_fini(&said);
	return line;
}

struct ar_str ar_daemon_check(struct ar_ctl *c, const char *program, bool *ret_is_good)
{
	struct ar_start_file last = { 0 };
	char *argv[] = { (char *)program,
			 (char *)"check",
			 (char *)"--secrets",
			 (char *)"--data-dir",
			 (char *)c->data_dir,
			 NULL,
			 NULL,
			 NULL };
	struct ar_buf said = { 0 };
	struct ar_str text;
	int status;

	if (ar_start_file_read(c->data_dir, &c->arena, &last, NULL) == AR_OK && !ar_str_absent(last.config)) {
		argv[5] = (char *)"--config";
		argv[6] = (char *)(uintptr_t)last.config.p;
	}
	status = listen_to(argv, ar_daemon_environ(c, &last), 2, CHECK_MS, &said);
	*ret_is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	text = status == -1 ? AR_STR_NONE : ar_arena_str(&c->arena, ar_buf_str(&said));
	ar_buf_fini(&said);
	return text;
}

struct ar_str ar_daemon_sandbox(struct ar_ctl *c)
{
	const char *program = ar_daemon_program(c);
	struct ar_start_file last = { 0 };
	char *argv[] = { (char *)(uintptr_t)program, (char *)"sandbox", (char *)"--json", NULL, NULL, NULL };
	struct ar_buf said = { 0 };
	struct ar_str text;

	if (!program || !c->data_dir)
		return AR_STR_NONE;
	if (ar_start_file_read(c->data_dir, &c->arena, &last, NULL) == AR_OK && !ar_str_absent(last.config)) {
		argv[3] = (char *)"--config";
		argv[4] = (char *)(uintptr_t)last.config.p;
	}
	listen_to(argv, ar_daemon_environ(c, &last), 1, SANDBOX_MS, &said);
	text = said.len ? ar_arena_str(&c->arena, ar_buf_str(&said)) : AR_STR_NONE;
	ar_buf_fini(&said);
	return text;
}
