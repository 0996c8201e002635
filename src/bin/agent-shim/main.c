/* agent-shim FOLDER: supervises one process and writes its journal, with or without a daemon. Started by the
 * daemon with a control connection as fd 3; everything else is in the folder (journal/shim_wire.h). One
 * thread, libc alone, no memory but its own fixed parts.
 *
 * Exits 0 when the journal is complete, 1 when it could not be, 2 when it was called wrongly. */
#include "kernel_file.h"
#include "plan.h"
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_WRONG_USE 2

/* Of the world that started us nothing stays but fd 3, and until agent-init has them fd 0, which may be the
 * command's input, and what is given to it. */
static bool detach_from_starter(unsigned given)
{
	static const struct rlimit no_core = { 0, 0 };
	int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return false;
	dup2(null, 1);
	dup2(null, 2);
	close_range(AR_SHIM_FD + 1 + given, ~0u, 0);
	close_range(AR_SHIM_FD, AR_SHIM_FD + given, CLOSE_RANGE_CLOEXEC);
	fcntl(AR_SHIM_FD, F_SETFL, O_NONBLOCK);
	setsid();
	umask(077);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_CORE, &no_core);
	/* Descendants of a dead agent-init become our children: none escapes. */
	return prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

/* Where the linker put this program's code. */
extern const char __executable_start[], etext[];

/* What was needed to start is most of the code and never needed again: it leaves our memory, and comes back
 * from the file where it is used. */
static void release_code_pages(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)__executable_start & ~(page - 1);

	madvise((void *)from, (uintptr_t)etext - from, MADV_DONTNEED);
}

static void on_signals(struct ar_shim *s, int arg)
{
	struct signalfd_siginfo got;

	(void)arg;
	while (read(s->signals, &got, sizeof(got)) == sizeof(got)) {
		if (got.ssi_signo != SIGCHLD)
			ar_termination_shut_down(s);
	}
}

static bool open_signals(struct ar_shim *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return false;
	s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return s->signals >= 0;
}

/* For as long as this descriptor lives, others that find the folder know that we run. */
static bool lock_folder(void)
{
	int fd = open("lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static bool write_spawned(struct ar_shim *s)
{
	char boot_id[64];

	ar_kernel_file_read(NULL, "/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
	boot_id[strcspn(boot_id, "\n")] = '\0';
	return ar_journal_file_addf(&s->journal, AR_RECORD_SPAWNED,
				    "{\"shimPid\":%d,\"bootId\":\"%s\",\"protocol\":%d}", (int)getpid(),
				    boot_id, AR_SHIM_PROTOCOL);
}

static void init_parts(struct ar_shim *s)
{
	for (int i = 0; i < AR_INIT_FD_COUNT; i++)
		s->init.fds[i] = -1;
	s->init.socket = s->input.fd = s->notify.fd = s->missing.seen.workspace = -1;
}

/* The journal is there: from here on everything that goes wrong is in it. */
static void start_init(struct ar_shim *s)
{
	const char *step = "options", *wrong = NULL;

	ar_termination_arm_setup(s);
	if (!ar_shim_options_read(&s->options, "shim", &wrong)) {
		ar_termination_fail(s, step, EINVAL, wrong);
		return;
	}
	ar_termination_arm_setup(s);
	ar_streams_init(&s->streams, s->options.output_bytes);
	if (!(s->prewarm.is_taken ? ar_prewarm_send_plan(s, &step) : ar_start_init(s, "plan", &step)))
		ar_termination_fail(s, step, errno, "agent-init cannot be started");
}

static void run_loop(struct ar_shim *s)
{
	while (!s->termination.is_over) {
		struct ar_loop l = { .count = 0 };

		ar_drive_watch(s, &l);
		ar_start_watch(s, &l);
		ar_notify_watch(s, &l);
		ar_streams_watch(s, &l);
		ar_stdin_watch(s, &l);
		ar_limits_watch(s, &l);
		ar_termination_watch(s, &l);
		ar_loop_watch(&l, s->signals, POLLIN, on_signals, 0);
		ar_loop_run_once(&l, s);
		ar_termination_step(s);
		ar_drive_notify(s);
	}
}

/* How many descriptors are given; more than there can be: it was called wrongly. */
static unsigned read_given(int argc, char **argv)
{
	char *end;
	unsigned long n = argc > 2 ? strtoul(argv[2], &end, 10) : 0;

	return argc > 3 || (argc > 2 && *end) || n > AR_PLAN_GIVEN_MAX ? AR_PLAN_GIVEN_MAX + 1 : (unsigned)n;
}

/* Everything that is there before the first record. */
static bool open_parts(struct ar_shim *s)
{
	ar_streams_init(&s->streams, 0);
	return lock_folder() && ar_journal_file_open(&s->journal, "journal") && write_spawned(s) &&
	       ar_drive_open(&s->drive);
}

int main(int argc, char **argv)
{
	struct ar_shim *s;
	bool is_prewarmed = argc == 3 && strcmp(argv[2], "prewarmed") == 0;
	unsigned given = is_prewarmed ? 0 : read_given(argc, argv);

	if (argc < 2 || argv[1][0] != '/' || given > AR_PLAN_GIVEN_MAX) {
		fputs("usage: agent-shim FOLDER [N | prewarmed]   (started by agentd, with its control "
		      "connection as fd 3 and N descriptors for the command behind it)\n",
		      stderr);
		return EXIT_WRONG_USE;
	}
	/* A prewarmed one is started in its folder, which may have another name by now: it was taken. */
	if (fcntl(AR_SHIM_FD, F_GETFD) < 0 || (!is_prewarmed && chdir(argv[1]) != 0)) {
		fprintf(stderr, "agent-shim: fd 3 or the folder %s is not there\n", argv[1]);
		return EXIT_WRONG_USE;
	}
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED || !detach_from_starter(given) || !open_signals(s))
		return 1;
	init_parts(s);
	s->init.given = given;
	if (is_prewarmed && !ar_prewarm_wait(s, argv[1]))
		return 0;
	if (!open_parts(s))
		return 1;
	start_init(s);
	dup2(1, 0);
	release_code_pages();
	run_loop(s);
	return 0;
}
