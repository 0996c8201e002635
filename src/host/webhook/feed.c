/* One webhook: finds its position in the home session of its tenant (or records where the events end now, the
 * first time), follows the events from there, and keeps a window of them that are sent. Everything happens in
 * step(), which runs from the loop: callbacks only note what came. Owner: the loop thread. */
#include "mem.h"
#include "places.h"
#include "webhook/webhook.h"
#include "webhook/webhook_priv.h"

#include <stdio.h>
#include <string.h>

#define LOOK_FOR_PLACE ((ar_usec)1000 * 1000) /* how often it is seen whose the home is */
#define LOOK_AT_SESSION ((ar_usec)2000 * 1000) /* how often one is read that another node works on */

static void on_timer(uv_timer_t *timer);

static void later(struct ar_host_webhook *w)
{
	w->retry_at = ar_webhook_now() + AR_WEBHOOK_RETRY;
	ar_host_webhook_wake(w);
}

static void set_text(char **at, struct ar_str text)
{
	ar_free(*at);
	*at = ar_str_absent(text) ? NULL : ar_str_dup(text);
}

static void note_error(struct ar_host_webhook *w, const struct ar_error *err)
{
	snprintf(w->last_error, sizeof(w->last_error), "%.200s", err && err->msg[0] ? err->msg : "unknown");
}

/* ---- what the home knows ---- */

static void take_again(struct ar_host_webhook *w, const struct ar_webhook *known)
{
	for (size_t i = 0; known && i < known->failures.count; i++) {
		const struct ar_shape_webhook_failure *f =
			((const struct ar_webhook_failure *)known->failures.at[i])->record;

		if (f->redelivering.set && f->redelivering.v)
			ar_delivery_again(w, f);
	}
}

static void on_look(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_host_webhook *w = AR_CONTAINER_OF(v, struct ar_host_webhook, view);
	const struct ar_webhook *known = s ? ar_session_webhook(s, w->setting->name) : NULL;

	w->is_looking = false;
	if (w->all->is_closing)
		return;
	if (w->push && w->push->is_gone) {
		ar_push_release(w->push);
		return;
	}
	if (!s && err->code != AR_ERR_SESSION_NOT_FOUND) {
		w->wants_look = true;
		note_error(w, err);
		later(w);
		return;
	}
	if (w->push && (!known || ar_webhook_is_over(known))) {
		ar_push_end(w->push);
		return;
	}
	if (!w->is_known && known)
		set_text(&w->position, known->cursor);
	if (!w->is_known && w->push) {
		ar_push_begin(w->push, known->cursor);
		set_text(&w->position, AR_STR("0"));
	}
	w->is_known = true;
	take_again(w, known);
	ar_host_webhook_wake(w);
}

static void read_home(struct ar_host_webhook *w)
{
	w->wants_look = false;
	w->is_looking = true;
	w->view = (struct ar_engine_view){ .session = { w->home, AR_SESSION_KEY_LEN }, .done = on_look };
	ar_engine_look(w->all->o.engine, &w->view);
}

/* ---- the first time: from now on ---- */

static void on_measured(struct ar_store_op *op)
{
	struct ar_host_webhook *w = AR_CONTAINER_OF(op, struct ar_host_webhook, heads.op);
	struct ar_places at = { 0 };
	struct ar_buf text = { 0 };

	w->is_measuring = false;
	if (op->status == AR_OK) {
		AR_ASSERT(ar_places_raise(&at, w->heads.floors, w->heads.floor_count) &&
			  ar_places_raise(&at, w->heads.heads, w->heads.head_count));
		ar_places_print(&at, &text);
		set_text(&w->position, text.len ? ar_buf_str(&text) : AR_STR(""));
		w->is_position_new = true;
	} else {
		note_error(w, &op->err);
	}
	ar_places_fini(&at);
	ar_buf_fini(&text);
	ar_store_op_fini(op);
	if (w->all->is_closing)
		return;
	if (w->position)
		ar_host_webhook_wake(w);
	else
		later(w);
}

static void measure(struct ar_host_webhook *w)
{
	w->is_measuring = true;
	w->heads = (struct ar_store_feed){ .op = { .kind = AR_STORE_FEED, .done = on_measured },
					   .tenant = w->setting->tenant,
					   .only_heads = true };
	ar_store_submit(w->all->o.store, &w->heads.op);
}

/* ---- the events ---- */

static void on_opened(struct ar_subscription *s AR_UNUSED)
{
}

static void on_ready(struct ar_subscription *s)
{
	ar_host_webhook_wake(AR_CONTAINER_OF(s, struct ar_host_webhook, stream));
}

static void on_ended(struct ar_subscription *s, const struct ar_error *err)
{
	struct ar_host_webhook *w = AR_CONTAINER_OF(s, struct ar_host_webhook, stream);

	w->is_open = false;
	note_error(w, err);
	if (w->push && err->code == AR_ERR_SESSION_NOT_FOUND)
		w->push->is_last = true; /* retention removed it */
	later(w);
}

static void open_stream(struct ar_host_webhook *w)
{
	static const struct ar_subscription_vtable vtable = { on_opened, on_ready, on_ended };
	struct ar_follow_request r = { .tenant = w->setting->tenant,
				       .hidden = w->home_id,
				       .after = ar_str_from(w->taken ? w->taken : w->position),
				       .types = w->types };
	struct ar_error err = { 0 };

	if (w->push) {
		r = ar_push_follow(w->push);
		w->push->look_at = ar_webhook_now() + LOOK_AT_SESSION;
	}
	w->stream = (struct ar_subscription){ .v = &vtable };
	w->is_open = ar_follow_open(w->all->o.follow, &w->stream, &r, &err) == AR_OK;
	if (w->is_open)
		return;
	note_error(w, &err);
	later(w);
}

/* An event for others moves the cursor of the one before it, if that is still here. */
static void skip(struct ar_host_webhook *w)
{
	struct ar_delivery *last;

	if (ar_list_empty(&w->queue))
		return;
	last = AR_CONTAINER_OF(w->queue.prev, struct ar_delivery, node);
	if (!last->is_reported)
		last->cursor = ar_arena_str(&last->arena, ar_str_from(w->taken));
}

static void fill_push(struct ar_host_webhook *w)
{
	ar_push_go_on(w->push);
	while (w->is_open && ar_push_wants(w->push)) {
		struct ar_frame *f = ar_follow_next(&w->stream);

		if (!f)
			return;
		set_text(&w->taken, f->id);
		ar_push_take(w->push, f);
	}
}

static void fill(struct ar_host_webhook *w)
{
	if (w->push) {
		fill_push(w);
		return;
	}
	while (w->is_open && w->held < AR_WEBHOOK_WINDOW && w->held_bytes < AR_WEBHOOK_WINDOW_BYTES) {
		struct ar_frame *f = ar_follow_next(&w->stream);

		if (!f)
			return;
		set_text(&w->taken, f->id);
		if (!ar_delivery_of_frame(w, f))
			skip(w);
	}
}

/* ---- its steps ---- */

void ar_host_webhook_leave(struct ar_host_webhook *w)
{
	if (w->is_open)
		ar_follow_close(&w->stream);
	AR_LIST_FOR_SAFE (it, &w->queue)
		ar_delivery_drop(AR_CONTAINER_OF(it, struct ar_delivery, node));
	AR_LIST_FOR_SAFE (it, &w->again)
		ar_delivery_drop(AR_CONTAINER_OF(it, struct ar_delivery, node));
	w->is_open = w->is_known = w->is_position_new = false;
	set_text(&w->position, AR_STR_NONE);
	set_text(&w->taken, AR_STR_NONE);
	if (w->push)
		ar_push_reset(w->push);
}

/* Where the home is elsewhere, the node that has it sends. */
static bool is_ours(const struct ar_host_webhook *w)
{
	struct ar_str address;

	return ar_control_place(w->all->o.control, (struct ar_str){ w->home, AR_SESSION_KEY_LEN },
				&address) == AR_PLACE_HERE;
}

static void begin(struct ar_host_webhook *w, ar_usec now)
{
	if (now < w->retry_at)
		return;
	if (!w->is_looking && (!w->is_known || w->wants_look))
		read_home(w);
	if (!w->is_known || w->is_measuring)
		return;
	if (!w->position)
		measure(w);
	else if (!w->is_open && !(w->push && w->push->is_last))
		open_stream(w);
}

/* A session that another node works on says nothing here when a fact is new: it is read again from where we
 * are. */
static void look_again(struct ar_host_webhook *w, ar_usec now)
{
	struct ar_str address;

	if (!w->push || !w->all->o.is_shared || !w->is_open || now < w->push->look_at ||
	    ar_control_place(w->all->o.control, w->push->session, &address) == AR_PLACE_HERE)
		return;
	ar_follow_close(&w->stream);
	w->is_open = false;
}

static ar_usec earlier(ar_usec a, ar_usec b)
{
	return a && (!b || a < b) ? a : b;
}

/* The next attempt of those that wait; 0: there is none, or no place for it. */
static ar_usec next_attempt(const struct ar_host_webhook *w, const struct ar_list *list)
{
	ar_usec due = 0;

	if (w->sending >= (size_t)w->config->parallel)
		return 0;
	AR_LIST_FOR (it, list) {
		const struct ar_delivery *d = AR_CONTAINER_OF(it, struct ar_delivery, node);

		if (d->state == AR_DELIVERY_WAITING || (d->state == AR_DELIVERY_REPORTING && d->due))
			due = earlier(d->due, due);
	}
	return due;
}

static void arm(struct ar_host_webhook *w, ar_usec now)
{
	ar_usec due = ar_host_webhook_report_due(w);

	due = earlier(next_attempt(w, &w->queue), due);
	due = earlier(next_attempt(w, &w->again), due);
	if (w->retry_at > now)
		due = earlier(w->retry_at, due);
	if (w->all->o.is_shared)
		due = earlier(now + LOOK_FOR_PLACE, due);
	if (due)
		uv_timer_start(&w->timer, on_timer, due > now ? (uint64_t)(due - now) / 1000 + 1 : 0, 0);
}

static void step(struct ar_host_webhook *w)
{
	ar_usec now = ar_webhook_now();

	if (!is_ours(w)) {
		ar_host_webhook_leave(w);
		uv_timer_start(&w->timer, on_timer, LOOK_FOR_PLACE / 1000, 0);
		return;
	}
	look_again(w, now);
	begin(w, now);
	fill(w);
	if (w->push && w->push->is_gone)
		return;
	ar_delivery_send_due(w, now);
	uv_timer_stop(&w->timer);
	ar_host_webhook_report(w, now);
	if (!uv_is_active((uv_handle_t *)&w->timer)) /* else something woke it meanwhile */
		arm(w, now);
}

static bool is_gone(const struct ar_host_webhook *w)
{
	return w->push && w->push->is_gone;
}

static void on_timer(uv_timer_t *timer)
{
	struct ar_host_webhook *w = timer->data;

	if (w->all->is_closing || is_gone(w))
		return;
	step(w);
}

void ar_host_webhook_wake(struct ar_host_webhook *w)
{
	if (!w->all->is_closing && !is_gone(w))
		uv_timer_start(&w->timer, on_timer, 0, 0);
}

void ar_host_webhook_start(struct ar_host_webhook *w)
{
	ar_list_init(&w->queue);
	ar_list_init(&w->again);
	uv_timer_init(w->all->o.loop, &w->timer);
	w->timer.data = w;
	ar_host_webhook_wake(w);
}
