/* Rows of what model calls used: one for each cost.recorded, which the store adds up (store/usage.h). What a
 * provider claims is cut to what can be added up for ever. Owner: the loop thread. */
#include "index_rows.h"
#include "limits/money.h"
#include "store/usage.h"

#define TOKENS_MOST ((int64_t)1000000000000) /* of one call */
#define COST_MOST (1000000 * AR_MONEY_UNIT)

static int64_t at_most(int64_t v, int64_t most)
{
	if (v < 0)
		return 0;
	return v < most ? v : most;
}

static struct ar_str short_name(struct ar_str name)
{
	return ar_str_absent(name) ? AR_STR_NONE : ar_str_utf8_prefix(name, AR_STORE_USAGE_NAME);
}

/* Of a call that is not in the state any more: absent. */
static struct ar_str model_of(const struct ar_session *s, const struct ar_event *e)
{
	struct ar_thread *thread;
	const struct ar_turn *turn = ar_session_turn(s, e->ids[AR_SCOPE_TURN], &thread);
	const struct ar_step *step = turn ? ar_turn_step(turn, e->ids[AR_SCOPE_STEP]) : NULL;

	return step ? step->model : AR_STR_NONE;
}

static struct ar_store_usage_row row_of(const struct ar_session *s, const struct ar_event *e, ar_usec at)
{
	const struct ar_ev_cost_recorded *p = e->payload;
	int64_t cost = 0;
	bool is_priced = ar_money_parse(p->amount, &cost);

	return (struct ar_store_usage_row){
		.hour = at > 0 ? at / AR_STORE_HOUR : 0,
		.tenant = ar_session_tenant(s),
		.workspace = short_name(s->workspace),
		.model = short_name(model_of(s, e)),
		.currency = is_priced ? short_name(p->currency) : AR_STR_NONE,
		.requests = 1,
		.input_tokens = at_most(p->input_tokens, TOKENS_MOST),
		.output_tokens = at_most(p->output_tokens, TOKENS_MOST),
		.cached_tokens = at_most(p->cached_tokens, TOKENS_MOST),
		.cost = is_priced ? at_most(cost, COST_MOST) : 0,
	};
}

size_t ar_index_usage(const struct ar_session *s, const struct ar_event *events, size_t count, ar_usec at,
		      struct ar_store_usage_row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (events[i].type == AR_EV_COST_RECORDED)
			rows[n++] = row_of(s, &events[i], at);
	}
	return n;
}
