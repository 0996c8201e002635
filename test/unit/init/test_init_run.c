/* From the barrier to the last descendant: what agent-init says, when, and what ends with it. */
#include "cmocka_unit.h"
#include "status.h"
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct launched l;

static uid_t starter_of(const struct world *w)
{
	return geteuid() == 0 ? w->starter : 0;
}

static void exits_are_told_as_they_are(void **state)
{
	const struct world *w = *state;
	static const struct {
		const char *command, *exit;
	} rows[] = {
		{ "true", "{\"code\":0," },
		{ "exit 7", "{\"code\":7," },
		{ "kill -KILL $$", "{\"signal\":\"SIGKILL\"," },
		{ "kill -SEGV $$", "{\"signal\":\"SIGSEGV\"," },
	};

	need(w);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		run_in(&l, w, plan_for(w, rows[i].command));
		assert_memory_equal(l.exit, rows[i].exit, strlen(rows[i].exit));
		assert_non_null(strstr(l.exit, "\"maxRssKb\":"));
	}
}

static void assert_fails(const struct world *w, const struct ar_plan *p, const char *failed)
{
	launch(&l, p, starter_of(w));
	hear(&l, (enum ar_init_message)0);
	assert_string_equal(l.ready, "");
	if (!strstr(l.failed, failed))
		fail_msg("failed as %s", l.failed);
	assert_int_not_equal(end(&l), 0);
}

static void a_step_that_fails_is_named(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "true");
	p->cwd = "/nowhere";
	assert_fails(w, p, "{\"step\":\"cwd\",\"errno\":2,\"message\":\"cwd /nowhere: ");
	p = plan_for(w, "true");
	p->workspace = "/nowhere/at/all";
	assert_fails(w, p, "\"step\":\"view\",\"errno\":2,");
	p = plan_for(w, "true");
	p->cgroups = (struct ar_plan_paths){ { "/usr" }, 1 };
	assert_fails(w, p, "\"message\":\"no cgroup is /usr: ");
	p = plan_for(w, "true");
	p->filter = "ffff000000000000";
	assert_fails(w, p, "{\"step\":\"filter\",\"errno\":22,");
	launch_text(&l, "mode nonsense\nend\n", 18, starter_of(w));
	hear(&l, (enum ar_init_message)0);
	assert_non_null(strstr(l.failed, "{\"step\":\"plan\",\"errno\":22,"));
	end(&l);
}

static void a_command_that_is_not_there_is_said_so(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "");
	p->argv[0] = "no-such-program";
	run(&l, p, starter_of(w));
	assert_non_null(strstr(l.failed, "{\"step\":\"exec\",\"errno\":2,"));
	assert_string_equal(l.runs, "");
	assert_string_equal(l.exit, "");
	end(&l);
	p->argv[0] = "./file";
	run(&l, p, starter_of(w));
	assert_non_null(strstr(l.failed, "{\"step\":\"exec\",\"errno\":13,"));
	end(&l);
}

static void nothing_runs_before_go(void **state)
{
	const struct world *w = *state;

	need(w);
	launch(&l, plan_for(w, "touch made"), starter_of(w));
	hear(&l, AR_INIT_READY);
	assert_int_not_equal(l.ready[0], '\0');
	usleep(50000);
	end(&l);
	assert_int_equal(access(inside(w, "made"), F_OK), -1);
}

static void the_environment_is_the_plan_s(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "");
	p->argv[0] = "env";
	p->argc = 1;
	p->env[p->env_count++] = "ODD=a b\n=c";
	run_in(&l, w, p);
	assert_string_equal(l.out[OUT], "PATH=/usr/bin:/bin\nHOME=/home/agent\nLC_ALL=C\nODD=a b\n=c\n");
}

static void orphans_are_reaped(void **state)
{
	const struct world *w = *state;

	need(w);
	/* Zombies are in /proc as well: init and the shell are all that is left. */
	assert_string_equal(printed(w, "for i in $(seq 2000); do (true &); done; for i in $(seq 100); do "
				       "set -- /proc/[0-9]*; [ $# = 2 ] && break; sleep 0.1; done; echo $#"),
			    "2\n");
}

/* EXIT is the command's own; EMPTY waits for whom it left. */
static void what_is_left_behind_is_waited_for(void **state)
{
	const struct world *w = *state;

	need(w);
	launch(&l, plan_for(w, "(sleep 0.3; echo late) & exit 3"), starter_of(w));
	hear(&l, AR_INIT_READY);
	say(&l, "G");
	hear(&l, AR_INIT_EXIT);
	assert_non_null(strstr(l.exit, "\"code\":3"));
	assert_false(l.is_empty);
	hear(&l, (enum ar_init_message)0);
	assert_true(l.is_empty);
	assert_string_equal(l.out[OUT], "late\n");
	assert_int_equal(end(&l), 0);
}

static void signals_go_to_the_group(void **state)
{
	const struct world *w = *state;

	need(w);
	launch(&l, plan_for(w, "trap 'echo caught; exit 5' TERM; echo set; while :; do sleep 0.05; done"),
	       starter_of(w));
	hear(&l, AR_INIT_READY);
	say(&l, "G");
	hear(&l, AR_INIT_RUNS);
	while (l.len[OUT] == 0) {
		struct pollfd p = { .fd = l.fds[AR_INIT_FD_STDOUT], .events = POLLIN };

		assert_int_equal(poll(&p, 1, 10000), 1);
		l.len[OUT] = (size_t)read(p.fd, l.out[OUT], STREAM_MAX - 1);
	}
	say(&l, "S{\"signal\":\"SIGTERM\"}");
	hear(&l, (enum ar_init_message)0);
	assert_string_equal(l.out[OUT], "set\ncaught\n");
	assert_non_null(strstr(l.exit, "\"code\":5"));
	end(&l);
}

/* The echo of what was typed may come between any two lines, which keep their order. */
static void a_terminal_is_one(void **state)
{
	static const char *const lines[] = { "/dev/pts/0\r\n", "33 111\r\n", "all\r\n", "x\r\n",
					     "got typed\r\n" };
	const struct world *w = *state;
	const char *at = l.out[TTY];
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "tty; stty size; test -t 0 -a -t 1 -a -t 2 && echo all; "
			"echo x > /dev/tty; read "
			"line; echo got $line");
	p->tty = true;
	p->rows = 33;
	p->columns = 111;
	launch(&l, p, starter_of(w));
	hear(&l, AR_INIT_READY);
	assert_true(l.fds[AR_INIT_FD_TTY] >= 0 && l.fds[AR_INIT_FD_STDOUT] < 0 &&
		    l.fds[AR_INIT_FD_STDIN] < 0);
	assert_int_equal(write(l.fds[AR_INIT_FD_TTY], "typed\n", 6), 6);
	say(&l, "G");
	hear(&l, (enum ar_init_message)0);
	for (size_t i = 0; i < AR_ARRAY_LEN(lines); i++) {
		at = strstr(at, lines[i]);
		assert_non_null(at);
		at += strlen(lines[i]);
	}
	end(&l);
}

/* Without a shell, which would take a terminal that it finds as its own. 34816 is the device number of
 * /dev/pts/0. */
static void a_terminal_is_the_session_s(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "");
	memcpy(p->argv, (const char *[]){ "cut", "-d ", "-f7", "/proc/self/stat" }, 4 * sizeof(char *));
	p->argc = 4;
	p->tty = true;
	run_in(&l, w, p);
	assert_string_equal(l.out[TTY], "34816\r\n");
}

static void input_is_what_the_plan_says(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;
	int given, saved;

	need(w);
	assert_string_equal(printed(w, "cat; readlink /proc/self/fd/0"), "/dev/null\n");
	p = plan_for(w, "cat; cat < /dev/stdin | wc -c");
	p->keeps_stdin = true;
	launch(&l, p, starter_of(w));
	hear(&l, AR_INIT_READY);
	assert_int_equal(write(l.fds[AR_INIT_FD_STDIN], "piped\n", 6), 6);
	close(l.fds[AR_INIT_FD_STDIN]);
	l.fds[AR_INIT_FD_STDIN] = -1;
	say(&l, "G");
	hear(&l, (enum ar_init_message)0);
	assert_string_equal(l.out[OUT], "piped\n0\n");
	end(&l);
	p = plan_for(w, "cat");
	p->stdin_is_given = true;
	saved = dup(STDIN_FILENO);
	given = open(w->secret, O_RDONLY);
	dup2(given, STDIN_FILENO);
	run_in(&l, w, p);
	dup2(saved, STDIN_FILENO);
	assert_string_equal(l.out[OUT], "secret\n");
}

/* The pid of something that runs inside, to be watched from outside. */
static int pidfd_of_first(void)
{
	assert_true(l.fds[AR_INIT_FD_PID] >= 0);
	return l.fds[AR_INIT_FD_PID];
}

static void assert_gone(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 10000), 1);
}

/* The streams end with their last holder, so their end says that nobody is left. */
static void assert_silent(void)
{
	for (int i = AR_INIT_FD_STDOUT; i <= AR_INIT_FD_STDERR; i++) {
		struct pollfd p = { .fd = l.fds[i], .events = 0 };

		assert_int_equal(poll(&p, 1, 10000), 1);
		assert_true(p.revents & POLLHUP);
	}
}

static void a_closed_socket_ends_everything(void **state)
{
	const struct world *w = *state;
	int fd;

	need(w);
	launch(&l, plan_for(w, "setsid sleep 1000 & (trap '' HUP TERM; sleep 1000) & sleep 1000"),
	       starter_of(w));
	hear(&l, AR_INIT_READY);
	say(&l, "G");
	hear(&l, AR_INIT_RUNS);
	usleep(100000);
	fd = pidfd_of_first();
	shutdown(l.socket, SHUT_RDWR);
	close(l.socket);
	l.socket = -1;
	assert_gone(fd);
	assert_silent();
	end(&l);
}

/* One descriptor over a socket: with `fd` it goes, with -1 it comes and is returned. */
static int pass(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	if (fd < 0) {
		assert_int_equal(recvmsg(socket, &msg, 0), 1);
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		return fd;
	}
	*c = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_int_equal(sendmsg(socket, &msg, 0), 1);
	return fd;
}

static void start_and_stay(const struct world *w, int socket)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	launch(&l, plan_for(w, "setsid sleep 1000 & sleep 1000"), starter_of(w));
	pass(socket, l.socket);
	for (;;)
		pause();
}

/* We keep our end of the socket: only the death of the starter is left as a reason. */
static void the_starter_s_death_ends_everything(void **state)
{
	const struct world *w = *state;
	int hands[2];
	pid_t starter;

	need(w);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, hands), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	starter = fork();
	if (starter == 0)
		start_and_stay(w, hands[1]);
	memset(&l, 0, sizeof(l));
	memset(l.fds, -1, sizeof(l.fds));
	l.socket = pass(hands[0], -1);
	hear(&l, AR_INIT_READY);
	say(&l, "G");
	hear(&l, AR_INIT_RUNS);
	usleep(50000);
	kill(starter, SIGKILL);
	assert_gone(pidfd_of_first());
	assert_silent();
	l.pid = starter;
	end(&l);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) /* whoever was below came to us */
		;
}

static void danger_has_the_host_s_view(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "cat ../secret; grep NoNewPrivs /proc/self/status; ls /proc/self/fd | wc -l; (sleep "
			"0.2; echo late) & exit 4");
	p->mode = AR_PLAN_DANGER;
	p->network = AR_PLAN_NET_HOST;
	p->uses_landlock = false;
	p->protected_paths.count = 0;
	run_in(&l, w, p);
	assert_string_equal(l.out[OUT], "secret\nNoNewPrivs:\t1\n4\nlate\n");
	assert_non_null(strstr(l.exit, "\"code\":4"));
	assert_non_null(strstr(l.ready, "\"mode\":\"danger\""));
	/* closed: whoever is left is killed here too */
	p = plan_for(w, "setsid sleep 1000 & (setsid sleep 1000 &) ; exit 0");
	p->mode = AR_PLAN_DANGER;
	p->network = AR_PLAN_NET_HOST;
	p->uses_landlock = false;
	p->protected_paths.count = 0;
	launch(&l, p, starter_of(w));
	hear(&l, AR_INIT_READY);
	say(&l, "G");
	hear(&l, AR_INIT_EXIT);
	shutdown(l.socket, SHUT_RDWR);
	assert_gone(pidfd_of_first());
	assert_silent();
	end(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(exits_are_told_as_they_are),
		BOTH(a_step_that_fails_is_named),
		BOTH(a_command_that_is_not_there_is_said_so),
		BOTH(nothing_runs_before_go),
		BOTH(the_environment_is_the_plan_s),
		BOTH(orphans_are_reaped),
		BOTH(what_is_left_behind_is_waited_for),
		BOTH(signals_go_to_the_group),
		BOTH(a_terminal_is_one),
		BOTH(a_terminal_is_the_session_s),
		BOTH(input_is_what_the_plan_says),
		BOTH(a_closed_socket_ends_everything),
		BOTH(the_starter_s_death_ends_everything),
		BOTH(danger_has_the_host_s_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
