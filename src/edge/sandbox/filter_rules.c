/* See filter_rules.h. Only registers are compared, never memory behind them: nothing can change between the
 * check and the call. */
#include "filter_rules.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define TOLD(name) \
	{ \
		SCMP_SYS(name), AR_FILTER_NOTIFIED, 0, \
		{ \
			{ \
				0 \
			} \
		} \
	}
#define TOLD_IF(name, first) \
	{ \
		SCMP_SYS(name), AR_FILTER_NOTIFIED, 1, \
		{ \
			first \
		} \
	}
#define TOLD_IF2(name, first, second) \
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
/* The kernel looks at 32 bits of these; whoever sets higher ones must not slip through (CVE-2019-7303). */
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

#define SET_ID_BITS(name, arg) TOLD_IF(name, HAS(arg, S_ISUID)), TOLD_IF(name, HAS(arg, S_ISGID))
/* The mode counts only when something is made; otherwise its register holds anything. O_TMPFILE without the
 * O_DIRECTORY that is part of it. */
#define MAKES_SET_ID(name, flags, mode) \
	TOLD_IF2(name, HAS(flags, O_CREAT), HAS(mode, S_ISUID)), \
		TOLD_IF2(name, HAS(flags, O_CREAT), HAS(mode, S_ISGID)), \
		TOLD_IF2(name, HAS(flags, O_TMPFILE & ~O_DIRECTORY), HAS(mode, S_ISUID)), \
		TOLD_IF2(name, HAS(flags, O_TMPFILE & ~O_DIRECTORY), HAS(mode, S_ISGID))

#define PROTOCOL_MPTCP 262
#define PROTOCOL_SCTP 132
#define PROTOCOL_DCCP 33
#define TYPE_DCCP 6

static const struct ar_filter_rule bounded[] = {
	/* Their arguments are in memory, where a filter cannot look. */
	MISSING(clone3),
	MISSING(openat2),

	/* Other processes. */
	TOLD(ptrace),
	TOLD(process_vm_readv),
	TOLD(process_vm_writev),
	TOLD(pidfd_getfd),
	TOLD(process_madvise),
	TOLD(kcmp),

	/* Another view, another namespace. */
	TOLD(mount),
	TOLD(umount2),
	TOLD(pivot_root),
	TOLD(chroot),
	TOLD(open_tree),
	TOLD(move_mount),
	TOLD(fsopen),
	TOLD(fsconfig),
	TOLD(fsmount),
	TOLD(fspick),
	TOLD(mount_setattr),
	TOLD(unshare),
	TOLD(setns),
	TOLD_IF(clone, HAS(0, CLONE_NEWUSER)),
	TOLD_IF(clone, HAS(0, CLONE_NEWNS)),
	TOLD_IF(clone, HAS(0, CLONE_NEWPID)),
	TOLD_IF(clone, HAS(0, CLONE_NEWNET)),
	TOLD_IF(clone, HAS(0, CLONE_NEWIPC)),
	TOLD_IF(clone, HAS(0, CLONE_NEWUTS)),
	TOLD_IF(clone, HAS(0, CLONE_NEWCGROUP)),
	TOLD(name_to_handle_at),
	TOLD(open_by_handle_at),

	/* Ways around these very rows. */
	TOLD(io_uring_setup),
	TOLD(io_uring_enter),
	TOLD(io_uring_register),

	/* Large parts of the kernel that exploits come from. */
	TOLD(bpf),
	TOLD(perf_event_open),
	TOLD(userfaultfd),
	TOLD(keyctl),
	TOLD(add_key),
	TOLD(request_key),
	TOLD(modify_ldt),
	TOLD(lookup_dcookie),

	/* The machine itself. */
	TOLD(kexec_load),
	TOLD(kexec_file_load),
	TOLD(init_module),
	TOLD(finit_module),
	TOLD(delete_module),
	TOLD(reboot),
	TOLD(swapon),
	TOLD(swapoff),
	TOLD(acct),
	TOLD(quotactl),
	TOLD(quotactl_fd),
	TOLD(settimeofday),
	TOLD(clock_settime),
	TOLD(adjtimex),
	TOLD(clock_adjtime),
	TOLD(sethostname),
	TOLD(setdomainname),
	TOLD(syslog),
	TOLD(iopl),
	TOLD(ioperm),
	TOLD(vhangup),

	/* Typing into a terminal. */
	TOLD_IF(ioctl, IS32(1, TIOCSTI)),
	TOLD_IF(ioctl, IS32(1, TIOCLINUX)),
	TOLD_IF(ioctl, IS32(1, TIOCSETD)),

	/* Sockets, beyond the families: those are rows of filter.c. */
	TOLD_IF(socket, TYPE_IS(1, SOCK_RAW)),
	TOLD_IF(socket, TYPE_IS(1, SOCK_RDM)),
	TOLD_IF(socket, TYPE_IS(1, TYPE_DCCP)),
	TOLD_IF(socket, TYPE_IS(1, SOCK_PACKET)),
	TOLD_IF2(socket, IS32(0, AF_INET), TYPE_IS(1, SOCK_SEQPACKET)),
	TOLD_IF2(socket, IS32(0, AF_INET6), TYPE_IS(1, SOCK_SEQPACKET)),
	TOLD_IF(socket, IS32(2, PROTOCOL_MPTCP)),
	TOLD_IF(socket, IS32(2, PROTOCOL_SCTP)),
	TOLD_IF(socket, IS32(2, PROTOCOL_DCCP)),
	/* One end of such a pair can send to any path; RAW is DGRAM there. */
	TOLD_IF(socketpair, TYPE_IS(1, SOCK_DGRAM)),
	TOLD_IF(socketpair, TYPE_IS(1, SOCK_RAW)),
	TOLD_IF(socketpair, IS_NOT(0, AF_UNIX)),

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
	TOLD_IF(ioctl, IS32(1, TIOCSTI)),
	TOLD_IF(ioctl, IS32(1, TIOCLINUX)),
	TOLD_IF(ioctl, IS32(1, TIOCSETD)),
};

struct ar_filter_rules ar_filter_rules(enum ar_filter_kind kind)
{
	if (kind == AR_FILTER_DANGER)
		return (struct ar_filter_rules){ danger, sizeof(danger) / sizeof(danger[0]) };
	return (struct ar_filter_rules){ bounded, sizeof(bounded) / sizeof(bounded[0]) };
}
