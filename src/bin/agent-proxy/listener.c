/* See gate.h. A listener with as many connections as it may have does not accept: who
 * waits, waits in the backlog. */
#include "gate.h"
#include "mem.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_accept(uv_poll_t *poll, int status, int events);

static void listener_free(struct ar_proxy_listener *l)
{
	ar_arena_fini(&l->terms.arena);
	ar_free(l);
}

static void on_closed(uv_handle_t *handle)
{
	struct ar_proxy_listener *l = AR_CONTAINER_OF(handle, struct ar_proxy_listener, poll);

	close(l->fd);
	l->fd = -1;
	if (l->connections == 0)
		listener_free(l);
}

static void listen_again(struct ar_proxy_listener *l)
{
	if (!l->is_closed && l->connections < AR_LISTENER_CONNECTIONS_MAX)
		uv_poll_start(&l->poll, UV_READABLE, on_accept);
}

static void on_accept(uv_poll_t *poll, int status, int events)
{
	struct ar_proxy_listener *l = AR_CONTAINER_OF(poll, struct ar_proxy_listener, poll);
	int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)status;
	(void)events;
	if (fd < 0)
		return;
	l->connections++;
	if (l->connections == AR_LISTENER_CONNECTIONS_MAX)
		uv_poll_stop(poll);
	ar_proxy_connection_begin(l, fd);
}

void ar_proxy_listener_release(struct ar_proxy_listener *l)
{
	l->connections--;
	if (l->is_closed && l->fd < 0 && l->connections == 0)
		listener_free(l);
	else
		listen_again(l);
}

void ar_proxy_listener_open(struct ar_gate *g, struct ar_str name, int fd, const struct ar_proxy_terms *terms)
{
	struct ar_proxy_listener *l = ar_new0(sizeof(*l));

	l->gate = g;
	l->fd = fd;
	l->terms = *terms;
	name = ar_str_sub(name, 0, sizeof(l->name) - 1);
	memcpy(l->name, name.p, name.len);
	ar_list_push(&g->listeners, &l->node);
	uv_poll_init(g->loop, &l->poll, fd);
	listen_again(l);
}

void ar_proxy_listener_close(struct ar_gate *g, struct ar_str name)
{
	AR_LIST_FOR_SAFE (it, &g->listeners) {
		struct ar_proxy_listener *l = AR_CONTAINER_OF(it, struct ar_proxy_listener, node);

		if (!ar_str_is(name, l->name))
			continue;
		ar_list_del(&l->node);
		l->is_closed = true;
		uv_close((uv_handle_t *)&l->poll, on_closed);
	}
}
