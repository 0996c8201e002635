/* `agentctl demo`: the terminal, the daemon and the sandbox as they are, with a model whose answers are
 * recorded, in a folder that is thrown away. A process of its own is the model (recorded.h) and outlives this
 * one: when this one ends, in whatever way, it stops the daemon and removes the folder. One thread each. */
#include "chat/chat.h"
#include "daemon.h"
#include "first/boundary.h"
#include "first/recorded.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS 10000
#define NOBODY 65534

extern char **environ;

struct demo {
	char *dir; /* that is thrown away */
	const char *project;
	int alive; /* closed when we end */
	pid_t server;
};

/* ---- the folder ---- */

static const struct {
	const char *name, *text;
} files[] = {
	{ "price.sh", "# The sum of the arguments, less 10 %.\n"
		      "sum=0\n"
		      "for item in \"$@\"; do sum=$((sum + item)); done\n"
		      "echo \"$sum\"\n" },
	{ "test.sh", "got=$(sh price.sh 600 400)\n"
		     "[ \"$got\" = 900 ] && echo \"1 test passed\" && exit 0\n"
		     "echo \"expected 900, got $got\"\n"
		     "exit 1\n" },
	{ "build/price.old", "of the last build\n" },
};

static bool write_file(int folder, const char *name, const char *text)
{
	FILE *file;
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || (geteuid() == 0 && fchown(fd, NOBODY, NOBODY) != 0) || !(file = fdopen(fd, "w")))
		return false;
	fputs(text, file);
	return fclose(file) == 0;
}

/* A folder of root's would be one of the system: commands of the demo need no rights. */
static bool make_folder(int at, const char *name)
{
	return mkdirat(at, name, 0755) == 0 && (geteuid() != 0 || fchownat(at, name, NOBODY, NOBODY, 0) == 0);
}

static bool make_project(struct ar_ctl *c, struct demo *d)
{
	bool is_ok;
	int fd;

	d->dir = (char *)ar_ctl_strdup(c, AR_STR("/tmp/agentctl-demo-XXXXXX"));
	if (!mkdtemp(d->dir))
		return false;
	d->project = ar_arena_fmt(&c->arena, "%s/project", d->dir).p;
	is_ok = make_folder(AT_FDCWD, d->project);
	fd = open(d->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	is_ok = is_ok && fd >= 0 && make_folder(fd, "build");
	for (size_t i = 0; is_ok && i < AR_ARRAY_LEN(files); i++)
		is_ok = write_file(fd, files[i].name, files[i].text);
	if (fd >= 0)
		close(fd);
	return is_ok;
}

/* ---- the model, and the end ---- */

static void stop_daemon(const char *state)
{
	pid_t pid = ar_daemon_holder(state);
	int fd = pid ? pidfd_open(pid, 0) : -1;
	struct pollfd gone = { .fd = fd, .events = POLLIN };

	if (fd < 0 || ar_daemon_holder(state) != pid)
		return;
	pidfd_send_signal(fd, SIGTERM, NULL, 0);
	if (poll(&gone, 1, STOP_MS) == 0)
		pidfd_send_signal(fd, SIGKILL, NULL, 0);
	close(fd);
}

static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	for (int i = 1; i < NSIG; i++)
		signal(i, i == SIGCHLD ? SIG_DFL : SIG_IGN);
}

AR_NORETURN static void be_server(struct ar_ctl *c, const struct demo *d, int listener, int until)
{
	leave_terminal();
	ar_recorded_serve(listener, until);
	stop_daemon(c->data_dir);
	execlp("rm", "rm", "-rf", "--one-file-system", "--", d->dir, (char *)NULL);
	_exit(1);
}

static int listen_here(unsigned *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 8) == 0 &&
	    getsockname(fd, (struct sockaddr *)&at, &len) == 0) {
		*ret_port = ntohs(at.sin_port);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool start_server(struct ar_ctl *c, struct demo *d, unsigned *ret_port)
{
	int listener = listen_here(ret_port), ends[2];

	if (listener < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return false;
	fflush(NULL);
	d->server = fork();
	if (d->server == 0) {
		close(ends[1]);
		be_server(c, d, listener, ends[0]);
	}
	close(listener);
	close(ends[0]);
	d->alive = ends[1];
	return d->server > 0;
}

/* ---- the daemon ---- */

/* Nothing that the person has set for daemons and models counts here. */
static void clear_environment(struct ar_ctl *c)
{
	static const char *const ours[] = { "AGENTD_", "OPENAI_", "ANTHROPIC_", "GEMINI_" };
	size_t at = 0;

	while (environ[at]) {
		struct ar_str name;
		bool is_ours = false;

		ar_str_split(ar_str_from(environ[at]), '=', &name);
		for (size_t i = 0; i < AR_ARRAY_LEN(ours); i++)
			is_ours |= ar_str_starts(name, ar_str_from(ours[i]));
		if (!is_ours || unsetenv(ar_ctl_strdup(c, name)) != 0)
			at++;
	}
}

static bool set_place(struct ar_ctl *c, const struct demo *d)
{
	c->data_dir = ar_arena_fmt(&c->arena, "%s/state", d->dir).p;
	c->socket = ar_arena_fmt(&c->arena, "%s/agentd.sock", d->dir).p;
	c->url = "http://localhost";
	c->token = NULL;
	return chdir(d->project) == 0;
}

static void set_model(struct ar_ctl *c, unsigned port)
{
	clear_environment(c);
	setenv("OPENAI_BASE_URL", ar_arena_fmt(&c->arena, "http://127.0.0.1:%u/v1", port).p, 1);
	setenv("AGENTD_MODEL", "recorded", 1);
	setenv("AGENTD_SHUTDOWN_GRACE_MS", "0", 1);
	setenv("no_proxy", "127.0.0.1", 1);
}

/* ---- the command ---- */

static enum ar_exit show(struct ar_ctl *c, const struct demo *d, bool is_plain)
{
	enum ar_exit exit;

	ar_out_printf(
		&c->out,
		"A demo: the answers of the model are recorded, all else is real. No network; everything "
		"is in\n%s and is removed when you leave.\n"
		"Type a request, for example: Make the test pass.\n\n",
		d->dir);
	exit = ar_daemon_ensure(c);
	if (exit != AR_EXIT_OK)
		return exit;
	ar_boundary_print(c);
	return ar_chat_run(c, &(struct ar_chat_options){ .is_plain = is_plain });
}

static enum ar_exit demo(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct demo d = { .alive = -1 };
	unsigned port = 0;
	enum ar_exit exit;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("run it on a terminal"),
				       "somebody has to type in the demo");
	if (!make_project(c, &d) || !set_place(c, &d) || !start_server(c, &d, &port))
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("check the space of /tmp"),
				       "the demo cannot be set up: %s", strerror(errno));
	set_model(c, port);
	exit = show(c, &d, a->values[0]);
	close(d.alive);
	waitpid(d.server, NULL, 0);
	ar_ctl_note(c, "the demo is over, nothing of it stays");
	return exit;
}

const struct ar_ctl_command ar_cmd_demo = {
	.name = "demo",
	.synopsis = "",
	.summary = "try the terminal without a model",
	.text = "Starts a daemon in a temporary folder with a small project, and a chat with a model whose "
		"answers are\n"
		"recorded: it reads a file, runs a test in the sandbox, edits, asks about a command that "
		"cannot be undone,\n"
		"and its edits can be taken back with /undo. Everything but the answers is real. It needs no "
		"model, no key\n"
		"and no network. When you leave (Ctrl-D), the daemon is stopped and the folder removed.",
	.examples = "agentctl demo\n"
		    "agentctl demo --plain",
	.is_offline = true,
	.options = { { "plain", NULL, "print lines, draw nothing" } },
	.run = demo,
};
