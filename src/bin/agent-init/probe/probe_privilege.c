/* Questions about what is given up: system calls, capabilities, descriptors. */
#include "file.h"
#include "identity.h"
#include "probe/probe.h"
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A program that treats getppid in this way and lets the rest pass; its listener, or 0. */
static int install_filter(unsigned action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

bool ar_probe_seccomp(struct ar_probe *p)
{
	if (install_filter(SECCOMP_RET_ERRNO | EDOM, 0) < 0)
		return ar_probe_fails(p, "seccomp");
	return ar_probe_refused(p, syscall(SYS_getppid), EDOM, "a call that is filtered");
}

/* One call is received and refused. */
static bool refuse_one(int listener)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp reply = { .error = -EDOM };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0 || call.data.nr != SYS_getppid)
		return false;
	reply.id = call.id;
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply) == 0;
}

bool ar_probe_seccomp_notify(struct ar_probe *p)
{
	int listener = install_filter(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER), status = 1;
	pid_t caller;

	if (listener < 0)
		return ar_probe_fails(p, "seccomp with a listener");
	caller = fork();
	if (caller == 0)
		_exit(syscall(SYS_getppid) < 0 && errno == EDOM ? 0 : 1);
	if (caller < 0 || !refuse_one(listener))
		return ar_probe_fails(p, "hearing of a call");
	waitpid(caller, &status, 0);
	errno = 0;
	return status == 0 || ar_probe_fails(p, "a call that was refused went through");
}

static bool has_no_capability(void)
{
	static const char *const sets[] = { "\nCapPrm:\t", "\nCapEff:\t", "\nCapBnd:\t", "\nCapAmb:\t" };
	char status[8192];

	if (ar_file_read(AT_FDCWD, "/proc/self/status", status, sizeof(status)) <= 0)
		return false;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		const char *at = strstr(status, sets[i]);

		/* Without a namespace of our own the bounding set of a user is not ours to empty. */
		if (i == 2 && geteuid() != AR_PROBE_UID)
			continue;
		if (!at || strncmp(at + strlen(sets[i]), "0000000000000000\n", 17) != 0)
			return false;
	}
	return true;
}

bool ar_probe_capabilities(struct ar_probe *p)
{
	struct ar_init in;

	ar_probe_prepare(&in);
	if (ar_identity_set(&in) < 0)
		return ar_probe_fails(p, in.about);
	errno = 0;
	if (!has_no_capability())
		return ar_probe_fails(p, "a capability is left");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return ar_probe_fails(p, "no_new_privs is not set");
	return ar_probe_refused(p, setresuid(0, 0, 0), EPERM, "becoming root") &&
	       ar_probe_refused(p, chroot("/"), EPERM, "chroot");
}

bool ar_probe_fd_hygiene(struct ar_probe *p)
{
	struct ar_init in;
	int leaked = open("/", O_RDONLY | O_DIRECTORY);

	ar_probe_prepare(&in);
	if (leaked < 0 || dup2(leaked, 200) < 0 || dup2(leaked, AR_INIT_FD) < 0)
		return ar_probe_fails(p, "a descriptor to be closed");
	if (ar_streams_clear(&in) < 0)
		return ar_probe_fails(p, in.about);
	if (!(fcntl(AR_INIT_FD, F_GETFD) & FD_CLOEXEC))
		return ar_probe_fails(p, "our socket would be inherited");
	return ar_probe_refused(p, openat(200, ".", O_RDONLY | O_CLOEXEC), EBADF,
				"using a descriptor of the starter");
}
