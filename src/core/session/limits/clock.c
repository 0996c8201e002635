/* The time that a turn may take: a wake-up at its end, that ends the turn as timed out. Waiting for people counts. Pure. */
#include "limits/budget.h"

#define MILLISECOND 1000

int64_t ar_budget_ms(const struct ar_decision *d, const struct ar_turn *turn)
{
	int64_t limit = d->input->policy->budget.turn_ms, own;
	struct ar_json v;

	if (!ar_str_empty(turn->options) &&
	    ar_json_parse(d->session->json, turn->options, &v, NULL) == AR_OK &&
	    ar_json_i64(ar_json_get(ar_json_get(v, "budget"), "ms"), &own) && own > 0 &&
	    (limit == 0 || own < limit))
		return own;
	return limit;
}

void ar_budget_start_clock(struct ar_draft *w, const struct ar_turn *turn, ar_usec started)
{
	int64_t ms = ar_budget_ms(w->d, turn);
	struct ar_effect *wake;

	if (ms == 0)
		return;
	wake = ar_decide_effect(w->d, AR_EFFECT_WAKE);
	wake->input = AR_IN_BUDGET_DUE;
	wake->subject = turn->task->id;
	wake->at = started + ms * MILLISECOND;
}

void ar_budget_stop_clock(struct ar_draft *w, const struct ar_turn *turn)
{
	if (ar_budget_ms(w->d, turn) > 0)
		ar_decide_effect(w->d, AR_EFFECT_WAKE_CANCEL)->subject = turn->task->id;
}

static void say_over(struct ar_draft *w, const struct ar_turn *turn, int64_t ms)
{
	struct ar_ids ids = ar_ids_turn(w->d, turn);

	ar_decide_emit(w->d, AR_EV_QUOTA_BLOCKED, &ids,
		       &(struct ar_ev_quota_blocked){ .quota_kind = AR_STR("turn_ms"),
						      .limit = (double)ms,
						      .scope = ar_arena_fmt(w->d->arena,
									    "{\"turnId\":\"%.*s\"}",
									    AR_STR_ARG(turn->id)) });
}

enum ar_status ar_decide_budget_due(struct ar_decision *d, struct ar_error *err)
{
	struct ar_turn *turn = ar_session_task(d->session, d->input->subject);
	int64_t ms = turn ? ar_budget_ms(d, turn) : 0;
	const struct ar_thread *t;
	struct ar_draft w;

	(void)err;
	if (ms == 0 || turn->is_interrupted || !ar_str_absent(turn->outcome))
		return AR_OK;
	t = ar_session_thread(d->session, turn->thread);
	w = ar_draft_of(d, t);
	if (d->input->now < turn->started + ms * MILLISECOND) {
		ar_budget_start_clock(&w, turn, turn->started); /* the clocks of wake-ups and facts differ */
		return AR_OK;
	}
	turn = ar_draft_own(&w, turn);
	turn->overdue = AR_OPT_BOOL(true);
	say_over(&w, turn, ms);
	ar_draft_interrupt(&w, turn,
			   ar_arena_fmt(d->arena, "the turn took longer than its %lld ms", (long long)ms));
	return AR_OK;
}
