/* Sessions in memory: found or made, kept while something of them runs, dropped oldest first when idle. */
#include "action/action.h"
#include "engine_priv.h"
#include "schedule/due.h"
#include "process/process_run.h"
#include "quota/usage.h"
#include "send/send_run.h"
#include "request/watch.h"
#include "verify/damaged.h"
#include "worker/worker_watch.h"
#include "workspace/policy_run.h"
#include "item/items.h"

#include <string.h>

struct ar_str ar_live_session_key(const struct ar_live *l)
{
	return (struct ar_str){ l->session_key, AR_SESSION_KEY_LEN };
}

struct ar_live *ar_live_get(struct ar_engine *e, struct ar_str session_key)
{
	struct ar_live *l = ar_map_get(&e->sessions, session_key);

	if (l)
		return l;
	l = ar_new0(sizeof(*l));
	l->engine = e;
	memcpy(l->session_key, session_key.p, AR_SESSION_KEY_LEN);
	l->partition = ar_id_partition(session_key);
	ar_list_init(&l->inbox);
	ar_list_init(&l->views);
	ar_list_init(&l->verifiers);
	ar_list_init(&l->steps);
	ar_list_init(&l->calls);
	ar_list_init(&l->processes);
	ar_list_init(&l->hooks);
	ar_list_init(&l->inspects);
	ar_list_init(&l->servers);
	ar_list_init(&l->sends);
	ar_list_init(&l->checkpoints);
	ar_list_init(&l->wakes);
	ar_list_init(&l->idle);
	ar_list_init(&l->working);
	ar_list_init(&l->unrecovered);
	ar_list_init(&l->held);
	ar_list_init(&l->recovery_again.node);
	ar_map_put(&e->sessions, ar_live_session_key(l), l);
	e->counts.sessions++;
	e->load[l->partition].sessions++;
	return l;
}

void ar_live_forget(struct ar_live *l)
{
	ar_session_fini(&l->state);
	l->is_loaded = l->has_row = false;
	ar_policy_forget(l);
}

void ar_live_wake(struct ar_live *l)
{
	if (ar_list_empty(&l->idle))
		return;
	ar_list_del(&l->idle);
	l->engine->idle_count--;
}

static void live_free(struct ar_live *l)
{
	struct ar_engine *e = l->engine;

	ar_live_wake(l);
	ar_usage_dropped(l);
	ar_mark_work(l, false);
	ar_processes_drop(l);
	ar_steps_drop(l);
	ar_tools_drop(l);
	ar_hooks_drop(l);
	ar_inspects_drop(l);
	ar_servers_drop(l);
	ar_checkpoints_drop(l);
	ar_sends_drop(l);
	ar_policy_drop(l);
	ar_map_del(&e->sessions, ar_live_session_key(l));
	e->counts.sessions--;
	e->load[l->partition].sessions--;
	ar_session_fini(&l->state);
	ar_store_op_fini(&l->load.op);
	ar_contents_fini(l);
	ar_commit_reset(&l->commit);
	ar_commit_release(&l->commit);
	ar_arena_fini(&l->saved_arena);
	ar_free(l);
}

static bool is_at_rest(const struct ar_live *l)
{
	return !l->is_pumping && !l->is_loading && !l->is_in_flight && ar_list_empty(&l->inbox) &&
	       ar_list_empty(&l->views) && ar_list_empty(&l->verifiers) && ar_list_empty(&l->steps) &&
	       ar_list_empty(&l->calls) && ar_list_empty(&l->processes) && ar_list_empty(&l->hooks) &&
	       ar_list_empty(&l->inspects) && ar_list_empty(&l->servers) && ar_list_empty(&l->checkpoints) &&
	       ar_list_empty(&l->sends) && l->timers == 0 && l->busy == 0;
}

/* A session with open work that this process carries stays; everything else may go. */
void ar_live_settle(struct ar_live *l)
{
	struct ar_engine *e = l->engine;

	ar_live_wake(l);
	ar_worker_watch(l);
	if (!l->is_pumping && !l->is_in_flight && ar_list_empty(&l->inbox))
		ar_commit_release(&l->commit); /* what it waits for now takes long, beside making this anew */
	if (!is_at_rest(l))
		return;
	if (l->is_removed)
		ar_upkeep_end_readers(e, ar_live_session_key(l)); /* who came while it was at work */
	if (l->is_removed || !l->is_loaded || l->state.head == 0) {
		live_free(l);
		return;
	}
	ar_list_push(&e->idle, &l->idle);
	e->idle_count++;
	if (e->idle_count > e->o.session_cache)
		live_free(AR_CONTAINER_OF(e->idle.next, struct ar_live, idle));
}

size_t ar_engine_shed(struct ar_engine *e, bool is_all)
{
	size_t stay = is_all ? 0 : e->idle_count / 2, all = e->idle_count;

	while (e->idle_count > stay)
		live_free(AR_CONTAINER_OF(e->idle.next, struct ar_live, idle));
	return all - stay;
}

size_t ar_engine_expected(const struct ar_engine *e)
{
	return e->expected;
}

void ar_live_drop(struct ar_engine *e, struct ar_str session_key)
{
	struct ar_live *l = ar_map_get(&e->sessions, session_key);

	if (!l)
		return;
	l->is_removed = true;
	if (is_at_rest(l))
		live_free(l);
}

/* ---- the engine itself ---- */

_Static_assert(AR_ITEM_EVENTS_MAX <= AR_DERIVED_MAX, "the reader's room");

struct ar_engine *ar_engine_new(const struct ar_engine_options *o)
{
	struct ar_engine *e = ar_new0(sizeof(*e));

	e->o = *o;
	ar_list_init(&e->idle);
	ar_list_init(&e->working);
	ar_list_init(&e->unrecovered);
	ar_list_init(&e->tools_again.node);
	ar_list_init(&e->timers);
	ar_list_init(&e->watches);
	ar_turnstile_init(&e->turnstile, o->model_calls);
	e->json = ar_json_parser_new();
	e->member_json = ar_json_parser_new();
	e->decide_json = ar_json_parser_new();
	ar_worker_watch_init(e);
	if (o->follow)
		ar_follow_derive(o->follow, ar_item_events);
	return e;
}

void ar_engine_free(struct ar_engine *e)
{
	size_t cursor = 0;
	struct ar_live *l;

	if (!e)
		return;
	ar_timers_drop(e);
	while ((l = ar_map_next(&e->sessions, &cursor))) {
		live_free(l);
		cursor = 0;
	}
	ar_map_fini(&e->sessions);
	ar_worker_watch_fini(e);
	ar_usage_fini(e);
	ar_turnstile_fini(&e->turnstile);
	ar_receipts_fini(e);
	ar_store_op_fini(&e->scan.op);
	ar_upkeep_fini(&e->upkeep);
	ar_due_fini(e);
	ar_damaged_fini(e);
	ar_json_parser_free(e->json);
	ar_json_parser_free(e->member_json);
	ar_json_parser_free(e->decide_json);
	ar_free(e);
}

void ar_engine_stop(struct ar_engine *e)
{
	size_t cursor = 0;
	struct ar_live *l;

	e->is_stopping = true;
	ar_watches_wake(e, AR_STR_NONE, AR_WOKEN_STOPPED);
	ar_turnstile_shut(&e->turnstile);
	while ((l = ar_map_next(&e->sessions, &cursor)))
		ar_processes_leave(l);
	ar_usage_stop(e);
	while (!ar_list_empty(&e->unrecovered))
		ar_recovery_leave(AR_CONTAINER_OF(e->unrecovered.next, struct ar_live, unrecovered));
}

void ar_engine_expect_stop(struct ar_engine *e, bool is_for_good)
{
	e->is_final_shutdown = is_for_good;
}

void ar_engine_drain(struct ar_engine *e)
{
	e->is_draining = true;
	ar_watches_wake(e, AR_STR_NONE, AR_WOKEN_LATE);
	ar_turnstile_shut(&e->turnstile);
}

const struct ar_policy *ar_engine_policy(const struct ar_engine *e)
{
	return e->o.policy;
}

struct ar_engine_counts ar_engine_counts(const struct ar_engine *e)
{
	struct ar_engine_counts counts = e->counts;

	counts.waiting = e->turnstile.waiting;
	return counts;
}

struct ar_checkpoints *ar_engine_checkpoints(const struct ar_engine *e)
{
	return e->o.checkpoints;
}

struct ar_metrics *ar_engine_metrics(const struct ar_engine *e)
{
	return e->o.metrics;
}

ar_usec ar_engine_now(const struct ar_engine *e)
{
	return e->o.clock->mono(e->o.clock);
}

static void add_work(const struct ar_session *s, struct ar_engine_work *w)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];
		const struct ar_turn *turn = ar_thread_active(t);

		if (turn && ar_turn_is_worked_on(s, turn))
			w->running++;
		else if (turn)
			w->waiting++;
		w->queued += t->queue.count;
	}
	for (size_t i = 0; i < s->actions.count; i++)
		w->asking += ((const struct ar_action *)s->actions.at[i])->status == AR_ACTION_PENDING;
}

struct ar_engine_work ar_engine_work(const struct ar_engine *e)
{
	struct ar_engine_work work = { 0 };
	size_t cursor = 0;
	struct ar_live *l;

	while ((l = ar_map_next(&e->sessions, &cursor))) {
		if (l->is_loaded)
			add_work(&l->state, &work);
	}
	return work;
}
