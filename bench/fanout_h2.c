/* Readers as streams of HTTP/2, a hundred on each connection, with windows that never shut. Only for
 * benches. */
#include "fanout.h"

#include <errno.h>
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define PER_CONNECTION 100
#define WINDOW 0x7fffffff

struct connection {
	struct fanout *fanout;
	nghttp2_session *session;
	int fd;
	size_t answered;
};

static int on_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t len,
		    void *arg)
{
	struct connection *c = arg;

	(void)flags;
	fanout_take(c->fanout, nghttp2_session_get_stream_user_data(session, id), (const char *)p, len);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct connection *c = arg;

	(void)session;
	c->answered += frame->hd.type == NGHTTP2_HEADERS;
	return 0;
}

static void send_all(struct connection *c)
{
	const uint8_t *p;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(c->session, &p)) > 0) {
		if (send(c->fd, p, (size_t)n, 0) != n)
			fanout_die("send");
	}
}

static nghttp2_nv pair(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
			     NGHTTP2_NV_FLAG_NONE };
}

static void open_connection(struct fanout *f, nghttp2_session_callbacks *callbacks, size_t first,
			    size_t count)
{
	const nghttp2_settings_entry window = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW };
	const nghttp2_nv head[] = { pair(":method", "GET"), pair(":scheme", "http"), pair(":path", f->path),
				    pair(":authority", "localhost") };
	struct connection *c = calloc(1, sizeof *c);
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };

	c->fanout = f;
	c->fd = fanout_connect(f->port);
	nghttp2_session_client_new(&c->session, callbacks, c);
	nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, &window, 1);
	nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, WINDOW);
	for (size_t i = first; i < first + count; i++)
		nghttp2_submit_request(c->session, NULL, head, 4, NULL, &f->readers[i]);
	send_all(c);
	while (c->answered < count)
		fanout_h2_read(f, c);
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	if (!f->readers[first].is_stuck && epoll_ctl(f->epoll, EPOLL_CTL_ADD, c->fd, &e))
		fanout_die("epoll_ctl");
}

void fanout_h2_open(struct fanout *f)
{
	nghttp2_session_callbacks *callbacks;

	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_chunk);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	for (size_t at = 0; at < f->count; at += PER_CONNECTION)
		open_connection(f, callbacks, at,
				f->count - at < PER_CONNECTION ? f->count - at : PER_CONNECTION);
	nghttp2_session_callbacks_del(callbacks);
}

void fanout_h2_read(struct fanout *f, void *connection)
{
	struct connection *c = connection;
	uint8_t bytes[65536];
	ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);

	(void)f;
	if (n == 0 || (n < 0 && errno != EAGAIN))
		fanout_die("a connection has ended");
	if (n > 0 && nghttp2_session_mem_recv(c->session, bytes, (size_t)n) < 0)
		fanout_die("frames that cannot be read");
	send_all(c);
}
