/* What a decision wants done, once its facts are durable. */
#include "engine_priv.h"
#include "process/process_run.h"
#include "send/send_run.h"

/* Something is due later: the next attempt, the end of a question. Comes back as an input. */
struct wake {
	struct ar_list node; /* in the session's wakes */
	struct ar_str turn; /* that has to be silent until then; absent: the time alone counts */
	ar_usec pause, idle_since; /* how long it has to be, and since when it is (monotonic) */
	struct ar_timer timer;
	struct ar_engine_request request;
	struct ar_arena arena;
};

static void wake_free(struct wake *w)
{
	ar_list_del(&w->node);
	ar_arena_fini(&w->arena);
	ar_free(w);
}

static void wake_dropped(struct ar_timer *t)
{
	wake_free(AR_CONTAINER_OF(t, struct wake, timer));
}

static void wake_decided(struct ar_engine_request *r)
{
	struct wake *w = AR_CONTAINER_OF(r, struct wake, request);

	if (r->status != AR_OK && r->err.code == AR_ERR_STORAGE_UNAVAILABLE) {
		ar_timer_start(w->timer.live->engine, &w->timer, AR_STORE_RETRY);
		return;
	}
	wake_free(w);
}

void ar_live_reset_idle(struct ar_live *l, struct ar_str turn)
{
	struct ar_clock *clock = l->engine->o.clock;

	AR_LIST_FOR (it, &l->wakes) {
		struct wake *w = AR_CONTAINER_OF(it, struct wake, node);

		if (!ar_str_absent(w->turn) && ar_str_eq(w->turn, turn))
			w->idle_since = clock->mono(clock);
	}
}

/* Something happened since: the rest of the pause is waited for. A turn that waits for its place among
 * the model calls is not silent. */
static bool was_active(struct wake *w)
{
	struct ar_engine *e = w->timer.live->engine;
	ar_usec due, now = e->o.clock->mono(e->o.clock);

	if (ar_str_absent(w->turn))
		return false;
	if (ar_steps_wait(w->timer.live, w->turn))
		w->idle_since = now;
	due = w->idle_since + w->pause;
	if (now >= due)
		return false;
	ar_timer_start(e, &w->timer, due - now);
	return true;
}

static void wake_due(struct ar_timer *t)
{
	struct wake *w = AR_CONTAINER_OF(t, struct wake, timer);

	if (was_active(w))
		return;
	ar_inbox_push(w->timer.live, &w->request);
}

static void wake_later(struct ar_live *l, const struct ar_effect_wake *effect)
{
	struct wake *w = ar_new0(sizeof(*w));

	w->timer = (struct ar_timer){ .live = l, .fire = wake_due, .drop = wake_dropped };
	w->request.done = wake_decided;
	w->request.input.kind = effect->input;
	w->request.input.due = ar_arena_str(&w->arena, effect->subject);
	w->turn = ar_arena_str(&w->arena, effect->turn);
	w->pause = effect->at - l->commit.request->input.now;
	w->idle_since = l->engine->o.clock->mono(l->engine->o.clock);
	ar_list_push(&l->wakes, &w->node);
	ar_timer_start(l->engine, &w->timer, w->pause);
}

/* One that waits for its time is dropped: a session with timers stays in memory. One that is in the
 * inbox already finds nothing to do. */
static void wake_cancel(struct ar_live *l, struct ar_str subject)
{
	AR_LIST_FOR_SAFE (it, &l->wakes) {
		struct wake *w = AR_CONTAINER_OF(it, struct wake, node);

		if (!ar_str_eq(w->request.input.due, subject) || !ar_timer_stop(&w->timer))
			continue;
		wake_free(w);
		return;
	}
}

static bool begins_call(const struct ar_effect *effect)
{
	return effect->kind == AR_EFFECT_MODEL_CALL || effect->kind == AR_EFFECT_TOOL_CALL ||
	       effect->kind == AR_EFFECT_HOOK_RUN || effect->kind == AR_EFFECT_PROCESS_GO ||
	       effect->kind == AR_EFFECT_INSPECT || effect->kind == AR_EFFECT_SERVERS ||
	       effect->kind == AR_EFFECT_SEND ||
	       (effect->kind == AR_EFFECT_CHECKPOINT && effect->checkpoint.is_waited_for);
}

void ar_effects_run(struct ar_live *l, const struct ar_decision *d)
{
	for (size_t i = 0; i < d->effect_count; i++) {
		const struct ar_effect *effect = &d->effects[i];

		if (l->engine->is_draining && begins_call(effect))
			continue;
		switch (effect->kind) {
		case AR_EFFECT_MODEL_CALL:
			ar_step_plan(l, &effect->model_call);
			break;
		case AR_EFFECT_MODEL_CANCEL:
			ar_step_cancel(l, effect->model_cancel);
			break;
		case AR_EFFECT_TOOL_CALL:
			ar_tool_plan(l, effect);
			break;
		case AR_EFFECT_TOOL_CANCEL:
			ar_tool_cancel(l, effect->tool_cancel);
			break;
		case AR_EFFECT_HOOK_RUN:
			ar_hook_plan(l, &effect->hook_run);
			break;
		case AR_EFFECT_HOOK_CANCEL:
			ar_hook_cancel(l, effect->hook_cancel);
			break;
		case AR_EFFECT_INSPECT:
			ar_inspect_plan(l, &effect->inspect);
			break;
		case AR_EFFECT_SERVERS:
			ar_servers_plan(l, &effect->servers);
			break;
		case AR_EFFECT_WAKE:
			wake_later(l, &effect->wake);
			break;
		case AR_EFFECT_WAKE_CANCEL:
			wake_cancel(l, effect->wake_cancel);
			break;
		case AR_EFFECT_TOOL_ANSWER:
			ar_tool_answer(l, &effect->tool_answer);
			break;
		case AR_EFFECT_PROCESS_GO:
			ar_process_go(l, &effect->process_go);
			break;
		case AR_EFFECT_PROCESS_ATTACH:
			ar_process_attach(l, effect->process_attach);
			break;
		case AR_EFFECT_PROCESS_WRITE:
			ar_process_write(l, &effect->process_write);
			break;
		case AR_EFFECT_PROCESS_END:
			ar_process_end(l, &effect->process_end);
			break;
		case AR_EFFECT_PROCESS_FORGET:
			ar_process_forget(l, effect->process_forget);
			break;
		case AR_EFFECT_CHECKPOINT:
			ar_checkpoint_plan(l, &effect->checkpoint);
			break;
		case AR_EFFECT_CHECKPOINT_CANCEL:
			ar_checkpoint_cancel(l, effect->checkpoint_cancel);
			break;
		case AR_EFFECT_SEND:
			ar_send_plan(l, &effect->send);
			break;
		}
	}
}
