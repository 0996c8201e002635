/* Attempts on other processes by their number: signals, tracing, memory, priorities, limits. The victim
 * belongs to the same user, so that only the boundary stands between; the first process of the own namespace
 * is the boundary's own. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attempt.h"

#define GONE "ESRCH"
#define DENIED "EPERM ESRCH"
#define MINE "EPERM EACCES ESRCH"

/* Never a number that means several. */
static pid_t victim(void)
{
	long pid = given_number("PID");

	return pid > 1 ? (pid_t)pid : INT_MAX;
}

static int send_signal(const struct attempt *a)
{
	return kill(victim(), (int)a->args[0]);
}

static int send_thread_signal(const struct attempt *a)
{
	return (int)syscall(SYS_tgkill, victim(), victim(), a->args[0]);
}

static int send_group_signal(const struct attempt *a)
{
	return kill(-victim(), (int)a->args[0]);
}

static int queue_signal(const struct attempt *a)
{
	return sigqueue(victim(), (int)a->args[0], (union sigval){ 0 });
}

static int open_victim(const struct attempt *a)
{
	(void)a;
	return syscall(SYS_pidfd_open, victim(), 0) < 0 ? -1 : 0;
}

static int own_by_victim(const struct attempt *a)
{
	int ends[2];

	(void)a;
	return pipe(ends) != 0 ? -1 : fcntl(ends[0], F_SETOWN, victim());
}

static int trace(const struct attempt *a)
{
	pid_t pid = a->args[1] ? (pid_t)a->args[1] : victim();

	return (int)syscall(SYS_ptrace, a->args[0], pid, 0, 0);
}

static int read_memory(const struct attempt *a)
{
	char bytes[8];
	struct iovec here = { bytes, sizeof(bytes) }, there = { (void *)&read_memory, sizeof(bytes) };
	pid_t pid = a->args[0] ? (pid_t)a->args[0] : victim();

	/* An address that is not mapped there means that we were let in to look. */
	return process_vm_readv(pid, &here, 1, &there, 1, 0) < 0 && errno != EFAULT ? -1 : 0;
}

static int limit(const struct attempt *a)
{
	struct rlimit now;

	(void)a;
	return prlimit(victim(), RLIMIT_NOFILE, NULL, &now);
}

static int slow_down(const struct attempt *a)
{
	(void)a;
	return setpriority(PRIO_PROCESS, (id_t)victim(), 19);
}

static int pin(const struct attempt *a)
{
	cpu_set_t cpus;

	(void)a;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	return sched_setaffinity(victim(), sizeof(cpus), &cpus);
}

static int make_idle(const struct attempt *a)
{
	struct sched_param param = { 0 };

	(void)a;
	return sched_setscheduler(victim(), SCHED_IDLE, &param);
}

static int delay_disk(const struct attempt *a)
{
	(void)a;
	return (int)syscall(SYS_ioprio_set, 1, victim(), 3 << 13);
}

/* Everybody that can be seen; the attempt's own parent is spared by being the same program's. */
static int signal_all(const struct attempt *a)
{
	(void)a;
	return kill(-1, 0) == 0 || errno == ESRCH ? fail_with(kill(victim(), 0) == 0 ? 0 : ESRCH) : -1;
}

static int move_memory(const struct attempt *a)
{
	(void)a;
	return (int)syscall(SYS_move_pages, victim(), 0, 0, 0, 0, 0);
}

#define TRACE_SEIZE 0x4206
#define TRACE_ATTACH 16

static const struct attempt rows[] = {
	{ "signal_look", send_signal, NULL, GONE, GONE, "?" },
	{ "signal_stop", send_signal, NULL, GONE, GONE, "-", NULL, 0, { SIGSTOP } },
	{ "signal_kill", send_signal, NULL, GONE, GONE, "-", NULL, 0, { SIGKILL } },
	{ "signal_thread", send_thread_signal, NULL, GONE, GONE, "-", NULL, 0, { SIGTERM } },
	{ "signal_group", send_group_signal, NULL, GONE, GONE, "-", NULL, 0, { SIGTERM } },
	{ "signal_queue", queue_signal, NULL, GONE, GONE, "-", NULL, 0, { SIGUSR1 } },
	{ "signal_all", signal_all, NULL, GONE, GONE, "-" },
	{ "victim_pidfd", open_victim, NULL, GONE, GONE, "?" },
	{ "victim_set_owner", own_by_victim, NULL, GONE, GONE, "?" },
	{ "victim_trace", trace, NULL, DENIED, DENIED, "-", "notify", 0, { TRACE_SEIZE } },
	{ "victim_attach", trace, NULL, DENIED, DENIED, "-", "notify", 0, { TRACE_ATTACH } },
	{ "init_trace", trace, NULL, "EPERM", "EPERM", "EPERM", "notify", 0, { TRACE_SEIZE, 1 } },
	{ "victim_read_memory", read_memory, NULL, DENIED, DENIED, "?", "notify" },
	{ "init_read_memory", read_memory, NULL, "EPERM", "EPERM", "EPERM", "notify", 0, { 1 } },
	{ "victim_limit", limit, NULL, GONE, GONE, "?" },
	{ "victim_priority", slow_down, NULL, GONE, GONE, "-" },
	{ "victim_affinity", pin, NULL, GONE, GONE, "-" },
	{ "victim_scheduler", make_idle, NULL, GONE, GONE, "-" },
	{ "victim_disk_priority", delay_disk, NULL, GONE, GONE, "-" },
	{ "victim_move_memory", move_memory, NULL, MINE, MINE, "?" },
};

const struct attempt_list signals_attempts = ATTEMPT_LIST(rows);
