/* See service.h; the protocols are those of sd_listen_fds(3) and sd_notify(3). */
#include "service.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_FD 3
#define MOST_FDS 16

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

static uint64_t number_in(const char *name)
{
	const char *text = getenv(name);
	uint64_t n = 0;

	return text && ar_str_to_u64(ar_str_from(text), &n) ? n : 0;
}

/* ---- sockets ---- */

static bool is_listening(int fd)
{
	int type = 0, listens = 0;
	socklen_t size = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
		return false;
	size = sizeof(listens);
	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}

static const char *tcp_text(struct ar_arena *a, const union address *at)
{
	char host[INET6_ADDRSTRLEN];

	if (at->any.sa_family == AF_INET6)
		return ar_arena_fmt(a, "[%s]:%u", inet_ntop(AF_INET6, &at->v6.sin6_addr, host, sizeof(host)),
				    ntohs(at->v6.sin6_port))
			.p;
	return ar_arena_fmt(a, "%s:%u", inet_ntop(AF_INET, &at->v4.sin_addr, host, sizeof(host)),
			    ntohs(at->v4.sin_port))
		.p;
}

static enum ar_status refuse(struct ar_error *err, int fd, const char *why)
{
	return ar_fail(err, AR_E_INVALID, "descriptor %d that was passed cannot be served: %s", fd, why);
}

static enum ar_status adopt_socket(struct ar_arena *a, int fd, struct ar_config *c, struct ar_service *s,
				   struct ar_error *err)
{
	union address at = { 0 };
	socklen_t size = sizeof(at) - 1; /* a zero stays behind a path that fills its room */
	bool is_local;

	if (!is_listening(fd) || getsockname(fd, &at.any, &size) != 0)
		return refuse(err, fd, "it is not a listening stream socket");
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	is_local = at.any.sa_family == AF_UNIX;
	if (!is_local && at.any.sa_family != AF_INET && at.any.sa_family != AF_INET6)
		return refuse(err, fd, "it is neither TCP nor a unix socket");
	if (is_local ? s->local : s->tcp)
		return refuse(err, fd, "another socket of its kind was passed before");
	if (is_local) {
		s->local = fd;
		c->socket = ar_arena_str(a, ar_str_from(at.local.sun_path)).p;
	} else {
		s->tcp = fd;
		c->listen = tcp_text(a, &at);
	}
	return AR_OK;
}

static enum ar_status take_all(struct ar_arena *a, struct ar_config *c, struct ar_service *s,
			       struct ar_error *err)
{
	uint64_t count = number_in("LISTEN_FDS");
	enum ar_status st = AR_OK;

	if (number_in("LISTEN_PID") != (uint64_t)getpid())
		return AR_OK; /* meant for another */
	if (count > MOST_FDS)
		return ar_fail(err, AR_E_INVALID, "more sockets were passed than can be served");
	for (int i = 0; i < (int)count && st == AR_OK; i++)
		st = adopt_socket(a, FIRST_FD + i, c, s, err);
	return st;
}

/* ---- news ---- */

static void read_news(struct ar_arena *a, struct ar_service *s)
{
	const char *path = getenv("NOTIFY_SOCKET");
	uint64_t pid = number_in("WATCHDOG_PID");

	if (path && (*path == '/' || *path == '@'))
		s->news = ar_arena_str(a, ar_str_from(path)).p;
	if (!pid || pid == (uint64_t)getpid())
		s->watchdog = (ar_usec)number_in("WATCHDOG_USEC");
}

void ar_service_tell(const struct ar_service *s, const char *lines)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t len = s && s->news ? strlen(s->news) : 0;
	int fd;

	if (!len || len >= sizeof(at.sun_path))
		return;
	memcpy(at.sun_path, s->news, len);
	if (at.sun_path[0] == '@')
		at.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&at,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

enum ar_status ar_service_read(struct ar_arena *a, struct ar_config *config, struct ar_service *ret,
			       struct ar_error *err)
{
	static const char *const names[] = { "LISTEN_FDS",    "LISTEN_PID",    "LISTEN_FDNAMES",
					     "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID" };
	enum ar_status st;

	*ret = (struct ar_service){ 0 };
	st = take_all(a, config, ret, err);
	read_news(a, ret);
	for (size_t i = 0; i < AR_ARRAY_LEN(names); i++)
		unsetenv(names[i]);
	return st;
}
