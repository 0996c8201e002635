/* The barrier and the reaper. One thread, one descriptor: signals and the socket are waited for in one ppoll.
 * Leaving this process is the kill switch: the first process of a pid namespace takes everything with it. */
#include "run.h"

#include "command.h"
#include "orphans.h"
#include "readback.h"
#include "message.h"
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
static ssize_t receive_message(char *out, size_t room, int flags)
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

	while (receive_message(message, sizeof(message), 0) > 0) {
		if (message[0] == AR_INIT_GO)
			return true;
	}
	return false;
}

static bool send_ready(struct ar_init *in)
{
	struct ar_message text;

	in->fds[AR_INIT_FD_PID] = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (in->fds[AR_INIT_FD_PID] < 0) {
		ar_init_fail(in, "pidfd", NULL);
		ar_message_send_failed(in, "readback");
		return false;
	}
	if (ar_readback(in, &text) < 0) {
		ar_message_send_failed(in, "readback");
		return false;
	}
	return ar_message_send_ready(in, &text);
}

static void send_pid(enum ar_init_message kind, pid_t pid)
{
	struct ar_message text;

	text.len = 0;
	text.is_cut = false;
	ar_message_add(&text, "{\"pid\":");
	ar_message_add_number(&text, (uint64_t)pid);
	ar_message_add(&text, "}");
	ar_message_send(kind, &text);
}

static uint64_t timeval_ms(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_usec / 1000;
}

static void send_exit(int status, const struct rusage *used)
{
	struct ar_message text;

	text.len = 0;
	text.is_cut = false;
	if (WIFSIGNALED(status)) {
		ar_message_add(&text, "{\"signal\":");
		ar_message_add_string(&text, ar_signal_name(WTERMSIG(status)));
	} else {
		ar_message_add(&text, "{\"code\":");
		ar_message_add_number(&text, (uint64_t)WEXITSTATUS(status));
	}
	ar_message_add(&text, ",\"userMs\":");
	ar_message_add_number(&text, timeval_ms(used->ru_utime));
	ar_message_add(&text, ",\"systemMs\":");
	ar_message_add_number(&text, timeval_ms(used->ru_stime));
	ar_message_add(&text, ",\"maxRssKb\":");
	ar_message_add_number(&text, (uint64_t)used->ru_maxrss);
	ar_message_add(&text, "}");
	ar_message_send(AR_INIT_EXIT, &text);
}

/* Everybody who has ended. False: nobody is left. */
static bool reap_children(pid_t command)
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
			send_exit(status, &used);
	}
}

/* False: the other end is closed. */
static bool read_request(pid_t command)
{
	char message[256];
	ssize_t len = receive_message(message, sizeof(message), MSG_DONTWAIT);

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

	while (reap_children(command)) {
		int ready = ppoll(&socket, 1, NULL, waiting);

		if (ready > 0 && !read_request(command)) {
			if (!(in->namespaces & CLONE_NEWPID))
				ar_orphans_kill();
			return 1;
		}
	}
	ar_message_send(AR_INIT_EMPTY, NULL);
	return 0;
}

int ar_run(struct ar_init *in)
{
	struct sigaction on_child = { .sa_handler = wake_up };
	sigset_t child, before;
	pid_t command;

	if (!send_ready(in))
		return 1;
	ar_streams_close_passed(in);
	if (!wait_for_go())
		return 1;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	sigaction(SIGCHLD, &on_child, NULL);
	command = ar_command_start(in);
	if (command < 0) {
		ar_message_send_failed(in, "exec");
		return 1;
	}
	ar_streams_close(in);
	send_pid(AR_INIT_RUNS, command);
	return reap_until_empty(in, command, &before);
}
