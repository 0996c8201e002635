/* Facts about routes, costs and rate limits. Pure; see apply.c. */
#include "apply.h"
#include "describe.h"
#include "limits/money.h"

/* The payload as JSON, in the session's memory. */
static struct ar_str payload_of(struct ar_session *s, const struct ar_event *e)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str json;

	ar_struct_encode(&ar_event_describe(e->type)->payload, e->payload, AR_STR_NONE, &w);
	json = ar_apply_keep(s, ar_buf_str(&out));
	ar_buf_fini(&out);
	return json;
}

/* Older turns keep what was chosen; the whole facts are in the log. */
static void forget_old_routes(struct ar_thread *t)
{
	size_t kept = 0;

	for (size_t i = t->turns.count; i > 0; i--) {
		struct ar_route *route = ((struct ar_turn *)t->turns.at[i - 1])->route;

		if (!route || ++kept <= AR_WINDOW_ROUTES)
			continue;
		route->profile = route->candidates = route->decision = AR_STR_NONE;
	}
}

enum ar_status ar_apply_profile(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	turn->route = ar_arena_alloc(&s->arena, sizeof(*turn->route));
	turn->route->profile = payload_of(s, e);
	forget_old_routes(t);
	return AR_OK;
}

/* The one candidate is the first of its set; a decision beside it says the same and more. */
static void take_single(struct ar_session *s, const struct ar_event *e, struct ar_route *route)
{
	const struct ar_ev_routing_single_candidate *p = KEPT(s, e, routing_single_candidate);
	struct ar_json set = ar_apply_parse(s, route->candidates);
	struct ar_str provider = AR_STR_NONE;

	ar_json_str(ar_json_get(ar_json_at(ar_json_get(set, "candidates"), 0), "provider"), &provider);
	route->provider = ar_apply_keep(s, provider);
	route->model = p->selected_model;
	route->mode = AR_STR("single_candidate");
	route->chain = ar_texts_empty;
	route->source = p->decision_source;
	route->reason = p->decision_reason;
	route->gap = p->capability_gap;
	route->decision = payload_of(s, e);
}

static void take_decision(struct ar_session *s, const struct ar_event *e, struct ar_route *route)
{
	const struct ar_ev_routing_decided *p = KEPT(s, e, routing_decided);

	route->provider = p->selected_provider;
	route->model = p->selected_model;
	route->mode = ar_apply_word(e, "routingMode", p->routing_mode);
	route->chain = p->fallback_chain;
	route->source = p->decision_source;
	route->reason = p->decision_reason;
	route->gap = p->capability_gap;
	route->decision = payload_of(s, e);
}

static void take_fallback(struct ar_session *s, const struct ar_event *e, struct ar_route *route)
{
	const struct ar_ev_routing_fallback_applied *p = KEPT(s, e, routing_fallback_applied);

	if (p->to) {
		route->provider = p->to->provider;
		route->model = p->to->model;
	}
	route->chain = p->fallback_chain;
	route->source = AR_STR("runtime_fallback");
	route->reason = p->reason;
	route->fallbacks++;
}

enum ar_status ar_apply_routing(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_route *route = turn ? turn->route : NULL; /* NULL: its profile was never told */

	if (!route)
		return ar_apply_unknown(err, e, "turn");
	switch ((int)e->type) {
	case AR_EV_ROUTING_CANDIDATES_RESOLVED:
		route->candidates = payload_of(s, e);
		route->count = PAYLOAD(e, routing_candidates_resolved)->candidate_count;
		break;
	case AR_EV_ROUTING_SINGLE_CANDIDATE:
		take_single(s, e, route);
		break;
	case AR_EV_ROUTING_DECIDED:
		take_decision(s, e, route);
		break;
	case AR_EV_ROUTING_NOT_POSSIBLE:
		route->mode = AR_STR("no_candidate");
		route->reason = ar_apply_keep(s, PAYLOAD(e, routing_not_possible)->reason);
		route->decision = payload_of(s, e);
		break;
	case AR_EV_ROUTING_FALLBACK_APPLIED:
		take_fallback(s, e, route);
		break;
	case AR_EV_COST_ESTIMATED:
		route->estimate = ar_apply_keep(s, PAYLOAD(e, cost_estimated)->amount);
		break;
	}
	return AR_OK;
}

/* ---- money ---- */

static void spend(struct ar_spent *spent, const struct ar_ev_cost_recorded *p, int64_t amount)
{
	spent->requests++;
	spent->input_tokens += p->input_tokens;
	spent->output_tokens += p->output_tokens;
	spent->cached_tokens += p->cached_tokens;
	if (amount == AR_MONEY_UNKNOWN)
		spent->unpriced++;
	else
		spent->cost += amount;
}

static void add(struct ar_opt_int *sum, int64_t change)
{
	*sum = AR_OPT_INT(sum->v + change);
}

void ar_apply_reserve(struct ar_session *s, struct ar_turn *turn, struct ar_step *step, int64_t amount)
{
	int64_t change = amount - step->reserved.v;

	if (change == 0)
		return;
	step->reserved = (struct ar_opt_int){ amount, amount > 0 };
	add(&turn->spent.reserved, change);
	add(&s->spent.reserved, change);
	ar_apply_subagent_spent(s, turn->thread, (struct ar_subagent_use){ .reserved = change });
}

/* The step of a model call; NULL: it left the window. */
static struct ar_step *step_of_request(const struct ar_turn *turn, struct ar_str request)
{
	return ar_vec_last_with(&turn->steps, offsetof(struct ar_step, model_request), request);
}

/* Amounts of another currency than the first one's cannot be added; they count as unknown. */
static int64_t amount_of(struct ar_session *s, const struct ar_ev_cost_recorded *p)
{
	int64_t amount;

	if (!ar_money_parse(p->amount, &amount))
		return AR_MONEY_UNKNOWN;
	if (ar_str_absent(s->currency))
		s->currency = ar_apply_keep(s, p->currency);
	return ar_str_eq(s->currency, p->currency) ? amount : AR_MONEY_UNKNOWN;
}

/* The newest day only. A clock that was set back does not bring the day before back. */
static void count_day(struct ar_day_spent *day, const struct ar_ev_cost_recorded *p, int64_t amount)
{
	if (!p->day.set)
		return;
	if (!day->number.set || p->day.v > day->number.v)
		*day = (struct ar_day_spent){ AR_OPT_INT(p->day.v), AR_OPT_INT(0), AR_OPT_INT(0) };
	day->tokens.v += p->input_tokens + p->output_tokens;
	if (amount != AR_MONEY_UNKNOWN)
		day->cost.v += amount;
}

enum ar_status ar_apply_cost_recorded(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_cost_recorded *p = PAYLOAD(e, cost_recorded);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_step *step = turn ? step_of_request(turn, e->ids[AR_SCOPE_MODEL_REQUEST]) : NULL;
	int64_t amount = amount_of(s, p);

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	if (step && amount != AR_MONEY_UNKNOWN)
		ar_apply_reserve(s, turn, step, 0);
	spend(&turn->spent, p, amount);
	ar_apply_subagent_spent(s, turn->thread,
				(struct ar_subagent_use){ .tokens = p->input_tokens + p->output_tokens,
							  .cost = amount > 0 ? amount : 0 });
	spend(&s->spent, p, amount);
	count_day(&s->day, p, amount);
	return AR_OK;
}

/* ---- rate limits ---- */

/* One per model: its own, or the place of one that is over, or of the oldest. */
static struct ar_throttle *throttle_for(struct ar_session *s, struct ar_str model, ar_usec now)
{
	struct ar_throttle *t = ar_vec_last_with(&s->throttles, offsetof(struct ar_throttle, model), model);

	if (t)
		return t;
	for (size_t i = s->throttles.count; i > 0; i--) {
		struct ar_throttle *other = s->throttles.at[i - 1];

		if (other->until <= now)
			t = other;
	}
	if (!t && s->throttles.count >= AR_THROTTLES_MAX)
		t = s->throttles.at[0];
	if (!t) {
		t = ar_arena_alloc(&s->arena, sizeof(*t));
		ar_vec_push(&s->arena, &s->throttles, t);
	}
	t->model = ar_apply_keep(s, model);
	return t;
}

enum ar_status ar_apply_rate_limit(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_shape_rate_limit *limit = PAYLOAD(e, rate_limit_hit)->limit;

	(void)err;
	if (!limit || ar_str_absent(limit->model))
		return AR_OK;
	throttle_for(s, limit->model, e->time)->until = e->time + limit->pause_ms.v * 1000;
	return AR_OK;
}
