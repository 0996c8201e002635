/* Schedules that are due: their times are in the index of the store, so one that waits costs no memory. The
 * earliest due time of our partitions is known here: it is read from the index when partitions are gained,
 * and every row that is written here is compared with it. When it has come, the rows that are due are read a
 * page at a time, and each of their logs gets an input; the next page is read when all of them have decided.
 *
 * The wall clock may be set: while something is to become due, it is looked at every few seconds, without
 * reading anything. A log that cannot be woken (an outage, a damaged log) is tried again a little later.
 * Owner: the loop thread. */
#include "schedule/due.h"
#include "store/due.h"

#include <string.h>

#define PAGE 128 /* logs that are woken at once */
#define LOOK ((ar_usec)5 * 1000000) /* the longest wait, because the clock may be set */
#define RETRY ((ar_usec)2 * 1000000)

struct ar_due {
	struct ar_engine *engine;
	struct ar_timer timer;
	ar_usec next; /* wall clock: nothing of ours is due before; 0: nothing is to become due */
	bool is_reading; /* rows, or their logs have not decided */
	bool is_again; /* partitions were gained meanwhile */
	bool is_failed; /* something could not be read or woken */
	struct ar_store_due op;
	struct ar_partition_set owned;
	struct ar_session_key after; /* place of the last row that was read */
	ar_usec after_due;
	bool has_after;
	size_t waking; /* logs that have not decided */
	struct ar_list wakes; /* struct wake, of those */
	ar_engine_zone_fn *find_zone; /* NULL: only UTC is known */
	void *zone_arg;
};

/* A log that was woken and has not decided. */
struct wake {
	struct ar_list node;
	struct ar_engine *engine;
	struct ar_engine_request request;
	char session_key[AR_SESSION_KEY_LEN];
};

static void read_page(struct ar_engine *e);
static void page_settled(struct ar_engine *e);

static ar_usec wall(const struct ar_engine *e)
{
	return e->o.clock->wall(e->o.clock);
}

static void on_timer(struct ar_timer *t)
{
	struct ar_engine *e = AR_CONTAINER_OF(t, struct ar_due, timer)->engine;

	if (e->due->is_failed || wall(e) >= e->due->next)
		ar_due_scan(e);
	else
		ar_timer_start(e, t, e->due->next - wall(e) < LOOK ? e->due->next - wall(e) : LOOK);
}

static void set_timer(struct ar_engine *e)
{
	struct ar_due *due = e->due;
	ar_usec pause = due->next - wall(e);

	if (due->is_reading || e->is_stopping || (!due->next && !due->is_failed))
		return;
	ar_timer_stop(&due->timer);
	if (due->is_failed && (!due->next || pause > RETRY))
		pause = RETRY;
	ar_timer_start(e, &due->timer, pause < LOOK ? pause : LOOK);
}

/* ---- waking ---- */

static void woken(struct ar_engine_request *r)
{
	struct wake *w = AR_CONTAINER_OF(r, struct wake, request);
	struct ar_engine *e = w->engine;

	const struct ar_session *s = ar_engine_peek(e, r->session);

	if (r->status != AR_OK)
		e->due->is_failed = true;
	else if (s) /* it decided nothing: the clock was set back meanwhile */
		ar_due_notice(e, ar_session_due(s));
	ar_list_del(&w->node);
	ar_free(w);
	page_settled(e);
}

static void wake(struct ar_engine *e, struct ar_str session_key)
{
	struct wake *w = ar_new0(sizeof(*w));

	w->engine = e;
	memcpy(w->session_key, session_key.p, AR_SESSION_KEY_LEN);
	w->request.session = (struct ar_str){ w->session_key, AR_SESSION_KEY_LEN };
	w->request.input.kind = AR_IN_SCHEDULE_DUE;
	w->request.done = woken;
	e->due->waking++;
	ar_list_push(&e->due->wakes, &w->node);
	ar_inbox_push(ar_live_get(e, w->request.session), &w->request);
}

/* ---- pages ---- */

/* All of the page have decided. */
static void page_settled(struct ar_engine *e)
{
	struct ar_due *due = e->due;

	if (--due->waking > 0 || e->is_stopping)
		return;
	if (due->has_after) {
		read_page(e);
		return;
	}
	due->is_reading = false;
	if (due->is_again) {
		due->is_again = false;
		ar_due_scan(e);
		return;
	}
	set_timer(e);
}

/* Whether all rows of the page are due: then the next page may have more of them. */
static bool wake_page(struct ar_engine *e)
{
	struct ar_store_due *page = &e->due->op;
	ar_usec now = wall(e);

	for (size_t i = 0; i < page->count; i++) {
		if (page->times[i] > now) {
			ar_due_notice(e, page->times[i]);
			return false;
		}
		if (ar_partition_has(&e->owned, ar_id_partition(page->ids[i])))
			wake(e, page->ids[i]);
	}
	return true;
}

static void on_page(struct ar_store_op *op)
{
	struct ar_due *due = AR_CONTAINER_OF(op, struct ar_due, op.op);
	struct ar_engine *e = due->engine;

	due->waking = 1; /* this page itself */
	due->has_after = false;
	if (op->status != AR_OK) {
		due->is_failed = true;
	} else if (!e->is_stopping && !e->is_draining && wake_page(e) && due->op.more) {
		due->has_after = true;
		due->after_due = due->op.times[due->op.count - 1];
		memcpy(due->after.session_key, due->op.ids[due->op.count - 1].p, AR_SESSION_KEY_LEN);
	}
	ar_store_op_fini(op);
	page_settled(e);
}

static void read_page(struct ar_engine *e)
{
	struct ar_due *due = e->due;

	due->owned = e->owned; /* a copy: what is owned may change while the store is at it */
	due->op = (struct ar_store_due){ .op = { .kind = AR_STORE_DUE, .done = on_page },
					 .partitions = due->owned.bits,
					 .limit = PAGE };
	if (due->has_after) {
		due->op.after = (struct ar_str){ due->after.session_key, AR_SESSION_KEY_LEN };
		due->op.after_due = due->after_due;
	}
	ar_store_submit(e->o.store, &due->op.op);
}

static struct ar_due *due_of(struct ar_engine *e)
{
	if (!e->due) {
		e->due = ar_new0(sizeof(*e->due));
		e->due->engine = e;
		e->due->timer.fire = on_timer;
		ar_list_init(&e->due->timer.node);
		ar_list_init(&e->due->wakes);
	}
	return e->due;
}

void ar_due_fini(struct ar_engine *e)
{
	struct ar_list *node;

	if (!e->due)
		return;
	while ((node = ar_list_pop(&e->due->wakes))) /* of logs that went without an answer */
		ar_free(AR_CONTAINER_OF(node, struct wake, node));
	ar_store_op_fini(&e->due->op.op);
	ar_free(e->due);
	e->due = NULL;
}

void ar_due_scan(struct ar_engine *e)
{
	struct ar_due *due = due_of(e);

	if (due->is_reading) {
		due->is_again = true;
		return;
	}
	if (e->is_stopping || e->is_draining)
		return;
	due->is_reading = true;
	due->is_failed = due->has_after = false;
	due->next = 0;
	read_page(e);
}

void ar_due_notice(struct ar_engine *e, ar_usec due)
{
	if (!due || (due_of(e)->next && e->due->next <= due))
		return;
	e->due->next = due;
	set_timer(e);
}

/* ---- zones ---- */

static struct ar_str zone_of(const struct ar_live *l, const struct ar_input *in)
{
	const struct ar_shape_schedule_record *record = l->state.own_schedule;
	struct ar_str zone = AR_STR_NONE;

	if (in->kind == AR_IN_COMMAND && in->command.id == AR_CMD_CREATE_SCHEDULE)
		zone = ((const struct ar_cmd_create_schedule_in *)in->command.args)->zone;
	else if (in->kind == AR_IN_COMMAND && in->command.id == AR_CMD_UPDATE_SCHEDULE)
		zone = ((const struct ar_cmd_update_schedule_in *)in->command.args)->zone;
	return ar_str_absent(zone) && record ? record->zone : zone;
}

const struct ar_zone *ar_engine_zone(const struct ar_engine *e, struct ar_str name, bool *ret_is_unknown)
{
	const struct ar_zone *zone = NULL;

	*ret_is_unknown = false;
	if (ar_str_absent(name) || ar_str_is(name, "UTC"))
		return NULL;
	if (e->due && e->due->find_zone)
		zone = e->due->find_zone(e->due->zone_arg, name);
	*ret_is_unknown = !zone;
	return zone;
}

void ar_engine_find_zones(struct ar_engine *e, ar_engine_zone_fn *find, void *arg)
{
	due_of(e)->find_zone = find;
	e->due->zone_arg = arg;
}

void ar_due_fill_zone(struct ar_live *l, struct ar_input *in)
{
	in->zone = ar_engine_zone(l->engine, zone_of(l, in), &in->is_zone_unknown);
}
