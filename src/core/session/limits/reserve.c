/* See reserve.h. */
#include "limits/reserve.h"
#include "limits/budget.h"
#include "subagent/subagents.h"

#define MILLION 1000000
#define LEAST_OUTPUT 256 /* tokens of an answer that is worth its request */
#define WAIT ((ar_usec)100000) /* until it is tried again */

/* ---- amounts ---- */

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t plus(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* A token that is sent costs the most of what it can: as it is, from a cache or into one. */
static struct ar_price highest(const struct ar_price *p)
{
	struct ar_price most = *p;

	most.input = larger(p->input, larger(p->cached, p->cache_write));
	most.cached = most.cache_write = AR_MONEY_UNKNOWN;
	return most;
}

/* Tokens of an answer that the amount is enough for, after so many were sent; below 0: not even for these. */
static int64_t affordable(const struct ar_price *p, int64_t amount, int64_t input)
{
	__int128 left = (__int128)amount * MILLION - (__int128)input * p->input;

	if (left < 0)
		return -1;
	if (p->output == 0 || left / p->output > INT64_MAX)
		return INT64_MAX;
	return (int64_t)(left / p->output);
}

static int64_t cost_of(const struct ar_price *p, int64_t input, int64_t output)
{
	return ar_price_cost(p, &(struct ar_token_count){ .input = input, .output = output });
}

/* ---- what is left ---- */

struct left {
	int64_t now; /* INT64_MAX: there is no limit */
	int64_t later; /* when the requests that are under way now have ended and cost nothing */
};

/* Set aside by requests of other turns that are under way; only those that use the same budget. */
static int64_t under_way(const struct ar_session *s, const struct ar_turn *turn, bool is_same)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_turn *other = ar_thread_active(s->threads.at[i]);
		const struct ar_step *step = other && other != turn && !ar_str_absent(other->open_step)
						     ? ar_turn_step(other, other->open_step)
						     : NULL;

		if (step && step->reserved.set &&
		    (!is_same || ar_subagents_share(s, turn, other, AR_QUOTA_COST)))
			sum += step->reserved.v;
	}
	return sum;
}

/* Of its own limit and of that which it shares with others. */
static int64_t left_of_turn(const struct ar_decision *d, const struct ar_turn *turn)
{
	int64_t limit = ar_budget_limit(d, turn, AR_QUOTA_COST);
	int64_t own = limit > 0 ? limit - ar_budget_used(d, turn, AR_QUOTA_COST) : INT64_MAX;

	return smaller(own, ar_subagents_available(d, turn, AR_QUOTA_COST));
}

static struct left left_of(const struct ar_decision *d, const struct ar_turn *turn)
{
	int64_t own = left_of_turn(d, turn);
	int64_t session = ar_budget_session_left(d, turn, AR_QUOTA_COST);
	struct left left = { smaller(own, session), INT64_MAX };

	if (left.now < INT64_MAX)
		left.later = smaller(plus(own, under_way(d->session, turn, true)),
				     plus(session, under_way(d->session, turn, false)));
	return left;
}

bool ar_money_is_limited(const struct ar_decision *d, const struct ar_turn *turn)
{
	return left_of_turn(d, turn) < INT64_MAX ||
	       ar_budget_session_left(d, turn, AR_QUOTA_COST) < INT64_MAX;
}

/* Amounts of another currency than the session's are not counted, and cannot be limited. */
static bool is_countable(const struct ar_session *s, const struct ar_model_entry *entry)
{
	return entry->price.input != AR_MONEY_UNKNOWN && entry->price.output != AR_MONEY_UNKNOWN &&
	       (ar_str_absent(s->currency) || ar_str_eq(s->currency, entry->currency));
}

/* ---- reserving ---- */

/* An answer is made shorter only when nothing else will be left later. */
enum ar_hold ar_money_reserve(struct ar_decision *d, struct ar_turn *turn, const struct ar_model_entry *entry,
			      struct ar_reservation *r)
{
	const struct ar_price price = highest(&entry->price);
	struct left left =
		is_countable(d->session, entry) ? left_of(d, turn) : (struct left){ INT64_MAX, INT64_MAX };
	int64_t wanted = r->output.set ? r->output.v : d->input->policy->budget.output_tokens;
	int64_t least = smaller(wanted, LEAST_OUTPUT), now, later;

	if (left.now == INT64_MAX)
		return AR_GO_ON;
	now = affordable(&price, left.now, r->input);
	later = smaller(affordable(&price, left.later, r->input), wanted);
	if (now < wanted && later > now && later >= least) {
		ar_decide_wake(d, AR_IN_RETRY_DUE, turn->id, d->input->now + WAIT);
		return AR_HELD;
	}
	if (now < least)
		return ar_budget_claim(d, turn,
				       (struct ar_spending){ .cost = cost_of(&price, r->input, least) });
	r->output = AR_OPT_INT(smaller(now, wanted));
	r->amount = cost_of(&price, r->input, r->output.v);
	return AR_GO_ON;
}
