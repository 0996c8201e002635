/* See throwaway.h. One thread in each process. */
#include "first/throwaway.h"
#include "daemon.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS 10000

extern char **environ;

struct model {
	ar_recorded_fn *answer;
	void *arg;
};

/* ---- the folder ---- */

bool ar_throwaway_make_folder(int at, const char *name)
{
	return mkdirat(at, name, 0755) == 0 &&
	       (geteuid() != 0 ||
		fchownat(at, name, AR_THROWAWAY_NOBODY, AR_THROWAWAY_NOBODY, AT_SYMLINK_NOFOLLOW) == 0);
}

static bool make_folders(struct ar_ctl *c, struct ar_throwaway *t)
{
	t->dir = (char *)ar_arena_fmt(&c->arena, "/tmp/agentctl-%s-XXXXXX", t->name).p;
	if (!mkdtemp(t->dir))
		return false;
	t->project = ar_arena_fmt(&c->arena, "%s/project", t->dir).p;
	return ar_throwaway_make_folder(AT_FDCWD, t->project);
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

AR_NORETURN static void be_server(struct ar_ctl *c, const struct ar_throwaway *t, const struct model *m,
				  int listener, int until)
{
	leave_terminal();
	ar_recorded_serve(listener, until, m->answer, m->arg);
	stop_daemon(c->data_dir);
	execlp("rm", "rm", "-rf", "--one-file-system", "--", t->dir, (char *)NULL);
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

static bool start_server(struct ar_ctl *c, struct ar_throwaway *t, const struct model *m, unsigned *ret_port)
{
	int listener = listen_here(ret_port), ends[2];

	if (listener < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return false;
	fflush(NULL);
	t->server = fork();
	if (t->server == 0) {
		close(ends[1]);
		be_server(c, t, m, listener, ends[0]);
	}
	close(listener);
	close(ends[0]);
	t->alive = ends[1];
	return t->server > 0;
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

static bool set_place(struct ar_ctl *c, const struct ar_throwaway *t)
{
	c->data_dir = ar_arena_fmt(&c->arena, "%s/state", t->dir).p;
	c->socket = ar_arena_fmt(&c->arena, "%s/agentd.sock", t->dir).p;
	c->url = "http://localhost";
	c->token = NULL;
	return chdir(t->project) == 0;
}

static void set_model(struct ar_ctl *c, unsigned port)
{
	clear_environment(c);
	setenv("OPENAI_BASE_URL", ar_arena_fmt(&c->arena, "http://127.0.0.1:%u/v1", port).p, 1);
	setenv("AGENTD_MODEL", "recorded", 1);
	setenv("AGENTD_SHUTDOWN_GRACE_MS", "0", 1);
	setenv("no_proxy", "127.0.0.1", 1);
}

/* ---- both ---- */

bool ar_throwaway_begin(struct ar_ctl *c, struct ar_throwaway *t, ar_recorded_fn *answer, void *arg)
{
	struct model m = { answer, arg };
	unsigned port = 0;

	t->alive = -1;
	if (!make_folders(c, t) || !set_place(c, t) || !start_server(c, t, &m, &port))
		return false;
	set_model(c, port);
	return true;
}

void ar_throwaway_end(struct ar_throwaway *t)
{
	close(t->alive);
	waitpid(t->server, NULL, 0);
}
