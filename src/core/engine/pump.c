/* The loop of one session: take one input from its inbox, decide, commit, and only then take the next.
 *
 *   inbox -> decide (session/decide.c) -> commit (commit.c) -> durable: publish, reply, act -> inbox
 *
 * Why one at a time. A decision reads the state and changes it. While its facts are on their way to the
 * store nobody knows whether they will be there, so the session is "in flight": it decides nothing and
 * shows nothing. Inputs wait in the inbox and reads wait in `views`. When the store answers, the pump
 * continues. Sessions are independent of each other; throughput comes from many of them sharing one commit
 * of the store.
 *
 * Everything enters through the inbox: commands of clients, ends of model calls, tools and hooks, timers,
 * recovery, repairs. An input that was accepted is decided or refused exactly once.
 *
 * A session that is not in memory is loaded first (load.c). Its first input is then recovery: what the last
 * process left open is taken up before anybody sees the session. A session that moves to another node, or
 * whose state was dropped because an append failed, is loaded again when something arrives for it.
 *
 * A command that is refused may be the repeat of one that was accepted earlier. Its receipt is looked up
 * before the refusal is sent; a receipt that cannot be read refuses nothing for good.
 *
 * pump_once() takes one step; ar_live_pump() repeats it and is not reentrant: a callback that pushes an
 * input while the pump runs only extends the loop. Owner: the loop thread. */
#include "engine_priv.h"
#include "process/process_run.h"
#include "quota/usage.h"
#include "schedule/due.h"
#include "export/export_run.h"
#include "fault.h"
#include "funnel.h"
#include "job/fetch.h"
#include "storage.h"
#include "send/send_run.h"
#include "workspace/policy_run.h"

void ar_request_finish(struct ar_engine_request *r, enum ar_status status)
{
	r->status = status;
	r->done(r);
}

void ar_request_refuse(struct ar_engine_request *r, uint16_t code, const char *message)
{
	ar_request_finish(r, ar_refuse(&r->err, code, "%s", message));
}

/* Whose the session is was looked up before, but one that is being made may turn out to be another's. */
static bool is_foreign(const struct ar_live *l, struct ar_str tenant)
{
	return l->state.head > 0 && !ar_str_absent(tenant) &&
	       !ar_str_eq(ar_session_tenant(&l->state), tenant);
}

static void show_to(const struct ar_live *l, struct ar_engine_view *v)
{
	struct ar_error err;

	if (!is_foreign(l, v->tenant)) {
		v->done(v, &l->state, NULL);
		return;
	}
	ar_refuse(&err, AR_ERR_SESSION_NOT_FOUND, "%s", AR_NO_SESSION);
	v->done(v, NULL, &err);
}

static void show_to_views(struct ar_live *l)
{
	struct ar_list *node;

	while (!l->is_in_flight && l->is_loaded && (node = ar_list_pop(&l->views)))
		show_to(l, AR_CONTAINER_OF(node, struct ar_engine_view, node));
}

/* A refused command may be the repeat of one that was accepted: its receipt decides. That there is none
 * is only known when the store says so; one that cannot be looked up now refuses nothing for good. */
static void on_lookup(struct ar_store_op *op)
{
	struct ar_live *l = AR_CONTAINER_OF(op, struct ar_live, commit.lookup.op);
	struct ar_engine_request *r = l->commit.request;

	l->is_in_flight = false;
	if (op->status == AR_OK)
		ar_request_repeat(r, &l->commit.lookup.found.input, l->commit.lookup.found.reply);
	else if (op->status == AR_E_NOT_FOUND)
		ar_request_finish(r, AR_E_REFUSED);
	else
		ar_request_refuse(r, ar_storage_code(op->status), op->err.msg);
	ar_store_op_fini(op);
	ar_commit_reset(&l->commit);
	ar_live_pump(l);
}

static void look_up_receipt(struct ar_live *l, struct ar_engine_request *r)
{
	l->commit.request = r;
	l->commit.lookup =
		(struct ar_store_receipt_get){ .op = { .kind = AR_STORE_RECEIPT, .done = on_lookup },
					       .scope = r->receipt.scope,
					       .key = r->receipt.key };
	l->is_in_flight = true;
	ar_store_submit(l->engine->o.store, &l->commit.lookup.op);
}

/* What is wanted without a fact needs none before it: a wake-up that the last process would have had. */
static void finish_without_facts(struct ar_live *l, struct ar_engine_request *r, enum ar_status rc)
{
	struct ar_commit *c = &l->commit;

	if (rc == AR_OK && !l->is_released)
		ar_effects_run(l, &c->decision);
	r->reply = c->decision.reply;
	ar_request_finish(r, rc);
	ar_commit_reset(c);
	ar_steps_begin(l);
	ar_tools_begin(l);
	ar_hooks_begin(l);
	ar_inspects_begin(l);
	ar_servers_begin(l);
	ar_checkpoints_begin(l);
	ar_sends_begin(l);
}

/* What decisions about a process have to know of it. */
static void add_standing(struct ar_live *l, struct ar_engine_request *r)
{
	struct ar_input_command *command = &r->input.command;
	const struct ar_cmd_write_process_stdin_in *in;

	if (r->input.kind != AR_IN_COMMAND || command->id != AR_CMD_WRITE_PROCESS_STDIN)
		return;
	in = command->args;
	command->standing = ar_process_standing(l, in->process_id);
}

/* Returns the skew of the clocks, to be kept when the decision has recorded a step. */
static ar_usec set_time(const struct ar_live *l, struct ar_input *in)
{
	struct ar_clock *clock = l->engine->o.clock;
	ar_usec skew;

	in->now = clock->wall(clock);
	skew = in->now - clock->mono(clock);
	in->step = ar_clock_step(l->skew, skew);
	return skew;
}

/* What does something without a fact is on record all the same, before it is done. */
static bool has_audited_effects(const struct ar_engine_request *r, const struct ar_decision *d)
{
	return r->audit && d->effect_count > 0;
}

/* A fact cannot follow what is known: a bug. The state may be half changed, so the
 * session is loaded again. */
static void contradict(struct ar_live *l, struct ar_engine_request *r)
{
	ar_live_forget(l);
	l->is_borrowed = false;
	ar_commit_reset(&l->commit);
	ar_request_refuse(r, AR_ERR_INTERNAL, "the decision contradicts the session; nothing was written");
}

static void decide(struct ar_live *l, struct ar_engine_request *r)
{
	struct ar_engine *e = l->engine;
	const struct ar_receipt_cache_entry *known = r->has_receipt ? ar_receipts_find(e, &r->receipt) : NULL;

	if (is_foreign(l, r->input.tenant)) {
		ar_request_refuse(r, AR_ERR_SESSION_NOT_FOUND, AR_NO_SESSION);
		return;
	}
	if (known) {
		ar_request_repeat(r, &known->input, ar_str_from(known->reply));
		return;
	}
	if (!ar_export_hold(l, r) && !ar_fetch_hold(l, r))
		ar_live_decide(l, r);
}

void ar_live_decide(struct ar_live *l, struct ar_engine_request *r)
{
	struct ar_engine *e = l->engine;
	struct ar_commit *c = &l->commit;
	enum ar_status rc;
	ar_usec skew;

	rc = e->o.redact_inputs ? ar_funnel_command(e, r, &c->arena) : AR_OK;
	if (rc != AR_OK) {
		ar_request_finish(r, rc);
		ar_commit_reset(c);
		return;
	}
	skew = set_time(l, &r->input);
	r->input.policy = ar_engine_policy_of(e, &l->state, &c->arena);
	ar_due_fill_zone(l, &r->input);
	r->input.worker = ar_engine_worker_status(e, &l->state);
	add_standing(l, r);
	ar_usage_fill(l, &r->input);
	r->input.missing =
		(struct ar_missing){ l->contents.missing, l->contents.missing_count, l->contents.is_known };
	AR_FAULT("engine.before_decide");
	rc = ar_session_decide(&l->state, &r->input, e->decide_json, &c->arena, &c->decision, &r->err);
	if (rc == AR_E_CORRUPT) {
		contradict(l, r);
		return;
	}
	ar_usage_changed(l);
	if (r->input.step == 0 || (rc == AR_OK && c->decision.event_count > 0))
		l->skew = skew;
	if (rc != AR_OK && r->has_receipt) {
		look_up_receipt(l, r);
		return;
	}
	c->request = r;
	if (rc != AR_OK || (c->decision.event_count == 0 && r->input.kind != AR_IN_CONTENTS &&
			    !r->has_receipt && !has_audited_effects(r, &c->decision))) {
		finish_without_facts(l, r, rc);
		return;
	}
	ar_commit_start(l);
}

static bool has_waiting(const struct ar_live *l)
{
	return !ar_list_empty(&l->inbox) || !ar_list_empty(&l->views);
}

/* What the store gave is what was true before this process had the session: who looks
 * waits until that is told. */
static bool is_shown(const struct ar_live *l)
{
	return l->inbox.next != &l->recovery.node || l->is_shown_early;
}

/* One thing further; false when there is nothing to do now. */
static bool pump_once(struct ar_live *l)
{
	struct ar_list *node;

	if (l->is_in_flight || l->is_loading || ar_verify_hold(l))
		return false;
	if (l->is_released) {
		ar_live_refuse(l, AR_ERR_NOT_OWNER, "the session moves to another node");
		ar_live_forget(l);
		return false;
	}
	if (!l->is_loaded) {
		if (has_waiting(l))
			ar_live_load(l);
		return false;
	}
	if (is_shown(l))
		show_to_views(l);
	if (ar_usage_hold(l) || ar_policy_hold(l))
		return false;
	node = ar_list_pop(&l->inbox);
	if (node)
		decide(l, AR_CONTAINER_OF(node, struct ar_engine_request, node));
	return node != NULL;
}

void ar_live_pump(struct ar_live *l)
{
	struct ar_engine *e = l->engine;
	struct ar_mark_before before;

	if (l->is_pumping)
		return;
	before = ar_mark_enter(l);
	ar_live_wake(l);
	l->is_pumping = true;
	while (pump_once(l))
		;
	l->is_pumping = false;
	ar_live_settle(l);
	ar_mark_leave(e, before);
}

void ar_inbox_push(struct ar_live *l, struct ar_engine_request *r)
{
	ar_list_push(&l->inbox, &r->node);
	ar_live_pump(l);
}

void ar_engine_write(struct ar_engine *e, struct ar_engine_request *r)
{
	struct ar_live *l;

	if (e->is_stopping) {
		ar_request_refuse(r, AR_ERR_UNAVAILABLE, AR_STOPPING);
		return;
	}
	if (e->counts.commits >= e->o.commit_backlog) {
		ar_request_refuse(r, AR_ERR_OVERLOADED,
				  "too many writes wait for the store; retry after a moment");
		return;
	}
	l = ar_live_get(e, r->session);
	if (r->is_fresh)
		ar_live_begin(l);
	ar_inbox_push(l, r);
}

void ar_engine_look(struct ar_engine *e, struct ar_engine_view *v)
{
	struct ar_live *l = ar_live_get(e, v->session);

	ar_list_push(&l->views, &v->node);
	ar_live_pump(l);
}

const struct ar_session *ar_engine_peek(const struct ar_engine *e, struct ar_str session_key)
{
	const struct ar_live *l = ar_map_get(&e->sessions, session_key);

	return l && l->is_loaded && (!l->is_in_flight || l->is_durable) && l->state.head > 0 ? &l->state
											     : NULL;
}

uint64_t ar_engine_load_of(const struct ar_session *s)
{
	return AR_CONTAINER_OF(s, struct ar_live, state)->load_number;
}

bool ar_engine_is_of(const struct ar_engine *e, struct ar_str session_key, struct ar_str tenant)
{
	const struct ar_live *l = ar_map_get(&e->sessions, session_key);

	return l && l->is_loaded && l->state.head > 0 && ar_str_eq(ar_session_tenant(&l->state), tenant);
}
