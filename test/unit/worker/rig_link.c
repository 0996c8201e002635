/* Links in memory; see rig.h. */
#include "rig.h"

#include "mem.h"

#include <string.h>

struct wire_note {
	struct ar_list node;
	struct ar_buf bytes;
};

static struct wire_end *end_of(struct ar_link *l)
{
	return AR_CONTAINER_OF(l, struct wire_end, link);
}

static enum ar_status send_note(struct ar_link *l, struct ar_str message)
{
	struct wire_end *e = end_of(l);
	struct wire_note *note;

	if (e->is_closed)
		return AR_E_UNAVAILABLE;
	if (message.len > AR_LINK_MESSAGE_MAX || e->bytes + message.len > AR_LINK_QUEUE_MAX)
		return AR_E_LIMIT;
	note = ar_new0(sizeof(*note));
	ar_buf_adds(&note->bytes, message);
	ar_list_push(&e->queue, &note->node);
	e->bytes += message.len;
	return AR_OK;
}

static size_t waiting(const struct ar_link *l)
{
	return AR_CONTAINER_OF(l, const struct wire_end, link)->bytes;
}

static void close_end(struct ar_link *l, struct ar_str why AR_UNUSED)
{
	assert_false(end_of(l)->is_closed); /* at most once, and not after on_close */
	end_of(l)->is_closed = true;
}

static const struct ar_link_vtable vtable = { .send = send_note, .waiting = waiting, .close = close_end };

static void end_init(struct wire_end *e, struct wire_pair *pair, struct wire_end *peer)
{
	e->link.v = &vtable;
	e->pair = pair;
	e->peer = peer;
	ar_list_init(&e->queue);
}

struct wire_pair *wire_pair_new(void)
{
	struct wire_pair *p = ar_new0(sizeof(*p));

	end_init(&p->daemon, p, &p->worker);
	end_init(&p->worker, p, &p->daemon);
	return p;
}

static void drop_first(struct wire_end *e)
{
	struct wire_note *note = AR_CONTAINER_OF(ar_list_pop(&e->queue), struct wire_note, node);

	e->bytes -= note->bytes.len;
	ar_buf_fini(&note->bytes);
	ar_free(note);
}

static void drop_all(struct wire_end *e)
{
	while (!ar_list_empty(&e->queue))
		drop_first(e);
}

static void report_closed(struct wire_end *e)
{
	if (e->is_closed)
		return;
	e->is_closed = true;
	if (e->link.on_close)
		e->link.on_close(e->link.arg, AR_STR("cut"));
}

/* The other end has closed, and all that it sent was delivered. */
static bool deliver_close(struct wire_end *from)
{
	if (!from->is_closed || from->peer->is_closed)
		return false;
	report_closed(from->peer);
	return true;
}

bool wire_deliver(struct wire_end *from)
{
	struct ar_buf bytes;

	if (from->peer->is_closed)
		drop_all(from);
	if (ar_list_empty(&from->queue))
		return deliver_close(from);
	bytes = AR_CONTAINER_OF(from->queue.next, struct wire_note, node)->bytes;
	AR_CONTAINER_OF(from->queue.next, struct wire_note, node)->bytes = (struct ar_buf){ 0 };
	from->bytes -= bytes.len;
	drop_first(from);
	from->peer->link.on_message(from->peer->link.arg, ar_buf_str(&bytes));
	ar_buf_fini(&bytes);
	if (from->bytes == 0 && !from->is_closed && from->link.on_drained)
		from->link.on_drained(from->link.arg);
	return true;
}

void wire_cut(struct wire_pair *p)
{
	drop_all(&p->daemon);
	drop_all(&p->worker);
	report_closed(&p->daemon);
	report_closed(&p->worker);
}

void wire_pair_free(struct wire_pair *p)
{
	drop_all(&p->daemon);
	drop_all(&p->worker);
	ar_list_del(&p->node);
	ar_free(p);
}

struct ar_str wire_first(const struct wire_end *from)
{
	if (ar_list_empty(&from->queue))
		return AR_STR_NONE;
	return ar_buf_str(&AR_CONTAINER_OF(from->queue.next, struct wire_note, node)->bytes);
}

void wire_put(struct wire_end *from, const char *head, struct ar_str bytes)
{
	struct ar_buf message = { 0 };
	size_t len = strlen(head);
	char size[4] = { (char)(len >> 24), (char)(len >> 16), (char)(len >> 8), (char)len };

	ar_buf_add(&message, size, 4);
	ar_buf_addz(&message, head);
	ar_buf_adds(&message, bytes);
	assert_int_equal(from->link.v->send(&from->link, ar_buf_str(&message)), AR_OK);
	ar_buf_fini(&message);
}
