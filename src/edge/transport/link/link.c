/* A link over libuv streams. The write request exists only while a write is in flight, so that an idle peer
 * costs little more than its handle. Owner: the loop thread. */
#include "link/link.h"
#include "control.h"
#include "h1/h1_conn.h"
#include "link/peer_user.h"
#include "mem.h"
#include "server.h"
#include "tls/tls_link.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNREAD_LOOKS 16

struct ar_byte_link_write {
	uv_write_t req;
	struct ar_byte_link *link;
	ar_byte_link_written_fn *done;
};

static uv_stream_t *reading_end(struct ar_byte_link *l)
{
	return l->in ? (uv_stream_t *)l->in : &l->u.stream;
}

void ar_byte_link_own(struct ar_byte_link *l, const struct ar_byte_link_vtable *v, void *owner)
{
	l->v = v;
	l->owner = owner;
}

void ar_byte_link_set_deadline(struct ar_byte_link *l, enum ar_deadline_kind kind)
{
	ar_server_set_deadline(l->server, &l->deadline, kind);
}

/* ---- reading ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested AR_UNUSED, uv_buf_t *buf)
{
	struct ar_byte_link *l = handle->data;

	*buf = uv_buf_init(l->server->read_buffer, AR_READ_BUFFER);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct ar_byte_link *l = stream->data;

	if (n < 0) {
		l->has_ended = n == UV_EOF && !l->tls;
		l->v->lost(l);
	} else if (n && l->tls) {
		ar_tls_feed(l, (struct ar_str){ buf->base, (size_t)n });
	} else if (n) {
		l->v->bytes(l, (struct ar_str){ buf->base, (size_t)n });
	}
}

bool ar_byte_link_read_start(struct ar_byte_link *l)
{
	int r = uv_read_start(reading_end(l), on_alloc, on_read);

	if (r && r != UV_EALREADY)
		return false;
	return !l->tls || ar_tls_read_start(l);
}

void ar_byte_link_read_stop(struct ar_byte_link *l)
{
	uv_read_stop(reading_end(l));
	if (l->tls)
		ar_tls_read_stop(l);
}

/* ---- writing ---- */

int ar_byte_link_try_write(struct ar_byte_link *l, const uv_buf_t *bufs, unsigned count)
{
	return l->tls ? ar_tls_try_write(l, bufs, count) : uv_try_write(&l->u.stream, bufs, count);
}

static void on_written(uv_write_t *req, int status)
{
	struct ar_byte_link_write *w = AR_CONTAINER_OF(req, struct ar_byte_link_write, req);
	struct ar_byte_link *l = w->link;
	ar_byte_link_written_fn *done = w->done;

	l->write = NULL;
	ar_free(w);
	done(l, status);
}

int ar_byte_link_write(struct ar_byte_link *l, const uv_buf_t *bufs, unsigned count,
		       ar_byte_link_written_fn *done)
{
	struct ar_byte_link_write *w;
	int r;

	if (l->tls)
		return ar_tls_write(l, bufs, count, done);
	AR_ASSERT(!l->write);
	w = ar_new0(sizeof *w);
	w->link = l;
	w->done = done;
	l->write = w;
	r = uv_write(&w->req, &l->u.stream, bufs, count, on_written);
	if (!r)
		return 0;
	l->write = NULL;
	ar_free(w);
	return r;
}

bool ar_byte_link_shutdown(struct ar_byte_link *l)
{
	uv_os_fd_t fd;

	if (l->tls)
		return ar_tls_shutdown(l);
	return !uv_fileno(&l->u.handle, &fd) && !shutdown(fd, SHUT_WR);
}

bool ar_byte_link_is_flushed(const struct ar_byte_link *l)
{
	return !l->tls || ar_tls_is_flushed(l);
}

void ar_byte_link_set_send_buffer(struct ar_byte_link *l, int bytes)
{
	uv_send_buffer_size(&l->u.handle, &bytes);
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
	struct ar_byte_link *l = handle->data;

	if (--l->open_handles)
		return;
	if (l->tls)
		ar_tls_closed(l);
	l->v->closed(l);
}

void ar_byte_link_close(struct ar_byte_link *l)
{
	if (l->is_closing)
		return;
	l->is_closing = true;
	ar_deadline_clear(&l->deadline);
	uv_close(&l->u.handle, on_closed);
	if (l->in)
		uv_close((uv_handle_t *)l->in, on_closed);
}

static enum ar_slots_kind kind_of(const struct ar_byte_link *l)
{
	return l->source.is_unix ? AR_SLOTS_LOCAL : l->source.is_peer ? AR_SLOTS_CLUSTER : AR_SLOTS_TCP;
}

void ar_byte_link_free(struct ar_byte_link *l)
{
	struct ar_http_server *s = l->server;

	ar_list_del(&l->node);
	s->counters.connections -= !l->is_outgoing;
	ar_slots_exit(&s->slots, l->address);
	if (l->has_slot)
		ar_slots_leave(&s->slots, kind_of(l));
	ar_tls_free(l->tls);
	ar_free(l->in);
	ar_free(l);
	ar_server_check_closed(s);
}

/* ---- the beginning ---- */

/* Until a protocol owns it: it is only closed. */
static const struct ar_byte_link_vtable nobody = {
	.lost = ar_byte_link_close,
	.closed = ar_byte_link_free,
	.drain = ar_byte_link_close,
	.abort = ar_byte_link_close,
};

static struct ar_byte_link *make(struct ar_http_server *s)
{
	struct ar_byte_link *l = ar_new0(sizeof *l);

	l->server = s;
	l->v = &nobody;
	l->open_handles = 1;
	l->source.certificate = AR_STR_NONE;
	ar_deadline_init(&l->deadline, NULL);
	ar_list_push(&s->links, &l->node);
	s->counters.connections++;
	s->counters.accepted++;
	return l;
}

/* A passed socket of IPv6 may also take IPv4, whose addresses it shows in their mapped form. */
static void unmap(union ar_sockaddr *sa)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = sa->v6.sin6_port };

	if (sa->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&sa->v6.sin6_addr))
		return;
	memcpy(&v4.sin_addr, &sa->v6.sin6_addr.s6_addr[12], sizeof v4.sin_addr);
	sa->v4 = v4;
}

/* The server's own user has as many connections as there are. False: the address has too many. */
static bool count_address(struct ar_byte_link *l, const union ar_sockaddr *there)
{
	if (l->source.is_loopback && (l->source.uid == (unsigned)geteuid() || l->source.uid == 0))
		return true;
	l->address = ar_slots_enter(&l->server->slots, there);
	return l->address != NULL;
}

static bool find_tcp_source(struct ar_byte_link *l)
{
	union ar_sockaddr here, there;
	int here_len = sizeof here, there_len = sizeof there;

	if (uv_tcp_getsockname(&l->u.tcp, &here.any, &here_len) ||
	    uv_tcp_getpeername(&l->u.tcp, &there.any, &there_len))
		return true;
	unmap(&here);
	unmap(&there);
	uv_ip_name(&there.any, l->source.address, sizeof l->source.address);
	l->source.is_loopback = ar_sockaddr_is_loopback(&there);
	if (l->source.is_peer)
		return true;
	if (l->source.is_loopback)
		l->source.uid = ar_peer_user_of_tcp(&l->server->users, &here, &there);
	return count_address(l, &there);
}

/* False: there are too many from there. */
static bool find_source(struct ar_byte_link *l)
{
	uv_os_fd_t fd;

	l->source.uid = AR_NO_USER;
	if (!l->source.is_unix)
		return find_tcp_source(l);
	if (!uv_fileno(&l->u.handle, &fd)) {
		l->source.uid = ar_peer_user_of_unix(fd);
		l->source.is_in_group = ar_peer_user_is_in_group(fd, (unsigned)getegid());
	}
	return true;
}

/* A socket that is closed with bytes unread resets the connection, and what was written is lost with it. */
static void read_what_came(struct ar_byte_link *l)
{
	char bytes[4096];
	uv_os_fd_t fd;

	for (int i = 0; i < UNREAD_LOOKS && !uv_fileno(&l->u.handle, &fd); i++) {
		if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
			return;
	}
}

/* In the one form that every failure has; there is no request yet whose answer it could be. */
static void turn_away(struct ar_byte_link *l, uint64_t *counter, const char *why)
{
	struct ar_buf body = { 0 }, out = { 0 };
	uv_buf_t buf;

	ar_control_error(AR_ERR_OVERLOADED, why, &body);
	ar_buf_addf(&out,
		    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"
		    "Content-Length: %zu\r\nConnection: close\r\n\r\n%.*s",
		    body.len, (int)body.len, body.p);
	buf = uv_buf_init(out.p, (unsigned)out.len);
	++*counter;
	read_what_came(l);
	uv_try_write(&l->u.stream, &buf, 1);
	ar_buf_fini(&body);
	ar_buf_fini(&out);
	ar_byte_link_close(l);
}

void ar_byte_link_accept(struct ar_listener *listener)
{
	struct ar_http_server *s = listener->server;
	struct ar_byte_link *l = make(s);
	uv_os_fd_t fd;

	l->source.is_unix = listener->is_unix;
	l->source.is_peer = listener->is_peer;
	AR_ASSERT(!(listener->is_unix ? uv_pipe_init(s->loop, &l->u.pipe, 0)
				      : uv_tcp_init(s->loop, &l->u.tcp)));
	l->u.handle.data = l;
	if (uv_accept(&listener->u.stream, &l->u.stream)) {
		ar_byte_link_close(l);
		return;
	}
	l->has_slot = ar_slots_take(&s->slots, kind_of(l));
	if (!l->has_slot) {
		turn_away(l, &s->counters.turned_away, "the server has reached its connection limit");
		return;
	}
	if (!uv_fileno(&l->u.handle, &fd) && ar_server_is_strained(s, fd, kind_of(l) != AR_SLOTS_TCP)) {
		turn_away(l, &s->counters.no_descriptors, "the server has few file descriptors left");
		return;
	}
	if (!find_source(l)) {
		turn_away(l, &s->counters.turned_away, "this address has reached its connection limit");
		return;
	}
	if (!l->source.is_unix)
		uv_tcp_nodelay(&l->u.tcp, 1);
	if (!listener->is_tls) {
		ar_conn_open(l);
		return;
	}
	ar_tls_start(l);
	if (!ar_byte_link_read_start(l))
		ar_byte_link_close(l);
}

struct ar_byte_link *ar_byte_link_new_outgoing(struct ar_http_server *s, const struct ar_byte_link_vtable *v,
					       void *owner)
{
	struct ar_byte_link *l = ar_new0(sizeof *l);

	l->server = s;
	l->open_handles = 1;
	l->is_outgoing = true;
	l->source = (struct ar_source){ .certificate = AR_STR_NONE, .is_peer = true };
	ar_deadline_init(&l->deadline, NULL);
	ar_list_init(&l->node);
	ar_byte_link_own(l, v, owner);
	AR_ASSERT(!uv_tcp_init(s->loop, &l->u.tcp));
	l->u.handle.data = l;
	return l;
}

void ar_byte_link_secure(struct ar_byte_link *l, struct ar_str host, void (*secured)(struct ar_byte_link *l))
{
	l->secured = secured;
	ar_tls_connect(l, host);
}

struct ar_byte_link *ar_byte_link_new_pair(struct ar_http_server *s, int in, int out)
{
	struct ar_byte_link *l = make(s);
	bool is_in_open, is_out_open;

	l->in = ar_new0(sizeof *l->in);
	l->open_handles = 2;
	AR_ASSERT(!uv_pipe_init(s->loop, l->in, 0) && !uv_pipe_init(s->loop, &l->u.pipe, 0));
	l->in->data = l->u.handle.data = l;
	is_in_open = !uv_pipe_open(l->in, in);
	is_out_open = !uv_pipe_open(&l->u.pipe, out);
	if (is_in_open && is_out_open)
		return l;
	if (!is_in_open)
		close(in);
	if (!is_out_open)
		close(out);
	ar_byte_link_close(l);
	return NULL;
}
