/* See gate.h. A door with as many passages as it may have does not accept: who waits, waits in the backlog. */
#include "gate.h"
#include "mem.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_knock(uv_poll_t *poll, int status, int events);

static void door_free(struct ar_door *d)
{
	ar_arena_fini(&d->terms.arena);
	ar_free(d);
}

static void on_closed(uv_handle_t *handle)
{
	struct ar_door *d = AR_CONTAINER_OF(handle, struct ar_door, poll);

	close(d->fd);
	d->fd = -1;
	if (d->passages == 0)
		door_free(d);
}

static void listen_again(struct ar_door *d)
{
	if (!d->is_closed && d->passages < AR_DOOR_PASSAGES_MAX)
		uv_poll_start(&d->poll, UV_READABLE, on_knock);
}

static void on_knock(uv_poll_t *poll, int status, int events)
{
	struct ar_door *d = AR_CONTAINER_OF(poll, struct ar_door, poll);
	int fd = accept4(d->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)status;
	(void)events;
	if (fd < 0)
		return;
	d->passages++;
	if (d->passages == AR_DOOR_PASSAGES_MAX)
		uv_poll_stop(poll);
	ar_passage_begin(d, fd);
}

void ar_door_left(struct ar_door *d)
{
	d->passages--;
	if (d->is_closed && d->fd < 0 && d->passages == 0)
		door_free(d);
	else
		listen_again(d);
}

void ar_door_open(struct ar_gate *g, struct ar_str name, int fd, const struct ar_door_terms *terms)
{
	struct ar_door *d = ar_new0(sizeof(*d));

	d->gate = g;
	d->fd = fd;
	d->terms = *terms;
	name = ar_str_sub(name, 0, sizeof(d->name) - 1);
	memcpy(d->name, name.p, name.len);
	ar_list_push(&g->doors, &d->node);
	uv_poll_init(g->loop, &d->poll, fd);
	listen_again(d);
}

void ar_door_close(struct ar_gate *g, struct ar_str name)
{
	AR_LIST_FOR_SAFE (it, &g->doors) {
		struct ar_door *d = AR_CONTAINER_OF(it, struct ar_door, node);

		if (!ar_str_is(name, d->name))
			continue;
		ar_list_del(&d->node);
		d->is_closed = true;
		uv_close((uv_handle_t *)&d->poll, on_closed);
	}
}
