/* See routing.h. Pure. */
#include "routing.h"
#include "parts/parts.h"
#include "quotas.h"
#include "limits/money.h"
#include "closed/closed_group.h"

const struct ar_turn *ar_projection_routed_turn(const struct ar_session *s, struct ar_str thread)
{
	const struct ar_turn *newest = NULL;

	ar_closed_groups_seek(s, thread);
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		if (!ar_str_absent(thread) && !ar_str_eq(t->id, thread))
			continue;
		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (turn->route && (!newest || turn->start.v > newest->start.v))
				newest = turn;
		}
	}
	return newest;
}

/* An amount is a number only when every request has a price. */
static void amount(const struct ar_spent *spent, struct ar_jw *w)
{
	struct ar_arena a = { 0 };

	if (spent->unpriced > 0)
		ar_jw_mstr(w, "amount", AR_STR("unknown"));
	else
		ar_jw_mraw(w, "amount", ar_money_text(&a, spent->cost));
	if (spent->unpriced > 0 && spent->cost > 0)
		ar_jw_mraw(w, "knownAmount", ar_money_text(&a, spent->cost));
	ar_arena_fini(&a);
}

static struct ar_str cost_word(const struct ar_spent *spent, struct ar_str estimate)
{
	if (spent->requests > 0)
		return spent->unpriced > 0 ? AR_STR("unknown") : AR_STR("recorded");
	if (ar_str_absent(estimate))
		return AR_STR("not_applicable");
	return ar_str_is(estimate, "\"unknown\"") ? AR_STR("unknown") : AR_STR("estimated");
}

static void cost_state(const struct ar_session *s, const struct ar_spent *spent, struct ar_str estimate,
		       struct ar_jw *w)
{
	ar_jw_key(w, "costState");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", cost_word(spent, estimate));
	ar_jw_mraw(w, "estimated", estimate);
	if (spent->requests > 0) {
		ar_jw_mint(w, "requests", spent->requests);
		ar_jw_mint(w, "inputTokens", spent->input_tokens);
		ar_jw_mint(w, "outputTokens", spent->output_tokens);
		ar_jw_mint(w, "cachedTokens", spent->cached_tokens);
		amount(spent, w);
		ar_jw_mstr(w, "currency", s->currency);
	}
	ar_jw_close(w);
}

/* ---- limits ---- */

/* A limit that was over at the last change is not shown: nothing here knows the time now. */
static bool is_rate_limited(const struct ar_session *s)
{
	for (size_t i = 0; i < s->throttles.count; i++) {
		if (((const struct ar_throttle *)s->throttles.at[i])->until > s->updated)
			return true;
	}
	return false;
}

static void rate_limits(const struct ar_session *s, struct ar_jw *w)
{
	ar_jw_key(w, "rateLimits");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->throttles.count; i++) {
		const struct ar_throttle *t = s->throttles.at[i];

		if (t->until <= s->updated)
			continue;
		ar_jw_open(w);
		ar_jw_mstr(w, "model", t->model);
		ar_jw_mtime(w, "until", t->until);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

/* Calls wait for the end of others because no more may run at once. */
static bool is_crowded(const struct ar_turn *turn)
{
	bool waits = false, runs = false;

	for (size_t i = 0; turn && turn->crowded.v && i < turn->calls.count; i++) {
		const struct ar_invocation *call = turn->calls.at[i];

		waits |= call->stage == AR_CALL_ALLOWED;
		runs |= call->stage == AR_CALL_RUNNING;
	}
	return waits && runs;
}

static bool is_queue_full(const struct ar_thread *t)
{
	return t && t->queue_limit.set && (int64_t)t->queue.count >= t->queue_limit.v;
}

static void queue_limit(const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "queue");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", is_queue_full(t) ? AR_STR("full") : AR_STR("open"));
	ar_jw_mint(w, "length", (int64_t)t->queue.count);
	if (t->queue_limit.set)
		ar_jw_mint(w, "limit", t->queue_limit.v);
	ar_jw_close(w);
}

/* The gravest of all that limit the turn, or nothing. */
static struct ar_str limit_word(const struct ar_session *s, const struct ar_thread *t,
				const struct ar_turn *turn)
{
	struct ar_str quota = ar_projection_quota_word(s, turn);

	if (is_rate_limited(s))
		return AR_STR("rate_limited");
	if (!ar_str_absent(quota))
		return quota;
	if (is_queue_full(t))
		return AR_STR("queue_full");
	return is_crowded(turn) ? AR_STR("parallel_limited") : AR_STR("ok");
}

static void limit_state(const struct ar_session *s, const struct ar_turn *routed, struct ar_jw *w)
{
	const struct ar_thread *t = routed ? ar_session_thread(s, routed->thread) : NULL;
	const struct ar_shape_turn_environment *e = ar_projection_environment_of(s, routed);
	const struct ar_turn *turn = routed && ar_str_absent(routed->outcome) ? routed : NULL;

	ar_jw_key(w, "limitState");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", limit_word(s, t, turn));
	ar_projection_quotas(s, turn, w);
	if (is_rate_limited(s))
		rate_limits(s, w);
	ar_jw_mstr(w, "parallel", is_crowded(turn) ? AR_STR("reached") : AR_STR("ok"));
	if (t)
		queue_limit(t, w);
	if (routed)
		ar_jw_mbool(w, "singleCandidate", routed->route->count == 1);
	ar_jw_mstr(w, "accessMode", e && e->sandbox_profile ? e->sandbox_profile->mode : AR_STR("unknown"));
	ar_jw_close(w);
}

static struct ar_str route_word(const struct ar_route *route)
{
	if (ar_str_absent(route->mode))
		return AR_STR("unknown");
	return ar_str_is(route->mode, "no_candidate") ? AR_STR("blocked") : AR_STR("decided");
}

static void route_members(const struct ar_turn *turn, struct ar_jw *w)
{
	const struct ar_route *r = turn->route;

	ar_jw_mstr(w, "state", route_word(r));
	ar_jw_mstr(w, "turnId", turn->id);
	ar_jw_mstr(w, "routingMode", r->mode);
	ar_jw_mstr(w, "selectedProvider", r->provider);
	ar_jw_mstr(w, "selectedModel", r->model);
	ar_jw_mint(w, "candidateCount", r->count);
	ar_jw_mbool(w, "singleCandidate", r->count == 1);
	ar_jw_mstr(w, "decisionSource", r->source);
	ar_jw_mstr(w, "decisionReason", r->reason);
	ar_jw_mstr(w, "capabilityGap", r->gap);
	ar_jw_mtexts(w, "fallbackChain", r->chain);
	ar_jw_mint(w, "fallbacks", r->fallbacks);
}

void ar_projection_turn_routing(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w)
{
	if (!turn->route)
		return;
	ar_jw_mstr(w, "model", turn->route->model);
	ar_jw_mraw(w, "taskProfile", turn->route->profile);
	ar_jw_mraw(w, "candidateModelSet", turn->route->candidates);
	ar_jw_mraw(w, "routingDecision", turn->route->decision);
	cost_state(s, &turn->spent, turn->route->estimate, w);
}

void ar_projection_thread_routing(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	const struct ar_turn *turn = ar_projection_routed_turn(s, t->id);
	static const struct ar_spent nothing;

	ar_jw_key(w, "modelRouting");
	ar_jw_open(w);
	if (turn)
		route_members(turn, w);
	else
		ar_jw_mstr(w, "state", AR_STR("not_applicable"));
	ar_jw_close(w);
	limit_state(s, turn, w);
	cost_state(s, turn ? &turn->spent : &nothing, turn ? turn->route->estimate : AR_STR_NONE, w);
}

void ar_projection_routing_summary(const struct ar_session *s, struct ar_str thread, struct ar_jw *w)
{
	const struct ar_turn *turn = ar_projection_routed_turn(s, thread);

	ar_jw_key(w, "routingLimitSummary");
	ar_jw_open(w);
	if (turn) {
		route_members(turn, w);
		ar_jw_mraw(w, "taskProfile", turn->route->profile);
	} else {
		ar_jw_mstr(w, "state", AR_STR("not_applicable"));
	}
	cost_state(s, &s->spent, turn ? turn->route->estimate : AR_STR_NONE, w);
	limit_state(s, turn, w);
	ar_jw_close(w);
}
