/* One event on its way: made from a frame, or read again from the log of its session; sent, repeated with
 * growing pauses, and at last given up. Owner: the loop thread. */
#include "describe.h"
#include "frame.h"
#include "hash.h"
#include "json.h"
#include "mem.h"
#include "metrics.h"
#include "sign.h"
#include "webhook/webhook_priv.h"

#include <stdio.h>

#define REASON_MAX 500

static struct ar_delivery *delivery_new(struct ar_host_webhook *w)
{
	struct ar_delivery *d = ar_new0(sizeof(*d));

	d->hook = w;
	ar_list_init(&d->node);
	return d;
}

void ar_delivery_free(struct ar_delivery *d)
{
	ar_list_del(&d->node);
	ar_follow_close(&d->read);
	ar_frame_unref(d->frame);
	ar_arena_fini(&d->arena);
	ar_arena_fini(&d->key);
	ar_free(d);
}

void ar_delivery_drop(struct ar_delivery *d)
{
	if (!d->is_again) {
		d->hook->held--;
		d->hook->held_bytes -= d->size;
	}
	ar_list_del(&d->node);
	ar_list_init(&d->node);
	d->is_orphan = d->state == AR_DELIVERY_SENDING ||
		       (d->state == AR_DELIVERY_REPORTING && d->due == 0); /* its end frees it */
	if (d->is_orphan)
		ar_list_push(&d->hook->all->orphans, &d->node);
	else
		ar_delivery_free(d);
}

/* ---- made from a frame ---- */

static struct ar_str trace_of(struct ar_delivery *d, struct ar_json event)
{
	struct ar_str trace, span;

	if (!ar_json_str(ar_json_get(event, "traceId"), &trace) ||
	    !ar_json_str(ar_json_get(event, "spanId"), &span))
		return AR_STR_NONE;
	return ar_arena_fmt(&d->arena, "00-%.*s-%.*s-01", AR_STR_ARG(trace), AR_STR_ARG(span));
}

/* `ret_webhook`: the only one that it is for, borrowed; absent: for all. */
static bool read_event(struct ar_delivery *d, const struct ar_frame *f, struct ar_str *ret_webhook)
{
	struct ar_json v;
	struct ar_str event, session, time = AR_STR_NONE;

	if (ar_json_parse(d->hook->all->json, f->json, &v, NULL) != AR_OK ||
	    !ar_json_str(ar_json_get(v, "eventId"), &event) ||
	    !ar_json_str(ar_json_get(v, "sessionId"), &session))
		return false;
	ar_json_str(ar_json_get(v, "timestamp"), &time);
	if (ar_str_absent(time) || !ar_time_parse(time, &d->time))
		d->time = 0;
	d->record.event_id = ar_arena_str(&d->arena, event);
	d->record.session_id = ar_arena_str(&d->arena, session);
	d->record.sequence = (int64_t)f->sequence;
	d->record.event_type = ar_str_from(ar_event_describe(f->type)->name);
	*ret_webhook = AR_STR_NONE;
	if (f->type == AR_EV_DELIVERY_REQUESTED && !ar_delivery_is_result(d, v, ret_webhook))
		return false;
	d->record.delivery_id = ar_webhook_delivery_id(d->hook->setting->name, d->record.event_id, &d->arena);
	d->trace_parent = trace_of(d, v);
	return true;
}

static void enqueue(struct ar_host_webhook *w, struct ar_delivery *d)
{
	d->state = AR_DELIVERY_WAITING;
	ar_list_push(&w->queue, &d->node);
	w->held++;
	w->held_bytes += d->size;
}

static bool is_wanted(const struct ar_delivery *d, struct ar_str webhook)
{
	const char *only = d->hook->config->session;

	if (!ar_str_absent(webhook))
		return ar_str_eq(webhook, d->hook->setting->name);
	return !*only || ar_str_is(d->record.session_id, only);
}

struct ar_delivery *ar_delivery_of_frame(struct ar_host_webhook *w, struct ar_frame *f)
{
	struct ar_delivery *d = delivery_new(w);
	struct ar_str webhook;

	d->frame = f;
	if (!read_event(d, f, &webhook) || !is_wanted(d, webhook)) {
		ar_delivery_free(d);
		return NULL;
	}
	d->cursor = ar_arena_str(&d->arena, f->id);
	d->size = f->json.len;
	enqueue(w, d);
	return d;
}

void ar_delivery_of_push(struct ar_host_webhook *w, struct ar_frame *f, struct ar_str body)
{
	struct ar_delivery *d = delivery_new(w);
	struct ar_str webhook;

	d->frame = f;
	AR_ASSERT(read_event(d, f, &webhook)); /* the facts of tasks that are folded are no results */
	d->cursor = ar_arena_fmt(&d->arena, "%llu", (unsigned long long)f->sequence);
	d->body = ar_arena_str(&d->arena, body);
	d->size = f->json.len + body.len;
	enqueue(w, d);
}

/* ---- read again ---- */

static void set_failed(struct ar_delivery *d, const char *reason)
{
	d->state = AR_DELIVERY_FAILED;
	d->record.reason = ar_arena_str(&d->arena, ar_str_utf8_prefix(ar_str_from(reason), REASON_MAX));
	snprintf(d->hook->last_error, sizeof(d->hook->last_error), "%.200s", reason);
	ar_log_line(d->hook->all->o.log, "warning",
		    d->hook->push ? "a push notification was given up"
				  : "a webhook gave up an event; redeliver_webhook sends it again",
		    d->record.delivery_id.p);
}

static void on_opened(struct ar_subscription *s AR_UNUSED)
{
}

static void read_result(struct ar_delivery *d, const struct ar_frame *f)
{
	struct ar_json v;
	struct ar_str webhook;

	if (f->type == AR_EV_DELIVERY_REQUESTED &&
	    ar_json_parse(d->hook->all->json, f->json, &v, NULL) == AR_OK)
		ar_delivery_is_result(d, v, &webhook);
}

static void on_ready(struct ar_subscription *s)
{
	struct ar_delivery *d = AR_CONTAINER_OF(s, struct ar_delivery, read);
	struct ar_frame *f = ar_follow_next(s);

	if (!f)
		return;
	ar_follow_close(s);
	if (f->sequence == (uint64_t)d->record.sequence) {
		read_result(d, f);
		d->frame = f;
		d->state = AR_DELIVERY_WAITING;
	} else {
		ar_frame_unref(f);
		set_failed(d, "the event is not in the log of its session any more");
	}
	ar_host_webhook_wake(d->hook);
}

static void on_ended(struct ar_subscription *s, const struct ar_error *err)
{
	struct ar_delivery *d = AR_CONTAINER_OF(s, struct ar_delivery, read);

	if (d->state == AR_DELIVERY_READING)
		set_failed(d, err && err->msg[0] ? err->msg : "the event could not be read");
	ar_host_webhook_wake(d->hook);
}

static bool is_under_way(const struct ar_host_webhook *w, struct ar_str delivery_id)
{
	AR_LIST_FOR (it, &w->again) {
		if (ar_str_eq(AR_CONTAINER_OF(it, struct ar_delivery, node)->record.delivery_id, delivery_id))
			return true;
	}
	return false;
}

void ar_delivery_again(struct ar_host_webhook *w, const struct ar_shape_webhook_failure *f)
{
	static const struct ar_subscription_vtable vtable = { on_opened, on_ready, on_ended };
	struct ar_follow_request r = { .tenant = w->setting->tenant };
	struct ar_error err = { 0 };
	struct ar_delivery *d;

	if (is_under_way(w, f->delivery_id))
		return;
	d = delivery_new(w);
	d->is_again = true;
	d->state = AR_DELIVERY_READING;
	d->record = (struct ar_shape_webhook_failure){
		.delivery_id = ar_arena_str(&d->arena, f->delivery_id),
		.event_id = ar_arena_str(&d->arena, f->event_id),
		.event_type = ar_arena_str(&d->arena, f->event_type),
		.session_id = ar_arena_str(&d->arena, f->session_id),
		.sequence = f->sequence,
	};
	ar_list_push(&w->again, &d->node);
	r.session = ar_id_session_key(d->record.session_id);
	r.after = ar_arena_fmt(&d->arena, "%lld", (long long)f->sequence - 1);
	d->read.v = &vtable;
	if (ar_follow_open(w->all->o.follow, &d->read, &r, &err) != AR_OK)
		set_failed(d, err.msg);
}

/* ---- sent ---- */

/* Later than the settings say if the receiver asks for that, never sooner. */
static ar_usec next_due(const struct ar_delivery *d, int64_t asked_ms)
{
	uint32_t random;
	int64_t ms;

	ar_hash_draw((uint8_t *)&random, sizeof(random));
	ms = ar_webhook_pause_ms(d->hook->config->backoff_ms, (unsigned)d->record.attempts, random);
	return ar_webhook_now() + 1000 * (asked_ms > ms ? asked_ms : ms);
}

static void count_attempt(const struct ar_delivery *d, const char *outcome)
{
	ar_metric_add(d->hook->all->o.metrics, AR_METRIC_WEBHOOK_ATTEMPTS, ar_str_from(outcome), AR_STR_NONE,
		      1);
}

static void attempt_failed(struct ar_delivery *d, const struct ar_webhook_outcome *o)
{
	d->record.http_status = (struct ar_opt_int){ o->http, o->http > 0 };
	if (d->record.attempts >= d->hook->config->max_attempts) {
		count_attempt(d, "dead");
		set_failed(d, o->reason);
		ar_delivery_report(d, AR_DELIVERY_FAILED);
		return;
	}
	count_attempt(d, "failed");
	snprintf(d->hook->last_error, sizeof(d->hook->last_error), "%.200s", o->reason);
	d->state = AR_DELIVERY_WAITING;
	d->due = next_due(d, o->retry_after_ms);
}

static void on_posted(struct ar_webhook_post *p, const struct ar_webhook_outcome *o)
{
	struct ar_delivery *d = AR_CONTAINER_OF(p, struct ar_delivery, post);
	struct ar_host_push *push = d->hook->push;

	d->hook->sending--;
	if (d->is_orphan) {
		ar_delivery_free(d);
		if (push)
			ar_push_release(push);
		return;
	}
	if (o->is_cancelled) {
		d->state = AR_DELIVERY_WAITING;
		return;
	}
	d->record.attempts++;
	if (o->is_delivered) {
		count_attempt(d, "delivered");
		ar_delivery_report(d, AR_DELIVERY_DONE);
	} else {
		attempt_failed(d, o);
	}
	ar_host_webhook_wake(d->hook);
}

static void post(struct ar_delivery *d, struct ar_webhook_poster *poster)
{
	d->state = AR_DELIVERY_SENDING;
	d->hook->sending++;
	ar_webhook_post_start(poster, &d->post);
}

static void start_attempt(struct ar_delivery *d)
{
	const struct ar_config_webhooks *c = d->hook->config;

	ar_arena_reset(&d->key);
	d->post = (struct ar_webhook_post){ .url = ar_str_from(c->url),
					    .id = d->record.delivery_id,
					    .body = ar_str_absent(d->body) ? d->frame->json : d->body,
					    .trace_parent = d->trace_parent,
					    .timeout_ms = (uint32_t)c->timeout_ms,
					    .done = on_posted };
	if (d->hook->push) {
		ar_push_dress(d->hook->push, &d->post);
		post(d, ar_pushes_poster(d->hook->all->pushes, d->hook->push));
		return;
	}
	if (!ar_webhook_key(ar_arena_str(&d->key, ar_str_from(c->secret)), &d->key, &d->post.key)) {
		d->record.attempts++;
		attempt_failed(d, &(struct ar_webhook_outcome){
					  .reason = "the secret of the webhook is not usable" });
		return;
	}
	post(d, d->hook->poster);
}

static bool is_over(const struct ar_delivery *d)
{
	return d->state == AR_DELIVERY_DONE || d->state == AR_DELIVERY_FAILED;
}

static void send_of(struct ar_host_webhook *w, struct ar_list *list, ar_usec now)
{
	AR_LIST_FOR (it, list) {
		struct ar_delivery *d = AR_CONTAINER_OF(it, struct ar_delivery, node);

		if (w->sending >= (size_t)w->config->parallel)
			return;
		if (d->state == AR_DELIVERY_REPORTING && d->due && d->due <= now)
			ar_delivery_report_again(d);
		if (d->state == AR_DELIVERY_WAITING && d->due <= now)
			start_attempt(d);
		if (w->push && !is_over(d))
			return; /* notifications keep their order, also when one has to wait */
	}
}

void ar_delivery_send_due(struct ar_host_webhook *w, ar_usec now)
{
	send_of(w, &w->queue, now);
	send_of(w, &w->again, now);
}
