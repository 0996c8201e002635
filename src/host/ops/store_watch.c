/* See store_watch.h. */
#include "ops/store_watch.h"

#include "log.h"

#include <stdio.h>
#include <string.h>

#define TICK_MS 500
#define FINE_AFTER ((ar_usec)1000000) /* without a failure; an outage that comes and goes is one */

/* A check that comes so late: this process was stopped. That no heartbeat arrived meanwhile says nothing
 * about the store, until there was time for one. */
#define LATE ((ar_usec)1500000)
#define TIME_FOR_BEAT ((ar_usec)2000000)

/* Of no session: only whether it can be looked for is wanted. */
#define NOBODY "00000000000000000000000000"

static ar_usec now(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

static void note_standstill(struct ar_store_watch *w)
{
	ar_usec t = now();

	if (w->looked_at && t - w->looked_at >= LATE)
		w->woke_at = t;
	w->looked_at = t;
}

static bool is_cut_off(const struct ar_store_watch *w)
{
	if (!w->is_cut_off || !w->is_cut_off(w->arg))
		return false;
	return w->is_out || now() - w->woke_at >= TIME_FOR_BEAT;
}

/* ---- trying it ---- */

static void on_probed(struct ar_store_watch *w, struct ar_store_op *op)
{
	ar_store_op_fini(op);
	w->probes--;
}

static void on_written(struct ar_store_op *op)
{
	on_probed(AR_CONTAINER_OF(op, struct ar_store_watch, write.op), op);
}

static void on_read(struct ar_store_op *op)
{
	on_probed(AR_CONTAINER_OF(op, struct ar_store_watch, read.op), op);
}

static void probe(struct ar_store_watch *w)
{
	if (w->probes > 0)
		return;
	w->probes = 2;
	w->write = (struct ar_store_upkeep){ .op = { .kind = AR_STORE_UPKEEP, .done = on_written },
					     .is_probe = true };
	w->read = (struct ar_store_tenant){ .op = { .kind = AR_STORE_TENANT, .done = on_read },
					    .session = AR_STR(NOBODY) };
	ar_store_submit(w->store, &w->write.op);
	ar_store_submit(w->store, &w->read.op);
}

/* ---- what is said ---- */

static void begin(struct ar_store_watch *w)
{
	w->is_out = true;
	w->began = now();
	w->before = w->seen;
	ar_log_line(w->log, "error", "the store is unavailable: commands that need it are refused", w->why);
}

static void end(struct ar_store_watch *w)
{
	char text[96];

	w->is_out = false;
	snprintf(text, sizeof text, "it was unavailable for %.1f s; %llu operations failed",
		 (double)(now() - w->began) / 1e6, (unsigned long long)(w->seen - w->before));
	ar_log_line(w->log, "info", "the store is available again", text);
}

static void judge(struct ar_store_watch *w)
{
	const struct ar_store_counts *c = &w->store->counts;
	bool has_failed = c->outages > w->seen, is_cut;
	uint64_t before = w->seen;

	note_standstill(w);
	is_cut = is_cut_off(w);
	if (has_failed)
		memcpy(w->why, c->why, sizeof w->why);
	else if (is_cut && !w->is_out)
		snprintf(w->why, sizeof w->why,
			 "no heartbeat of this node has reached the database for cluster.lease_ms");
	if (has_failed || is_cut || c->is_unwritable || c->is_unreadable)
		w->failed_at = now();
	w->seen = c->outages;
	if (!w->is_out && (has_failed || is_cut)) {
		begin(w);
		w->before = before;
	} else if (w->is_out && now() - w->failed_at >= FINE_AFTER) {
		end(w);
	}
}

static void on_tick(uv_timer_t *timer)
{
	struct ar_store_watch *w = timer->data;

	judge(w);
	if (w->is_out)
		probe(w);
	else if (!w->is_cut_off)
		uv_timer_stop(timer);
}

void ar_store_watch_init(struct ar_store_watch *w, uv_loop_t *loop)
{
	uv_timer_init(loop, &w->timer);
	w->timer.data = w;
}

void ar_store_watch_begin(struct ar_store_watch *w, struct ar_store *store, bool (*cut_off)(void *arg),
			  void *arg)
{
	w->store = store;
	w->is_cut_off = cut_off;
	w->arg = arg;
	if (cut_off)
		uv_timer_start(&w->timer, on_tick, TICK_MS, TICK_MS);
}

void ar_store_watch_look(struct ar_store_watch *w)
{
	if (!w->store || w->store->counts.outages == w->seen)
		return;
	judge(w);
	if (!uv_is_active((uv_handle_t *)&w->timer))
		uv_timer_start(&w->timer, on_tick, TICK_MS, TICK_MS);
}

void ar_store_watch_end(struct ar_store_watch *w)
{
	w->store = NULL;
	uv_timer_stop(&w->timer);
}
