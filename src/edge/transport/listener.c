/* Where connections come in: loopback TCP, a unix socket that only we can open, and the address for
 * peers. When the process is out of descriptors libuv uses its reserve to accept and drop, so the loop
 * does not spin. Owner: the loop thread. */
#include "loopback.h"
#include "mem.h"
#include "server.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024

static void on_connection(uv_stream_t *stream, int status)
{
	if (status == 0)
		ar_byte_link_accept(stream->data);
}

static void init_listener(struct ar_http_server *s, struct ar_listener *l, bool is_unix)
{
	l->server = s;
	l->is_unix = is_unix;
	l->is_open = true;
	if (is_unix || l->is_peer)
		s->slots.is_served[is_unix ? AR_SLOTS_LOCAL : AR_SLOTS_CLUSTER] = true;
	l->u.handle.data = l;
	s->handles++;
}

static void on_closed(uv_handle_t *handle)
{
	struct ar_listener *l = handle->data;

	l->server->handles--;
	ar_server_check_closed(l->server);
}

void ar_listener_close(struct ar_listener *l)
{
	if (!l->is_open)
		return;
	l->is_open = false;
	uv_close(&l->u.handle, on_closed);
}

static enum ar_status listen_failed(struct ar_error *err, const char *where, int r)
{
	return ar_fail(err, r == UV_EADDRINUSE ? AR_E_EXISTS : AR_E_IO, "cannot listen on '%s': %s", where,
		       uv_strerror(r));
}

static enum ar_status listen_tcp(struct ar_http_server *s, struct ar_listener *l, const char *address,
				 const union ar_sockaddr *sa, struct ar_error *err)
{
	int r = uv_tcp_init(s->loop, &l->u.tcp);

	if (r)
		return listen_failed(err, address, r);
	init_listener(s, l, false);
	r = uv_tcp_bind(&l->u.tcp, &sa->any, sa->any.sa_family == AF_INET6 ? UV_TCP_IPV6ONLY : 0);
	if (!r)
		r = uv_listen(&l->u.stream, BACKLOG, on_connection);
	return r ? listen_failed(err, address, r) : AR_OK;
}

/* What is not loopback has to be encrypted and guarded. */
static enum ar_status check_exposure(const struct ar_http_server *s, const char *address,
				     const union ar_sockaddr *sa, bool is_guarded, struct ar_error *err)
{
	if (ar_sockaddr_is_loopback(sa) || (s->tls.context && is_guarded))
		return AR_OK;
	return ar_fail(err, AR_E_INVALID,
		       "listen address '%s' is not loopback, and everyone on the network could connect: set "
		       "%s, or use 127.0.0.1, [::1] or the unix socket",
		       address,
		       s->tls.context ? "auth.required"
		       : is_guarded   ? "tls.certificate and tls.key"
				      : "tls.certificate, tls.key and auth.required");
}

enum ar_status ar_listener_open_tcp(struct ar_http_server *s, const char *address, bool is_guarded,
				    struct ar_error *err)
{
	struct ar_authority a;
	union ar_sockaddr sa;

	if (!ar_authority_parse(ar_str_from(address), &a) || !a.has_port)
		return ar_fail(err, AR_E_INVALID, "listen address '%s' is not host:port", address);
	if (!ar_authority_address(&a, &sa))
		return ar_fail(err, AR_E_INVALID, "listen address '%s' has a name that is not an address",
			       address);
	if (check_exposure(s, address, &sa, is_guarded, err) != AR_OK)
		return AR_E_INVALID;
	s->tcp.is_tls = s->tls.context != NULL;
	return listen_tcp(s, &s->tcp, address, &sa, err);
}

/* Without TLS between nodes the key that they share, and what clients say, must not leave the machine. */
enum ar_status ar_listener_check_cluster(const struct ar_http_server *s, const char *address,
					 const char *setting, struct ar_error *err)
{
	if (s->tls.mutual || ar_loopback_host(ar_str_from(address)))
		return AR_OK;
	return ar_fail(
		err, AR_E_INVALID,
		"%s '%s' is not loopback, and nodes on a network need TLS between them: set "
		"cluster.tls_certificate, cluster.tls_key and cluster.tls_ca, or, for nodes of one machine, "
		"use 127.0.0.1",
		setting, address);
}

enum ar_status ar_listener_open_cluster(struct ar_http_server *s, const char *address, struct ar_error *err)
{
	struct ar_authority a;
	union ar_sockaddr sa;

	if (!ar_authority_parse(ar_str_from(address), &a) || !a.has_port || !ar_authority_address(&a, &sa))
		return ar_fail(err, AR_E_INVALID,
			       "cluster address '%s' is not address:port, such as 0.0.0.0:7718 or [::]:7718",
			       address);
	if (ar_listener_check_cluster(s, address, "cluster.listen", err) != AR_OK)
		return AR_E_INVALID;
	s->cluster.is_peer = true;
	s->cluster.is_tls = s->tls.mutual != NULL;
	return listen_tcp(s, &s->cluster, address, &sa, err);
}

enum ar_status ar_listener_take(struct ar_http_server *s, struct ar_listener *l, int fd, bool is_guarded,
				struct ar_error *err)
{
	static const char where[] = "the socket that was passed";
	bool is_unix = l == &s->local;
	union ar_sockaddr sa = { 0 };
	socklen_t len = sizeof sa;
	int r;

	if (!is_unix && getsockname(fd, &sa.any, &len))
		return ar_fail(err, AR_E_INVALID, "%s has no address", where);
	if (!is_unix && check_exposure(s, where, &sa, is_guarded, err) != AR_OK)
		return AR_E_INVALID;
	r = is_unix ? uv_pipe_init(s->loop, &l->u.pipe, 0) : uv_tcp_init(s->loop, &l->u.tcp);
	if (r)
		return listen_failed(err, where, r);
	init_listener(s, l, is_unix);
	l->is_tls = !is_unix && s->tls.context;
	r = is_unix ? uv_pipe_open(&l->u.pipe, fd) : uv_tcp_open(&l->u.tcp, fd);
	if (!r)
		r = uv_listen(&l->u.stream, BACKLOG, on_connection);
	return r ? listen_failed(err, where, r) : AR_OK;
}

/* ---- unix socket ---- */

/* Nobody else may swap the socket under us or reach it before its mode is set: that is what the directory is
 * for. */
static enum ar_status check_directory(const char *path, struct ar_error *err)
{
	const char *slash = strrchr(path, '/');
	char dir[sizeof((struct sockaddr_un *)0)->sun_path];
	struct stat st;

	if (!slash || slash == path)
		return ar_fail(err, AR_E_INVALID, "socket path '%s' needs its own directory", path);
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = 0;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return ar_fail(err, AR_E_IO, "cannot create '%s': %s", dir, strerror(errno));
	if (stat(dir, &st) || !S_ISDIR(st.st_mode))
		return ar_fail(err, AR_E_INVALID, "'%s' is not a directory", dir);
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return ar_fail(err, AR_E_INVALID, "'%s' must belong to this user with mode 0700", dir);
	return AR_OK;
}

static bool is_served(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool is_live;

	if (fd < 0)
		return true;
	is_live = connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 || errno != ECONNREFUSED;
	close(fd);
	return is_live;
}

/* Takes a socket file out of the way that a dead process left. */
static enum ar_status clear_path(const struct sockaddr_un *at, struct ar_error *err)
{
	struct stat st;

	if (lstat(at->sun_path, &st))
		return AR_OK;
	if (!S_ISSOCK(st.st_mode))
		return ar_fail(err, AR_E_INVALID, "'%s' exists and is not a socket", at->sun_path);
	if (is_served(at))
		return ar_fail(err, AR_E_EXISTS, "'%s' is served by a running process", at->sun_path);
	if (unlink(at->sun_path))
		return ar_fail(err, AR_E_IO, "cannot remove the stale socket '%s': %s", at->sun_path,
			       strerror(errno));
	return AR_OK;
}

enum ar_status ar_listener_open_unix(struct ar_http_server *s, const char *path, struct ar_error *err)
{
	struct ar_listener *l = &s->local;
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int r;

	if (strlen(path) >= sizeof at.sun_path)
		return ar_fail(err, AR_E_INVALID, "socket path '%s' is longer than %zu bytes", path,
			       sizeof at.sun_path - 1);
	memcpy(at.sun_path, path, strlen(path));
	if (check_directory(path, err) != AR_OK || clear_path(&at, err) != AR_OK)
		return err ? err->status : AR_E_INVALID;
	r = uv_pipe_init(s->loop, &l->u.pipe, 0);
	if (r)
		return listen_failed(err, path, r);
	init_listener(s, l, true);
	r = uv_pipe_bind(&l->u.pipe, path);
	if (!r && chmod(path, 0600))
		r = uv_translate_sys_error(errno);
	if (!r)
		r = uv_listen(&l->u.stream, BACKLOG, on_connection);
	return r ? listen_failed(err, path, r) : AR_OK;
}
