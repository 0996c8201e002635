/* See server.h. */
#include "server.h"

#include <arpa/inet.h>
#include <stdlib.h>

static char flood[65536];

struct peer {
	uv_tcp_t tcp;
	uv_write_t write;
	char bytes[8192];
	size_t len;
	struct server *server;
};

static void on_peer_closed(uv_handle_t *handle)
{
	test_free(AR_CONTAINER_OF(handle, struct peer, tcp));
}

static void hang_up(struct peer *p)
{
	if (!uv_is_closing((uv_handle_t *)&p->tcp))
		uv_close((uv_handle_t *)&p->tcp, on_peer_closed);
}

static void on_written(uv_write_t *write, int status)
{
	struct peer *p = AR_CONTAINER_OF(write, struct peer, write);
	uv_buf_t more = uv_buf_init(flood, sizeof(flood));

	if (status == 0 && p->server->way == SERVER_FLOODS &&
	    uv_write(&p->write, (uv_stream_t *)&p->tcp, &more, 1, on_written) == 0)
		return;
	hang_up(p);
}

static void give_room(uv_handle_t *handle, size_t size AR_UNUSED, uv_buf_t *ret)
{
	struct peer *p = AR_CONTAINER_OF(handle, struct peer, tcp);

	*ret = uv_buf_init(p->bytes + p->len, (unsigned)(sizeof(p->bytes) - p->len - 1));
}

/* The head, and as much as it says that there is behind it. */
static bool is_whole(const char *request)
{
	const char *end = strstr(request, "\r\n\r\n"), *length = strstr(request, "Content-Length: ");

	return end && (!length || strlen(end + 4) >= strtoul(length + 16, NULL, 10));
}

static void respond(struct peer *p)
{
	struct server *s = p->server;
	size_t len = s->answer_len ? s->answer_len : s->answer ? strlen(s->answer) : 0;
	uv_buf_t answer = uv_buf_init((char *)(uintptr_t)s->answer, (unsigned)len);

	s->requests++;
	memcpy(s->request, p->bytes, p->len + 1);
	if (s->way == SERVER_HANGS_UP)
		hang_up(p);
	else if (s->way != SERVER_IS_SILENT)
		uv_write(&p->write, (uv_stream_t *)&p->tcp, &answer, 1, on_written);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf AR_UNUSED)
{
	struct peer *p = AR_CONTAINER_OF(stream, struct peer, tcp);

	if (n < 0) {
		hang_up(p);
		return;
	}
	p->len += (size_t)n;
	p->bytes[p->len] = '\0';
	if (is_whole(p->bytes))
		respond(p);
}

static void on_connection(uv_stream_t *listener, int status AR_UNUSED)
{
	struct peer *p = test_calloc(1, sizeof(*p));

	p->server = AR_CONTAINER_OF(listener, struct server, listener);
	uv_tcp_init(listener->loop, &p->tcp);
	assert_int_equal(uv_accept(listener, (uv_stream_t *)&p->tcp), 0);
	uv_read_start((uv_stream_t *)&p->tcp, give_room, on_read);
}

void server_start(struct server *s, uv_loop_t *loop, enum server_way way, const char *answer)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int len = sizeof(at);

	memset(s, 0, sizeof(*s));
	s->way = way;
	s->answer = answer;
	uv_tcp_init(loop, &s->listener);
	uv_tcp_bind(&s->listener, (struct sockaddr *)&at, 0);
	assert_int_equal(uv_listen((uv_stream_t *)&s->listener, 128, on_connection), 0);
	uv_tcp_getsockname(&s->listener, (struct sockaddr *)&at, &len);
	s->port = ntohs(at.sin_port);
}

void server_stop(struct server *s)
{
	uv_close((uv_handle_t *)&s->listener, NULL);
}
