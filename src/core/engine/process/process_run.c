/* See process_run.h. What comes from the host goes to the session as inputs, one at a time and in
 * order, each until the store has taken it; no command is started before it is on record; the call gets
 * the end when that is on record. */
#include "process/process_priv.h"
#include "fault.h"
#include "process/record.h"

#include <string.h>

static const struct ar_process_vtable callbacks;

/* ---- life ---- */

struct ar_process_host *ar_process_host_of(const struct ar_live_process *p)
{
	return p->live->engine->o.processes;
}

struct ar_live_process *ar_process_new(struct ar_live *l, struct ar_str call)
{
	struct ar_live_process *p = ar_new0(sizeof(*p));
	const struct ar_engine_options *o = &l->engine->o;

	p->live = l;
	p->port.v = &callbacks;
	p->call = ar_arena_str(&p->arena, call);
	ar_list_init(&p->end_timer.node);
	ar_list_init(&p->items);
	ar_list_init(&p->inputs);
	ar_process_output_init(&p->output, o, (size_t)o->policy->process_output_bytes);
	ar_list_push(&l->processes, &p->node);
	return p;
}

static void item_free(struct ar_process_item *item)
{
	ar_list_del(&item->node);
	ar_arena_fini(&item->arena);
	ar_free(item);
}

/* What waits to be sent again is not. */
static void stop_timers(struct ar_live_process *p)
{
	ar_delivery_stop(&p->ready);
	ar_delivery_stop(&p->first);
	ar_timer_stop(&p->end_timer);
	if (p->is_write_set)
		ar_timer_stop(&p->write_again);
	p->is_write_set = false;
}

static void process_free(struct ar_live_process *p)
{
	stop_timers(p);
	while (!ar_list_empty(&p->items))
		item_free(AR_CONTAINER_OF(p->items.next, struct ar_process_item, node));
	ar_process_inputs_drop(p);
	ar_process_output_fini(&p->output);
	ar_store_op_fini(&p->blobs.op);
	ar_list_del(&p->node);
	ar_arena_fini(&p->arena);
	ar_free(p);
}

void ar_process_settle(struct ar_live_process *p)
{
	if (p->is_held || p->ready.is_open || p->first.is_open || p->busy > 0 || !p->is_over || !p->is_told)
		return;
	process_free(p);
}

struct ar_live_process *ar_process_find(struct ar_live *l, struct ar_str id)
{
	AR_LIST_FOR (it, &l->processes) {
		struct ar_live_process *p = AR_CONTAINER_OF(it, struct ar_live_process, node);

		if (!ar_str_absent(p->id) && ar_str_eq(p->id, id))
			return p;
	}
	return NULL;
}

/* The one that its call is waiting for. */
static struct ar_live_process *find_of(struct ar_live *l, struct ar_str call)
{
	AR_LIST_FOR (it, &l->processes) {
		struct ar_live_process *p = AR_CONTAINER_OF(it, struct ar_live_process, node);

		if (!p->is_told && ar_str_eq(p->call, call))
			return p;
	}
	return NULL;
}

/* ---- its call ---- */

/* The call may end with this, and the process be freed: nothing of either is touched afterwards. */
void ar_process_deliver_end(struct ar_live_process *p)
{
	struct ar_process_result r = { .process_id = p->id,
				       .end = &p->over.end,
				       .output = ar_str_absent(p->over.text) ? AR_STR("") : p->over.text,
				       .is_truncated = p->over.is_truncated,
				       .is_binary = p->over.is_binary,
				       .violations = p->violations,
				       .violation_count = p->violation_count };

	if (p->is_told)
		return;
	p->busy++; /* the call's end may bring us back here */
	p->is_told = true;
	if (!ar_tool_process_ended(p->live, p->call, &r))
		p->is_told = false;
	p->busy--;
}

void ar_process_claim(struct ar_live *l, struct ar_str call)
{
	struct ar_live_process *p = find_of(l, call);

	if (!p || !p->is_over)
		return;
	ar_process_deliver_end(p);
	ar_process_settle(p);
}

void ar_process_unclaim(struct ar_live *l, struct ar_str call)
{
	struct ar_live_process *p = find_of(l, call);

	if (!p || !p->is_over)
		return;
	p->is_told = true;
	ar_process_settle(p);
}

/* ---- to the session ---- */

static void send_first(struct ar_live_process *p);

/* Its end is on record, or never will be. */
static void conclude(struct ar_live_process *p)
{
	p->is_over = true;
	ar_process_deliver_end(p);
}

static void first_delivered(struct ar_delivery *d)
{
	struct ar_live_process *p = AR_CONTAINER_OF(d, struct ar_live_process, first);
	struct ar_process_item *item = AR_CONTAINER_OF(p->items.next, struct ar_process_item, node);
	bool is_end = item->is_end;

	if (d->is_dropped)
		return;
	item_free(item);
	if (is_end)
		conclude(p);
	else
		send_first(p);
	ar_process_settle(p);
}

static void send_first(struct ar_live_process *p)
{
	struct ar_process_item *item;

	if (p->first.is_open || p->ready.is_open || ar_str_absent(p->id) || ar_list_empty(&p->items))
		return;
	item = AR_CONTAINER_OF(p->items.next, struct ar_process_item, node);
	item->told.process = p->over.process = p->id;
	p->first = (struct ar_delivery){ .over = first_delivered };
	if (item->is_end)
		p->first.request.input =
			(struct ar_input){ .kind = AR_IN_PROCESS_END, .process_end = &p->over };
	else
		p->first.request.input =
			(struct ar_input){ .kind = AR_IN_PROCESS_REPORT, .process_report = &item->told };
	if (item->is_end)
		AR_FAULT("engine.process_end");
	ar_delivery_send(p->live, &p->first);
}

static struct ar_process_item *add_item(struct ar_live_process *p)
{
	struct ar_process_item *item = ar_new0(sizeof(*item));

	ar_list_push(&p->items, &item->node);
	return item;
}

/* ---- from the host ---- */

static struct ar_str clean(struct ar_live_process *p, struct ar_str text)
{
	return ar_str_absent(text) ? AR_STR_NONE : ar_funnel_text(&p->output.funnel, text, &p->arena);
}

/* Without a GO nothing runs: it was not put on record, or its call is over. */
static void end_declined(struct ar_live_process *p)
{
	struct ar_process_host *host = ar_process_host_of(p);

	if (p->has_ended) {
		conclude(p);
		return;
	}
	p->is_ending = true;
	host->v->end(host, &p->port, AR_STR("parent_cancellation"), AR_STR("its tool call is over"), 0);
}

static void ready_delivered(struct ar_delivery *d)
{
	struct ar_live_process *p = AR_CONTAINER_OF(d, struct ar_live_process, ready);

	if (d->is_dropped)
		return;
	if (ar_str_absent(p->id) && (p->is_held || p->has_ended))
		end_declined(p);
	else if (ar_str_absent(p->id))
		p->is_over = p->is_told = true; /* it was left: the session moves */
	else
		send_first(p);
	ar_process_settle(p);
}

static void on_ready(struct ar_process *port, const struct ar_process_ready *r)
{
	struct ar_live_process *p = AR_CONTAINER_OF(port, struct ar_live_process, port);

	if (p->live->engine->is_stopping)
		return;
	AR_FAULT("engine.process_ready");
	p->handle = ar_arena_str(&p->arena, r->handle);
	p->launched.ready = (struct ar_process_ready){ .handle = p->handle,
						       .cwd = clean(p, r->cwd),
						       .read_roots = clean(p, r->read_roots),
						       .write_roots = clean(p, r->write_roots),
						       .environment = clean(p, r->environment),
						       .limits = clean(p, r->limits),
						       .boundary = clean(p, r->boundary) };
	p->launched.masked = ar_funnel_masked(&p->output.funnel.counts, &p->arena);
	memset(&p->output.funnel.counts, 0, sizeof(p->output.funnel.counts));
	p->ready.over = ready_delivered;
	p->ready.request.input =
		(struct ar_input){ .kind = AR_IN_PROCESS_READY, .process_ready = &p->launched };
	ar_delivery_send(p->live, &p->ready);
}

/* What it wrote so far can be read by its ref before its call has ended. */
static void tell_call(struct ar_live_process *p, enum ar_process_stream stream)
{
	const struct ar_kept_stream *s = &p->output.streams[stream];
	const struct ar_partial_output partial = { p->id, (int)stream, p->shown[stream] };

	if (s->is_open && s->frames.pos > partial.offset && ar_tool_partial(p->live, p->call, &partial))
		p->shown[stream] = s->frames.pos;
}

static void on_output(struct ar_process *port, enum ar_process_stream stream, struct ar_str bytes)
{
	struct ar_live_process *p = AR_CONTAINER_OF(port, struct ar_live_process, port);

	if (p->live->engine->is_stopping)
		return;
	ar_live_reset_idle(p->live, p->turn);
	ar_process_output_add(&p->output, stream, bytes);
	tell_call(p, stream);
}

/* Bytes that the host did not keep: those that follow are at a later place. */
static void skip_output(struct ar_live_process *p, const struct ar_process_report *r)
{
	struct ar_str word = AR_STR_NONE;
	int64_t from = 0, to = 0;
	struct ar_json v;

	if (ar_json_parse(p->live->engine->json, r->detail, &v, NULL) != AR_OK)
		return;
	ar_json_str(ar_json_get(v, "stream"), &word);
	ar_json_i64(ar_json_get(v, "from"), &from);
	ar_json_i64(ar_json_get(v, "to"), &to);
	if (to > from)
		ar_process_output_skip(&p->output,
				       ar_str_is(word, "stdout")   ? AR_PROC_STDOUT
				       : ar_str_is(word, "stderr") ? AR_PROC_STDERR
								   : AR_PROC_TTY,
				       (uint64_t)(to - from));
}

static void on_report(struct ar_process *port, const struct ar_process_report *r)
{
	struct ar_live_process *p = AR_CONTAINER_OF(port, struct ar_live_process, port);
	struct ar_process_item *item;

	if (p->live->engine->is_stopping || p->has_ended || r->kind == AR_PROC_INPUT_WRITTEN)
		return;
	if (r->kind == AR_PROC_TRUNCATED) {
		skip_output(p, r);
		return;
	}
	item = add_item(p);
	item->told.report = *r;
	item->told.report.detail =
		ar_arena_str(&item->arena, ar_redact(p->output.funnel.redactor, r->detail, &item->arena,
						     &p->output.funnel.counts));
	if (r->kind == AR_PROC_VIOLATION && p->violation_count < AR_PROCESS_VIOLATIONS)
		p->violations[p->violation_count++] = ar_arena_str(&p->arena, item->told.report.detail);
	send_first(p);
}

static void keep_end(struct ar_live_process *p, const struct ar_process_end *e)
{
	ar_process_output_end(&p->output);
	p->over.end = *e;
	p->over.end.signal = clean(p, e->signal);
	p->over.end.by = clean(p, e->by);
	p->over.end.reason = clean(p, e->reason);
	p->over.end.step = clean(p, e->step);
	p->over.end.message = clean(p, e->message);
	ar_process_output_fill(&p->output, &p->arena, &p->over);
}

/* One that was never put on record has no end there either. */
static void process_ended(struct ar_live_process *p, const struct ar_process_end *e)
{
	p->has_ended = true;
	keep_end(p, e);
	if (p->ready.is_open)
		return; /* then its fate is known */
	if (ar_str_absent(p->id)) {
		conclude(p);
		ar_process_settle(p);
		return;
	}
	add_item(p)->is_end = true;
	send_first(p);
}

static void on_end(struct ar_process *port, const struct ar_process_end *e)
{
	struct ar_live_process *p = AR_CONTAINER_OF(port, struct ar_live_process, port);

	p->is_held = false;
	if (!p->live->engine->is_stopping)
		process_ended(p, e);
}

static const struct ar_process_vtable callbacks = { .on_ready = on_ready,
						    .on_attached = ar_process_on_attached,
						    .on_output = on_output,
						    .on_report = on_report,
						    .on_written = ar_process_on_written,
						    .on_end = on_end };

/* ---- beginning ---- */

static void on_end_timer(struct ar_timer *t)
{
	struct ar_live_process *p = AR_CONTAINER_OF(t, struct ar_live_process, end_timer);

	conclude(p);
	ar_process_settle(p);
}

/* There is nobody to ask: the end comes as from a host, after we returned. */
static void end_without_host(struct ar_live_process *p, enum ar_process_outcome outcome)
{
	p->has_ended = true;
	keep_end(p, &(struct ar_process_end){ .outcome = outcome,
					      .step = AR_STR("host"),
					      .message = AR_STR("this runtime runs no processes") });
	if (ar_str_absent(p->id)) {
		p->end_timer.live = p->live;
		p->end_timer.fire = on_end_timer;
		ar_timer_start(p->live->engine, &p->end_timer, 0);
		return;
	}
	add_item(p)->is_end = true;
	send_first(p);
}

void ar_process_launch(struct ar_live *l, struct ar_str call, const struct ar_process_spec *spec)
{
	struct ar_live_process *p = ar_process_new(l, call);
	struct ar_process_host *host = ar_process_host_of(p);
	struct ar_str *argv = ar_arena_alloc(&p->arena, (spec->argc + 1) * sizeof(*argv));

	for (size_t i = 0; i < spec->argc; i++)
		argv[i] = clean(p, spec->argv[i]);
	p->tty = spec->tty;
	p->launched = (struct ar_process_launched){ .call = p->call,
						    .command = clean(p, spec->command),
						    .justification = clean(p, spec->justification),
						    .argv = argv,
						    .argc = spec->argc,
						    .profile = (int)spec->profile,
						    .tty = spec->tty,
						    .has_input = spec->has_input };
	if (!host) {
		end_without_host(p, AR_PROC_NOT_STARTED);
		return;
	}
	p->is_held = true;
	host->v->launch(host, &p->port, spec);
}

static void open_output(struct ar_live_process *p, struct ar_str id)
{
	struct ar_live *l = p->live;
	const struct ar_process_record *r = ar_session_process(&l->state, id);
	struct ar_str ids[AR_SCOPE_COUNT] = { 0 };

	p->id = p->port.id = ar_arena_str(&p->arena, id);
	ids[AR_SCOPE_PROCESS] = p->id;
	ids[AR_SCOPE_TOOL_CALL] = p->call;
	ids[AR_SCOPE_THREAD] = ar_arena_str(&p->arena, r->thread);
	p->turn = ids[AR_SCOPE_TURN] = ar_arena_str(&p->arena, r->turn);
	ids[AR_SCOPE_STEP] = ar_arena_str(&p->arena, r->step);
	ar_process_output_open(&p->output, ar_live_session_key(l), ids, p->tty, l->state.head);
}

void ar_process_go(struct ar_live *l, const struct ar_effect_process_go *effect)
{
	struct ar_live_process *p = find_of(l, effect->call);
	struct ar_process_host *host;

	if (!p || !ar_str_absent(p->id))
		return;
	host = ar_process_host_of(p);
	open_output(p, effect->process);
	if (p->has_ended) {
		add_item(p)->is_end = true; /* sent when the request that brought us here is over */
	} else if (p->is_held && !p->is_ending) {
		AR_FAULT("engine.before_go");
		p->is_reached = true;
		host->v->go(host, &p->port);
	}
	ar_tool_process_began(l, p->call, p->id);
}

void ar_process_attach(struct ar_live *l, const struct ar_process_record *record)
{
	struct ar_live_process *p = ar_process_find(l, record->id);
	struct ar_process_host *host;

	if (p)
		return; /* it is in hand: only the session was loaded again */
	p = ar_process_new(l, record->call);
	host = ar_process_host_of(p);
	p->tty = record->tty;
	p->is_closed = record->is_closed;
	p->handle = ar_arena_str(&p->arena, record->handle);
	open_output(p, record->id);
	if (!host) {
		end_without_host(p, AR_PROC_UNAVAILABLE);
		return;
	}
	ar_process_inputs_find(p, record);
	p->is_held = true;
	host->v->attach(host, &p->port, p->handle);
}

/* It may still stand at its barrier, when the one before us died there: a second GO changes nothing. */
void ar_process_reached(struct ar_live_process *p)
{
	struct ar_process_host *host = ar_process_host_of(p);

	if (p->is_ending)
		host->v->end(host, &p->port, p->end_by, p->end_reason, p->end_grace);
	else
		host->v->go(host, &p->port);
}

/* ---- ending ---- */

/* One that is being attached is notified afterwards. */
static void end_it(struct ar_live_process *p, struct ar_str by, struct ar_str reason, int64_t grace_ms)
{
	struct ar_process_host *host = ar_process_host_of(p);
	bool is_found = p->is_reached || !ar_str_absent(p->launched.call);

	if (!p->is_held)
		return;
	p->is_ending = true;
	p->end_by = ar_arena_str(&p->arena, by);
	p->end_reason = ar_arena_str(&p->arena, reason);
	p->end_grace = grace_ms;
	if (is_found)
		host->v->end(host, &p->port, p->end_by, p->end_reason, grace_ms);
}

void ar_process_end(struct ar_live *l, const struct ar_effect_process_end *effect)
{
	struct ar_live_process *p = ar_process_find(l, effect->process);
	struct ar_process_host *host;

	if (!p)
		return;
	host = ar_process_host_of(p);
	if (!ar_str_empty(effect->signal) && p->is_held && p->is_reached)
		host->v->signal(host, &p->port, effect->signal);
	end_it(p, effect->by, effect->reason, effect->grace_ms);
}

bool ar_process_end_of(struct ar_live *l, struct ar_str call, struct ar_str by, struct ar_str reason)
{
	struct ar_live_process *p = find_of(l, call);

	if (!p)
		return false;
	end_it(p, by, reason, l->engine->o.policy->process_grace_ms);
	return true;
}

void ar_process_forget(struct ar_live *l, struct ar_str handle)
{
	struct ar_process_host *host = l->engine->o.processes;

	if (host)
		host->v->forget(host, handle);
}

void ar_process_close(struct ar_live *l, struct ar_str id)
{
	struct ar_live_process *p = ar_process_find(l, id);

	if (p)
		ar_process_output_close(&p->output);
}

struct ar_process_standing ar_process_standing(struct ar_live *l, struct ar_str id)
{
	const struct ar_live_process *p = ar_process_find(l, id);

	if (!p)
		return (struct ar_process_standing){ 0 };
	return (struct ar_process_standing){
		.is_reached = p->is_reached && !p->has_ended,
		.is_closed = p->is_closed,
		.taken = p->taken,
		.stream = p->tty ? AR_PROC_TTY : AR_PROC_STDOUT,
		.written = p->output.streams[p->tty ? AR_PROC_TTY : AR_PROC_STDOUT].frames.pos
	};
}

/* ---- leaving ---- */

/* Those that are to end with the runtime get the request on the way. */
static void leave_process(struct ar_live_process *p)
{
	const struct ar_engine *e = p->live->engine;
	struct ar_process_host *host = ar_process_host_of(p);

	if (!p->is_held)
		return;
	p->is_held = false;
	if (e->is_final_shutdown && e->o.ends_processes)
		host->v->end(host, &p->port, AR_STR("shutdown"), AR_STR("the runtime is stopping"),
			     e->o.policy->process_grace_ms);
	host->v->leave(host, &p->port);
}

void ar_processes_release(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->processes) {
		struct ar_live_process *p = AR_CONTAINER_OF(it, struct ar_live_process, node);

		leave_process(p);
		ar_process_output_close(&p->output);
		stop_timers(p);
		p->is_over = p->is_told = true; /* for us */
		ar_process_settle(p);
	}
}

void ar_processes_leave(struct ar_live *l)
{
	AR_LIST_FOR (it, &l->processes)
		leave_process(AR_CONTAINER_OF(it, struct ar_live_process, node));
}

void ar_processes_drop(struct ar_live *l)
{
	while (!ar_list_empty(&l->processes)) {
		struct ar_live_process *p = AR_CONTAINER_OF(l->processes.next, struct ar_live_process, node);

		leave_process(p);
		process_free(p);
	}
}
