/* The barrier and the reaper. One thread, one descriptor: signals and the socket are waited for in one ppoll. Leaving this process is the kill switch:
 * the first process of a pid namespace takes everything with it. */
#include "run.h"

#include "command.h"
#include "orphans.h"
#include "readback.h"
#include "say.h"
#include "signals.h"
#include "streams.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* One message, with an end; its length, 0 or less when nobody is there. */
static ssize_t hear(char *out, size_t room, int flags)
{
	ssize_t len;

	do {
		len = recv(AR_INIT_FD, out, room - 1, flags);
	} while (len < 0 && errno == EINTR);
	if (len >= 0)
		out[len] = '\0';
	return len;
}

static bool wait_for_go(void)
{
	char message[256];

	while (hear(message, sizeof(message), 0) > 0) {
		if (message[0] == AR_INIT_GO)
			return true;
	}
	return false;
}

static bool say_ready(struct ar_init *in)
{
	struct ar_text text;

	in->fds[AR_INIT_FD_PID] = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (in->fds[AR_INIT_FD_PID] < 0) {
		ar_say_about(in, "pidfd", NULL);
		ar_say_failed(in, "readback");
		return false;
	}
	if (ar_readback(in, &text) < 0) {
		ar_say_failed(in, "readback");
		return false;
	}
	return ar_say_ready(in, &text);
}

static void say_pid(enum ar_init_message kind, pid_t pid)
{
	struct ar_text text;

	text.len = 0;
	text.is_cut = false;
	ar_text_add(&text, "{\"pid\":");
	ar_text_add_number(&text, (uint64_t)pid);
	ar_text_add(&text, "}");
	ar_say(kind, &text);
}

static uint64_t milliseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_usec / 1000;
}

static void say_exit(int status, const struct rusage *used)
{
	struct ar_text text;

	text.len = 0;
	text.is_cut = false;
	if (WIFSIGNALED(status)) {
		ar_text_add(&text, "{\"signal\":");
		ar_text_add_string(&text, ar_signal_name(WTERMSIG(status)));
	} else {
		ar_text_add(&text, "{\"code\":");
		ar_text_add_number(&text, (uint64_t)WEXITSTATUS(status));
	}
	ar_text_add(&text, ",\"userMs\":");
	ar_text_add_number(&text, milliseconds(used->ru_utime));
	ar_text_add(&text, ",\"systemMs\":");
	ar_text_add_number(&text, milliseconds(used->ru_stime));
	ar_text_add(&text, ",\"maxRssKb\":");
	ar_text_add_number(&text, (uint64_t)used->ru_maxrss);
	ar_text_add(&text, "}");
	ar_say(AR_INIT_EXIT, &text);
}

/* Everybody who has ended. False: nobody is left. */
static bool reap(pid_t command)
{
	for (;;) {
		struct rusage used;
		int status;
		pid_t pid = wait4(-1, &status, WNOHANG, &used);

		if (pid == 0)
			return true;
		if (pid < 0 && errno != EINTR)
			return false;
		if (pid == command)
			say_exit(status, &used);
	}
}

/* False: the other end is closed. */
static bool obey(pid_t command)
{
	char message[256];
	ssize_t len = hear(message, sizeof(message), MSG_DONTWAIT);

	if (len < 0)
		return errno == EAGAIN;
	if (len > 0 && message[0] == AR_INIT_SIGNAL) {
		int number = ar_signal_find(message + 1);

		if (number > 0)
			kill(-command, number);
	}
	return len > 0;
}

static void wake_up(int number)
{
	(void)number; /* only so that ppoll returns */
}

/* SIGCHLD is blocked but while we wait, so none is missed between reaping and waiting. */
static int reap_until_empty(struct ar_init *in, pid_t command, const sigset_t *waiting)
{
	struct pollfd socket = { .fd = AR_INIT_FD, .events = POLLIN };

	while (reap(command)) {
		int ready = ppoll(&socket, 1, NULL, waiting);

		if (ready > 0 && !obey(command)) {
			if (!(in->namespaces & CLONE_NEWPID))
				ar_orphans_kill();
			return 1;
		}
	}
	ar_say(AR_INIT_EMPTY, NULL);
	return 0;
}

int ar_run(struct ar_init *in)
{
	struct sigaction on_child = { .sa_handler = wake_up };
	sigset_t child, before;
	pid_t command;

	if (!say_ready(in))
		return 1;
	ar_streams_hand_over(in);
	if (!wait_for_go())
		return 1;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	sigaction(SIGCHLD, &on_child, NULL);
	command = ar_command_start(in);
	if (command < 0) {
		ar_say_failed(in, "exec");
		return 1;
	}
	ar_streams_close(in);
	say_pid(AR_INIT_RUNS, command);
	return reap_until_empty(in, command, &before);
}
