/* What the home session of a tenant is told of a webhook (report_webhook): the position behind the oldest
 * events that are all done, what was given up, what was sent again. Given up events and the position behind
 * them go together. A report that fails is made again; events stay until theirs is durable. Owner: the loop
 * thread. */
#include "codec.h"
#include "describe.h"
#include "webhook/webhook_priv.h"

#define MS 1000

static bool is_over(const struct ar_delivery *d)
{
	return d->state == AR_DELIVERY_DONE || d->state == AR_DELIVERY_FAILED;
}

/* How many events at the head of the queue are over, and whether something must not wait. */
static size_t count_over(const struct ar_host_webhook *w, bool *ret_urgent)
{
	size_t count = 0;
	bool is_head = true;

	*ret_urgent = w->is_position_new || (w->push && ar_push_is_over(w->push));
	AR_LIST_FOR (it, &w->queue) {
		const struct ar_delivery *d = AR_CONTAINER_OF(it, struct ar_delivery, node);

		is_head = is_head && is_over(d);
		count += is_head;
		*ret_urgent = *ret_urgent || (d->state == AR_DELIVERY_FAILED && is_head);
	}
	AR_LIST_FOR (it, &w->again)
		*ret_urgent = *ret_urgent || is_over(AR_CONTAINER_OF(it, struct ar_delivery, node));
	return count;
}

ar_usec ar_host_webhook_report_due(const struct ar_host_webhook *w)
{
	ar_usec due = w->reported_at + w->all->o.config->webhook.report_ms * MS;
	bool is_urgent;
	size_t count = count_over(w, &is_urgent);

	if (w->is_reporting || (count == 0 && !is_urgent))
		return 0;
	if (is_urgent || count >= AR_WEBHOOK_WINDOW / 2)
		due = 1;
	return due > w->retry_at ? due : w->retry_at + 1;
}

/* ---- the report ---- */

struct parts {
	struct ar_shape_webhook_failure failures[2 * AR_WEBHOOK_WINDOW];
	struct ar_str redelivered[AR_WEBHOOK_WINDOW];
	struct ar_cmd_report_webhook_in in;
};

static void add_over(struct parts *p, struct ar_delivery *d)
{
	d->is_reported = true;
	if (d->state == AR_DELIVERY_FAILED)
		p->failures[p->in.failures.count++] = d->record;
	else if (d->is_again)
		p->redelivered[p->in.redelivered.count++] = d->record.delivery_id;
	if (!d->is_again)
		p->in.cursor = d->cursor;
}

static void gather(struct ar_host_webhook *w, struct parts *p)
{
	size_t room = AR_WEBHOOK_WINDOW;

	p->in.name = w->setting->name;
	if (w->is_position_new)
		p->in.cursor = ar_str_from(w->position);
	AR_LIST_FOR (it, &w->queue) {
		struct ar_delivery *d = AR_CONTAINER_OF(it, struct ar_delivery, node);

		if (!is_over(d))
			break;
		add_over(p, d);
	}
	AR_LIST_FOR (it, &w->again) {
		struct ar_delivery *d = AR_CONTAINER_OF(it, struct ar_delivery, node);

		if (is_over(d) && room-- > 0)
			add_over(p, d);
		if (room == 0)
			break;
	}
	w->reports_over = w->push && ar_push_is_over(w->push);
	p->in.is_over = (struct ar_opt_bool){ w->reports_over, w->reports_over };
	p->in.failures.at = p->failures;
	p->in.redelivered.at = p->in.redelivered.count ? p->redelivered : NULL;
}

static void settle(struct ar_list *list, bool is_durable)
{
	AR_LIST_FOR_SAFE (it, list) {
		struct ar_delivery *d = AR_CONTAINER_OF(it, struct ar_delivery, node);

		if (!d->is_reported)
			continue;
		d->is_reported = false;
		if (is_durable)
			ar_delivery_drop(d);
	}
}

static void on_reported(struct ar_send_run *run, uint16_t code, struct ar_str reply AR_UNUSED)
{
	struct ar_host_webhook *w = AR_CONTAINER_OF(run, struct ar_host_webhook, report);

	w->is_reporting = false;
	ar_buf_clear(&w->report_body);
	if (w->push && (w->push->is_gone || (!code && w->reports_over))) {
		ar_push_end(w->push);
		return;
	}
	if (!code && w->reports_position)
		w->is_position_new = false;
	if (code)
		w->retry_at = ar_webhook_now() + AR_WEBHOOK_RETRY;
	settle(&w->queue, !code);
	settle(&w->again, !code);
	ar_host_webhook_wake(w);
}

void ar_host_webhook_report(struct ar_host_webhook *w, ar_usec now)
{
	ar_usec due = ar_host_webhook_report_due(w);
	struct ar_sender *sender = ar_control_sender(w->all->o.control);
	struct ar_jw json = ar_jw(&w->report_body);
	struct parts *p;
	struct ar_arena a = { 0 };

	if (!due || due > now)
		return;
	p = ar_arena_alloc(&a, sizeof(*p));
	gather(w, p);
	ar_struct_encode(&ar_command_describe(AR_CMD_REPORT_WEBHOOK)->in, &p->in, AR_STR_NONE, &json);
	ar_arena_fini(&a);
	w->is_reporting = true;
	w->reports_position = w->is_position_new;
	w->reported_at = now;
	w->report = (struct ar_send_run){ .command = AR_CMD_REPORT_WEBHOOK,
					  .body = ar_buf_str(&w->report_body),
					  .tenant = w->setting->tenant,
					  .on_done = on_reported };
	sender->v->start(sender, &w->report);
}
