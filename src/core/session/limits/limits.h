/* What the other decisions ask of limits/: which model a turn's next request goes to, what a
 * call cost, who answers instead. All of them write facts into the decision. */
#ifndef AR_SESSION_LIMITS_LIMITS_H
#define AR_SESSION_LIMITS_LIMITS_H

#include "decide.h"
#include "limits/route.h"

/* Whether the options of a turn name a model that is configured. */
AR_MUST_USE enum ar_status ar_route_check(const struct ar_decision *d,
					  const struct ar_shape_turn_options *options, struct ar_error *err);

/* The model for the next request. The first time in a turn it is decided, with the facts that
 * explain it (profile, candidates, decision, estimate for a request of so many bytes). Held: no
 * model can answer. */
enum ar_hold ar_limits_route(struct ar_decision *d, struct ar_turn *turn, int64_t request_bytes,
			     struct ar_choice *ret);

/* What the call of this step used, if its provider said so or it ended well. */
void ar_limits_record(struct ar_decision *d, struct ar_turn *turn, const struct ar_step *step,
		      const struct ar_model_result *end);

/* Says that a provider slowed us down, if that is how the call of this step ended. */
void ar_limits_throttle(struct ar_decision *d, const struct ar_turn *turn, const struct ar_step *step,
			const struct ar_model_result *end);

/* Whether another model is to be asked at once after this end: because the failure is of a kind
 * that asking the same one again does not heal, or because its attempts are spent. The fact is
 * written and the turn's route is the new one. */
bool ar_limits_fall_back(struct ar_decision *d, struct ar_turn *turn, const struct ar_model_result *end,
			 bool is_spent);

/* decide_cost.c, for decide_route.c: the fact before the first call. */
void ar_limits_estimate(struct ar_decision *d, const struct ar_turn *turn, const struct ar_choice *choice,
			int64_t request_bytes);

/* routing_facts.c: parts of the routing facts, in the decision's arena. */
struct ar_texts ar_routing_capabilities(struct ar_decision *d, unsigned capabilities);
struct ar_shape_route_candidate_list ar_routing_candidates(struct ar_decision *d, const struct ar_routing *r);
struct ar_shape_route_exclusion_list ar_routing_excluded(struct ar_decision *d, const struct ar_routing *r);
struct ar_texts ar_routing_constraints(struct ar_decision *d, const struct ar_need *need);
struct ar_shape_route_gaps ar_routing_gaps(const struct ar_routing *r);
struct ar_texts ar_routing_chain(struct ar_decision *d, const struct ar_routing *r);
struct ar_shape_route_limit ar_routing_limits(const struct ar_decision *d, const struct ar_choice *choice);
struct ar_str ar_routing_words(struct ar_decision *d, unsigned capabilities); /* "vision, json", or none */
struct ar_str ar_routing_price(const struct ar_model_entry *entry); /* priced, or unknown */

#endif
