/* See prewarm.h. Nothing is written to a journal here: until LAUNCH there is no process
 * that anybody could ask for. */
#include "packet.h"
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

static void on_control(struct ar_shim *s, int arg)
{
	char kind = 0;
	struct ar_packet p = { .parts = { { &kind, 1 } },
			       .fds = s->prewarm.fds,
			       .fd_count = AR_INIT_PLAN_FDS_MAX - 1 };
	ssize_t n = ar_packet_receive(AR_SHIM_FD, &p, MSG_DONTWAIT);

	(void)arg;
	if (n < 0 && errno == EAGAIN)
		return;
	s->prewarm.is_taken = n == 1 && kind == AR_SHIM_LAUNCH && !p.is_cut;
	s->prewarm.is_unwanted = !s->prewarm.is_taken;
	s->prewarm.count = p.fd_count;
}

/* It has nothing to say before it has its plan but that it cannot; what it says after
 * LAUNCH belongs into the journal. */
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
	int fds[AR_INIT_PLAN_FDS_MAX], plan = open(PLAN, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct ar_packet p = { .parts = { { &kind, 1 } }, .fds = fds, .fd_count = s->prewarm.count + 1 };
	bool is_sent;

	*ret_step = "plan";
	if (plan < 0)
		return false;
	fds[0] = plan;
	memcpy(fds + 1, s->prewarm.fds, s->prewarm.count * sizeof(int));
	is_sent = ar_packet_send(s->init.socket, &p, MSG_DONTWAIT) == 1;
	close(plan);
	for (size_t i = 0; i < s->prewarm.count; i++)
		close(s->prewarm.fds[i]);
	unlink(PLAN);
	return is_sent;
}
