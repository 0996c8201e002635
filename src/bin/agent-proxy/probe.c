/* `agent-proxy --probe`, for tests: see confine.h. Nothing that an attempt could harm is there when it
 * succeeds. */
#include "confine.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool has_socket(int family, int type)
{
	int fd = socket(family, type, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool forks(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

int ar_confine_probe(void)
{
	const struct {
		const char *name;
		bool is_open;
	} rows[] = {
		{ "read_passwd", opens("/etc/passwd", O_RDONLY) },
		{ "list_root", opens("/", O_RDONLY | O_DIRECTORY) },
		{ "read_memory", opens("/proc/self/mem", O_RDONLY) },
		{ "write_tmp", opens("/tmp/agent-proxy-probe", O_WRONLY | O_CREAT) },
		{ "make_folder", mkdir("/tmp/agent-proxy-probe", 0700) == 0 },
		{ "change_mode", chmod("/tmp", 01777) == 0 },
		{ "unix_socket", has_socket(AF_UNIX, SOCK_STREAM) },
		{ "raw_socket", has_socket(AF_INET, SOCK_RAW) },
		{ "fork", forks() },
		{ "signal_parent", kill(getppid(), 0) == 0 },
		{ "resolver", opens("/etc/nsswitch.conf", O_RDONLY) || opens("/etc/hosts", O_RDONLY) },
		{ "tcp_socket", has_socket(AF_INET, SOCK_STREAM) },
		{ "netlink_socket", has_socket(AF_NETLINK, SOCK_RAW) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("%s %s\n", rows[i].name, rows[i].is_open ? "open" : "refused");
	fflush(stdout);
	execl("/bin/true", "true", (char *)NULL); /* ends the process */
	puts("exec refused");
	return 0;
}
