/* Between the files that decide about tool calls. */
#ifndef AR_SESSION_TOOL_CALLS_H
#define AR_SESSION_TOOL_CALLS_H

#include "decide.h"
#include "peer/remote.h"

static inline struct ar_invocation *ar_call_at(const struct ar_turn *turn, size_t i)
{
	return turn->calls.at[i];
}

#define AR_SAFE_ATTEMPTS 3 /* of a call that changes nothing, or nothing further */

/* Whether a call whose end was lost may be tried again without asking anybody. One that hands work on to a
 * peer looks for that work first, however often. */
static inline bool ar_call_is_safe(const struct ar_invocation *call)
{
	if (ar_str_is(call->category, AR_CATEGORY_CREDENTIAL))
		return false; /* a person is asked */
	return (call->is_read_only || call->is_idempotent ||
		ar_str_is(call->category, AR_CATEGORY_NOT_BEGUN)) &&
	       (call->attempt < AR_SAFE_ATTEMPTS || ar_str_is(call->name, AR_PEER_TOOL));
}

/* offer.c: a call as its tool describes it; as it is when there is no such tool. */
struct ar_invocation ar_call_as_offered(const struct ar_invocation *call, const struct ar_offers *offers);

/* plan_tool.c */
#define AR_PROPOSE_PLAN "propose_plan"
bool ar_turn_plans(const struct ar_turn *turn); /* it was submitted in mode plan */
const struct ar_tool *ar_offers_plan_tool(const struct ar_decision *d,
					  const struct ar_turn *turn); /* NULL: it has none */
struct ar_str ar_plan_question(struct ar_decision *d, struct ar_str args);

/* decide_tool.c */
void ar_decide_start_held(struct ar_decision *d); /* calls of all threads that waited for their files */
struct ar_str ar_decide_next_call_id(struct ar_decision *d, const struct ar_turn *turn,
				     const struct ar_invocation *call); /* for another try */
void ar_decide_run_call(struct ar_decision *d, const struct ar_turn *turn,
			const struct ar_invocation *call); /* the effect */
/* end_tool.c: every way a call ends */
struct ar_call_failure {
	int status; /* of tool.failed */
	struct ar_str category, message, advice;
	struct ar_str text; /* what the tool said; absent: the message is all there is */
	struct ar_str hook_run; /* that stopped it; absent: none did */
	bool retryable;
};
void ar_decide_end_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			const struct ar_tool_result *result, int64_t duration_ms);
void ar_decide_fail_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			 const struct ar_call_failure *why);
void ar_decide_refuse_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			   const char *policy, const struct ar_call_failure *why);
void ar_decide_lose_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call);
/* Nothing of it happened: it is tried again without asking anybody, a few times. */
void ar_decide_begin_again(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			   struct ar_str why);
void ar_decide_ask_about_lost(struct ar_decision *d, const struct ar_turn *turn,
			      const struct ar_invocation *call); /* whether it took effect */
/* Ends the call that was refused for want of a credential, and asks for one; false: nobody is to be asked. */
bool ar_decide_ask_credential(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			      const struct ar_tool_result *r);
struct ar_ids ar_ids_call(struct ar_decision *d, const struct ar_turn *turn,
			  const struct ar_invocation *call);

#endif
