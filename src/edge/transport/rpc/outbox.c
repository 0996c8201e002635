/* See outbox.h. Owner: the loop thread. */
#include "rpc/outbox.h"
#include "server.h"

#define FULL_BYTES ((size_t)128 * 1024)

void ar_outbox_init(struct ar_outbox *o, const struct ar_outbox_vtable *v, struct ar_byte_link *l)
{
	*o = (struct ar_outbox){ .v = v, .link = l };
	ar_list_init(&o->node);
}

/* Not before the link has said that its write is over. */
void ar_outbox_fini(struct ar_outbox *o)
{
	ar_list_del(&o->node);
	ar_buf_fini(&o->next);
	ar_buf_fini(&o->writing);
}

struct ar_buf *ar_outbox_open(struct ar_outbox *o)
{
	if (ar_list_empty(&o->node) && !o->is_writing) {
		ar_list_push(&o->link->server->outboxes, &o->node);
		ar_server_wake(o->link->server);
	}
	return &o->next;
}

void ar_outbox_wake(struct ar_outbox *o)
{
	o->is_due = true;
	ar_outbox_open(o);
}

void ar_outbox_push(struct ar_outbox *o)
{
	uv_buf_t buf = { o->next.p, o->next.len };
	int n;

	if (!buf.len || o->is_writing || o->is_broken || o->link->is_closing)
		return;
	n = ar_byte_link_try_write(o->link, &buf, 1);
	if (n <= 0) /* the flush will see what it is */
		return;
	o->link->server->counters.bytes_sent += (size_t)n;
	if ((size_t)n < buf.len) {
		ar_buf_eat(&o->next, (size_t)n);
		return;
	}
	ar_buf_fini(&o->next);
	if (!o->is_due)
		ar_list_del(&o->node);
}

bool ar_outbox_takes_more(const struct ar_outbox *o)
{
	return !o->is_writing && !o->is_broken && o->next.len < FULL_BYTES;
}

bool ar_outbox_is_empty(const struct ar_outbox *o)
{
	return !o->is_writing && !o->next.len;
}

static void fail(struct ar_outbox *o)
{
	o->is_broken = true;
	ar_buf_fini(&o->next);
	o->v->broken(o);
}

/* The owner of a link of ours begins with its outbox. */
static void on_written(struct ar_byte_link *l, int status)
{
	struct ar_outbox *o = l->owner;

	o->is_writing = false;
	ar_buf_fini(&o->writing);
	if (l->is_closing)
		return;
	if (status)
		fail(o);
	else if (o->next.len)
		ar_outbox_open(o);
	else
		o->v->drained(o);
}

static void write_rest(struct ar_outbox *o, size_t sent)
{
	uv_buf_t buf;

	o->writing = o->next;
	o->next = (struct ar_buf){ 0 };
	buf = (uv_buf_t){ o->writing.p + sent, o->writing.len - sent };
	o->is_writing = true;
	if (ar_byte_link_write(o->link, &buf, 1, on_written) == 0) {
		o->v->stalled(o);
		return;
	}
	o->is_writing = false;
	fail(o);
}

static void flush_one(struct ar_outbox *o)
{
	uv_buf_t buf = { o->next.p, o->next.len };
	int n;

	o->is_due = false;
	if (o->link->is_closing)
		return;
	if (!buf.len) {
		o->v->drained(o);
		return;
	}
	n = ar_byte_link_try_write(o->link, &buf, 1);
	o->link->server->counters.bytes_sent += buf.len;
	if (n < 0 && n != UV_EAGAIN) {
		fail(o);
		return;
	}
	if (n < 0 || (size_t)n < buf.len) {
		write_rest(o, n < 0 ? 0 : (size_t)n);
		return;
	}
	ar_buf_fini(&o->next);
	o->v->drained(o);
}

void ar_outbox_flush(struct ar_http_server *s)
{
	struct ar_list now, *node;

	ar_list_init(&now);
	ar_list_splice(&now, &s->outboxes);
	while ((node = ar_list_pop(&now)))
		flush_one(AR_CONTAINER_OF(node, struct ar_outbox, node));
}
