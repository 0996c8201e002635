/* A connection: bytes in, requests one after the other, replies out in order. While a request is answered
 * nothing is read, so a peer that pipelines is held back by its own socket. What a request means is decided
 * in exchange.c, the stream in sse.c. Owner: the loop thread. */
#include "forward.h"
#include "mem.h"

#include <sys/socket.h>

void ar_conn_set_deadline(struct ar_conn *c, enum ar_deadline_kind kind)
{
	ar_deadline_set(&c->server->deadlines, &c->deadline, kind, uv_now(c->server->loop));
}

void ar_conn_drop_exchange(struct ar_conn *c)
{
	if (c->x)
		ar_exchange_free(c->x);
	c->x = NULL;
}

/* ---- the end ---- */

void ar_conn_release(struct ar_conn *c)
{
	struct ar_http_server *s = c->server;

	if (!c->is_released || (c->x && c->x->is_calling))
		return;
	ar_conn_drop_exchange(c);
	if (c->sse)
		ar_sse_free(c->sse);
	if (c->forward)
		ar_forward_free(c->forward);
	ar_buf_fini(&c->pending);
	ar_list_del(&c->node);
	s->counters.connections--;
	ar_free(c);
	ar_server_check_closed(s);
}

static void on_closed(uv_handle_t *handle)
{
	struct ar_conn *c = handle->data;

	c->is_released = true;
	ar_conn_release(c);
}

void ar_conn_close(struct ar_conn *c)
{
	if (c->state == AR_CONN_CLOSED)
		return;
	c->state = AR_CONN_CLOSED;
	ar_deadline_clear(&c->deadline);
	if (c->sse)
		ar_sse_stop(c->sse);
	if (c->forward)
		ar_forward_stop(c->forward);
	if (c->x)
		ar_settle_drop(c->x);
	uv_close(&c->u.handle, on_closed);
}

void ar_conn_linger(struct ar_conn *c)
{
	uv_os_fd_t fd;

	if (uv_fileno(&c->u.handle, &fd) || shutdown(fd, SHUT_WR)) {
		ar_conn_close(c);
		return;
	}
	c->state = AR_CONN_LINGERING;
	ar_buf_fini(&c->pending);
	ar_conn_set_deadline(c, AR_DEADLINE_LINGER);
	ar_conn_read_start(c);
}

/* ---- reading ---- */

/* Lets the codec take what it wants; false when the connection is not to be read on now. */
static bool feed(struct ar_conn *c, struct ar_str bytes, size_t *ret_used)
{
	switch (ar_h1_feed(&c->x->h1, bytes, ret_used)) {
	case AR_H1_MORE:
		return true;
	case AR_H1_HEAD:
		ar_conn_set_deadline(c, AR_DEADLINE_BODY);
		return ar_exchange_check(c->x);
	case AR_H1_DONE:
		ar_deadline_clear(&c->deadline);
		c->state = AR_CONN_ANSWERING;
		ar_exchange_run(c->x);
		return true;
	case AR_H1_BAD:
		ar_exchange_fault(c->x, &c->x->h1.fault);
		return false;
	}
	return false;
}

static bool wants_bytes(const struct ar_conn *c)
{
	return c->state == AR_CONN_IDLE || c->state == AR_CONN_READING;
}

/* Reads requests from the bytes for as long as they are answered at once; returns how many bytes were
 * taken. */
static size_t pump(struct ar_conn *c, struct ar_str bytes)
{
	size_t at = 0, used;
	bool go_on = true;

	c->is_pumping = true;
	while (go_on && wants_bytes(c) && (at < bytes.len || (c->x && c->x->h1.is_done))) {
		if (c->state == AR_CONN_IDLE) {
			c->x = ar_exchange_new(c);
			c->state = AR_CONN_READING;
			ar_conn_set_deadline(c, AR_DEADLINE_HEADER);
		}
		go_on = feed(c, ar_str_sub(bytes, at, bytes.len), &used);
		at += used;
	}
	c->is_pumping = false;
	return at;
}

/* After a reply: what came in behind the request, then the socket again. */
static void resume(struct ar_conn *c)
{
	struct ar_buf bytes = c->pending;

	c->pending = (struct ar_buf){ 0 };
	if (bytes.len)
		ar_buf_eat(&bytes, pump(c, ar_buf_str(&bytes)));
	if (bytes.len && c->state == AR_CONN_ANSWERING)
		c->pending = bytes;
	else
		ar_buf_fini(&bytes);
	if (wants_bytes(c))
		ar_conn_read_start(c);
}

static void on_alloc(uv_handle_t *handle, size_t suggested AR_UNUSED, uv_buf_t *buf)
{
	struct ar_conn *c = handle->data;

	*buf = uv_buf_init(c->server->read_buffer, AR_READ_BUFFER);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct ar_conn *c = stream->data;
	struct ar_str bytes = { buf->base, n > 0 ? (size_t)n : 0 };
	size_t used;

	if (n < 0) {
		ar_conn_close(c);
		return;
	}
	if (!n || !wants_bytes(c))
		return;
	used = pump(c, bytes);
	if (c->state != AR_CONN_ANSWERING)
		return;
	uv_read_stop(stream);
	ar_buf_add(&c->pending, bytes.p + used, bytes.len - used);
}

void ar_conn_read_start(struct ar_conn *c)
{
	int r;

	if (c->state == AR_CONN_CLOSED)
		return;
	r = uv_read_start(&c->u.stream, on_alloc, on_read);
	if (r && r != UV_EALREADY)
		ar_conn_close(c);
}

/* ---- replying ---- */

static void reply_sent(struct ar_conn *c)
{
	bool is_close = c->x->reply.is_close;

	ar_conn_drop_exchange(c);
	if (is_close) {
		ar_conn_linger(c);
		return;
	}
	c->state = AR_CONN_IDLE;
	ar_conn_set_deadline(c, AR_DEADLINE_KEEPALIVE);
	if (!c->is_pumping)
		resume(c);
}

static void on_written(uv_write_t *req, int status)
{
	struct ar_exchange *x = AR_CONTAINER_OF(req, struct ar_exchange, write);

	if (x->conn->state == AR_CONN_CLOSED)
		return;
	if (status)
		ar_conn_close(x->conn);
	else
		reply_sent(x->conn);
}

/* The kernel took `sent` bytes of the two; the rest is written as the peer reads. */
static void write_rest(struct ar_conn *c, uv_buf_t bufs[2], size_t sent)
{
	unsigned first = sent >= bufs[0].len;

	sent -= first ? bufs[0].len : 0;
	bufs[first].base += sent;
	bufs[first].len -= sent;
	ar_conn_set_deadline(c, AR_DEADLINE_WRITE);
	if (uv_write(&c->x->write, &c->u.stream, bufs + first, 2 - first, on_written))
		ar_conn_close(c);
}

void ar_conn_reply(struct ar_conn *c)
{
	struct ar_reply *r = &c->x->reply;
	uv_buf_t bufs[2];
	int sent;

	ar_reply_format(r);
	bufs[0] = uv_buf_init(r->head, (unsigned)r->head_len);
	bufs[1] = (uv_buf_t){ (char *)r->body.p, r->body.len };
	c->state = AR_CONN_ANSWERING;
	ar_deadline_clear(&c->deadline);
	c->server->counters.bytes_sent += r->head_len + r->body.len;
	sent = uv_try_write(&c->u.stream, bufs, 2);
	if (sent < 0 && sent != UV_EAGAIN)
		ar_conn_close(c);
	else if (sent >= 0 && (size_t)sent == r->head_len + r->body.len)
		reply_sent(c);
	else
		write_rest(c, bufs, sent < 0 ? 0 : (size_t)sent);
}

/* ---- deadlines ---- */

static void expire_request(struct ar_conn *c)
{
	c->server->counters.timeouts++;
	if (!c->x) {
		ar_conn_close(c);
		return;
	}
	uv_read_stop(&c->u.stream);
	ar_exchange_fault(c->x, &(struct ar_h1_fault){ 408, "the request did not arrive in time" });
}

void ar_conn_expire(struct ar_conn *c, enum ar_deadline_kind kind)
{
	switch (kind) {
	case AR_DEADLINE_HEADER:
	case AR_DEADLINE_BODY:
		expire_request(c);
		return;
	case AR_DEADLINE_WRITE:
		c->server->counters.timeouts++;
		c->server->counters.streams_cut += c->state == AR_CONN_STREAMING;
		ar_conn_close(c);
		return;
	case AR_DEADLINE_HEARTBEAT:
		ar_sse_heartbeat(c->sse);
		return;
	case AR_DEADLINE_KEEPALIVE:
	case AR_DEADLINE_LINGER:
	case AR_DEADLINE_PEER_CONNECT:
	case AR_DEADLINE_PEER_REPLY:
	case AR_DEADLINE_PEER_SILENCE:
	case AR_DEADLINE_PEER_IDLE:
	case AR_DEADLINE_COUNT:
		ar_conn_close(c);
		return;
	}
}

/* ---- the beginning ---- */

static int init_handle(struct ar_conn *c)
{
	int r = c->is_unix ? uv_pipe_init(c->server->loop, &c->u.pipe, 0)
			   : uv_tcp_init(c->server->loop, &c->u.tcp);

	c->u.handle.data = c;
	return r;
}

static void turn_away(struct ar_conn *c)
{
	static const char busy[] =
		"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
		"Connection: close\r\n\r\n";
	uv_buf_t buf = uv_buf_init((char *)busy, sizeof busy - 1);

	c->server->counters.turned_away++;
	uv_try_write(&c->u.stream, &buf, 1);
	ar_conn_close(c);
}

void ar_conn_accept(struct ar_listener *l)
{
	struct ar_http_server *s = l->server;
	struct ar_conn *c = ar_new0(sizeof *c);

	c->server = s;
	c->is_unix = l->is_unix;
	c->is_peer = l->is_peer;
	ar_deadline_init(&c->deadline);
	AR_ASSERT(!init_handle(c));
	ar_list_push(&s->conns, &c->node);
	s->counters.connections++;
	s->counters.accepted++;
	if (uv_accept(&l->u.stream, &c->u.stream)) {
		ar_conn_close(c);
		return;
	}
	if (s->counters.connections > s->max_connections) {
		turn_away(c);
		return;
	}
	if (!c->is_unix)
		uv_tcp_nodelay(&c->u.tcp, 1);
	ar_conn_set_deadline(c, AR_DEADLINE_HEADER);
	ar_conn_read_start(c);
}
