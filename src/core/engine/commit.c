/* A decision becomes durable, and then visible.
 *
 * ar_commit_start() encodes each fact once, as the JSON that readers get, renders the index rows from the
 * state and submits one append to the store: facts, session row, task and action rows, contents, receipt,
 * audit entry, and a snapshot when enough facts have passed since the last one. The store writes all of it
 * in one transaction or nothing.
 *
 * The state already contains the facts: each was applied when it was emitted (ADR 2). It is ahead of the
 * store only while the session is in flight, and in that time nobody can see it (ADR 11).
 *
 * When the append is durable, in this order: readers get the facts, the effects are planned, the caller
 * gets its reply, the effects start. A client that has a reply therefore finds its facts after any crash,
 * and nothing acts on a fact that could still disappear.
 *
 * When the append fails, the state is dropped and the session is loaded again before anybody looks. A
 * receipt that exists already (the same command arrived twice) is answered with the first reply. An append
 * that was refused because this node's epoch is over stops the engine: another node owns the session.
 *
 * After a snapshot the session continues as the restored snapshot (renew()). That frees the memory of
 * everything that left its windows, and a snapshot that cannot be restored is found at once and not after a
 * crash. Owner: the loop thread. */
#include "action/action.h"
#include "engine_priv.h"
#include "fault.h"
#include "identity.h"
#include "index_rows.h"
#include "meter.h"
#include "process/process_run.h"
#include "quota/usage.h"
#include "schedule/due.h"
#include "storage.h"
#include "send/send_run.h"
#include "request/watch.h"
#include "workspace/policy_run.h"

#define FACTS_PER_THREAD 4 /* that are not in a pack and not the first */

static void on_append(struct ar_store_op *op);

void ar_commit_reset(struct ar_commit *c)
{
	ar_store_op_fini(&c->append.op);
	ar_arena_reset(&c->arena);
	ar_buf_clear(&c->body);
	ar_buf_fini(&c->snapshot); /* the largest of all, and rare */
	c->decision = (struct ar_decision){ 0 };
	c->request = NULL;
}

void ar_commit_release(struct ar_commit *c)
{
	ar_arena_fini(&c->arena);
	ar_buf_fini(&c->body);
}

/* ---- what goes into the transaction ---- */

/* A process that cannot be reached any more has a repair as its last fact. */
static bool is_process_end(const struct ar_event *e)
{
	return !ar_str_absent(e->ids[AR_SCOPE_PROCESS]) &&
	       (e->type == AR_EV_PROCESS_COMPLETED || e->type == AR_EV_PROCESS_FAILED ||
		e->type == AR_EV_PROCESS_TERMINATED || e->type == AR_EV_SNAPSHOT_REPAIRED);
}

static void encode(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;
	struct ar_decision *d = &c->decision;
	size_t *ends = ar_arena_alloc(&c->arena, (d->event_count + 1) * sizeof(*ends));

	for (size_t i = 0; i < d->event_count; i++) {
		ar_event_encode(&d->events[i], &c->body);
		ends[i] = c->body.len;
		ar_buf_addc(&c->body, '\n');
	}
	c->facts = ar_arena_alloc(&c->arena, (d->event_count + 1) * sizeof(*c->facts));
	for (size_t i = 0, start = 0; i < d->event_count; start = ends[i++] + 1) {
		c->facts[i] = (struct ar_fact){ .type = d->events[i].type,
						.sequence = d->events[i].sequence,
						.json = { c->body.p + start, ends[i] - start } };
		if (is_process_end(&d->events[i]))
			ar_id_counter(d->events[i].ids[AR_SCOPE_PROCESS], &c->facts[i].process);
	}
}

static void add_session_row(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;

	c->row = ar_index_session(&l->state, &c->arena);
	c->row.has_same_flags = l->has_row && l->row_active == c->row.active && l->row_open == c->row.open;
	c->append.row = &c->row;
}

/* One row per task that a fact of this decision is about, and those that a repair brings. */
static void add_task_rows(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;
	const struct ar_decision *d = &c->decision;
	const struct ar_engine_request *r = c->request;
	struct ar_store_task_row *rows =
		ar_arena_alloc(&c->arena, (2 * d->event_count + r->task_count + 1) * sizeof(*rows));
	size_t n = ar_index_tasks(&l->state, d->events, d->event_count, &c->arena, rows);

	for (size_t i = 0; i < r->task_count; i++)
		rows[n++] = r->tasks[i];
	c->append.tasks = rows;
	c->append.task_count = n;
}

/* The same for questions. */
static void add_action_rows(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;
	const struct ar_decision *d = &c->decision;
	const struct ar_engine_request *r = c->request;
	struct ar_store_action_row *rows =
		ar_arena_alloc(&c->arena, (d->event_count + r->action_count + 1) * sizeof(*rows));
	size_t n = ar_index_actions(&l->state, d->events, d->event_count, &c->arena, rows);

	for (size_t i = 0; i < r->action_count; i++)
		rows[n++] = r->actions[i];
	c->append.actions = rows;
	c->append.action_count = n;
}

static bool has_process(const struct ar_live *l)
{
	const struct ar_decision *d = &l->commit.decision;

	for (size_t i = 0; i < d->event_count; i++) {
		if (!ar_str_absent(d->events[i].ids[AR_SCOPE_PROCESS]))
			return true;
	}
	return l->state.processes.count > 0;
}

/* And for items of jobs, and processes. */
static void add_item_rows(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;
	const struct ar_decision *d = &c->decision;
	bool has_jobs = l->state.jobs.count > 0, has_processes = has_process(l);
	struct ar_store_item_row *rows;
	size_t n = 0;

	if (!has_jobs && !has_processes)
		return;
	rows = ar_arena_alloc(&c->arena, (2 * d->event_count + 1) * sizeof(*rows));
	if (has_processes)
		n = ar_index_processes(&l->state, d->events, d->event_count, &c->arena, rows);
	if (has_jobs)
		n += ar_index_items(&l->state, d->events, d->event_count, &c->arena, rows + n);
	c->append.items = rows;
	c->append.item_count = n;
}

static void add_usage_rows(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;
	const struct ar_decision *d = &c->decision;
	struct ar_store_usage_row *rows = ar_arena_alloc(&c->arena, (d->event_count + 1) * sizeof(*rows));

	c->append.usage = rows;
	c->append.usage_count =
		ar_index_usage(&l->state, d->events, d->event_count, c->request->input.now, rows);
}

static void add_contents(struct ar_commit *c)
{
	const struct ar_decision *d = &c->decision;
	struct ar_store_blob *blobs = ar_arena_alloc(&c->arena, (d->content_count + 1) * sizeof(*blobs));

	for (size_t i = 0; i < d->content_count; i++)
		blobs[i] = (struct ar_store_blob){ d->contents[i].hash, d->contents[i].bytes };
	c->append.blobs = blobs;
	c->append.blob_count = d->content_count;
}

static bool is_content_removed(const struct ar_event *e)
{
	return e->type == AR_EV_OUTPUT_EXPIRED ||
	       (e->type == AR_EV_OUTPUT_REDACTED &&
		!ar_str_absent(((const struct ar_ev_output_redacted *)e->payload)->replacement_ref));
}

/* Content that leaves with the fact that says so. */
static void add_removed_contents(struct ar_commit *c)
{
	const struct ar_decision *d = &c->decision;
	struct ar_hash *hashes = NULL;
	struct ar_str session_key;
	size_t n = 0;

	for (size_t i = 0; i < d->event_count; i++) {
		if (!is_content_removed(&d->events[i]))
			continue;
		if (!hashes)
			hashes = ar_arena_alloc(&c->arena, d->event_count * sizeof(*hashes));
		n += ar_ref_parse(d->events[i].ids[AR_SCOPE_OUTPUT], &session_key, &hashes[n]);
	}
	c->append.removed = hashes;
	c->append.removed_count = n;
}

static bool is_step_end(const struct ar_event *e)
{
	return e->type == AR_EV_MODEL_COMPLETED || e->type == AR_EV_MODEL_FAILED;
}

/* Those that may have chunks: most steps end before the first one. */
static void add_closed_steps(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;
	const struct ar_decision *d = &c->decision;
	struct ar_str *steps = ar_arena_alloc(&c->arena, (d->event_count + 1) * sizeof(*steps));
	size_t n = 0;

	for (size_t i = 0; i < d->event_count; i++) {
		struct ar_str step = d->events[i].ids[AR_SCOPE_STEP];

		if (is_step_end(&d->events[i]) && ar_step_may_have_chunks(l, step))
			steps[n++] = step;
	}
	c->append.closed_steps = steps;
	c->append.closed_step_count = n;
}

/* A session of 10,000 tasks, or of 500 children that are not closed, has a snapshot of megabytes: the more it
 * has, the more facts share one, so that the share of each does not grow. */
static uint64_t facts_per_snapshot(const struct ar_live *l)
{
	uint64_t every = l->engine->o.snapshot_every + l->state.declared.count;

	for (size_t i = 1; i < l->state.threads.count; i++) {
		const struct ar_thread *t = l->state.threads.at[i];

		every += t->pack ? 0 : FACTS_PER_THREAD;
	}
	return every;
}

static void add_snapshot(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;
	uint64_t since = l->state.head - l->state.snapshot_head;

	if (!c->request->with_snapshot &&
	    (since < l->engine->o.snapshot_every || since < facts_per_snapshot(l)))
		return;
	ar_session_snapshot_packed(&l->state, &c->snapshot);
	c->append.snapshot = ar_buf_str(&c->snapshot);
}

static void prepare(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;
	uint64_t head_before = c->decision.head;
	struct ar_engine_request *r = c->request;

	c->append = (struct ar_store_append){ .op = { .kind = AR_STORE_APPEND, .done = on_append },
					      .session = ar_live_session_key(l),
					      .first_seq = head_before + 1,
					      .last_seq = l->state.head,
					      .at = r->input.now,
					      .body = ar_buf_str(&c->body) };
	if (c->decision.event_count > 0 || r->input.kind == AR_IN_CONTENTS)
		add_contents(c);
	if (c->decision.event_count > 0) {
		add_session_row(l);
		add_task_rows(l);
		add_action_rows(l);
		add_item_rows(l);
		add_usage_rows(l);
		add_closed_steps(l);
		add_removed_contents(c);
		add_snapshot(l);
	}
	if (r->audit) {
		c->audit = *r->audit;
		c->audit.at = r->input.now;
		c->audit.session = ar_live_session_key(l);
		c->audit.sequence = c->decision.event_count > 0 ? head_before + 1 : 0;
		c->append.audit = &c->audit;
	}
	if (r->has_receipt) {
		r->receipt.reply = c->decision.reply;
		c->append.receipt = &r->receipt;
	}
}

void ar_commit_start(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;

	encode(l);
	prepare(l);
	l->is_in_flight = true;
	l->engine->counts.commits++;
	ar_usage_commit_began(l);
	c->began = l->engine->o.clock->mono(l->engine->o.clock);
	AR_FAULT("engine.before_append");
	ar_store_submit(l->engine->o.store, &c->append.op);
}

/* ---- what happens when it is durable, or is not ---- */

/* The state goes on as what was just written: its memory is renewed, and a snapshot that does
 * not restore is found at once. */
static void renew(struct ar_live *l)
{
	struct ar_session fresh;
	struct ar_json v;
	struct ar_error err;

	ar_session_init(&fresh, ar_live_session_key(l), l->engine->member_json);
	AR_ASSERT(ar_json_parse(l->engine->json, ar_buf_str(&l->commit.snapshot), &v, &err) == AR_OK);
	AR_ASSERT(ar_session_restore(&fresh, v, &err) == AR_OK);
	ar_session_fini(&l->state);
	l->state = fresh;
}

static bool is_blocked(const struct ar_event *e)
{
	const struct ar_ev_action_required *p = e->payload;

	return e->type == AR_EV_ACTION_REQUIRED && ar_action_type_find(p->action_type) == AR_ACTION_RECOVERY;
}

static bool is_lost_write(const struct ar_event *e)
{
	const struct ar_ev_runtime_warning *p = e->payload;

	return e->type == AR_EV_RUNTIME_WARNING && ar_str_is(p->code, AR_WARNING_LOST_WRITE);
}

/* What an operator should hear of besides the clients. */
static void report(const struct ar_live *l, const struct ar_event *e)
{
	const struct ar_engine_options *o = &l->engine->o;

	if (is_blocked(e) && o->on_blocked)
		o->on_blocked(o->arg, l->state.id);
	if (is_lost_write(e) && o->on_lost_write)
		o->on_lost_write(o->arg, l->state.id,
				 ((const struct ar_ev_runtime_warning *)e->payload)->message);
}

static void push_args(struct ar_live *l)
{
	const struct ar_decision *d = &l->commit.decision;

	for (size_t i = 0; i < d->event_count; i++)
		ar_follow_push_args(l->engine->o.follow, ar_live_session_key(l), &d->events[i]);
}

static void committed(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;
	struct ar_engine *e = l->engine;
	struct ar_engine_request *r = c->request;

	AR_FAULT("engine.after_commit");
	e->counts.facts += c->decision.event_count;
	ar_meter_committed(e->o.metrics, &c->decision, c->body.len, e->o.clock->mono(e->o.clock) - c->began);
	if (e->o.on_committed)
		e->o.on_committed(e->o.arg, &l->state, c->decision.events, c->decision.event_count);
	for (size_t i = 0; i < c->decision.event_count; i++) {
		if (is_step_end(&c->decision.events[i]))
			ar_step_close(l, c->decision.events[i].ids[AR_SCOPE_STEP]);
		report(l, &c->decision.events[i]);
		if (c->decision.events[i].type == AR_EV_POLICY_CHANGED)
			ar_policy_changed(l);
		if (is_process_end(&c->decision.events[i]))
			ar_process_close(l, c->decision.events[i].ids[AR_SCOPE_PROCESS]);
		ar_live_reset_idle(l, c->decision.events[i].ids[AR_SCOPE_TURN]);
	}
	if (r == &l->recovery)
		ar_follow_reread(e->o.follow, ar_live_session_key(l), l->state.head);
	else
		ar_follow_publish(e->o.follow, ar_live_session_key(l), c->facts, c->decision.event_count);
	AR_FAULT("engine.after_publish");
	if (r->has_receipt)
		ar_receipts_keep(e, &r->receipt);
	if (r != &l->recovery)
		push_args(l);
	if (c->decision.event_count > 0)
		ar_follow_tenant_grew(e->o.follow, ar_session_tenant(&l->state));
	if (c->append.row) {
		l->has_row = true;
		l->row_active = c->row.active;
		l->row_open = c->row.open;
		ar_due_notice(e, c->row.due);
	}
	l->is_owned = true;
	/* Planned before the answer, which gives back the request that effects name text of; begun
	 * after it, for it is waited for. */
	if (!l->is_released)
		ar_effects_run(l, &c->decision);
	r->reply = c->decision.reply;
	ar_request_finish(r, AR_OK);
	AR_FAULT("engine.after_reply");
	ar_steps_begin(l);
	ar_tools_begin(l);
	ar_hooks_begin(l);
	ar_inspects_begin(l);
	ar_servers_begin(l);
	ar_checkpoints_begin(l);
	ar_sends_begin(l);
	if (c->snapshot.len > 0)
		renew(l);
	ar_watches_wake(e, ar_live_session_key(l), AR_WOKEN_BY_FACT);
}

static void not_committed(struct ar_live *l)
{
	struct ar_commit *c = &l->commit;
	struct ar_engine_request *r = c->request;

	l->engine->is_workspace_in_doubt |= l->state.own && c->append.op.status == AR_E_DOUBT;
	ar_live_forget(l);
	ar_meter_refused(l->engine->o.metrics, c->append.op.status);
	switch (c->append.op.status) {
	case AR_E_EXISTS:
		ar_request_repeat(r, &c->append.found.input, c->append.found.reply);
		return;
	case AR_E_FENCED:
		ar_request_refuse(r, AR_ERR_NOT_OWNER, "this node's epoch is over; nothing was written");
		l->engine->is_stopping = true;
		l->engine->o.on_fenced(l->engine->o.arg);
		return;
	default:
		ar_request_refuse(r, ar_storage_code(c->append.op.status), c->append.op.err.msg);
	}
}

/* A state that a repair lent to a session that was not in memory: it goes, and the session
 * comes back as after any start. */
static bool give_back(struct ar_live *l)
{
	bool is_active;

	if (!l->is_borrowed)
		return false;
	is_active = ar_session_is_active(&l->state);
	ar_live_forget(l);
	l->is_borrowed = l->is_owned = false;
	return is_active && !l->is_released;
}

static void on_append(struct ar_store_op *op)
{
	struct ar_live *l = AR_CONTAINER_OF(op, struct ar_live, commit.append.op);
	struct ar_engine *e = l->engine;
	struct ar_mark_before before = ar_mark_enter(l);

	l->engine->counts.commits--;
	ar_usage_commit_ended(l, op->status == AR_OK);
	l->is_durable = op->status == AR_OK;
	if (l->is_durable)
		committed(l);
	else
		not_committed(l);
	l->is_in_flight = l->is_durable = false;
	ar_commit_reset(&l->commit);
	if (l->is_loaded)
		ar_mark_work(l, ar_mark_is_worked_on(&l->state));
	if (give_back(l))
		ar_live_load(l);
	else
		ar_live_pump(l);
	ar_mark_leave(e, before);
}
