/* Sessions and the workers that have their workspaces. A session with open work hears of each change of its
 * worker, as an input, also when it has left memory meanwhile: its key stays here until the work is over.
 *
 * Whether the operator drains a worker is in the log of the worker, which may be another node's: its index
 * row is read when the worker connects, or a session asks for it first; that of another node also every few
 * seconds while a session has work there. Until it was read the worker counts as away. A worker whose record
 * is removed is dropped here: the process that decided the removal may have ended before it did that. Owner:
 * the loop thread. */
#include "engine_priv.h"
#include "tenant.h"
#include "worker/worker_watch.h"

#include <string.h>

#define REFRESH ((ar_usec)5 * 1000000) /* how old a row may be that another node can write */

struct ar_worker_entry {
	struct ar_engine *engine;
	char *id; /* owned; the key of the map */
	char *tenant, *pool; /* owned; NULL: not known, or in none */
	bool is_known; /* the row was read */
	bool is_held; /* drained or removed */
	bool is_removed;
	bool is_reading;
	ar_usec read_at; /* monotonic */
	bool was_elsewhere; /* at that time */
	struct ar_store_index read;
	struct ar_timer again;
};

struct ar_at_worker {
	char session_key[AR_SESSION_KEY_LEN];
	char *worker; /* owned */
};

/* ---- telling sessions ---- */

struct notice {
	struct ar_engine *engine;
	char session_key[AR_SESSION_KEY_LEN];
	struct ar_engine_request request;
	struct ar_timer again;
};

static void notice_dropped(struct ar_timer *t)
{
	ar_free(AR_CONTAINER_OF(t, struct notice, again));
}

static void notice_send(struct ar_timer *t)
{
	struct notice *n = AR_CONTAINER_OF(t, struct notice, again);

	ar_inbox_push(ar_live_get(n->engine, (struct ar_str){ n->session_key, AR_SESSION_KEY_LEN }),
		      &n->request);
}

/* A change that was not decided would leave the session waiting: it is told again. */
static void notice_decided(struct ar_engine_request *r)
{
	struct notice *n = AR_CONTAINER_OF(r, struct notice, request);

	if (r->status != AR_OK && r->err.code == AR_ERR_STORAGE_UNAVAILABLE && !n->engine->is_stopping)
		ar_timer_start(n->engine, &n->again, AR_STORE_RETRY);
	else
		ar_free(n);
}

static void notify(struct ar_engine *e, const char session_key[AR_SESSION_KEY_LEN])
{
	struct notice *n = ar_new0(sizeof(*n));

	n->engine = e;
	memcpy(n->session_key, session_key, AR_SESSION_KEY_LEN);
	n->request.done = notice_decided;
	n->request.input.kind = AR_IN_WORKER;
	n->again = (struct ar_timer){ .fire = notice_send, .drop = notice_dropped };
	ar_list_init(&n->again.node);
	notice_send(&n->again);
}

/* A session that moved away while it was not in memory is another node's to tell. */
static bool is_ours(const struct ar_engine *e, const char session_key[AR_SESSION_KEY_LEN])
{
	return !ar_partition_any(&e->owned) ||
	       ar_partition_has(&e->owned,
				ar_id_partition((struct ar_str){ session_key, AR_SESSION_KEY_LEN }));
}

/* Of a copy: what is decided changes who is there. */
static void notify_at(struct ar_engine *e, struct ar_str worker)
{
	char(*keys)[AR_SESSION_KEY_LEN] = ar_grow(NULL, e->at_workers.count + 1, sizeof(*keys));
	size_t cursor = 0, count = 0;
	struct ar_at_worker *at;

	while ((at = ar_map_next(&e->at_workers, &cursor))) {
		if (ar_str_is(worker, at->worker) && is_ours(e, at->session_key))
			memcpy(keys[count++], at->session_key, AR_SESSION_KEY_LEN);
	}
	for (size_t i = 0; i < count && !e->is_stopping; i++)
		notify(e, keys[i]);
	ar_free(keys);
}

static void notify_all(const struct ar_worker_entry *w)
{
	notify_at(w->engine, ar_str_from(w->id));
	if (w->pool)
		notify_at(w->engine, ar_str_from(w->pool));
}

/* ---- records of workers ---- */

static void read_row(struct ar_worker_entry *w);
static void refresh(struct ar_worker_entry *w);

static void set_held(struct ar_worker_entry *w, bool is_held)
{
	bool is_new = !w->is_known || w->is_held != is_held;

	w->is_known = true;
	w->is_held = is_held;
	if (is_new)
		notify_all(w);
}

static void drop_removed(struct ar_worker_entry *w)
{
	struct ar_workers *workers = w->engine->o.workers;

	if (w->is_removed)
		workers->v->drop(workers, ar_str_from(w->id));
}

/* Only what the operator says makes a worker one of a pool: a machine that is taken over must not get calls
 * of others by naming itself. */
static struct ar_str pool_in(const struct ar_worker_entry *w, struct ar_str labels)
{
	struct ar_str pool = AR_STR_NONE;
	struct ar_json v;

	if (!ar_str_absent(labels) && ar_json_parse(w->engine->json, labels, &v, NULL) == AR_OK)
		ar_json_str(ar_json_get(v, "pool"), &pool);
	return ar_pool_is_name(pool) ? pool : AR_STR_NONE;
}

static void set_pool(struct ar_worker_entry *w, const struct ar_shape_worker_record *r)
{
	struct ar_str pool = pool_in(w, r->labels);
	char *before = w->pool;

	ar_free(w->tenant);
	w->tenant = ar_str_dup(r->tenant);
	w->pool = ar_str_absent(pool) ? NULL : ar_str_dup(pool);
	if (before && (!w->pool || strcmp(before, w->pool) != 0))
		notify_at(w->engine, ar_str_from(before));
	if (w->pool && (!before || strcmp(before, w->pool) != 0))
		notify_at(w->engine, ar_str_from(w->pool));
	ar_free(before);
}

static void set_record(struct ar_worker_entry *w, const struct ar_shape_worker_record *r)
{
	set_pool(w, r);
	w->is_removed = r->status != AR_WORKER_RECORD_STATUS_ACTIVE;
	drop_removed(w);
	set_held(w, r->draining || w->is_removed);
}

static void on_row(struct ar_store_op *op)
{
	struct ar_worker_entry *w = AR_CONTAINER_OF(op, struct ar_worker_entry, read.op);
	struct ar_shape_worker_record record = { 0 };
	struct ar_arena a = { 0 };
	struct ar_json v;
	bool is_read =
		op->status == AR_OK && w->read.has_row &&
		ar_json_parse(w->engine->json, w->read.row.shell, &v, NULL) == AR_OK &&
		ar_struct_decode_strict(&ar_shape_worker_record_desc, v, &a, &record, NULL, NULL) == AR_OK;
	bool has_failed = op->status != AR_OK;

	ar_store_op_fini(op);
	w->is_reading = false;
	if (!w->engine->is_stopping && has_failed)
		ar_timer_start(w->engine, &w->again, AR_STORE_RETRY);
	else if (!w->engine->is_stopping && is_read)
		set_record(w, &record);
	else if (!w->engine->is_stopping)
		set_held(w, true); /* without a record nothing begins there */
	if (!w->engine->is_stopping)
		refresh(w);
	ar_arena_fini(&a);
}

/* Another node writes its record: here no change of it is seen. */
static bool is_elsewhere(const struct ar_worker_entry *w)
{
	struct ar_str key = ar_id_session_key(ar_str_from(w->id));

	return ar_partition_any(&w->engine->owned) && !ar_str_absent(key) &&
	       !ar_partition_has(&w->engine->owned, ar_id_partition(key));
}

/* Also once after the record came to this node: it may have changed before. */
static bool is_ageing(const struct ar_worker_entry *w)
{
	return w->was_elsewhere || is_elsewhere(w);
}

/* Of it, or of its pool. */
static bool is_of(const struct ar_at_worker *at, const struct ar_worker_entry *w)
{
	return strcmp(at->worker, w->id) == 0 || (w->pool && strcmp(at->worker, w->pool) == 0);
}

static bool has_sessions(const struct ar_worker_entry *w)
{
	const struct ar_at_worker *at;
	size_t cursor = 0;

	while ((at = ar_map_next(&w->engine->at_workers, &cursor))) {
		if (is_of(at, w))
			return true;
	}
	return false;
}

static void read_again(struct ar_timer *t)
{
	struct ar_worker_entry *w = AR_CONTAINER_OF(t, struct ar_worker_entry, again);

	if (!w->is_known || has_sessions(w))
		read_row(w);
}

static void refresh(struct ar_worker_entry *w)
{
	if (is_ageing(w) && ar_list_empty(&w->again.node) && !w->is_reading)
		ar_timer_start(w->engine, &w->again, REFRESH);
}

static void read_row(struct ar_worker_entry *w)
{
	if (w->is_reading)
		return;
	(void)ar_timer_stop(&w->again);
	w->is_reading = true;
	w->was_elsewhere = is_elsewhere(w);
	w->read_at = w->engine->o.clock->mono(w->engine->o.clock);
	w->read = (struct ar_store_index){ .op = { .kind = AR_STORE_INDEX, .done = on_row },
					   .session = ar_id_session_key(ar_str_from(w->id)) };
	ar_store_submit(w->engine->o.store, &w->read.op);
}

static struct ar_worker_entry *entry_of(struct ar_engine *e, struct ar_str id)
{
	struct ar_worker_entry *w = ar_map_get(&e->workers, id);

	if (w)
		return w;
	w = ar_new0(sizeof(*w));
	w->engine = e;
	w->id = ar_str_dup(id);
	w->again.fire = read_again;
	ar_list_init(&w->again.node);
	ar_map_put(&e->workers, ar_str_from(w->id), w);
	read_row(w);
	return w;
}

static void on_changed(void *arg, struct ar_str id, enum ar_worker_state state)
{
	struct ar_engine *e = arg;
	struct ar_worker_entry *w;

	if (e->is_stopping)
		return;
	w = entry_of(e, id);
	drop_removed(w); /* a process of it was found after the record was read */
	if (state == AR_WORKER_CONNECTED && w->is_known && !w->is_reading)
		read_row(w); /* another node may have changed it meanwhile */
	if (w->is_known)
		notify_all(w);
}

/* ---- sessions ---- */

static struct ar_worker_status status_of(struct ar_engine *e, struct ar_str id)
{
	struct ar_worker_entry *w = entry_of(e, id);
	struct ar_worker_status status;

	if (is_ageing(w) && e->o.clock->mono(e->o.clock) - w->read_at > REFRESH)
		read_row(w);
	status = e->o.workers->v->find(e->o.workers, id);
	if (!w->is_known && status.state == AR_WORKER_CONNECTED)
		status.state = AR_WORKER_AWAY;
	status.is_draining = status.is_draining || w->is_held;
	return status;
}

static bool is_ready(const struct ar_worker_status *s)
{
	return s->state == AR_WORKER_CONNECTED && !s->is_draining;
}

/* The one to prefer: that takes calls, then that is connected; of several the one with the fewest calls. */
static bool is_better(const struct ar_worker_status *a, const struct ar_worker_status *b)
{
	if (is_ready(a) != is_ready(b))
		return is_ready(a);
	if ((a->state == AR_WORKER_CONNECTED) != (b->state == AR_WORKER_CONNECTED))
		return a->state == AR_WORKER_CONNECTED;
	return a->open_calls < b->open_calls;
}

/* The best of the pool; absent: none was ever connected here. What a lost worker of it had is the matter of
 * those calls, and not of the pool. */
static struct ar_str find_member(struct ar_engine *e, struct ar_str tenant, struct ar_str pool,
				 struct ar_worker_status *ret)
{
	struct ar_str found = AR_STR_NONE;
	const struct ar_worker_entry *w;
	size_t cursor = 0;

	*ret = (struct ar_worker_status){ .state = AR_WORKER_AWAY };
	while ((w = ar_map_next(&e->workers, &cursor))) {
		struct ar_worker_status status;

		if (!w->pool || w->is_removed || !ar_str_is(pool, w->pool) || !ar_str_is(tenant, w->tenant))
			continue;
		status = status_of(e, ar_str_from(w->id));
		if (!ar_str_absent(found) && !is_better(&status, ret))
			continue;
		*ret = status;
		found = ar_str_from(w->id);
	}
	if (ret->state != AR_WORKER_CONNECTED)
		ret->state = AR_WORKER_AWAY;
	return found;
}

struct ar_worker_status ar_engine_worker_status(struct ar_engine *e, const struct ar_session *s)
{
	struct ar_str id = ar_session_worker(s);
	struct ar_worker_status status = { 0 };

	if (ar_str_absent(id) || !e->o.workers)
		return status;
	if (!ar_session_is_in_pool(s))
		return status_of(e, id);
	(void)find_member(e, ar_session_tenant(s), id, &status);
	return status;
}

struct ar_str ar_engine_pool_worker(struct ar_engine *e, struct ar_str tenant, struct ar_str pool)
{
	struct ar_worker_status status;
	struct ar_str id = e->o.workers ? find_member(e, tenant, pool, &status) : AR_STR_NONE;

	return !ar_str_absent(id) && is_ready(&status) ? id : AR_STR_NONE;
}

struct ar_str ar_worker_for(struct ar_engine *e, const struct ar_session *s)
{
	struct ar_str id = ar_session_worker(s), member;

	if (!ar_session_is_in_pool(s))
		return id;
	member = ar_engine_pool_worker(e, ar_session_tenant(s), id);
	return ar_str_absent(member) ? id : member;
}

static void forget(struct ar_engine *e, struct ar_str session_key)
{
	struct ar_at_worker *at = ar_map_del(&e->at_workers, session_key);

	if (at)
		ar_free(at->worker);
	ar_free(at);
}

static void remember(struct ar_live *l)
{
	struct ar_at_worker *at = ar_new0(sizeof(*at));
	struct ar_worker_entry *w;
	size_t cursor = 0;

	memcpy(at->session_key, l->session_key, AR_SESSION_KEY_LEN);
	at->worker = ar_str_dup(ar_session_worker(&l->state));
	ar_map_put(&l->engine->at_workers, (struct ar_str){ at->session_key, AR_SESSION_KEY_LEN }, at);
	while ((w = ar_map_next(&l->engine->workers, &cursor))) {
		if (is_of(at, w))
			refresh(w);
	}
}

static void watch_record(struct ar_live *l)
{
	struct ar_worker_entry *w =
		l->state.own_worker ? ar_map_get(&l->engine->workers, l->state.own_worker->worker_id) : NULL;

	if (w)
		set_record(w, l->state.own_worker);
}

void ar_worker_watch(struct ar_live *l)
{
	bool is_settled = l->is_loaded && !l->is_in_flight, is_known, is_wanted;

	if (!is_settled && !l->is_released && !l->is_removed)
		return;
	if (is_settled)
		watch_record(l);
	if (l->engine->at_workers.count == 0 && (!is_settled || ar_str_absent(ar_session_worker(&l->state))))
		return; /* almost always */
	is_known = ar_map_get(&l->engine->at_workers, ar_live_session_key(l)) != NULL;
	is_wanted = is_settled && !l->is_released && !l->is_removed &&
		    !ar_str_absent(ar_session_worker(&l->state)) && ar_session_is_active(&l->state);
	if (is_known && !is_wanted)
		forget(l->engine, ar_live_session_key(l));
	else if (!is_known && is_wanted)
		remember(l);
}

void ar_worker_watch_moved(struct ar_engine *e)
{
	struct ar_worker_entry *w;
	size_t cursor = 0;

	while ((w = ar_map_next(&e->workers, &cursor)))
		refresh(w);
}

/* ---- life ---- */

void ar_worker_watch_init(struct ar_engine *e)
{
	if (!e->o.workers)
		return;
	e->o.workers->on_changed = on_changed;
	e->o.workers->arg = e;
}

void ar_worker_watch_fini(struct ar_engine *e)
{
	struct ar_worker_entry *w;
	struct ar_at_worker *at;

	for (size_t i = 0; (w = ar_map_next(&e->workers, &i));) {
		ar_store_op_fini(&w->read.op);
		ar_free(w->id);
		ar_free(w->tenant);
		ar_free(w->pool);
		ar_free(w);
	}
	for (size_t i = 0; (at = ar_map_next(&e->at_workers, &i));) {
		ar_free(at->worker);
		ar_free(at);
	}
	ar_map_fini(&e->workers);
	ar_map_fini(&e->at_workers);
}
