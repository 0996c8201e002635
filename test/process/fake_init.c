/* A stand-in for agent-init without any boundary: reads the plan's argv, tty and keeps_stdin, speaks
 * launch/init_wire.h, runs the command under itself as subreaper. The first word of a plan of its own, `fake
 * FAILURE`, makes it misbehave: fail_setup, silent, die_ready. Plan lines: tty, keeps_stdin, notifies
 * (socket(AF_VSOCK) goes to the listener), cgroup FOLDER, arg TEXT (bytes as they are). */
#include "init_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#define ARGS_MAX 16

static struct fake {
	char plan[65536];
	char *argv[ARGS_MAX + 1];
	size_t argc;
	const char *failure;
	bool tty, keeps_stdin, notifies;
	int theirs[3]; /* stdin, stdout, stderr of the command */
	int ours[AR_INIT_FD_COUNT];
	pid_t child;
	bool has_exited;
	int signals;
} f = { .failure = "" };

static void say(char kind, const char *json)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "%c%s", kind, json);

	send(AR_INIT_FD, text, (size_t)n, MSG_NOSIGNAL);
}

static void join(const char *folder)
{
	char path[4096];
	FILE *procs;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	procs = fopen(path, "we");
	if (!procs)
		_exit(1);
	fprintf(procs, "%d", (int)getpid());
	fclose(procs);
}

static int install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_VSOCK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void read_plan(void)
{
	ssize_t n = read(AR_INIT_PLAN_FD, f.plan, sizeof(f.plan) - 1);

	f.plan[n > 0 ? n : 0] = '\0';
	for (char *line = strtok(f.plan, "\n"); line; line = strtok(NULL, "\n")) {
		if (strncmp(line, "arg ", 4) == 0 && f.argc < ARGS_MAX)
			f.argv[f.argc++] = line + 4;
		if (strncmp(line, "fake ", 5) == 0)
			f.failure = line + 5;
		if (strncmp(line, "cgroup ", 7) == 0)
			join(line + 7);
		f.notifies = f.notifies || strcmp(line, "notifies") == 0;
		f.tty = f.tty || strcmp(line, "tty") == 0;
		f.keeps_stdin = f.keeps_stdin || strcmp(line, "keeps_stdin") == 0;
	}
	close(AR_INIT_PLAN_FD);
}

static void make_pipes(void)
{
	int in[2] = { -1, -1 }, out[2], err[2];

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || (f.keeps_stdin && pipe2(in, O_CLOEXEC)))
		_exit(1);
	f.theirs[0] = f.keeps_stdin ? in[0] : open("/dev/null", O_RDONLY | O_CLOEXEC);
	f.theirs[1] = out[1];
	f.theirs[2] = err[1];
	f.ours[AR_INIT_FD_STDIN] = in[1];
	f.ours[AR_INIT_FD_STDOUT] = out[0];
	f.ours[AR_INIT_FD_STDERR] = err[0];
}

static void make_tty(void)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, &size) != 0)
		_exit(1);
	fcntl(slave, F_SETFD, FD_CLOEXEC);
	f.theirs[0] = f.theirs[1] = f.theirs[2] = slave;
	f.ours[AR_INIT_FD_TTY] = master;
}

static void say_ready(void)
{
	static const char *const names[] = { "stdin", "stdout", "stderr", "tty", "notify", "proxy", "pid" };
	char text[512];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(AR_INIT_FD_COUNT * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = { text, 0 };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes };
	int fds[AR_INIT_FD_COUNT], count = 0;
	size_t used = (size_t)snprintf(text, sizeof(text), "%c{\"pid\":%d,\"mode\":\"danger\",\"fds\":[",
				       AR_INIT_READY, (int)getpid());

	for (int i = 0; i < AR_INIT_FD_COUNT; i++) {
		if (f.ours[i] < 0)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"%s\"", count ? "," : "",
					 names[i]);
		fds[count++] = f.ours[i];
	}
	used += (size_t)snprintf(text + used, sizeof(text) - used, "]}");
	part.iov_len = used;
	m.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
	*CMSG_FIRSTHDR(&m) =
		(struct cmsghdr){ CMSG_LEN((size_t)count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, (size_t)count * sizeof(int));
	sendmsg(AR_INIT_FD, &m, MSG_NOSIGNAL);
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

static void become_command(int report)
{
	sigset_t none;
	int error;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	if (f.tty)
		login_tty(dup(f.theirs[0]));
	for (int i = 0; i < 3 && !f.tty; i++)
		dup2(f.theirs[i], i);
	execvp(f.argv[0], f.argv);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static void run_command(void)
{
	char text[128];
	int report[2], error = 0;

	if (pipe2(report, O_CLOEXEC))
		_exit(1);
	setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
	f.child = fork();
	if (f.child == 0)
		become_command(report[1]);
	close(report[1]);
	for (int i = 0; i < 3; i++)
		close(f.theirs[i]);
	if (read(report[0], &error, sizeof(error)) == sizeof(error)) {
		snprintf(text, sizeof(text), "{\"step\":\"exec\",\"errno\":%d,\"message\":\"%s\"}", error,
			 strerror(error));
		say(AR_INIT_FAILED, text);
		_exit(1);
	}
	close(report[0]);
	snprintf(text, sizeof(text), "{\"pid\":%d}", (int)f.child);
	say(AR_INIT_RUNS, text);
}

static void say_exit(int status, const struct rusage *use)
{
	char text[256], how[64];

	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "\"signal\":\"SIG%s\"", sigabbrev_np(WTERMSIG(status)));
	else
		snprintf(how, sizeof(how), "\"code\":%d", WEXITSTATUS(status));
	snprintf(text, sizeof(text), "{%s,\"userMs\":%ld,\"systemMs\":%ld,\"maxRssKb\":%ld}", how,
		 use->ru_utime.tv_sec * 1000 + use->ru_utime.tv_usec / 1000,
		 use->ru_stime.tv_sec * 1000 + use->ru_stime.tv_usec / 1000, use->ru_maxrss);
	say(AR_INIT_EXIT, text);
}

static void reap(void)
{
	struct signalfd_siginfo got;
	struct rusage use;
	int status;
	pid_t pid;

	while (read(f.signals, &got, sizeof(got)) > 0)
		;
	while ((pid = wait4(-1, &status, WNOHANG, &use)) > 0) {
		if (pid == f.child)
			say_exit(status, &use);
	}
	if (pid < 0 && errno == ECHILD) {
		say(AR_INIT_EMPTY, "");
		_exit(0);
	}
}

static void on_message(void)
{
	char text[256], name[32] = "";
	ssize_t n = recv(AR_INIT_FD, text, sizeof(text) - 1, 0);

	if (n <= 0)
		_exit(1);
	text[n] = '\0';
	if (f.child <= 0 || text[0] != AR_INIT_SIGNAL ||
	    sscanf(text + 1, "{\"signal\":\"SIG%31[A-Z0-9]", name) != 1)
		return;
	for (int i = 1; i < NSIG; i++) {
		if (sigabbrev_np(i) && strcmp(sigabbrev_np(i), name) == 0)
			kill(-f.child, i);
	}
}

static void serve(void)
{
	for (;;) {
		struct pollfd p[2] = { { .fd = AR_INIT_FD, .events = POLLIN },
				       { .fd = f.signals, .events = POLLIN } };

		poll(p, 2, -1);
		if (p[1].revents)
			reap();
		if (p[0].revents)
			on_message();
	}
}

static void wait_for_go(void)
{
	char go = 0;

	if (recv(AR_INIT_FD, &go, 1, 0) != 1 || go != AR_INIT_GO)
		_exit(1);
}

int main(void)
{
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	read_plan();
	fcntl(AR_INIT_FD, F_SETFD, FD_CLOEXEC);
	if (strcmp(f.failure, "fail_setup") == 0) {
		say(AR_INIT_FAILED, "{\"step\":\"landlock\",\"errno\":38,\"message\":\"not here\"}");
		return 1;
	}
	if (strcmp(f.failure, "silent") == 0)
		pause();
	for (int i = 0; i < AR_INIT_FD_COUNT; i++)
		f.ours[i] = -1;
	f.tty ? make_tty() : make_pipes();
	f.ours[AR_INIT_FD_PID] = (int)syscall(SYS_pidfd_open, getpid(), 0);
	fcntl(f.ours[AR_INIT_FD_PID], F_SETFD, FD_CLOEXEC);
	if (f.notifies)
		f.ours[AR_INIT_FD_NOTIFY] = install_filter();
	say_ready();
	if (strcmp(f.failure, "die_ready") == 0)
		raise(SIGKILL);
	wait_for_go();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	f.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	run_command();
	serve();
}
