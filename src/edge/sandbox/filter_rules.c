/* See filter_rules.h. Only registers are compared, never memory behind them: nothing can change between the
 * check and the call. */
#include "filter_rules.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define NOTIFY(name) \
	{ \
		SCMP_SYS(name), AR_FILTER_NOTIFIED, 0, \
		{ \
			{ \
				0 \
			} \
		} \
	}
#define NOTIFY_IF(name, first) \
	{ \
		SCMP_SYS(name), AR_FILTER_NOTIFIED, 1, \
		{ \
			first \
		} \
	}
#define NOTIFY_IF2(name, first, second) \
	{ \
		SCMP_SYS(name), AR_FILTER_NOTIFIED, 2, \
		{ \
			first, second \
		} \
	}
#define MISSING(name) \
	{ \
		SCMP_SYS(name), AR_FILTER_MISSING, 0, \
		{ \
			{ \
				0 \
			} \
		} \
	}

/* All bits of `bits` are set. */
#define HAS(arg, bits) \
	{ \
		arg, SCMP_CMP_MASKED_EQ, (bits), (bits) \
	}
/* The kernel looks at 32 bits of these; a call with higher bits set must not pass (CVE-2019-7303). */
#define IS32(arg, value) \
	{ \
		arg, SCMP_CMP_MASKED_EQ, 0xffffffffu, (value) \
	}
#define IS_NOT(arg, value) \
	{ \
		arg, SCMP_CMP_NE, (value), 0 \
	}
#define TYPE_IS(arg, type) \
	{ \
		arg, SCMP_CMP_MASKED_EQ, 0xf, (type) \
	}

#define SET_ID_BITS(name, arg) NOTIFY_IF(name, HAS(arg, S_ISUID)), NOTIFY_IF(name, HAS(arg, S_ISGID))
/* The mode counts only when something is made; otherwise its register holds anything. O_TMPFILE without the
 * O_DIRECTORY that is part of it. */
#define MAKES_SET_ID(name, flags, mode) \
	NOTIFY_IF2(name, HAS(flags, O_CREAT), HAS(mode, S_ISUID)), \
		NOTIFY_IF2(name, HAS(flags, O_CREAT), HAS(mode, S_ISGID)), \
		NOTIFY_IF2(name, HAS(flags, O_TMPFILE & ~O_DIRECTORY), HAS(mode, S_ISUID)), \
		NOTIFY_IF2(name, HAS(flags, O_TMPFILE & ~O_DIRECTORY), HAS(mode, S_ISGID))

#define PROTOCOL_MPTCP 262
#define PROTOCOL_SCTP 132
#define PROTOCOL_DCCP 33
#define TYPE_DCCP 6

static const struct ar_filter_rule bounded[] = {
	/* Their arguments are in memory, where a filter cannot look. */
	MISSING(clone3),
	MISSING(openat2),

	/* Other processes. */
	NOTIFY(ptrace),
	NOTIFY(process_vm_readv),
	NOTIFY(process_vm_writev),
	NOTIFY(pidfd_getfd),
	NOTIFY(process_madvise),
	NOTIFY(kcmp),

	/* Another view, another namespace. */
	NOTIFY(mount),
	NOTIFY(umount2),
	NOTIFY(pivot_root),
	NOTIFY(chroot),
	NOTIFY(open_tree),
	NOTIFY(move_mount),
	NOTIFY(fsopen),
	NOTIFY(fsconfig),
	NOTIFY(fsmount),
	NOTIFY(fspick),
	NOTIFY(mount_setattr),
	NOTIFY(unshare),
	NOTIFY(setns),
	NOTIFY_IF(clone, HAS(0, CLONE_NEWUSER)),
	NOTIFY_IF(clone, HAS(0, CLONE_NEWNS)),
	NOTIFY_IF(clone, HAS(0, CLONE_NEWPID)),
	NOTIFY_IF(clone, HAS(0, CLONE_NEWNET)),
	NOTIFY_IF(clone, HAS(0, CLONE_NEWIPC)),
	NOTIFY_IF(clone, HAS(0, CLONE_NEWUTS)),
	NOTIFY_IF(clone, HAS(0, CLONE_NEWCGROUP)),
	NOTIFY(name_to_handle_at),
	NOTIFY(open_by_handle_at),

	/* Ways around these very rows. */
	NOTIFY(io_uring_setup),
	NOTIFY(io_uring_enter),
	NOTIFY(io_uring_register),

	/* Large parts of the kernel that exploits come from. */
	NOTIFY(bpf),
	NOTIFY(perf_event_open),
	NOTIFY(userfaultfd),
	NOTIFY(keyctl),
	NOTIFY(add_key),
	NOTIFY(request_key),
	NOTIFY(modify_ldt),
	NOTIFY(lookup_dcookie),

	/* The machine itself. */
	NOTIFY(kexec_load),
	NOTIFY(kexec_file_load),
	NOTIFY(init_module),
	NOTIFY(finit_module),
	NOTIFY(delete_module),
	NOTIFY(reboot),
	NOTIFY(swapon),
	NOTIFY(swapoff),
	NOTIFY(acct),
	NOTIFY(quotactl),
	NOTIFY(quotactl_fd),
	NOTIFY(settimeofday),
	NOTIFY(clock_settime),
	NOTIFY(adjtimex),
	NOTIFY(clock_adjtime),
	NOTIFY(sethostname),
	NOTIFY(setdomainname),
	NOTIFY(syslog),
	NOTIFY(iopl),
	NOTIFY(ioperm),
	NOTIFY(vhangup),

	/* Typing into a terminal. */
	NOTIFY_IF(ioctl, IS32(1, TIOCSTI)),
	NOTIFY_IF(ioctl, IS32(1, TIOCLINUX)),
	NOTIFY_IF(ioctl, IS32(1, TIOCSETD)),

	/* Sockets, beyond the families: those are rows of filter.c. */
	NOTIFY_IF(socket, TYPE_IS(1, SOCK_RAW)),
	NOTIFY_IF(socket, TYPE_IS(1, SOCK_RDM)),
	NOTIFY_IF(socket, TYPE_IS(1, TYPE_DCCP)),
	NOTIFY_IF(socket, TYPE_IS(1, SOCK_PACKET)),
	NOTIFY_IF2(socket, IS32(0, AF_INET), TYPE_IS(1, SOCK_SEQPACKET)),
	NOTIFY_IF2(socket, IS32(0, AF_INET6), TYPE_IS(1, SOCK_SEQPACKET)),
	NOTIFY_IF(socket, IS32(2, PROTOCOL_MPTCP)),
	NOTIFY_IF(socket, IS32(2, PROTOCOL_SCTP)),
	NOTIFY_IF(socket, IS32(2, PROTOCOL_DCCP)),
	/* One end of such a pair can send to any path; RAW is DGRAM there. */
	NOTIFY_IF(socketpair, TYPE_IS(1, SOCK_DGRAM)),
	NOTIFY_IF(socketpair, TYPE_IS(1, SOCK_RAW)),
	NOTIFY_IF(socketpair, IS_NOT(0, AF_UNIX)),

	/* A file that runs as its owner would be left behind on the host's disk. */
	SET_ID_BITS(chmod, 1),
	SET_ID_BITS(fchmod, 1),
	SET_ID_BITS(fchmodat, 2),
	SET_ID_BITS(creat, 1),
	SET_ID_BITS(mknod, 1),
	SET_ID_BITS(mknodat, 2),
	MAKES_SET_ID(open, 1, 2),
	MAKES_SET_ID(openat, 2, 3),
};

static const struct ar_filter_rule danger[] = {
	NOTIFY_IF(ioctl, IS32(1, TIOCSTI)),
	NOTIFY_IF(ioctl, IS32(1, TIOCLINUX)),
	NOTIFY_IF(ioctl, IS32(1, TIOCSETD)),
};

struct ar_filter_rules ar_filter_rules(enum ar_filter_kind kind)
{
	if (kind == AR_FILTER_DANGER)
		return (struct ar_filter_rules){ danger, sizeof(danger) / sizeof(danger[0]) };
	return (struct ar_filter_rules){ bounded, sizeof(bounded) / sizeof(bounded[0]) };
}
