/* Attempts on parts of the kernel that no command here needs. Arguments are such that nothing happens even
 * where the call is allowed: an answer that is not the filter's (EFAULT, EINVAL, EBADF) shows that the kernel
 * itself was reached. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

#define NOWHERE 8 /* an address that is never mapped */
#define NR_CACHESTAT_AND_LATER 9999

/* Another machine's calls: number 20 there is getpid. */
static int other_machine(const struct attempt *a)
{
	(void)a;
#ifdef __x86_64__
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory");
	return r < 0 ? fail_with((int)-r) : 0;
#else
	return fail_with(ENOSYS);
#endif
}

/* getpid of x32; open goes the same way. */
static int other_numbers(const struct attempt *a)
{
	(void)a;
	return syscall(0x40000000L + SYS_getpid) < 0 ? -1 : 0;
}

static int handle_of(const struct attempt *a)
{
	struct {
		struct file_handle head;
		unsigned char room[128];
	} handle = { .head.handle_bytes = 128 };
	int mount_id;

	return name_to_handle_at(AT_FDCWD, a->path, &handle.head, &mount_id, 0);
}

/* As often as args[0] says. */
static int call_often(const struct attempt *a)
{
	for (long i = 1; i < a->args[0]; i++)
		syscall(SYS_userfaultfd, 1);
	return (int)syscall(SYS_userfaultfd, 1);
}

static int trace_me(const struct attempt *a)
{
	(void)a;
	return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

/* A program that never had a name: allowed, the boundary does not depend on names. */
static int run_memory(const struct attempt *a)
{
	char *args[] = { (char *)"memory", NULL };
	int fd = (int)syscall(SYS_memfd_create, "escape", 1), status = 0;

	(void)a;
	if (fd < 0)
		return -1;
	if (write(fd, "#!/bin/true\n", 12) != 12)
		return -1;
	pid_t child = fork();
	if (child == 0) {
		syscall(SYS_execveat, dup(fd), "", args, args, AT_EMPTY_PATH);
		_exit(77);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? fail_with(EACCES) : 0;
}

#define DENIED "EPERM"
#define CALL(name, nr, ...) \
	{ \
		name, try_system_call, NULL, DENIED, DENIED, "?", "notify", nr, \
		{ \
			__VA_ARGS__ \
		} \
	}

static const struct attempt rows[] = {
	CALL("io_uring_setup", SYS_io_uring_setup, 8, NOWHERE),
	CALL("io_uring_enter", SYS_io_uring_enter, -1, 1),
	CALL("io_uring_register", SYS_io_uring_register, -1, 0),
	CALL("bpf", SYS_bpf, 0, NOWHERE, 72),
	CALL("perf_event_open", SYS_perf_event_open, NOWHERE, 0, -1, -1),
	CALL("userfaultfd", SYS_userfaultfd, 1),
	CALL("keyctl", SYS_keyctl, 0, -4, 0),
	CALL("add_key", SYS_add_key, NOWHERE, NOWHERE, NOWHERE, 1, -4),
	CALL("request_key", SYS_request_key, NOWHERE, NOWHERE, 0, -4),
	CALL("syslog", SYS_syslog, 10),
	CALL("kexec_load", SYS_kexec_load, 0, 1, NOWHERE, 0xffff),
	CALL("kexec_file_load", SYS_kexec_file_load, -1, -1, 0, NOWHERE, 0xffff),
	CALL("init_module", SYS_init_module, NOWHERE, 0, NOWHERE),
	CALL("finit_module", SYS_finit_module, -1, NOWHERE, 0),
	CALL("delete_module", SYS_delete_module, NOWHERE, 0),
	CALL("reboot", SYS_reboot, 1, 2, 3),
	CALL("swapon", SYS_swapon, NOWHERE, 0),
	CALL("swapoff", SYS_swapoff, NOWHERE),
	CALL("acct", SYS_acct, NOWHERE),
	CALL("quotactl", SYS_quotactl, 0x800007, NOWHERE, 0, NOWHERE),
	CALL("settimeofday", SYS_settimeofday, NOWHERE, 0),
	CALL("clock_settime", SYS_clock_settime, 0, NOWHERE),
	CALL("name_to_handle_at", SYS_name_to_handle_at, AT_FDCWD, NOWHERE, NOWHERE, NOWHERE, 0),
	CALL("open_by_handle_at", SYS_open_by_handle_at, AT_FDCWD, NOWHERE, 0),
	CALL("kcmp", SYS_kcmp, 1, 1, 99),
	CALL("process_madvise", SYS_process_madvise, -1, NOWHERE, 1, 4),
	CALL("process_vm_readv", SYS_process_vm_readv, 1, NOWHERE, 1, NOWHERE, 1),
	CALL("process_vm_writev", SYS_process_vm_writev, 1, NOWHERE, 1, NOWHERE, 1),
	CALL("pidfd_getfd", SYS_pidfd_getfd, -1, 0, 0),
	CALL("personality", SYS_personality, 0x0040000),
	{ "ptrace_traceme", trace_me, NULL, DENIED, DENIED, "?", "notify" },
	{ "call_often", call_often, NULL, DENIED, DENIED, "-", "notify", 0, { 5000 } },
	{ "handle_of_tmp", handle_of, "/tmp", DENIED, DENIED, "?", "notify" },
	{ "fanotify", try_system_call, NULL, DENIED, DENIED, "?", NULL, SYS_fanotify_init, { 0 } },
#ifdef __x86_64__
	{ "iopl", try_system_call, NULL, DENIED, DENIED, "EPERM ENOSYS", NULL, SYS_iopl, { 3 } },
	{ "ioperm", try_system_call, NULL, DENIED, DENIED, "EPERM ENOSYS", NULL, SYS_ioperm, { 0x80, 1, 1 } },
	{ "other_machine", other_machine, NULL, "SIGSYS", "SIGSYS", "?" },
	{ "other_numbers", other_numbers, NULL, "EPERM ENOSYS SIGSYS", "EPERM ENOSYS SIGSYS", "?" },
#endif
	{ "sethostname",
	  try_system_call,
	  NULL,
	  "EPERM",
	  "EPERM",
	  "EPERM",
	  NULL,
	  SYS_sethostname,
	  { NOWHERE, 1 } },
	{ "setdomainname",
	  try_system_call,
	  NULL,
	  "EPERM",
	  "EPERM",
	  "EPERM",
	  NULL,
	  SYS_setdomainname,
	  { NOWHERE, 1 } },
	{ "vhangup", try_system_call, NULL, "EPERM", "EPERM", "EPERM", NULL, SYS_vhangup, { 0 } },
	{ "unknown_call",
	  try_system_call,
	  NULL,
	  "ENOSYS",
	  "ENOSYS",
	  "ENOSYS",
	  NULL,
	  NR_CACHESTAT_AND_LATER,
	  { 0 } },
	{ "run_memory", run_memory, NULL, "ok EACCES", "ok EACCES", "?" },
};

const struct attempt_list kernel_attempts = ATTEMPT_LIST(rows);
