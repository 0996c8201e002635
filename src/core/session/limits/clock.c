/* The time that a turn may take, waiting for people included, and the time in which nothing of
 * it happens, while it waits for nobody: wake-ups that end the turn as timed out. Pure. */
#include "action/action.h"
#include "limits/budget.h"
#include "tool/calls.h"

#define MILLISECOND 1000

int64_t ar_budget_ms(const struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_shape_turn_budget *budget = ar_turn_options(turn)->budget;
	int64_t limit = d->input->policy->budget.turn_ms, own = budget ? budget->ms.v : 0;

	return own > 0 && (limit == 0 || own < limit) ? own : limit;
}

static void listen(struct ar_decision *d, const struct ar_turn *turn)
{
	int64_t ms = d->input->policy->budget.inactivity_ms;

	if (ms == 0)
		return;
	ar_decide_effect(d, AR_EFFECT_WAKE)->wake =
		(struct ar_effect_wake){ .input = AR_IN_SILENCE_DUE,
					 .subject = turn->task->id,
					 .turn = turn->id,
					 .at = d->input->now + ms * MILLISECOND };
}

static void set_alarm(struct ar_decision *d, const struct ar_turn *turn, ar_usec started, int64_t ms)
{
	ar_decide_wake(d, AR_IN_BUDGET_DUE, turn->task->id,
		       d->input->now + ms * MILLISECOND - ar_decide_since(d, started));
}

void ar_budget_start_clock(struct ar_decision *d, const struct ar_turn *turn, ar_usec started)
{
	int64_t ms = ar_budget_ms(d, turn);

	listen(d, turn);
	if (ms > 0)
		set_alarm(d, turn, started, ms);
}

void ar_budget_stop_clock(struct ar_decision *d, const struct ar_turn *turn)
{
	if (ar_budget_ms(d, turn) > 0)
		ar_decide_wake_cancel(d, turn->task->id);
	if (d->input->policy->budget.inactivity_ms > 0)
		ar_decide_wake_cancel(d, turn->task->id);
}

static void say_over(struct ar_decision *d, const struct ar_turn *turn, const char *kind, int64_t ms)
{
	ar_turn_emit(d, turn, AR_EV_QUOTA_BLOCKED,
		     &(struct ar_ev_quota_blocked){
			     .quota_kind = ar_str_from(kind),
			     .limit = (double)ms,
			     .scope = &(struct ar_shape_limit_scope){ .turn_id = turn->id } });
}

enum ar_status ar_decide_budget_due(struct ar_decision *d, struct ar_error *err)
{
	struct ar_turn *turn = ar_session_task(d->session, d->input->due);
	int64_t ms = turn ? ar_budget_ms(d, turn) : 0;

	(void)err;
	if (ms == 0 || turn->is_interrupted || !ar_str_absent(turn->outcome))
		return AR_OK;
	if (ar_decide_since(d, turn->started) < ms * MILLISECOND) {
		set_alarm(d, turn, turn->started, ms); /* the clocks of wake-ups and facts differ */
		return AR_OK;
	}
	say_over(d, turn, "turn_ms", ms);
	ar_decide_interrupt_for(d, turn, AR_INTERRUPT_OVERDUE,
				ar_arena_fmt(d->arena, "the turn took longer than its %lld ms",
					     (long long)ms));
	return AR_OK;
}

/* A person, a client that runs a call, or a worker that is away takes the time it takes. */
static bool waits_for_somebody(const struct ar_session *s, const struct ar_turn *turn)
{
	if (ar_turn_is_waiting(s, turn) || turn->waits_worker.v || turn->lost_worker.v)
		return true;
	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *call = ar_call_at(turn, i);

		if (call->stage == AR_CALL_RUNNING && (call->is_client || call->waits.count > 0))
			return true;
	}
	return false;
}

enum ar_status ar_decide_silence_due(struct ar_decision *d, struct ar_error *err)
{
	struct ar_turn *turn = ar_session_task(d->session, d->input->due);
	int64_t ms = d->input->policy->budget.inactivity_ms;

	(void)err;
	if (ms == 0 || !turn || turn->is_interrupted || !ar_str_absent(turn->outcome))
		return AR_OK;
	if (waits_for_somebody(d->session, turn)) {
		listen(d, turn);
		return AR_OK;
	}
	say_over(d, turn, AR_LIMIT_SILENCE, ms);
	ar_decide_interrupt_for(d, turn, AR_INTERRUPT_SILENT,
				ar_arena_fmt(d->arena, "nothing of the turn happened for %lld ms",
					     (long long)ms));
	return AR_OK;
}
