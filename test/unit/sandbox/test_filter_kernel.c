/* The filters in force: a thread runs under them and calls, the test answers as the supervisor does. What the
 * kernel does with a program is seen here, not worked out. */
#include "bpf.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum fate { WORKS, TOLD, MISSING };

/* Calls that would do nothing, or fail harmlessly, if they were let through. */
static const struct {
	const char *what;
	long call, args[6];
	enum fate fate;
} rows[] = {
	{ "ptrace", SYS_ptrace, { 0x4206, 0 }, TOLD },
	{ "process_vm_readv", SYS_process_vm_readv, { -1 }, TOLD },
	{ "process_vm_writev", SYS_process_vm_writev, { -1 }, TOLD },
	{ "pidfd_getfd", 438, { -1, -1 }, TOLD },
	{ "process_madvise", 440, { -1 }, TOLD },
	{ "kcmp", SYS_kcmp, { -1, -1 }, TOLD },
	{ "mount", SYS_mount, { 0 }, TOLD },
	{ "umount2", SYS_umount2, { 0 }, TOLD },
	{ "pivot_root", SYS_pivot_root, { 0 }, TOLD },
	{ "chroot", SYS_chroot, { 0 }, TOLD },
	{ "open_tree", 428, { -1 }, TOLD },
	{ "move_mount", 429, { -1 }, TOLD },
	{ "fsopen", 430, { 0 }, TOLD },
	{ "fsconfig", 431, { -1 }, TOLD },
	{ "fsmount", 432, { -1 }, TOLD },
	{ "fspick", 433, { -1 }, TOLD },
	{ "mount_setattr", 442, { -1 }, TOLD },
	{ "unshare", SYS_unshare, { 0 }, TOLD },
	{ "setns", SYS_setns, { -1 }, TOLD },
	{ "clone user", SYS_clone, { CLONE_NEWUSER | CLONE_FS | SIGCHLD }, TOLD },
	{ "clone mounts", SYS_clone, { CLONE_NEWNS | CLONE_FS | SIGCHLD }, TOLD },
	{ "name_to_handle_at", SYS_name_to_handle_at, { -1 }, TOLD },
	{ "open_by_handle_at", SYS_open_by_handle_at, { -1 }, TOLD },
	{ "io_uring_setup", 425, { 0 }, TOLD },
	{ "io_uring_enter", 426, { -1 }, TOLD },
	{ "io_uring_register", 427, { -1 }, TOLD },
	{ "bpf", SYS_bpf, { -1 }, TOLD },
	{ "perf_event_open", SYS_perf_event_open, { 0 }, TOLD },
	{ "userfaultfd", SYS_userfaultfd, { -1 }, TOLD },
	{ "keyctl", SYS_keyctl, { -1 }, TOLD },
	{ "add_key", SYS_add_key, { 0 }, TOLD },
	{ "request_key", SYS_request_key, { 0 }, TOLD },
	{ "kexec_load", SYS_kexec_load, { 0, 0, 0, -1 }, TOLD },
	{ "kexec_file_load", SYS_kexec_file_load, { -1, -1, 0, 0, -1 }, TOLD },
	{ "init_module", SYS_init_module, { 0 }, TOLD },
	{ "finit_module", SYS_finit_module, { -1 }, TOLD },
	{ "delete_module", SYS_delete_module, { 0 }, TOLD },
	{ "reboot", SYS_reboot, { 0 }, TOLD },
	{ "swapon", SYS_swapon, { 0 }, TOLD },
	{ "swapoff", SYS_swapoff, { 0 }, TOLD },
	{ "acct", SYS_acct, { -1 }, TOLD },
	{ "quotactl", SYS_quotactl, { -1 }, TOLD },
	{ "settimeofday", SYS_settimeofday, { 0 }, TOLD },
	{ "clock_settime", SYS_clock_settime, { -1 }, TOLD },
	{ "syslog", SYS_syslog, { -1 }, TOLD },
	{ "personality", SYS_personality, { 0x40000 }, TOLD },
	{ "vsock", SYS_socket, { AF_VSOCK, SOCK_STREAM }, TOLD },
	{ "netlink", SYS_socket, { AF_NETLINK, SOCK_DGRAM }, TOLD },
	{ "packet", SYS_socket, { AF_PACKET, SOCK_DGRAM }, TOLD },
	{ "raw", SYS_socket, { AF_INET, SOCK_RAW, 1 }, TOLD },
	{ "mptcp", SYS_socket, { AF_INET, SOCK_STREAM, 262 }, TOLD },
	{ "sctp", SYS_socket, { AF_INET, SOCK_STREAM, 132 }, TOLD },
	{ "pair of datagrams", SYS_socketpair, { AF_UNIX, SOCK_DGRAM }, TOLD },
	{ "TIOCSTI", SYS_ioctl, { -1, TIOCSTI }, TOLD },
	{ "TIOCSTI with high bits", SYS_ioctl, { -1, TIOCSTI | 0x700000000 }, TOLD },
	{ "TIOCLINUX", SYS_ioctl, { -1, TIOCLINUX }, TOLD },
	{ "chmod u+s", SYS_chmod, { 0, 04755 }, TOLD },
	{ "fchmod g+s", SYS_fchmod, { -1, 02755 }, TOLD },
	{ "openat u+s", SYS_openat, { -1, 0, O_CREAT, 04755 }, TOLD },
	{ "mknodat u+s", SYS_mknodat, { -1, 0, 04755 }, TOLD },

	{ "clone3", 435, { 0 }, MISSING },
	{ "openat2", 437, { -1 }, MISSING },
	{ "fchmodat2", 452, { -1, 0, 04755 }, MISSING },
	{ "one of tomorrow", 900, { 0 }, MISSING },

	{ "getuid", SYS_getuid, { 0 }, WORKS },
	{ "dup", SYS_dup, { 1 }, WORKS },
	{ "memfd_create", SYS_memfd_create, { (long)"x" }, WORKS },
	{ "openat", SYS_openat, { AT_FDCWD, (long)"/", O_RDONLY | O_DIRECTORY, 07777 }, WORKS },
	{ "access", SYS_access, { (long)"/", 0 }, WORKS },
	{ "unix", SYS_socket, { AF_UNIX, SOCK_STREAM }, WORKS },
	{ "unix datagram", SYS_socket, { AF_UNIX, SOCK_DGRAM }, WORKS },
	{ "tcp", SYS_socket, { AF_INET, SOCK_STREAM }, WORKS },
	{ "udp", SYS_socket, { AF_INET, SOCK_DGRAM }, WORKS },
	{ "eventfd", SYS_eventfd2, { 0, 0 }, WORKS },
	{ "inotify", SYS_inotify_init1, { 0 }, WORKS },
	{ "personality asked", SYS_personality, { 0xffffffff }, WORKS },
	{ "sched_yield", SYS_sched_yield, { 0 }, WORKS },
};

struct caller {
	struct program program;
	int listener; /* -2: not yet */
	long result[AR_ARRAY_LEN(rows)];
	int error[AR_ARRAY_LEN(rows)];
};

static void *call_all(void *arg)
{
	struct caller *c = arg;
	struct sock_fprog filter = { c->program.count, c->program.at };
	long listener;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
	__atomic_store_n(&c->listener, (int)listener, __ATOMIC_SEQ_CST);
	if (listener < 0)
		return NULL;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		const long *a = rows[i].args;

		c->result[i] = syscall(rows[i].call, a[0], a[1], a[2], a[3], a[4], a[5]);
		c->error[i] = errno;
	}
	return NULL;
}

/* Says EPERM to whatever comes, until the thread is gone; how often. */
static unsigned supervise(int listener, bool told[500])
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	unsigned count = 0;

	while (poll(&p, 1, 5000) == 1 && (p.revents & POLLIN)) {
		struct seccomp_notif asked = { 0 };
		struct seccomp_notif_resp answer = { 0 };

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
			continue;
		if (asked.data.nr < 500)
			told[asked.data.nr] = true;
		answer = (struct seccomp_notif_resp){ .id = asked.id, .error = -EPERM };
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
		count++;
	}
	return count;
}

static bool is_as_meant(const struct caller *c, size_t i, const bool told[500])
{
	if (rows[i].fate == WORKS)
		return c->result[i] >= 0;
	if (rows[i].fate == MISSING)
		return c->result[i] < 0 && c->error[i] == ENOSYS;
	return c->result[i] < 0 && c->error[i] == EPERM && told[rows[i].call];
}

static void test_calls_meet_their_fate(void **state)
{
	struct caller *c = calloc(1, sizeof(*c));
	bool told[500] = { false };
	unsigned count = 0, want = 0, wrong = 0;
	pthread_t thread;

	(void)state;
	program_make(&c->program, AR_FILTER_BOUNDED);
	c->listener = -2;
	assert_int_equal(pthread_create(&thread, NULL, call_all, c), 0);
	while (__atomic_load_n(&c->listener, __ATOMIC_SEQ_CST) == -2)
		sched_yield();
	assert_true(c->listener >= 0);
	count = supervise(c->listener, told);
	pthread_join(thread, NULL);
	close(c->listener);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		want += rows[i].fate == TOLD;
		if (is_as_meant(c, i, told))
			continue;
		print_error("%s: %ld, %s\n", rows[i].what, c->result[i], strerror(c->error[i]));
		wrong++;
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(count, want);
	free(c);
}

static int end_of(void (*what)(void), enum ar_filter_kind kind)
{
	struct program *p = calloc(1, sizeof(*p));
	struct sock_fprog filter;
	int status;
	pid_t pid;

	program_make(p, kind);
	filter = (struct sock_fprog){ p->count, p->at };
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
			_exit(2);
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	free(p);
	return status;
}

#if defined(__x86_64__)
static void call_as_i386(void)
{
	long out;

	__asm__ volatile("int $0x80" : "=a"(out) : "a"(20 /* getpid */) : "memory");
}

static void call_as_x32(void)
{
	syscall(0x40000000 | 39 /* getpid */);
}

static void test_other_ways_of_calling_end_it(void **state)
{
	(void)state;
	for (int kind = 0; kind < AR_FILTER_COUNT; kind++) {
		int i386 = end_of(call_as_i386, (enum ar_filter_kind)kind);
		int x32 = end_of(call_as_x32, (enum ar_filter_kind)kind);

		assert_true(WIFSIGNALED(i386) && WTERMSIG(i386) == SIGSYS);
		assert_true(WIFSIGNALED(x32) && WTERMSIG(x32) == SIGSYS);
	}
}
#endif

static void do_nothing(void)
{
}

/* Nobody answers: what would be told is refused all the same. */
static void try_without_supervisor(void)
{
	if (syscall(SYS_unshare, CLONE_NEWUTS) == 0 || errno != ENOSYS)
		_exit(1);
}

static void test_without_a_supervisor_it_is_refused(void **state)
{
	(void)state;
	assert_int_equal(end_of(do_nothing, AR_FILTER_BOUNDED), 0);
	assert_int_equal(end_of(try_without_supervisor, AR_FILTER_BOUNDED), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_meet_their_fate),
#if defined(__x86_64__)
		cmocka_unit_test(test_other_ways_of_calling_end_it),
#endif
		cmocka_unit_test(test_without_a_supervisor_it_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
