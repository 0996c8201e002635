/* What a command costs behind its boundary: the whole of workspace_write through agent-init, beside the
 * same command started plainly and beside bubblewrap with the same roots, protected paths and
 * namespaces as its flags. They take turns. Cold: from the plan to everything gone again. Warm: with an
 * agent-init that waits for the command's part of the plan, as the daemon has one for a session's next
 * command: from the plan to the command's end; what it took to make that one and to clear it away is
 * not in this time, but in the CPU time of both, which is that of all processes together.
 *
 *   bench-spawn HELPERS WORKSPACE TRUE ROUNDS [BWRAP]
 *
 * TRUE: a static program, seen inside under its own name. Prints {"<way>":{"us","cpu_us"}...}, medians
 * of the time and means of the CPU time: of "warm", "cold", "cold_ungrouped" (without control groups,
 * as bubblewrap has none), "plain" and, with its path, "bwrap". */
#include "boundary.h"
#include "init_wire.h"
#include "packet.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 2000
#define FDS_MAX 16
#define FLAGS_MAX 1024

enum way { WARM, COLD, UNGROUPED, PLAIN, BWRAP, WAYS };

struct bench {
	struct ar_sandbox *sandbox, *ungrouped;
	struct ar_process_spec spec;
	struct ar_str argv[1];
	const char *init;
	char *bwrap[FLAGS_MAX];
	size_t flags;
	struct ar_arena arena;
};

struct times {
	double us[ROUNDS_MAX], cpu_us;
};

/* An agent-init and our end of its socket. */
struct child {
	pid_t pid;
	int socket;
	struct ar_launch launch;
	struct ar_arena arena;
};

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "bench-spawn: %s\n", what);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double cpu_us_of(int whose)
{
	struct rusage used;

	getrusage(whose, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static double cpu_us(void)
{
	return cpu_us_of(RUSAGE_SELF) + cpu_us_of(RUSAGE_CHILDREN);
}

static void run_plain(char *const argv[])
{
	pid_t pid;
	int status = 1;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, (char *[]){ NULL }) != 0)
		give_up(argv[0]);
	waitpid(pid, &status, 0);
	if (status != 0)
		give_up("the command failed");
}

static int plan_file(const struct ar_plan *plan)
{
	static char text[AR_PLAN_TEXT_MAX];
	size_t size = ar_plan_write(plan, text, sizeof(text));
	int fd = memfd_create("plan", MFD_CLOEXEC);

	if (size == 0 || size > sizeof(text) || fd < 0 || write(fd, text, size) != (ssize_t)size)
		give_up("the plan cannot be written");
	return fd;
}

/* Away from the numbers that they are to have in the child. */
static int far_away(int fd)
{
	int far = fcntl(fd, F_DUPFD_CLOEXEC, AR_INIT_PLAN_FD + 1);

	close(fd);
	return far;
}

static pid_t start_init(const char *path, int socket, int plan)
{
	char *argv[] = { (char *)path, NULL };
	posix_spawn_file_actions_t files;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, socket, AR_INIT_FD);
	posix_spawn_file_actions_adddup2(&files, plan, AR_INIT_PLAN_FD);
	if (posix_spawn(&pid, path, &files, NULL, argv, (char *[]){ NULL }) != 0)
		give_up(path);
	posix_spawn_file_actions_destroy(&files);
	return pid;
}

/* The kind of the next message; what comes along is closed. */
static char next_message(int socket)
{
	static char text[AR_INIT_MESSAGE_MAX];
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	} control;
	struct iovec part = { text, sizeof(text) };
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};

	if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) <= 0)
		return 0;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	for (size_t i = 0; c && i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++)
		close(((int *)(void *)CMSG_DATA(c))[i]);
	return text[0];
}

/* Lets it go, and hears it out until it says `last`; 0: until it has closed. */
static void run_until(int socket, char last)
{
	char go = AR_INIT_GO, said;

	if (next_message(socket) != AR_INIT_READY || send(socket, &go, 1, MSG_NOSIGNAL) != 1)
		give_up("agent-init did not get ready");
	do {
		said = next_message(socket);
		if (said == AR_INIT_FAILED || (said == 0 && last))
			give_up("the command did not start");
	} while (said != last);
}

static void start(const struct bench *b, const struct ar_plan *plan, struct child *ret)
{
	int ends[2], file = far_away(plan_file(plan));

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		give_up("socketpair");
	ends[1] = far_away(ends[1]);
	ret->pid = start_init(b->init, ends[1], file);
	ret->socket = ends[0];
	close(ends[1]);
	close(file);
}

static void settle(const struct bench *b, struct ar_sandbox *sandbox, const struct ar_plan_paths *groups,
		   struct child *c)
{
	struct ar_error err = { 0 };

	if (ar_sandbox_plan_in(sandbox, &b->spec, groups, &c->arena, &c->launch, &err))
		give_up(err.msg);
}

static void clear_away(struct ar_sandbox *sandbox, struct child *c)
{
	int status;

	close(c->socket);
	waitpid(c->pid, &status, 0);
	ar_sandbox_release(sandbox, &c->launch);
	ar_arena_fini(&c->arena);
}

static void run_cold(const struct bench *b, struct ar_sandbox *sandbox)
{
	struct child c = { 0 };

	settle(b, sandbox, NULL, &c);
	start(b, c.launch.plan, &c);
	run_until(c.socket, AR_INIT_EMPTY);
	clear_away(sandbox, &c);
}

/* The first number of a file; -1: there is none. */
static long first_number(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

/* Its boundary is made when the one inside waits for a packet. */
static void wait_until_made(const struct child *c)
{
	char children[64], call[64];

	snprintf(children, sizeof(children), "/proc/%d/task/%d/children", (int)c->pid, (int)c->pid);
	for (int i = 0; i < 20000; i++, usleep(100)) {
		snprintf(call, sizeof(call), "/proc/%ld/syscall", first_number(children));
		if (first_number(call) == SYS_recvmsg)
			return;
	}
	give_up("a prewarmed sandbox was not made");
}

static void send_plan(int socket, const struct ar_plan *plan)
{
	char kind = AR_INIT_PLAN;
	int file = plan_file(plan);
	struct ar_packet p = { .parts = { { &kind, 1 } }, .fds = &file, .fd_count = 1 };

	if (ar_packet_send(socket, &p, 0) != 1)
		give_up("the plan cannot be sent");
	close(file);
}

/* The time that whoever wants the command waits; *ret_idle_us: the CPU time that finding out when the
 * prewarmed sandbox is made has cost us. */
static double run_warm(const struct bench *b, struct ar_sandbox *sandbox, double *ret_idle_us)
{
	static struct ar_plan stripped;
	struct child prewarmed = { 0 }, c = { 0 };
	double begin, end;

	settle(b, sandbox, NULL, &prewarmed);
	ar_plan_strip(prewarmed.launch.plan, &stripped);
	start(b, &stripped, &prewarmed);
	*ret_idle_us = cpu_us_of(RUSAGE_SELF);
	wait_until_made(&prewarmed);
	*ret_idle_us = cpu_us_of(RUSAGE_SELF) - *ret_idle_us;
	begin = now_us();
	settle(b, sandbox, &stripped.cgroups, &c);
	if (ar_plan_differs(&stripped, c.launch.plan))
		give_up("the prewarmed sandbox is for another plan");
	send_plan(prewarmed.socket, c.launch.plan);
	run_until(prewarmed.socket, AR_INIT_EXIT);
	end = now_us();
	clear_away(sandbox, &prewarmed);
	ar_arena_fini(&c.arena);
	return end - begin;
}

static void add_flags(struct bench *b, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count && b->flags + 1 < FLAGS_MAX; i++)
		b->bwrap[b->flags++] = (char *)words[i];
}

#define ADD(b, ...) \
	add_flags(b, (const char *[]){ __VA_ARGS__ }, \
		  sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *))

/* A root under its own name; a link is made again. */
static void add_root(struct bench *b, const char *path)
{
	char target[4096];
	ssize_t n = readlink(path, target, sizeof(target));

	if (n < 0)
		ADD(b, "--ro-bind-try", path, path);
	else
		ADD(b, "--symlink", ar_arena_str(&b->arena, (struct ar_str){ target, (size_t)n }).p, path);
}

static void add_protected(struct bench *b, const struct ar_plan *p)
{
	for (size_t i = 0; i < p->protected_paths.count; i++) {
		const char *path = ar_arena_fmt(&b->arena, "%s/%s", p->workspace, p->protected_paths.at[i]).p;

		ADD(b, "--ro-bind-try", path, path);
	}
}

/* The same boundary in bubblewrap's words. It has none for Landlock, limits, decoys and
 * the listener of the filter. */
static void say_in_flags(struct bench *b, const char *bwrap, const char *command)
{
	struct ar_launch launch = { 0 };
	struct ar_error err = { 0 };

	if (ar_sandbox_plan(b->ungrouped, &b->spec, &b->arena, &launch, &err))
		give_up(err.msg);
	ADD(b, bwrap, "--unshare-all", "--new-session", "--die-with-parent", "--cap-drop", "ALL", "--uid",
	    "1000", "--gid", "1000", "--tmpfs", "/tmp", "--tmpfs", "/home/agent", "--proc", "/proc", "--dev",
	    "/dev");
	for (size_t i = 0; i < launch.plan->read_roots.count; i++)
		add_root(b, launch.plan->read_roots.at[i]);
	ADD(b, "--bind", launch.plan->workspace, launch.plan->workspace);
	add_protected(b, launch.plan);
	ADD(b, "--chdir", launch.plan->workspace, command);
	ar_sandbox_release(b->ungrouped, &launch);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_size);
	return values[count / 2];
}

static void run(const struct bench *b, enum way way, char *const truth[], struct times *ret, size_t round)
{
	double cpu = cpu_us(), begin = now_us(), warm = 0, idle_us = 0;

	switch (way) {
	case WARM:
		warm = run_warm(b, b->sandbox, &idle_us);
		break;
	case COLD:
	case UNGROUPED:
		run_cold(b, way == COLD ? b->sandbox : b->ungrouped);
		break;
	default:
		run_plain(way == PLAIN ? truth : b->bwrap);
	}
	ret->us[round] = warm > 0 ? warm : now_us() - begin;
	ret->cpu_us += cpu_us() - cpu - idle_us;
}

static void measure(const struct bench *b, char *const truth[], size_t rounds, struct times times[WAYS])
{
	for (int way = 0; way < WAYS; way++)
		times[way].cpu_us = 0;
	for (size_t i = 0; i < rounds; i++) {
		for (int way = 0; way < (b->flags > 0 ? WAYS : BWRAP); way++)
			run(b, (enum way)way, truth, &times[way], i);
	}
}

static void print(const struct bench *b, struct times times[WAYS], size_t rounds)
{
	static const char *const names[WAYS] = { "warm", "cold", "cold_ungrouped", "plain", "bwrap" };

	for (int way = 0; way < (b->flags > 0 ? WAYS : BWRAP); way++)
		printf("%c\"%s\":{\"us\":%.1f,\"cpu_us\":%.1f}", way ? ',' : '{', names[way],
		       median(times[way].us, rounds), times[way].cpu_us / (double)rounds);
	printf("}\n");
}

int main(int argc, char **argv)
{
	static struct times times[WAYS];
	struct ar_sandbox_options options = { 0 };
	static struct bench b = { .spec = { .profile = AR_SANDBOX_WORKSPACE_WRITE,
					    .session_id = AR_STR("ses_bench"),
					    .call_id = AR_STR("call_bench"),
					    .argc = 1 } };
	struct ar_error err = { 0 };

	if (argc < 5)
		give_up("usage: bench-spawn HELPERS WORKSPACE TRUE ROUNDS [BWRAP]");
	size_t rounds = strtoul(argv[4], NULL, 10);
	rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
	options.helpers = ar_str_from(argv[1]);
	b.spec.workspace = ar_str_from(argv[2]);
	b.argv[0] = ar_str_from(argv[3]);
	b.spec.argv = b.argv;
	if (ar_sandbox_open(&options, &b.sandbox, &err))
		give_up(err.msg);
	options.without = AR_STR("cgroup_kill,cgroup_pids,cgroup_memory");
	if (ar_sandbox_open(&options, &b.ungrouped, &err))
		give_up(err.msg);
	b.init = ar_sandbox_helper(b.sandbox, "agent-init", &b.arena).p;
	if (argc > 5)
		say_in_flags(&b, argv[5], argv[3]);
	measure(&b, (char *[]){ argv[3], NULL }, rounds < 20 ? rounds : 20, times); /* caches are warm then */
	measure(&b, (char *[]){ argv[3], NULL }, rounds, times);
	print(&b, times, rounds);
	ar_sandbox_close(b.sandbox);
	ar_sandbox_close(b.ungrouped);
	ar_arena_fini(&b.arena);
	return 0;
}
