/* After a crash: every session with open work is loaded and told so, a page at a time, in the
 * background. A client that asks for one earlier gets the same treatment on load. Nothing is
 * decided before all tools are found: which lost calls may be repeated and what a model is
 * offered depend on them. */
#include "engine_priv.h"
#include "channel/channel.h"
#include "fault.h"
#include "metrics.h"
#include "quota/usage.h"
#include "schedule/due.h"
#include "workspace/policy_run.h"

#include <string.h>

#define SCAN_PAGE 64
#define TOOLS_RETRY ((ar_usec)100000)

static void scan_next(struct ar_engine *e, struct ar_str before);
static void scan_begin(struct ar_engine *e);

static void recover_again(struct ar_timer *t)
{
	struct ar_live *l = AR_CONTAINER_OF(t, struct ar_live, recovery_again);

	if (l->is_loaded || l->is_loading)
		ar_live_pump(l);
	else
		ar_live_load(l);
}

/* The next load tries again: someone's who asks, or ours. */
static void recovery_decided(struct ar_engine_request *r)
{
	struct ar_live *l = AR_CONTAINER_OF(r, struct ar_live, recovery);

	ar_policy_recovered(l);
	l->is_shown_early = r->status != AR_OK;
	if (r->status == AR_OK || r->err.code != AR_ERR_STORAGE_UNAVAILABLE)
		return;
	l->is_owned = false;
	if (!ar_list_empty(&l->recovery_again.node))
		return; /* set already */
	l->recovery_again.live = l;
	l->recovery_again.fire = recover_again;
	ar_timer_start(l->engine, &l->recovery_again, AR_STORE_RETRY);
}

/* What failed is scanned again after a pause, what came meanwhile at once. */
static void scan_over(struct ar_engine *e)
{
	e->is_scanning = false;
	ar_store_op_fini(&e->scan.op);
	if (e->has_scan_failed) {
		ar_partition_union(&e->scan_later, &e->scan_set);
		e->is_scanning = true; /* the timer is */
		ar_timer_start(e, &e->scan_again, AR_STORE_RETRY);
	} else if (ar_partition_any(&e->scan_later)) {
		scan_begin(e);
	}
	ar_usage_recovered(e);
}

static void scan_settled(struct ar_engine *e)
{
	struct ar_arena keep = { 0 };
	struct ar_str last;

	if (!e->is_scanning || e->is_stopping || --e->scan_open > 0)
		return;
	if (!e->scan.more) {
		scan_over(e);
		return;
	}
	last = ar_arena_str(&keep, e->scan.ids[e->scan.count - 1]);
	scan_next(e, last);
	ar_arena_fini(&keep);
}

/* A peer that was last heard of before this process had the session has no stream here: its connection
 * went with the process that had it. */
static bool has_left_peers(const struct ar_live *l)
{
	return ar_channels_left(&l->state, l->engine->since[l->partition]);
}

/* Called after every load. Open work that came from the store is nobody's: deciding about it
 * goes before everything else. */
void ar_recovery_loaded(struct ar_live *l)
{
	bool was_scanned = l->is_scanned;

	if (l->is_loaded && !l->is_owned) {
		l->is_owned = true;
		if (ar_session_is_active(&l->state) || has_left_peers(l) ||
		    ar_session_is_old_home(&l->state)) {
			AR_FAULT("engine.recover");
			ar_metric_add(l->engine->o.metrics, AR_METRIC_SESSIONS_RECOVERED, AR_STR_NONE,
				      AR_STR_NONE, 1);
			l->recovery = (struct ar_engine_request){ .done = recovery_decided };
			l->recovery.input =
				(struct ar_input){ .kind = AR_IN_RECOVER,
						   .recover = { .outputs = l->saved,
								.output_count = l->saved_count,
								.is_bystander = ar_mark_is_bystander(l) } };
			ar_list_push(l->inbox.next, &l->recovery.node); /* first */
		}
	}
	l->is_scanned = false;
	if (was_scanned)
		scan_settled(l->engine);
}

static bool are_tools_found(const struct ar_engine *e)
{
	const struct ar_inventory *inventory = e->o.policy->inventory;

	return !inventory || inventory->is_ready;
}

static void look_for_tools(struct ar_timer *t)
{
	struct ar_engine *e = AR_CONTAINER_OF(t, struct ar_engine, tools_again);
	struct ar_list *node;

	while (are_tools_found(e) && (node = ar_list_pop(&e->unrecovered)))
		ar_contents_look(AR_CONTAINER_OF(node, struct ar_live, unrecovered));
	if (!ar_list_empty(&e->unrecovered))
		ar_timer_start(e, t, TOOLS_RETRY);
}

void ar_recovery_prepare(struct ar_live *l)
{
	struct ar_engine *e = l->engine;

	if (are_tools_found(e)) {
		ar_contents_look(l);
		return;
	}
	e->tools_again.fire = look_for_tools;
	if (ar_list_empty(&e->tools_again.node))
		ar_timer_start(e, &e->tools_again, TOOLS_RETRY);
	ar_list_push(&e->unrecovered, &l->unrecovered);
	if (e->is_stopping || l->is_released)
		ar_recovery_leave(l);
}

bool ar_recovery_leave(struct ar_live *l)
{
	if (ar_list_empty(&l->unrecovered))
		return false;
	ar_list_del(&l->unrecovered);
	ar_live_forget(l);
	if (l->engine->is_stopping)
		ar_live_refuse(l, AR_ERR_UNAVAILABLE, AR_STOPPING);
	ar_live_came_back(l, false);
	return true;
}

static void on_scan(struct ar_store_op *op)
{
	struct ar_engine *e = AR_CONTAINER_OF(op, struct ar_engine, scan.op);

	e->scan_open = 1; /* this page itself */
	for (size_t i = 0; op->status == AR_OK && i < e->scan.count; i++) {
		struct ar_live *l;

		if (!ar_partition_has(&e->owned, ar_id_partition(e->scan.ids[i])))
			continue; /* given away since */
		l = ar_live_get(e, e->scan.ids[i]);
		if (l->is_loaded || l->is_loading)
			continue;
		l->is_scanned = true;
		e->scan_open++;
		ar_live_load(l);
	}
	if (op->status != AR_OK) {
		e->scan.more = false;
		e->has_scan_failed = true;
	}
	scan_settled(e);
}

static void scan_next(struct ar_engine *e, struct ar_str before)
{
	ar_store_op_fini(&e->scan.op);
	e->scan = (struct ar_store_sessions){ .op = { .kind = AR_STORE_SESSIONS, .done = on_scan },
					      .limit = SCAN_PAGE,
					      .active_only = true,
					      .partitions = e->scan_set.bits };
	e->scan.before = ar_arena_str(&e->scan.op.arena, before);
	ar_store_submit(e->o.store, &e->scan.op);
}

/* Sessions that are loaded are passed over, so a scan may be repeated until the store
 * could answer all of it. */
static void scan_begin(struct ar_engine *e)
{
	e->is_scanning = true;
	e->has_scan_failed = false;
	e->scan_set = e->scan_later;
	e->scan_later = (struct ar_partition_set){ 0 };
	scan_next(e, AR_STR_NONE);
}

static void scan_again(struct ar_timer *t)
{
	scan_begin(AR_CONTAINER_OF(t, struct ar_engine, scan_again));
}

void ar_engine_recover(struct ar_engine *e, const struct ar_partition_set *gained)
{
	static const struct ar_partition_set none;
	struct ar_partition_set set = gained ? *gained : none;

	if (e->is_stopping)
		return;
	if (!gained)
		memset(set.bits, 0xFF, sizeof(set.bits));
	for (unsigned i = 0; i < AR_PARTITIONS; i++) {
		if (ar_partition_has(&set, i))
			e->since[i] = e->o.clock->wall(e->o.clock);
	}
	ar_partition_union(&e->owned, &set);
	ar_partition_union(&e->scan_later, &set);
	e->scan_again.fire = scan_again;
	if (!e->is_scanning)
		scan_begin(e);
	ar_due_scan(e);
}

bool ar_engine_is_recovering(const struct ar_engine *e)
{
	return e->is_scanning || ar_partition_any(&e->scan_later) || !ar_list_empty(&e->unrecovered);
}
