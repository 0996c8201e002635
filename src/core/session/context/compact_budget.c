/* Compaction for the sake of a budget: when the next request would use up the tokens that are
 * left, and a summary together with the shorter request would not. Once per turn, before anybody
 * is asked or the turn is stopped. A summary costs what it tells, so it helps where messages are
 * long: of each it tells a part. Pure. */
#include "context/compact.h"
#include "limits/budget.h"
#include "limits/limits.h"

#define PROMPT_TOKENS 300 /* of the request for a summary, beside what it tells */

/* Tokens of the request for a summary, by our own estimate, which counts a message as it is told. */
static int64_t told_tokens(const struct ar_conversation *c, const struct ar_compact_plan *p)
{
	int64_t tokens = PROMPT_TOKENS + (c->boundary ? ar_context_estimate(c->boundary->bytes) : 0);

	for (size_t i = p->first; i < p->stays; i++)
		tokens += ar_compact_smaller(ar_context_tokens(ar_conversation_message(c, i)),
					     ar_context_estimate(AR_TOLD_BYTES));
	return tokens;
}

/* The summary is paid for twice: as an answer, and in the request. */
static bool is_worth_it(const struct ar_conversation *c, const struct ar_compact_plan *p, int64_t left)
{
	int64_t after = ar_compact_after(c, p->before, p->gone, AR_BUDGET_SUMMARY);

	return ar_compact_is_smaller(after, p->before) &&
	       told_tokens(c, p) + AR_BUDGET_SUMMARY + after <= left;
}

enum ar_hold ar_decide_compact_for_budget(struct ar_conversation *c, struct ar_turn *turn)
{
	int64_t left = ar_budget_tokens_left(c->d, turn);
	struct ar_compact_plan p;
	struct ar_choice choice;

	if (turn->compaction.trigger.set || turn->compaction.budgets.v > 0 || ar_turn_is_system(turn) ||
	    !ar_compact_may_start(c->d, turn))
		return AR_GO_ON;
	if (ar_conversation_select(c).tokens <= left || !ar_compact_plan(c, true, &p) ||
	    !is_worth_it(c, &p, left))
		return AR_GO_ON;
	if (ar_limits_route(c->d, turn, ar_conversation_bytes(c), &choice) == AR_HELD)
		return AR_HELD;
	c->window = choice.entry->context_tokens;
	ar_compact_begin(c, turn, AR_COMPACTION_TRIGGER_BUDGET, &p);
	return AR_HELD;
}
