/* See delivery.h. */
#include "request/delivery.h"

static void finish(struct ar_delivery *d, bool is_dropped)
{
	d->is_open = false;
	d->is_dropped = is_dropped;
	d->over(d);
}

static void on_decided(struct ar_engine_request *r)
{
	struct ar_delivery *d = AR_CONTAINER_OF(r, struct ar_delivery, request);

	if (r->status != AR_OK && r->err.code == AR_ERR_STORAGE_UNAVAILABLE)
		ar_timer_start(d->again.live->engine, &d->again, AR_STORE_RETRY);
	else
		finish(d, false);
}

static void send_again(struct ar_timer *t)
{
	ar_inbox_push(t->live, &AR_CONTAINER_OF(t, struct ar_delivery, again)->request);
}

static void on_dropped(struct ar_timer *t)
{
	finish(AR_CONTAINER_OF(t, struct ar_delivery, again), true);
}

void ar_delivery_send(struct ar_live *l, struct ar_delivery *d)
{
	d->again = (struct ar_timer){ .live = l, .fire = send_again, .drop = on_dropped };
	ar_list_init(&d->again.node);
	d->request.done = on_decided;
	d->is_open = true;
	ar_inbox_push(l, &d->request);
}

void ar_delivery_stop(struct ar_delivery *d)
{
	if (d->is_open && ar_timer_stop(&d->again))
		d->is_open = false;
}
