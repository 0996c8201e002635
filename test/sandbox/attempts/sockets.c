/* Attempts through what processes of one machine share: unix sockets by path and by abstract name, shared
 * memory, message queues, semaphores. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attempt.h"

#define UNSEEN "ENOENT"
#define UNHEARD "ECONNREFUSED EPERM EACCES"
#define NOT_SERVED "ENOENT EACCES"

static socklen_t name_of(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s", path);

	if (path[0] != '@')
		return sizeof(*ret);
	ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n);
}

static int stream(const struct attempt *a)
{
	struct sockaddr_un to;
	socklen_t len = name_of(expand(a->path), &to);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, len);
}

static int datagram(const struct attempt *a)
{
	struct sockaddr_un to;
	socklen_t len = name_of(expand(a->path), &to);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -1 : sendto(fd, "escape", 6, 0, (struct sockaddr *)&to, len) < 0 ? -1 : 0;
}

/* One end of a pair can send to any name. */
static int pair_to_name(const struct attempt *a)
{
	struct sockaddr_un to;
	socklen_t len = name_of(expand(a->path), &to);
	int ends[2];

	if (socketpair(AF_UNIX, (int)a->args[0] | SOCK_CLOEXEC, 0, ends) != 0)
		return -1;
	return sendto(ends[0], "escape", 6, 0, (struct sockaddr *)&to, len) < 0 ? -1 : 0;
}

static int by_link(const struct attempt *a)
{
	struct attempt through = { .path = "/tmp/sock-of-escape" };

	unlink("/tmp/sock-of-escape");
	return symlink(expand(a->path), "/tmp/sock-of-escape") != 0 ? -1 : stream(&through);
}

static int serve(const struct attempt *a)
{
	struct sockaddr_un at;
	socklen_t len = name_of(expand(a->path), &at);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0 || listen(fd, 1) != 0)
		return -1;
	return stream(a);
}

static int shared_memory(const struct attempt *a)
{
	(void)a;
	return shmget((key_t)given_number("KEY"), 0, 0) < 0 ? -1 : 0;
}

static int messages(const struct attempt *a)
{
	(void)a;
	return msgget((key_t)given_number("KEY"), 0) < 0 ? -1 : 0;
}

static int semaphores(const struct attempt *a)
{
	(void)a;
	return semget((key_t)given_number("KEY"), 0, 0) < 0 ? -1 : 0;
}

static int queue(const struct attempt *a)
{
	return mq_open(expand(a->path), O_RDWR) == (mqd_t)-1 ? -1 : 0;
}

static const struct attempt rows[] = {
	{ "unix_stream", stream, "$OUT/stream.sock", UNSEEN, UNSEEN, "ok" },
	{ "unix_datagram", datagram, "$OUT/datagram.sock", UNSEEN, UNSEEN, "ok" },
	{ "unix_by_link", by_link, "$OUT/stream.sock", UNSEEN, UNSEEN, "-" },
	{ "unix_by_proc_root", stream, "/proc/self/root$OUT/stream.sock", UNSEEN, UNSEEN, "?" },
	{ "unix_pair_datagram",
	  pair_to_name,
	  "$OUT/datagram.sock",
	  "EPERM",
	  "EPERM",
	  "?",
	  "notify",
	  0,
	  { SOCK_DGRAM } },
	{ "unix_pair_stream",
	  pair_to_name,
	  "$OUT/stream.sock",
	  "EISCONN EOPNOTSUPP",
	  "EISCONN EOPNOTSUPP",
	  "?",
	  NULL,
	  0,
	  { SOCK_STREAM } },
	{ "unix_abstract", stream, "@$ABSTRACT", UNHEARD, UNHEARD, "ok" },
	{ "unix_abstract_datagram", datagram, "@$ABSTRACT-datagram", UNHEARD, UNHEARD, "ok" },
	{ "unix_docker", stream, "/var/run/docker.sock", NOT_SERVED, NOT_SERVED, "?" },
	{ "unix_bus", stream, "/run/dbus/system_bus_socket", NOT_SERVED, NOT_SERVED, "?" },
	{ "unix_serve_outside", serve, "$OUT/served.sock", UNSEEN, UNSEEN, "ok" },
	{ "unix_serve_tmp", serve, "/tmp/served-by-escape", "ok", "ok", "-" },
	{ "unix_serve_workspace", serve, "$WS/served", "EROFS EACCES", "ok", "ok" },
	{ "unix_serve_abstract", serve, "@served-by-escape", "ok", "ok", "?" },
	{ "ipc_shared_memory", shared_memory, NULL, UNSEEN, UNSEEN, "ok" },
	{ "ipc_messages", messages, NULL, UNSEEN, UNSEEN, "ok" },
	{ "ipc_semaphores", semaphores, NULL, UNSEEN, UNSEEN, "ok" },
	{ "ipc_queue", queue, "/$ABSTRACT", "ENOENT EACCES ENOSYS", "ENOENT EACCES ENOSYS", "?" },
	{ "ipc_posix_memory", try_read, "/dev/shm/$ABSTRACT", UNSEEN, UNSEEN, "?" },
};

const struct attempt_list sockets_attempts = ATTEMPT_LIST(rows);
