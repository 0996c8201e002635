/* `agentctl stop` and `agentctl version`. */
#include "daemon.h"
#include "io/start_file.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define CLOSING_MS 30000 /* what an end takes beside the work that it lets go on */
#define GRACE_MAX_MS 3600000 /* of the setting */
#define SHORT_MS 1000 /* a wait that needs no explanation */

/* The number in <data_dir>/agentd.pid; 0 when there is none. */
static pid_t read_pid(struct ar_ctl *c)
{
	FILE *f = fopen(ar_arena_fmt(&c->arena, "%s/agentd.pid", c->data_dir).p, "re");
	long pid = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%ld", &pid) != 1)
		pid = 0;
	fclose(f);
	return (pid_t)pid;
}

static enum ar_exit report(struct ar_ctl *c, pid_t pid)
{
	if (c->is_json)
		ar_out_printf(&c->out, "{\"stopped\":%s,\"pid\":%ld}\n", pid ? "true" : "false", (long)pid);
	else if (pid)
		ar_out_printf(&c->out, "stopped agentd, process %ld\n", (long)pid);
	else
		ar_ctl_note(c, "no daemon runs in %s", c->data_dir);
	return AR_EXIT_OK;
}

/* How long the daemon may let work go on, as it wrote down when it started; 0 when that is not known. */
static int read_grace(struct ar_ctl *c)
{
	struct ar_start_file start;
	long ms;

	if (ar_start_file_read(c->data_dir, &c->arena, &start, NULL) != AR_OK || ar_str_empty(start.stop_ms))
		return 0;
	ms = strtol(start.stop_ms.p, NULL, 10);
	return ms < 0 ? 0 : ms > GRACE_MAX_MS ? GRACE_MAX_MS : (int)ms;
}

static bool is_gone(int fd, int ms)
{
	struct pollfd gone = { .fd = fd, .events = POLLIN };

	return poll(&gone, 1, ms) == 1;
}

/* The descriptor pins the process, so its number cannot be reused between the look at
 * the lock and the signal. */
static enum ar_exit end_process(struct ar_ctl *c, pid_t pid, int fd)
{
	int wait = read_grace(c) + CLOSING_MS;

	if (ar_daemon_holder(c->data_dir) != pid)
		return report(c, 0);
	if (pidfd_send_signal(fd, SIGTERM, NULL, 0) != 0)
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("stop it as the user that started it"),
				       "process %ld cannot be signalled: %s", (long)pid, strerror(errno));
	if (is_gone(fd, SHORT_MS))
		return report(c, pid);
	ar_ctl_note(c, "agentd has not ended yet: calls under way may end first; waiting up to %d s",
		    wait / 1000);
	if (!is_gone(fd, wait - SHORT_MS))
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("read agentd.log; it may still finish"),
				       "process %ld has not ended after %d s", (long)pid, wait / 1000);
	return report(c, pid);
}

static enum ar_exit stop(struct ar_ctl *c, const struct ar_ctl_args *a AR_UNUSED)
{
	pid_t holder, pid;
	enum ar_exit exit;
	int fd;

	if (!c->data_dir)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("name it with --data-dir"),
				       "the data directory is not known");
	holder = ar_daemon_holder(c->data_dir);
	if (!holder)
		return report(c, 0);
	pid = read_pid(c);
	if (pid != holder)
		return ar_ctl_complain(c, AR_EXIT_FAILED,
				       AR_STR("check which one is the daemon, then end it yourself"),
				       "process %ld uses the store, but agentd.pid contains %ld",
				       (long)holder, (long)pid);
	fd = pidfd_open(pid, 0);
	if (fd < 0)
		return report(c, 0);
	exit = end_process(c, pid, fd);
	close(fd);
	return exit;
}

static enum ar_exit version(struct ar_ctl *c, const struct ar_ctl_args *a AR_UNUSED)
{
	ar_out_printf(&c->out, c->is_json ? "{\"agentctl\":\"%s\"}\n" : "agentctl %s\n", AR_VERSION);
	return AR_EXIT_OK;
}

const struct ar_ctl_command ar_cmd_stop = {
	.name = "stop",
	.synopsis = "",
	.summary = "stop the daemon of the data directory",
	.text = "Asks the daemon to stop and waits until it has exited. It waits for open model and tool "
		"calls, at most\n"
		"shutdown.grace_ms; the next daemon resumes the turns that are still open.",
	.examples = "agentctl stop",
	.run = stop,
};

const struct ar_ctl_command ar_cmd_version = {
	.name = "version",
	.synopsis = "",
	.summary = "print the version",
	.text = "Prints the version of agentctl.",
	.examples = "agentctl version",
	.is_offline = true,
	.run = version,
};
