/* After a failure: a provider slowed us down, or another model of the chain answers instead; a
 * fact for each. Pure. */
#include "limits/limits.h"

#define PAUSE_MS 1000 /* when a provider slows us down and does not say for how long */

void ar_limits_throttle(struct ar_decision *d, const struct ar_turn *turn, const struct ar_step *step,
			const struct ar_model_result *end)
{
	struct ar_ids ids = ar_ids_turn(d, turn);
	const struct ar_shape_rate_limit limit = {
		.provider = step->provider,
		.model = step->model,
		.pause_ms = AR_OPT_INT(end->retry_after_ms > 0 ? end->retry_after_ms : PAUSE_MS),
	};

	if (!ar_str_is(end->category, "rate_limited"))
		return;
	ids.at[AR_SCOPE_STEP] = step->id;
	ids.at[AR_SCOPE_MODEL_REQUEST] = step->model_request;
	ids.at[AR_SCOPE_REQUEST] = ar_str_empty(end->request_id) ? step->model_request : end->request_id;
	ar_decide_emit(d, AR_EV_RATE_LIMIT_HIT, &ids,
		       &(struct ar_ev_rate_limit_hit){
			       .source = AR_RATE_LIMIT_HIT_SOURCE_PROVIDER,
			       .limit = &limit,
			       .retry_after_ms = { end->retry_after_ms, end->retry_after_ms > 0 },
			       .request_id = ids.at[AR_SCOPE_REQUEST] });
}

/* A failure that asking the same model again does not heal, at least not soon. */
static bool is_of_the_model(struct ar_str category)
{
	return ar_texts_have(AR_TEXTS(AR_STR("auth"), AR_STR("quota"), AR_STR("not_found"),
				      AR_STR("overloaded"), AR_STR("rate_limited")),
			     category);
}

/* A conversation that is too long for one model may fit into another's window. */
static bool is_larger(const struct ar_model_entry *next, const struct ar_model_entry *now)
{
	return now && now->context_tokens > 0 && next->context_tokens > now->context_tokens;
}

/* The first of the chain that can step in now; what is left of the chain after it. */
static struct ar_choice next_of(struct ar_decision *d, const struct ar_turn *turn, bool must_be_larger,
				struct ar_texts *ret_chain)
{
	const struct ar_policy *policy = d->input->policy;
	const struct ar_model_entry *now =
		ar_routing_find(policy->models, policy->model_count, turn->route->model).entry;
	struct ar_texts chain = turn->route->chain;

	for (size_t i = 0; i < chain.count; i++) {
		struct ar_choice c = ar_routing_find(policy->models, policy->model_count, chain.at[i]);

		if (!c.entry || ar_route_throttled(&d->session->throttles, chain.at[i], d->input->now) ||
		    (must_be_larger && !is_larger(c.entry, now)))
			continue;
		*ret_chain = (struct ar_texts){ chain.at + i + 1, chain.count - i - 1 };
		return c;
	}
	return (struct ar_choice){ 0 };
}

static void step_in(struct ar_decision *d, struct ar_turn *turn, const struct ar_choice *next,
		    struct ar_texts chain, struct ar_str reason)
{
	ar_turn_emit(d, turn, AR_EV_ROUTING_FALLBACK_APPLIED,
		     &(struct ar_ev_routing_fallback_applied){
			     .from = &(struct ar_shape_route_model){ .provider = turn->route->provider,
								     .model = turn->route->model },
			     .to = &(struct ar_shape_route_model){ .provider = next->entry->provider,
								   .model = next->name },
			     .reason = reason,
			     .fallback_chain = chain });
}

bool ar_limits_fall_back(struct ar_decision *d, struct ar_turn *turn, const struct ar_model_result *end,
			 bool is_spent)
{
	bool is_too_long = ar_str_is(end->category, "context_length");
	struct ar_choice next;
	struct ar_texts chain;

	if (!turn->route || !(is_too_long || is_of_the_model(end->category) || (is_spent && end->retryable)))
		return false;
	next = next_of(d, turn, is_too_long, &chain);
	if (!next.entry)
		return false;
	step_in(d, turn, &next, chain, end->category);
	return true;
}
