/* One handler of a hook in flight: fetch what its document names, run it, bring its end back into the
 * session's inbox with secrets masked. Runs are counted as steps: a session with one does not move to
 * another node without waiting for it.
 *
 *   PLANNED -> LOADING -> RUNNING -> ENDED;  a cancel before RUNNING ends without a run. */
#include "engine_priv.h"
#include "fault.h"
#include "funnel.h"
#include "hook_document.h"
#include "identity.h"
#include "request/delivery.h"
#include "trace/trace.h"

enum run_state {
	RUN_PLANNED = 1,
	RUN_LOADING,
	RUN_RUNNING,
	RUN_ENDED,
};

struct ar_live_hook {
	struct ar_list node; /* live's hooks */
	struct ar_live *live;
	struct ar_arena arena;
	enum run_state state;
	bool is_cancelled;
	struct ar_hook_part *parts;
	size_t part_count;
	struct ar_store_blobs_get blobs; /* its result lives as long as the run */
	struct ar_buf document;
	struct ar_hook_run run;
	struct ar_funnel funnel;
	ar_usec started; /* monotonic */
	struct ar_hook_end end;
	struct ar_delivery ended;
};

static void run_free(struct ar_live_hook *h)
{
	ar_list_del(&h->node);
	h->live->engine->counts.steps--;
	h->live->engine->counts.calls--;
	h->live->engine->load[h->live->partition].steps--;
	ar_store_op_fini(&h->blobs.op);
	ar_buf_fini(&h->document);
	ar_funnel_fini(&h->funnel);
	ar_arena_fini(&h->arena);
	ar_free(h);
}

/* ---- the end ---- */

static void end_delivered(struct ar_delivery *d)
{
	run_free(AR_CONTAINER_OF(d, struct ar_live_hook, ended));
}

static void run_end(struct ar_live_hook *h, const struct ar_hook_result *result)
{
	struct ar_live *l = h->live;
	struct ar_clock *clock = l->engine->o.clock;

	if (l->engine->is_stopping)
		return; /* the next start finds the run open and says so */
	AR_FAULT("engine.hook_end");
	h->state = RUN_ENDED;
	h->end.outcome = (int)result->outcome;
	h->end.output = ar_funnel_text(&h->funnel, result->output, &h->arena);
	h->end.size = result->size;
	h->end.message = ar_funnel_text(&h->funnel, result->message, &h->arena);
	h->end.duration_ms = h->started ? (clock->mono(clock) - h->started) / 1000 : 0;
	h->end.masked = ar_funnel_masked(&h->funnel.counts, &h->arena);
	h->ended.over = end_delivered;
	h->ended.request.input = (struct ar_input){ .kind = AR_IN_HOOK_DONE, .hook_done = &h->end };
	ar_delivery_send(l, &h->ended);
}

static void on_done(struct ar_hook_run *r, const struct ar_hook_result *result)
{
	run_end(AR_CONTAINER_OF(r, struct ar_live_hook, run), result);
}

/* ---- the beginning ---- */

/* What the decision may need again is brought back with the end. */
static bool take_texts(struct ar_live_hook *h)
{
	struct ar_text *texts = ar_arena_alloc(&h->arena, (h->blobs.count + 1) * sizeof(*texts));

	for (size_t i = 0; i < h->part_count; i++) {
		struct ar_str bytes;

		if (ar_str_absent(h->parts[i].ref))
			continue;
		bytes = h->blobs.bytes[h->end.text_count];
		if (ar_str_absent(bytes))
			return false;
		texts[h->end.text_count++] = (struct ar_text){ h->parts[i].ref, bytes };
	}
	h->end.texts = texts;
	return true;
}

static void run_now(struct ar_live_hook *h)
{
	struct ar_engine *e = h->live->engine;

	ar_hook_compose(h->parts, h->part_count, h->blobs.bytes, e->o.redactor, e->json, &h->document);
	h->run.input = ar_buf_str(&h->document);
	h->started = e->o.clock->mono(e->o.clock);
	h->state = RUN_RUNNING;
	AR_FAULT("engine.before_hook");
	e->o.hooks->v->start(e->o.hooks, &h->run);
}

static void on_contents(struct ar_store_op *op)
{
	struct ar_live_hook *h = AR_CONTAINER_OF(op, struct ar_live_hook, blobs.op);

	h->live->busy--;
	if (h->live->engine->is_stopping)
		return;
	if (h->is_cancelled)
		run_end(h, &(struct ar_hook_result){ .outcome = AR_HOOK_CANCELLED });
	else if (op->status != AR_OK || !take_texts(h))
		run_end(h, &(struct ar_hook_result){
				   .outcome = AR_HOOK_FAILED,
				   .message = AR_STR("the input of the hook cannot be read") });
	else if (!h->run.handler)
		run_end(h, &(struct ar_hook_result){ .outcome = AR_HOOK_FAILED,
						     .message = AR_STR("this runtime cannot run hooks") });
	else
		run_now(h);
}

static const struct ar_hook_handler *find_handler(const struct ar_engine *e, struct ar_str name)
{
	for (size_t i = 0; e->o.hooks && i < e->o.handler_count; i++) {
		if (ar_str_eq(e->o.handlers[i].name, name))
			return &e->o.handlers[i];
	}
	return NULL;
}

static void copy_parts(struct ar_live_hook *h, const struct ar_effect_hook_run *effect)
{
	struct ar_arena *a = &h->arena;
	struct ar_hash *hashes = ar_arena_alloc(a, (effect->part_count + 1) * sizeof(*hashes));
	struct ar_str session_key;
	size_t count = 0;

	h->parts = ar_arena_alloc(a, (effect->part_count + 1) * sizeof(*h->parts));
	h->part_count = effect->part_count;
	for (size_t i = 0; i < effect->part_count; i++) {
		h->parts[i] = effect->parts[i];
		h->parts[i].literal = ar_arena_str(a, effect->parts[i].literal);
		h->parts[i].ref = ar_arena_str(a, effect->parts[i].ref);
		if (!ar_str_absent(h->parts[i].ref))
			ar_ref_parse(h->parts[i].ref, &session_key, &hashes[count++]);
	}
	h->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_contents },
						.hashes = hashes,
						.count = count };
}

void ar_hook_plan(struct ar_live *l, const struct ar_effect_hook_run *effect)
{
	struct ar_live_hook *h = ar_new0(sizeof(*h));
	struct ar_engine *e = l->engine;
	ar_usec left = effect->deadline - l->commit.request->input.now;

	h->live = l;
	h->state = RUN_PLANNED;
	h->funnel.redactor = e->o.redactor;
	h->end.run = ar_arena_str(&h->arena, effect->run);
	h->run = (struct ar_hook_run){ .handler = find_handler(e, effect->handler),
				       .deadline = e->o.clock->mono(e->o.clock) + left,
				       .on_done = on_done };
	if (e->o.policy->is_traced)
		h->run.trace_parent = ar_trace_parent(&l->state, &h->arena, effect->turn, h->end.run);
	copy_parts(h, effect);
	ar_list_push(&l->hooks, &h->node);
	e->counts.steps++;
	e->counts.calls++;
	e->load[l->partition].steps++;
}

void ar_hooks_begin(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->hooks) {
		struct ar_live_hook *h = AR_CONTAINER_OF(it, struct ar_live_hook, node);

		if (h->state != RUN_PLANNED)
			continue;
		h->state = RUN_LOADING;
		l->busy++;
		ar_store_submit(l->engine->o.store, &h->blobs.op);
	}
}

static void cancel_run(struct ar_live_hook *h)
{
	struct ar_hook_runner *runner = h->live->engine->o.hooks;

	h->is_cancelled = true;
	if (h->state == RUN_RUNNING)
		runner->v->cancel(runner, &h->run);
}

void ar_hook_cancel(struct ar_live *l, struct ar_str run)
{
	AR_LIST_FOR_SAFE (it, &l->hooks) {
		struct ar_live_hook *h = AR_CONTAINER_OF(it, struct ar_live_hook, node);

		if (ar_str_eq(h->end.run, run))
			cancel_run(h);
	}
}

void ar_hooks_release(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->hooks) {
		struct ar_live_hook *h = AR_CONTAINER_OF(it, struct ar_live_hook, node);

		if (h->state == RUN_PLANNED)
			run_free(h);
		else
			cancel_run(h);
	}
}

void ar_hooks_drop(struct ar_live *l)
{
	while (!ar_list_empty(&l->hooks))
		run_free(AR_CONTAINER_OF(l->hooks.next, struct ar_live_hook, node));
}
