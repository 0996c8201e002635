/* Attempts on devices: making their nodes, opening those of the host, and putting words into a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attempt.h"

#define UNSEEN "ENOENT EACCES EPERM"
#define DAC "EACCES EPERM ENOENT ENXIO ENODEV EBUSY ok"

static int make_node(const struct attempt *a)
{
	unlink("/tmp/node-of-escape");
	return mknod("/tmp/node-of-escape", (mode_t)a->args[0] | 0600,
		     makedev((unsigned)a->args[1], (unsigned)a->args[2]));
}

static int make_node_in_workspace(const struct attempt *a)
{
	unlink(expand("$WS/node"));
	return mknod(expand("$WS/node"), (mode_t)a->args[0] | 0600,
		     makedev((unsigned)a->args[1], (unsigned)a->args[2]));
}

static int make_pipe(const struct attempt *a)
{
	unlink(a->path);
	return mkfifo(a->path, 0600);
}

/* A pipe by name takes bytes also where its file system is read-only. */
static int write_pipe(const struct attempt *a)
{
	int fd = open(expand(a->path), O_RDWR | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -1 : write(fd, "x", 1) < 0 ? -1 : 0;
}

static int open_device(const struct attempt *a)
{
	int fd = open(a->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		fd = open(a->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -1 : close(fd);
}

/* The request as it is, also with bits above the 32 that the kernel looks at. */
static int control_terminal(const struct attempt *a)
{
	static char byte = 3;

	return (int)syscall(SYS_ioctl, 0, a->args[0], &byte);
}

#define NODE "EPERM EACCES EROFS"
#define TERMINAL(name, request) \
	{ \
		name, control_terminal, NULL, "EPERM", "EPERM", "?", "notify", 0, \
		{ \
			request \
		} \
	}
#define DEVICE(name, file) \
	{ \
		name, open_device, file, UNSEEN, UNSEEN, DAC \
	}

static const struct attempt rows[] = {
	{ "mknod_disk", make_node, NULL, NODE, NODE, "-", NULL, 0, { S_IFBLK, 254, 0 } },
	{ "mknod_kvm", make_node, NULL, NODE, NODE, "-", NULL, 0, { S_IFCHR, 10, 232 } },
	{ "mknod_null", make_node, NULL, NODE, NODE, "-", NULL, 0, { S_IFCHR, 1, 3 } },
	{ "mknod_disk_workspace",
	  make_node_in_workspace,
	  NULL,
	  NODE,
	  NODE,
	  "EPERM",
	  NULL,
	  0,
	  { S_IFBLK, 254, 0 } },
	{ "mkfifo", make_pipe, "/tmp/pipe-of-escape", "ok", "ok", "-" },
	{ "pipe_write", write_pipe, "$WS/pipe", "EACCES", "ok", "ok", "landlock" },
	DEVICE("open_vda", "/dev/vda"),
	DEVICE("open_sda", "/dev/sda"),
	DEVICE("open_kvm", "/dev/kvm"),
	DEVICE("open_vsock", "/dev/vsock"),
	DEVICE("open_mem", "/dev/mem"),
	DEVICE("open_port", "/dev/port"),
	DEVICE("open_kmsg", "/dev/kmsg"),
	DEVICE("open_fuse", "/dev/fuse"),
	DEVICE("open_tun", "/dev/net/tun"),
	DEVICE("open_loop", "/dev/loop-control"),
	DEVICE("open_mapper", "/dev/mapper/control"),
	DEVICE("open_console", "/dev/console"),
	DEVICE("open_userfaultfd", "/dev/userfaultfd"),
	{ "open_tty", open_device, "/dev/tty", "ENXIO ENOENT EACCES", "ENXIO ENOENT EACCES", "ENXIO" },
	{ "dev_create", try_write, "/dev/ar-escape", "EROFS EACCES EPERM", "EROFS EACCES EPERM", "EACCES" },
	TERMINAL("terminal_push", TIOCSTI),
	TERMINAL("terminal_push_high", (long)0x100000000 | TIOCSTI),
	TERMINAL("terminal_linux", TIOCLINUX),
	TERMINAL("terminal_discipline", TIOCSETD),
};

const struct attempt_list devices_attempts = ATTEMPT_LIST(rows);
