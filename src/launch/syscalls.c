/* A table of system calls and small tables of the words of their arguments. One that is not here is told by
 * its number: still exact, only less friendly. */
#include "syscalls.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum shown {
	SHOWN_NONE,
	SHOWN_SOCKET, /* family, type, protocol in 0, 1, 2 */
	SHOWN_FLAGS, /* CLONE_NEW* in the argument */
	SHOWN_MODE, /* octal */
	SHOWN_REQUEST, /* of ioctl: hexadecimal or by name */
	SHOWN_NUMBER,
};

struct call {
	int nr;
	const char *name, *boundary;
	enum shown shown;
	int arg; /* the argument that is shown */
};

#define N(name) SYS_##name, #name
#define PERMISSION "permission"
#define PROCESS "process"
#define NETWORK "network"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static const struct call calls[] = {
	{ N(socket), NETWORK, SHOWN_SOCKET, 0 },
	{ N(socketpair), NETWORK, SHOWN_SOCKET, 0 },
	{ N(ptrace), PROCESS, SHOWN_NUMBER, 0 },
	{ N(process_vm_readv), PROCESS, SHOWN_NONE, 0 },
	{ N(process_vm_writev), PROCESS, SHOWN_NONE, 0 },
	{ N(process_madvise), PROCESS, SHOWN_NONE, 0 },
	{ N(pidfd_getfd), PROCESS, SHOWN_NONE, 0 },
	{ N(pidfd_send_signal), PROCESS, SHOWN_NUMBER, 1 },
	{ N(kcmp), PROCESS, SHOWN_NONE, 0 },
	{ N(kill), PROCESS, SHOWN_NUMBER, 1 },
	{ N(tkill), PROCESS, SHOWN_NUMBER, 1 },
	{ N(tgkill), PROCESS, SHOWN_NUMBER, 2 },
	{ N(clone), PERMISSION, SHOWN_FLAGS, 0 },
	{ N(unshare), PERMISSION, SHOWN_FLAGS, 0 },
	{ N(setns), PERMISSION, SHOWN_FLAGS, 1 },
	{ N(ioctl), PERMISSION, SHOWN_REQUEST, 1 },
	{ N(personality), PERMISSION, SHOWN_NUMBER, 0 },
	{ N(bpf), PERMISSION, SHOWN_NUMBER, 0 },
	{ N(keyctl), PERMISSION, SHOWN_NUMBER, 0 },
	{ N(syslog), PERMISSION, SHOWN_NUMBER, 0 },
#ifdef SYS_chmod
	{ N(chmod), PERMISSION, SHOWN_MODE, 1 },
	{ N(mknod), PERMISSION, SHOWN_MODE, 1 },
	{ N(open), PERMISSION, SHOWN_MODE, 2 },
	{ N(creat), PERMISSION, SHOWN_MODE, 1 },
#endif
	{ N(fchmod), PERMISSION, SHOWN_MODE, 1 },
	{ N(fchmodat), PERMISSION, SHOWN_MODE, 2 },
	{ N(fchmodat2), PERMISSION, SHOWN_MODE, 2 },
	{ N(mknodat), PERMISSION, SHOWN_MODE, 2 },
	{ N(openat), PERMISSION, SHOWN_MODE, 3 },
	{ N(mount), PERMISSION, SHOWN_NONE, 0 },
	{ N(umount2), PERMISSION, SHOWN_NONE, 0 },
	{ N(pivot_root), PERMISSION, SHOWN_NONE, 0 },
	{ N(chroot), PERMISSION, SHOWN_NONE, 0 },
	{ N(open_tree), PERMISSION, SHOWN_NONE, 0 },
	{ N(move_mount), PERMISSION, SHOWN_NONE, 0 },
	{ N(fsopen), PERMISSION, SHOWN_NONE, 0 },
	{ N(fsconfig), PERMISSION, SHOWN_NONE, 0 },
	{ N(fsmount), PERMISSION, SHOWN_NONE, 0 },
	{ N(fspick), PERMISSION, SHOWN_NONE, 0 },
	{ N(mount_setattr), PERMISSION, SHOWN_NONE, 0 },
	{ N(perf_event_open), PERMISSION, SHOWN_NONE, 0 },
	{ N(userfaultfd), PERMISSION, SHOWN_NONE, 0 },
	{ N(io_uring_setup), PERMISSION, SHOWN_NONE, 0 },
	{ N(io_uring_enter), PERMISSION, SHOWN_NONE, 0 },
	{ N(io_uring_register), PERMISSION, SHOWN_NONE, 0 },
	{ N(add_key), PERMISSION, SHOWN_NONE, 0 },
	{ N(request_key), PERMISSION, SHOWN_NONE, 0 },
	{ N(name_to_handle_at), PERMISSION, SHOWN_NONE, 0 },
	{ N(open_by_handle_at), PERMISSION, SHOWN_NONE, 0 },
	{ N(kexec_load), PERMISSION, SHOWN_NONE, 0 },
	{ N(kexec_file_load), PERMISSION, SHOWN_NONE, 0 },
	{ N(init_module), PERMISSION, SHOWN_NONE, 0 },
	{ N(finit_module), PERMISSION, SHOWN_NONE, 0 },
	{ N(delete_module), PERMISSION, SHOWN_NONE, 0 },
	{ N(reboot), PERMISSION, SHOWN_NONE, 0 },
	{ N(swapon), PERMISSION, SHOWN_NONE, 0 },
	{ N(swapoff), PERMISSION, SHOWN_NONE, 0 },
	{ N(acct), PERMISSION, SHOWN_NONE, 0 },
	{ N(quotactl), PERMISSION, SHOWN_NONE, 0 },
	{ N(settimeofday), PERMISSION, SHOWN_NONE, 0 },
	{ N(clock_settime), PERMISSION, SHOWN_NONE, 0 },
	{ N(clock_adjtime), PERMISSION, SHOWN_NONE, 0 },
	{ N(adjtimex), PERMISSION, SHOWN_NONE, 0 },
	{ N(sethostname), PERMISSION, SHOWN_NONE, 0 },
	{ N(setdomainname), PERMISSION, SHOWN_NONE, 0 },
};

struct word {
	uint64_t value;
	const char *name;
};

static const struct word families[] = {
	{ AF_UNIX, "AF_UNIX" },
	{ AF_INET, "AF_INET" },
	{ AF_INET6, "AF_INET6" },
	{ AF_NETLINK, "AF_NETLINK" },
	{ AF_PACKET, "AF_PACKET" },
	{ AF_ALG, "AF_ALG" },
	{ AF_VSOCK, "AF_VSOCK" },
	{ 44, "AF_XDP" },
	{ 31, "AF_BLUETOOTH" },
	{ 29, "AF_CAN" },
	{ 30, "AF_TIPC" },
	{ 15, "AF_KEY" },
	{ 0, NULL },
};

static const struct word types[] = {
	{ SOCK_STREAM, "SOCK_STREAM" },
	{ SOCK_DGRAM, "SOCK_DGRAM" },
	{ SOCK_RAW, "SOCK_RAW" },
	{ SOCK_SEQPACKET, "SOCK_SEQPACKET" },
	{ 0, NULL },
};

static const struct word namespaces[] = {
	{ 0x00000080, "CLONE_NEWTIME" }, { 0x00020000, "CLONE_NEWNS" },	 { 0x02000000, "CLONE_NEWCGROUP" },
	{ 0x04000000, "CLONE_NEWUTS" },	 { 0x08000000, "CLONE_NEWIPC" }, { 0x10000000, "CLONE_NEWUSER" },
	{ 0x20000000, "CLONE_NEWPID" },	 { 0x40000000, "CLONE_NEWNET" }, { 0, NULL },
};

static const struct word requests[] = {
	{ 0x5412, "TIOCSTI" },
	{ 0x541c, "TIOCLINUX" },
	{ 0x5423, "TIOCSETD" },
	{ 0, NULL },
};

#define TYPE_MASK 0xfu
#define NAMESPACE_MASK 0x7e020080u

static const struct call *find_call(int nr)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].nr == nr)
			return &calls[i];
	}
	return NULL;
}

void ar_syscall_key(int nr, const uint64_t args[6], uint64_t ret_key[3])
{
	const struct call *c = find_call(nr);
	enum shown shown = c ? c->shown : SHOWN_NONE;

	memset(ret_key, 0, 3 * sizeof(*ret_key));
	if (shown == SHOWN_SOCKET) {
		ret_key[0] = (uint32_t)args[0];
		ret_key[1] = (uint32_t)args[1] & TYPE_MASK;
		ret_key[2] = (uint32_t)args[2];
	} else if (shown != SHOWN_NONE) {
		/* The kernel reads 32 bits of each of these. */
		ret_key[0] = (uint32_t)args[c->arg];
	}
	if (shown == SHOWN_FLAGS)
		ret_key[0] &= NAMESPACE_MASK;
}

static const char *word_of(const struct word *words, uint64_t value)
{
	for (; words->name; words++) {
		if (words->value == value)
			return words->name;
	}
	return NULL;
}

static void add(char *out, size_t room, const char *text)
{
	size_t used = strlen(out);

	snprintf(out + used, room - used, "%s", text);
}

static void add_word(char *out, size_t room, const struct word *words, uint64_t value, const char *format)
{
	char number[32];
	const char *name = words ? word_of(words, value) : NULL;

	snprintf(number, sizeof(number), format, (unsigned long long)value);
	add(out, room, name ? name : number);
}

static void add_flags(char *out, size_t room, uint64_t flags)
{
	bool is_first = true;

	for (const struct word *w = namespaces; w->name; w++) {
		if (!(flags & w->value))
			continue;
		add(out, room, is_first ? "" : "|");
		add(out, room, w->name);
		is_first = false;
	}
	if (is_first)
		add(out, room, "0");
}

static void add_socket(char *out, size_t room, const uint64_t key[3])
{
	add_word(out, room, families, key[0], "%llu");
	add(out, room, ", ");
	add_word(out, room, types, key[1], "%llu");
	add(out, room, ", ");
	add_word(out, room, NULL, key[2], "%llu");
}

static void add_arguments(char *out, size_t room, enum shown shown, const uint64_t key[3])
{
	switch (shown) {
	case SHOWN_NONE:
		return;
	case SHOWN_SOCKET:
		add_socket(out, room, key);
		return;
	case SHOWN_FLAGS:
		add_flags(out, room, key[0]);
		return;
	case SHOWN_MODE:
		add_word(out, room, NULL, key[0], "mode 0%llo");
		return;
	case SHOWN_REQUEST:
		add_word(out, room, requests, key[0], "0x%llx");
		return;
	case SHOWN_NUMBER:
		add_word(out, room, NULL, key[0], "%llu");
		return;
	}
}

const char *ar_syscall_describe(int nr, const uint64_t key[3], char *out, size_t room)
{
	const struct call *c = find_call(nr);

	if (!c) {
		snprintf(out, room, "system call %d", nr);
		return PERMISSION;
	}
	snprintf(out, room, "%s(", c->name);
	add_arguments(out, room, c->shown, key);
	add(out, room, ")");
	return c->boundary;
}
