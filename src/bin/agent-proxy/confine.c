/* See confine.h. The filter answers EPERM, or ENOSYS where a library then goes another way; a program is
 * never started, so that ends the process. */
#include "confine.h"

#include "compiler.h"
#include "landlock_rules.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define OTHER_NUMBERS 0x40000000u /* x32 */
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#define OTHER_NUMBERS 0xffffffffu
#else
#error "the filter was written for x86-64 and arm64"
#endif

#define RESOLVER "/etc/resolv.conf"
#define READS (LL_FS_READ_FILE | LL_FS_READ_DIR)
#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
#define IF(what, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what, yes, no)
#define REFUSE ANSWER(SECCOMP_RET_ERRNO | EPERM)
#define ABSENT ANSWER(SECCOMP_RET_ERRNO | ENOSYS)

static struct stat resolver; /* as it was at start; set once, before any thread */

/* ---- files ---- */

static const char *const readable[] = {
	RESOLVER,	  "/etc/hosts",	      "/etc/nsswitch.conf", "/etc/gai.conf",
	"/etc/host.conf", "/etc/ld.so.cache", "/usr/lib",	    "/usr/lib64",
	"/lib",		  "/lib64",	      "/nix/store",
};

static bool restrict_files(int abi)
{
	int rules = ar_landlock_new(abi);
	bool is_done = rules >= 0;

	for (size_t i = 0; is_done && i < AR_ARRAY_LEN(readable); i++)
		is_done = ar_landlock_allow(rules, abi, readable[i], READS) == 0;
	is_done = is_done && ar_landlock_enforce(rules, abi) == 0;
	if (rules >= 0)
		close(rules);
	return is_done;
}

/* ---- system calls ---- */

static const int refused[] = {
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
	SYS_utime,
	SYS_utimes,
	SYS_futimesat,
#endif
	SYS_listen,
	SYS_kill,
	SYS_tkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_pidfd_open,
	SYS_pidfd_send_signal,
	SYS_pidfd_getfd,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_kcmp,
	SYS_fchmod,
	SYS_fchmodat,
	SYS_fchown,
	SYS_fchownat,
	SYS_utimensat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_fsetxattr,
	SYS_removexattr,
	SYS_lremovexattr,
	SYS_fremovexattr,
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setgroups,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_capset,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_open_tree,
	SYS_move_mount,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_unshare,
	SYS_setns,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_quotactl,
	SYS_open_by_handle_at,
	SYS_name_to_handle_at,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_adjtimex,
	SYS_clock_adjtime,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_syslog,
	SYS_shmget,
	SYS_shmat,
	SYS_msgget,
	SYS_semget,
	SYS_mq_open,
	SYS_inotify_init1,
	SYS_fanotify_init,
};

/* Libraries do without these when they are not there; clone3 hides its flags from a filter. */
static const int absent[] = { SYS_clone3, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
			      SYS_openat2 };

static const int fatal[] = { SYS_execve, SYS_execveat };

struct program {
	struct sock_filter code[512];
	unsigned short len;
};

static void add(struct program *p, const struct sock_filter *code, size_t count)
{
	memcpy(p->code + p->len, code, count * sizeof(*code));
	p->len = (unsigned short)(p->len + count);
}

static void add_calls(struct program *p, const int *calls, size_t count, uint32_t answer)
{
	for (size_t i = 0; i < count; i++)
		add(p, (struct sock_filter[]){ IF((uint32_t)calls[i], 0, 1), ANSWER(answer) }, 2);
}

static void make_filter(struct program *p)
{
	const struct sock_filter begin[] = {
		LOAD(FIELD(arch)),
		IF(NATIVE, 1, 0),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		LOAD(FIELD(nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_NUMBERS, 0, 1),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
	};
	/* Threads, not processes; signals to ourselves; the internet, and what shows which addresses this
	 * machine has. */
	const struct sock_filter more[] = {
		IF(SYS_clone, 0, 4),
		LOAD(FIELD(args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
		ANSWER(SECCOMP_RET_ALLOW),
		REFUSE,
		IF(SYS_tgkill, 0, 4),
		LOAD(FIELD(args[0])),
		IF((uint32_t)getpid(), 0, 1),
		ANSWER(SECCOMP_RET_ALLOW),
		REFUSE,
		IF(SYS_socketpair, 0, 1),
		REFUSE,
		IF(SYS_socket, 0, 9),
		LOAD(FIELD(args[0])),
		IF(AF_NETLINK, 5, 0),
		IF(AF_INET, 1, 0),
		IF(AF_INET6, 0, 4),
		LOAD(FIELD(args[1])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
		IF(SOCK_RAW, 1, 0),
		ANSWER(SECCOMP_RET_ALLOW),
		REFUSE,
		ANSWER(SECCOMP_RET_ALLOW),
	};

	add(p, begin, AR_ARRAY_LEN(begin));
	add_calls(p, fatal, AR_ARRAY_LEN(fatal), SECCOMP_RET_KILL_PROCESS);
	add_calls(p, absent, AR_ARRAY_LEN(absent), SECCOMP_RET_ERRNO | ENOSYS);
	add_calls(p, refused, AR_ARRAY_LEN(refused), SECCOMP_RET_ERRNO | EPERM);
	add(p, more, AR_ARRAY_LEN(more));
}

static bool restrict_calls(void)
{
	struct program p = { .len = 0 };
	struct sock_fprog filter = { .filter = p.code };

	make_filter(&p);
	filter.len = p.len;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

/* ---- both ---- */

bool ar_confine(bool was_root)
{
	int abi = ar_landlock_abi();

	if (stat(RESOLVER, &resolver) != 0)
		resolver = (struct stat){ .st_ino = 0 };
	if (abi == 0 && !was_root) {
		fputs("agent-proxy: it does not start without its own sandbox, and this kernel has no "
		      "Landlock; enable it (lsm=landlock,...), or run agentd as root\n",
		      stderr);
		return false;
	}
	if ((abi > 0 && !restrict_files(abi)) || !restrict_calls()) {
		fprintf(stderr, "agent-proxy: it does not start without its own sandbox: %s\n",
			strerror(errno));
		return false;
	}
	return true;
}

bool ar_confine_is_outdated(void)
{
	struct stat now;

	return resolver.st_ino != 0 && stat(RESOLVER, &now) == 0 &&
	       (now.st_ino != resolver.st_ino || now.st_dev != resolver.st_dev);
}
