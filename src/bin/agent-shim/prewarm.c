/* See prewarm.h. Nothing is written to a journal here: until LAUNCH there is no process that anybody could ask for. */
#include "shim.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAN "plan"
#define OPTIONS "prewarmed"
#define BASE "base"
#define LAST_LOOKS 200 /* that what was killed gets to be gone */
#define LOOK_USEC 10000

static void store_fds(struct ar_prewarm *prewarm, struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	prewarm->count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(prewarm->fds, CMSG_DATA(c), prewarm->count * sizeof(int));
}

static void on_control(struct ar_shim *s, int arg)
{
	char kind = 0;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE((AR_INIT_PLAN_FDS_MAX - 1) * sizeof(int))];
	} control;
	struct iovec part = { &kind, 1 };
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(AR_SHIM_FD, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	(void)arg;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->prewarm.is_taken = n == 1 && kind == AR_SHIM_LAUNCH && !(m.msg_flags & MSG_CTRUNC);
	s->prewarm.is_unwanted = !s->prewarm.is_taken;
	if (s->prewarm.is_taken)
		store_fds(&s->prewarm, &m);
}

/* It has nothing to say before it has its plan but that it cannot; what it says after LAUNCH belongs into the journal. */
static void on_init(struct ar_shim *s, int arg)
{
	(void)arg;
	s->prewarm.is_unwanted = !s->prewarm.is_taken;
}

static void on_signals(struct ar_shim *s, int arg)
{
	struct signalfd_siginfo got;

	(void)arg;
	while (read(s->signals, &got, sizeof(got)) == sizeof(got)) {
		if (got.ssi_signo != SIGCHLD && !s->prewarm.is_taken)
			s->prewarm.is_unwanted = true;
	}
}

/* Whether no child is left. */
static bool is_alone(void)
{
	pid_t pid;

	do {
		pid = waitpid(-1, NULL, WNOHANG);
	} while (pid > 0);
	return pid < 0 && errno == ECHILD;
}

static void remove_all(struct ar_shim *s, const char *folder)
{
	static const char *const files[] = { OPTIONS, BASE };

	if (s->init.socket >= 0)
		close(s->init.socket);
	for (int i = 0; i < LAST_LOOKS && !is_alone(); i++) {
		ar_tree_kill(s);
		usleep(LOOK_USEC);
	}
	for (size_t i = 0; i < s->options.cgroup_count; i++)
		rmdir(s->options.cgroups[i]);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(files[i]);
	rmdir(folder);
}

bool ar_prewarm_wait(struct ar_shim *s, const char *folder)
{
	const char *wrong;

	s->prewarm.is_unwanted =
		!ar_shim_options_read(&s->options, OPTIONS, &wrong) || !ar_start_init(s, BASE, &wrong);
	while (!s->prewarm.is_taken && !s->prewarm.is_unwanted) {
		struct ar_loop l = { .count = 0 };

		ar_loop_watch(&l, AR_SHIM_FD, POLLIN, on_control, 0);
		ar_loop_watch(&l, s->init.socket, POLLIN, on_init, 0);
		ar_loop_watch(&l, s->signals, POLLIN, on_signals, 0);
		ar_loop_run_once(&l, s);
	}
	if (s->prewarm.is_taken) {
		unlink(OPTIONS);
		memset(&s->options, 0, sizeof(s->options));
		return true;
	}
	remove_all(s, folder);
	return false;
}

bool ar_prewarm_send_plan(struct ar_shim *s, const char **ret_step)
{
	char kind = AR_INIT_PLAN;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(AR_INIT_PLAN_FDS_MAX * sizeof(int))];
	} control = { .bytes = { 0 } };
	size_t count = s->prewarm.count + 1;
	struct iovec part = { &kind, 1 };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	int plan = open(PLAN, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool is_sent;

	*ret_step = "plan";
	if (plan < 0)
		return false;
	control.head = (struct cmsghdr){ CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), &plan, sizeof(plan));
	memcpy(CMSG_DATA(&control.head) + sizeof(plan), s->prewarm.fds, s->prewarm.count * sizeof(int));
	is_sent = sendmsg(s->init.socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
	close(plan);
	for (size_t i = 0; i < s->prewarm.count; i++)
		close(s->prewarm.fds[i]);
	unlink(PLAN);
	return is_sent;
}
