/* Starts agent-init on its socket and its plan, and takes what it says. agent-init dies with us
 * (PR_SET_PDEATHSIG, its own and ours), so nothing of the command outlives its journal's writer. */
#include "start.h"
#include "clock.h"
#include "packet.h"
#include "shim.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_FREE_FD 32 /* above those that agent-init gets */

static const char *const fd_names[AR_INIT_FD_COUNT] = { "stdin",  "stdout", "stderr", "tty",
							"notify", "proxy",  "pid" };

/* In the child, between fork and exec: only what is safe there. */
static void become_init(const struct ar_shim *s, int socket, int plan, pid_t shim)
{
	char *const argv[] = { (char *)"agent-init", NULL };
	char *const env[] = { NULL };
	char failed[128];
	sigset_t none;
	int n;

	sigemptyset(&none);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != shim)
		_exit(1);
	for (int i = (int)s->init.given; i-- > 0;)
		dup2(AR_SHIM_FD + 1 + i, AR_INIT_PLAN_FD + 1 + i);
	dup2(socket, AR_INIT_FD);
	dup2(plan, AR_INIT_PLAN_FD);
	close_range(AR_INIT_PLAN_FD + 1 + s->init.given, ~0u, 0);
	execve(s->options.init, argv, env);
	n = snprintf(failed, sizeof(failed),
		     "%c{\"step\":\"init\",\"errno\":%d,\"message\":\"agent-init cannot be run\"}",
		     AR_INIT_FAILED, errno);
	send(AR_INIT_FD, failed, (size_t)n, MSG_NOSIGNAL);
	_exit(127);
}

static void run_init(struct ar_shim *s, int theirs, int plan)
{
	pid_t shim = getpid();

	s->init.pid = fork();
	if (s->init.pid == 0)
		become_init(s, theirs, plan, shim);
	if (s->init.given > 0)
		close_range(AR_SHIM_FD + 1, AR_SHIM_FD + s->init.given, 0);
}

bool ar_start_init(struct ar_shim *s, const char *file, const char **ret_step)
{
	int pair[2], theirs, plan, opened;

	*ret_step = "plan";
	opened = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	plan = fcntl(opened, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	if (plan < 0)
		return false;
	close(opened);
	*ret_step = "socket";
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	*ret_step = "fork";
	theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	if (theirs < 0)
		return false;
	run_init(s, theirs, plan);
	close(pair[1]);
	close(theirs);
	close(plan);
	s->init.socket = pair[0];
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	unlink(file);
	return s->init.pid > 0;
}

static void assign_fds(struct ar_shim *s)
{
	static const enum ar_init_fd sources[] = { AR_INIT_FD_COUNT, AR_INIT_FD_STDOUT, AR_INIT_FD_STDERR,
						   AR_INIT_FD_TTY };
	int *fds = s->init.fds;

	for (int i = AR_STREAM_STDOUT; i <= AR_STREAM_TTY; i++)
		ar_streams_add_fd(&s->streams, (enum ar_record_stream)i, fds[sources[i]]);
	s->input.is_tty = fds[AR_INIT_FD_TTY] >= 0;
	s->input.fd = s->input.is_tty ? fds[AR_INIT_FD_TTY] : fds[AR_INIT_FD_STDIN];
	s->notify.fd = fds[AR_INIT_FD_NOTIFY];
}

/* Puts the descriptors of READY where their names say. */
static void store_fds(struct ar_shim *s, struct ar_piece json, const int *got, size_t count)
{
	struct ar_piece list = { 0 }, name;
	size_t at = 0, i = 0;

	ar_json_member(json, "fds", &list);
	while (i < count && ar_json_next_string(list, &at, &name)) {
		for (int k = 0; k < AR_INIT_FD_COUNT; k++) {
			if (ar_piece_is(name, fd_names[k]))
				s->init.fds[k] = got[i];
		}
		fcntl(got[i], F_SETFL, fcntl(got[i], F_GETFL) | O_NONBLOCK);
		i++;
	}
	assign_fds(s);
}

static void on_ready(struct ar_shim *s, struct ar_piece json)
{
	s->init.first = (pid_t)ar_json_number(json, "pid", (uint64_t)s->init.pid);
	if (!ar_journal_file_add(&s->journal, AR_RECORD_APPLIED, AR_STREAM_NONE, json.p, json.len)) {
		ar_termination_fail(s, "journal", errno, "the journal cannot be written");
		return;
	}
	ar_missing_paths_begin(&s->missing, json);
	s->init.is_ready = true;
	ar_termination_arm_barrier(s);
	if (s->init.go_came)
		ar_start_go(s);
}

static void on_failed(struct ar_shim *s, struct ar_piece json)
{
	ar_termination_fail_json(s, json);
}

static void on_runs(struct ar_shim *s, struct ar_piece json)
{
	s->init.has_started = true;
	ar_journal_file_addf(&s->journal, AR_RECORD_STARTED, "{\"pid\":%llu}",
			     (unsigned long long)ar_json_number(json, "pid", 0));
}

static void on_exit_message(struct ar_shim *s, struct ar_piece json)
{
	struct ar_init_child *c = &s->init;
	struct ar_piece name;

	if (c->has_exit)
		return;
	c->has_exit = true;
	c->exited_at = ar_shim_mono();
	c->exit_code = (int)ar_json_number(json, "code", 0);
	if (ar_json_member(json, "signal", &name) && !ar_piece_is(name, "null"))
		c->exit_signal = ar_signal_number(name);
	c->user_ms = ar_json_number(json, "userMs", 0);
	c->system_ms = ar_json_number(json, "systemMs", 0);
	c->max_rss_kb = ar_json_number(json, "maxRssKb", 0);
	ar_termination_command_ended(s);
}

static void on_empty(struct ar_shim *s, struct ar_piece json)
{
	(void)json;
	s->init.is_empty = true;
}

static const struct {
	char kind;
	void (*on)(struct ar_shim *s, struct ar_piece json);
} messages[] = {
	{ AR_INIT_READY, on_ready },	   { AR_INIT_FAILED, on_failed }, { AR_INIT_RUNS, on_runs },
	{ AR_INIT_EXIT, on_exit_message }, { AR_INIT_EMPTY, on_empty },
};

/* One packet. False: no more now. */
static bool read_packet(struct ar_shim *s)
{
	int got[AR_INIT_FD_COUNT];
	struct ar_packet p = { .parts = { { s->scratch, sizeof(s->scratch) } },
			       .fds = got,
			       .fd_count = AR_INIT_FD_COUNT };
	struct ar_piece json = { s->scratch + 1, 0 };
	ssize_t n = ar_packet_receive(s->init.socket, &p, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		close(s->init.socket);
		s->init.socket = -1;
		return false;
	}
	json.len = (size_t)n - 1;
	if (s->scratch[0] == AR_INIT_READY)
		store_fds(s, json, got, p.fd_count);
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		if (messages[i].kind == s->scratch[0])
			messages[i].on(s, json);
	}
	return true;
}

void ar_start_read(struct ar_shim *s)
{
	while (s->init.socket >= 0 && read_packet(s))
		;
}

static void on_packets(struct ar_shim *s, int arg)
{
	(void)arg;
	ar_start_read(s);
}

void ar_start_watch(struct ar_shim *s, struct ar_loop *l)
{
	ar_loop_watch(l, s->init.socket, POLLIN, on_packets, 0);
}

void ar_start_go(struct ar_shim *s)
{
	char go = AR_INIT_GO;

	if (s->init.is_released || s->termination.has_failed)
		return;
	s->init.go_came = true;
	if (!s->init.is_ready || s->init.socket < 0)
		return;
	/* On record before it is done: a reader must never find output of something that was not let go. */
	if (!ar_journal_file_addf(&s->journal, AR_RECORD_RELEASED, "{}"))
		return;
	s->init.is_released = true;
	s->init.released_at = ar_shim_mono();
	ar_repositories_begin(&s->repositories);
	ar_termination_arm_timeout(s);
	send(s->init.socket, &go, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool ar_start_signal(struct ar_shim *s, int number)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%c{\"signal\":\"%s\"}", AR_INIT_SIGNAL, ar_signal_name(number));

	return s->init.socket >= 0 && send(s->init.socket, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n;
}
