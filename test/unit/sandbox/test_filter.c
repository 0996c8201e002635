/* The filters, row by row: what is told, what is missing, what is killed, and what must go on working. */
#include "bpf.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define TOLD SECCOMP_RET_USER_NOTIF
#define MISSING (SECCOMP_RET_ERRNO | ENOSYS)
#define FREE SECCOMP_RET_ALLOW
#define KILLED SECCOMP_RET_KILL_PROCESS
#define HIGH 0x500000000ull /* bits that the kernel does not look at */

struct row {
	const char *what;
	int call;
	uint64_t args[6];
	uint32_t answer;
};

static const struct row rows[] = {
	{ "clone3", 435, { 0 }, MISSING },
	{ "openat2", 437, { 0 }, MISSING },
	{ "fchmodat2", 452, { 0 }, MISSING },
	{ "open_tree_attr", 467, { 0 }, MISSING },
	{ "a call of tomorrow", 1000, { 0 }, MISSING },
	{ "the highest of tomorrow", 0x3fffffff, { 0 }, MISSING },
	{ "x32", 0x40000000 | 2, { 0 }, KILLED },

	{ "read", SYS_read, { 0 }, FREE },
	{ "execve", SYS_execve, { 0 }, FREE },
	{ "statx", SYS_statx, { 0 }, FREE },
	{ "futex_waitv, the newest known", 449, { 0 }, FREE },
	{ "landlock", 444, { 0 }, FREE },
	{ "seccomp", SYS_seccomp, { 0 }, FREE },
	{ "pidfd_open", SYS_pidfd_open, { 0 }, FREE },
	{ "memfd_create", SYS_memfd_create, { 0 }, FREE },
	{ "kill", SYS_kill, { 0 }, FREE },
	{ "setrlimit", SYS_prlimit64, { 0 }, FREE },

	{ "fork", SYS_clone, { 17 }, FREE },
	{ "thread", SYS_clone, { 0x3d0f00 }, FREE },
	{ "clone user", SYS_clone, { CLONE_NEWUSER | 17 }, TOLD },
	{ "clone user and mounts", SYS_clone, { CLONE_NEWUSER | CLONE_NEWNS | 17 }, TOLD },
	{ "clone mounts", SYS_clone, { CLONE_NEWNS | 17 }, TOLD },
	{ "clone pid", SYS_clone, { CLONE_NEWPID | 17 }, TOLD },
	{ "clone net", SYS_clone, { CLONE_NEWNET | 17 }, TOLD },
	{ "clone ipc", SYS_clone, { CLONE_NEWIPC | 17 }, TOLD },
	{ "clone uts", SYS_clone, { CLONE_NEWUTS | 17 }, TOLD },
	{ "clone cgroup", SYS_clone, { CLONE_NEWCGROUP | 17 }, TOLD },

	{ "unix stream", SYS_socket, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC }, FREE },
	{ "unix datagram", SYS_socket, { AF_UNIX, SOCK_DGRAM }, FREE },
	{ "unix seqpacket", SYS_socket, { AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK }, FREE },
	{ "tcp", SYS_socket, { AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 6 }, FREE },
	{ "tcp6", SYS_socket, { AF_INET6, SOCK_STREAM }, FREE },
	{ "udp", SYS_socket, { AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 17 }, FREE },
	{ "family 0", SYS_socket, { 0, SOCK_STREAM }, TOLD },
	{ "netlink", SYS_socket, { AF_NETLINK, SOCK_DGRAM }, TOLD },
	{ "packet", SYS_socket, { AF_PACKET, SOCK_DGRAM }, TOLD },
	{ "vsock", SYS_socket, { AF_VSOCK, SOCK_STREAM }, TOLD },
	{ "alg", SYS_socket, { AF_ALG, SOCK_SEQPACKET }, TOLD },
	{ "xdp", SYS_socket, { 44, SOCK_STREAM }, TOLD },
	{ "bluetooth", SYS_socket, { AF_BLUETOOTH, SOCK_STREAM }, TOLD },
	{ "family 63", SYS_socket, { 63, SOCK_STREAM }, TOLD },
	{ "family 64", SYS_socket, { 64, SOCK_STREAM }, TOLD },
	{ "family -1", SYS_socket, { (uint64_t)-1, SOCK_STREAM }, TOLD },
	{ "netlink with high bits", SYS_socket, { HIGH | AF_NETLINK, SOCK_DGRAM }, TOLD },
	{ "raw", SYS_socket, { AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1 }, TOLD },
	{ "raw6", SYS_socket, { AF_INET6, SOCK_RAW, 58 }, TOLD },
	{ "raw with high bits", SYS_socket, { AF_INET, HIGH | SOCK_RAW, 1 }, TOLD },
	{ "unix raw, a datagram in disguise", SYS_socket, { AF_UNIX, SOCK_RAW }, TOLD },
	{ "mptcp", SYS_socket, { AF_INET, SOCK_STREAM, 262 }, TOLD },
	{ "mptcp6 with high bits", SYS_socket, { AF_INET6, SOCK_STREAM, HIGH | 262 }, TOLD },
	{ "sctp", SYS_socket, { AF_INET, SOCK_STREAM, 132 }, TOLD },
	{ "sctp one to many", SYS_socket, { AF_INET, SOCK_SEQPACKET }, TOLD },
	{ "sctp6 one to many", SYS_socket, { AF_INET6, SOCK_SEQPACKET, 132 }, TOLD },
	{ "dccp", SYS_socket, { AF_INET, 6, 33 }, TOLD },
	{ "pair", SYS_socketpair, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC }, FREE },
	{ "pair seqpacket", SYS_socketpair, { AF_UNIX, SOCK_SEQPACKET }, FREE },
	{ "pair datagram", SYS_socketpair, { AF_UNIX, SOCK_DGRAM }, TOLD },
	{ "pair datagram, flags", SYS_socketpair, { AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK }, TOLD },
	{ "pair raw", SYS_socketpair, { AF_UNIX, SOCK_RAW }, TOLD },
	{ "pair tipc", SYS_socketpair, { AF_TIPC, SOCK_STREAM }, TOLD },

	{ "TIOCGWINSZ", SYS_ioctl, { 0, TIOCGWINSZ }, FREE },
	{ "TIOCSCTTY", SYS_ioctl, { 0, TIOCSCTTY }, FREE },
	{ "TIOCSTI", SYS_ioctl, { 0, TIOCSTI }, TOLD },
	{ "TIOCSTI with high bits", SYS_ioctl, { 0, HIGH | TIOCSTI }, TOLD },
	{ "TIOCLINUX with high bits", SYS_ioctl, { 0, HIGH | TIOCLINUX }, TOLD },
	{ "TIOCSETD", SYS_ioctl, { 0, TIOCSETD }, TOLD },

	{ "chmod", SYS_chmod, { 0, 01777 }, FREE },
	{ "chmod u+s", SYS_chmod, { 0, 04755 }, TOLD },
	{ "chmod g+s", SYS_chmod, { 0, 02755 }, TOLD },
	{ "fchmod", SYS_fchmod, { 3, 0755 }, FREE },
	{ "fchmod both", SYS_fchmod, { 3, 06755 }, TOLD },
	{ "fchmodat", SYS_fchmodat, { 3, 0, 0644 }, FREE },
	{ "fchmodat u+s with high bits", SYS_fchmodat, { 3, 0, HIGH | 04644 }, TOLD },
	{ "creat u+s", SYS_creat, { 0, 04755 }, TOLD },
	{ "mknod g+s", SYS_mknod, { 0, 0100000 | 02755 }, TOLD },
	{ "mknodat u+s", SYS_mknodat, { 3, 0, 04755 }, TOLD },
	{ "mknodat fifo", SYS_mknodat, { 3, 0, 0010644 }, FREE },
	{ "open", SYS_open, { 0, O_RDWR | O_CREAT, 0644 }, FREE },
	{ "open u+s", SYS_open, { 0, O_WRONLY | O_CREAT, 04755 }, TOLD },
	{ "open without making, mode is rubbish", SYS_open, { 0, O_RDONLY, 07777 }, FREE },
	{ "openat u+s", SYS_openat, { 3, 0, O_WRONLY | O_CREAT | O_EXCL, 04755 }, TOLD },
	{ "openat g+s", SYS_openat, { 3, 0, O_WRONLY | O_CREAT, 02755 }, TOLD },
	{ "openat folder, mode is rubbish", SYS_openat, { 3, 0, O_RDONLY | O_DIRECTORY, 06755 }, FREE },
	{ "openat unnamed", SYS_openat, { 3, 0, O_TMPFILE | O_RDWR, 0600 }, FREE },
	{ "openat unnamed u+s", SYS_openat, { 3, 0, O_TMPFILE | O_RDWR, 04600 }, TOLD },

	{ "personality asked", SYS_personality, { 0xffffffff }, FREE },
	{ "personality usual", SYS_personality, { 0 }, FREE },
	{ "personality fixed addresses", SYS_personality, { 0x40000 }, TOLD },
	{ "personality of 32 bits", SYS_personality, { 8 }, TOLD },
	{ "personality with the top bit", SYS_personality, { 0x80000000 }, TOLD },
	{ "personality all but one", SYS_personality, { 0xfffffffe }, TOLD },
	{ "personality with high bits", SYS_personality, { HIGH | 0x40000 }, TOLD },
};

/* Whatever their arguments. */
static const int always_told[] = {
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	438 /* pidfd_getfd */,
	440 /* process_madvise */,
	SYS_kcmp,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	428 /* open_tree */,
	429 /* move_mount */,
	430 /* fsopen */,
	431 /* fsconfig */,
	432 /* fsmount */,
	433 /* fspick */,
	442 /* mount_setattr */,
	SYS_unshare,
	SYS_setns,
	SYS_name_to_handle_at,
	SYS_open_by_handle_at,
	425 /* io_uring_setup */,
	426,
	427,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_quotactl,
	443 /* quotactl_fd */,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_adjtimex,
	SYS_clock_adjtime,
	SYS_syslog,
	SYS_iopl,
	SYS_ioperm,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_modify_ldt,
	SYS_vhangup,
	SYS_lookup_dcookie,
};

static uint32_t ask(const struct program *p, uint32_t arch, int call, const uint64_t args[6])
{
	struct seccomp_data d = { .nr = call, .arch = arch };

	for (int i = 0; args && i < 6; i++)
		d.args[i] = args[i];
	return program_answer(p, &d);
}

static void test_rows(void **state)
{
	struct program *p = calloc(1, sizeof(*p));
	unsigned wrong = 0;

	(void)state;
	program_make(p, AR_FILTER_BOUNDED);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		uint32_t got = ask(p, AUDIT_ARCH_X86_64, rows[i].call, rows[i].args);

		if (got == rows[i].answer)
			continue;
		print_error("%s: %x instead of %x\n", rows[i].what, got, rows[i].answer);
		wrong++;
	}
	free(p);
	assert_int_equal(wrong, 0);
}

static void test_always_told(void **state)
{
	static const uint64_t some[][6] = { { 0 },
					    { 1, 2, 3, 4, 5, 6 },
					    { ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull } };
	struct program *p = calloc(1, sizeof(*p));

	(void)state;
	program_make(p, AR_FILTER_BOUNDED);
	for (size_t i = 0; i < AR_ARRAY_LEN(always_told); i++) {
		for (size_t j = 0; j < AR_ARRAY_LEN(some); j++)
			assert_int_equal(ask(p, AUDIT_ARCH_X86_64, always_told[i], some[j]), TOLD);
	}
	free(p);
}

/* Anything that is neither in the rows nor in the list is free: no build tool meets a refusal that nobody
 * meant. */
static void test_the_rest_is_free(void **state)
{
	struct program *p = calloc(1, sizeof(*p));
	unsigned free_calls = 0;

	(void)state;
	program_make(p, AR_FILTER_BOUNDED);
	for (int call = 0; call <= AR_FILTER_NEWEST; call++)
		free_calls += ask(p, AUDIT_ARCH_X86_64, call, NULL) == FREE;
	/* clone3, openat2 and socket (of family 0) beside those that are always told; socketpair of family 0
	 * too. */
	assert_int_equal(free_calls, AR_FILTER_NEWEST + 1 - AR_ARRAY_LEN(always_told) - 4);
	free(p);
}

static void test_families_are_three(void **state)
{
	struct program *p = calloc(1, sizeof(*p));

	(void)state;
	program_make(p, AR_FILTER_BOUNDED);
	for (uint64_t family = 0; family < 300; family++) {
		uint64_t args[6] = { family, SOCK_STREAM };
		bool is_free = family == AF_UNIX || family == AF_INET || family == AF_INET6;

		assert_int_equal(ask(p, AUDIT_ARCH_X86_64, SYS_socket, args), is_free ? FREE : TOLD);
	}
	free(p);
}

static void test_other_architectures_are_killed(void **state)
{
	static const uint32_t others[] = { AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, 0, ~0u };
	struct program *p = calloc(1, sizeof(*p));

	(void)state;
	for (int kind = 0; kind < AR_FILTER_COUNT; kind++) {
		program_make(p, (enum ar_filter_kind)kind);
		for (size_t i = 0; i < AR_ARRAY_LEN(others); i++) {
			for (int call = 0; call < 500; call++)
				assert_int_equal(ask(p, others[i], call, NULL), KILLED);
		}
		assert_int_equal(ask(p, AUDIT_ARCH_X86_64, 0x40000000, NULL), KILLED);
	}
	free(p);
}

static void test_danger_tells_of_terminals_alone(void **state)
{
	struct program *p = calloc(1, sizeof(*p));
	uint64_t sti[6] = { 0, HIGH | TIOCSTI };

	(void)state;
	program_make(p, AR_FILTER_DANGER);
	for (int call = 0; call < 600; call++)
		assert_int_equal(ask(p, AUDIT_ARCH_X86_64, call, NULL), FREE);
	assert_int_equal(ask(p, AUDIT_ARCH_X86_64, SYS_ioctl, sti), TOLD);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_always_told),
		cmocka_unit_test(test_the_rest_is_free),
		cmocka_unit_test(test_families_are_three),
		cmocka_unit_test(test_other_architectures_are_killed),
		cmocka_unit_test(test_danger_tells_of_terminals_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
