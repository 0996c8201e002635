/* The guard against a turn that makes no progress: the same tool, the same arguments, the same
 * answer, again and again. Pure. */
#include "limits/budget.h"

void ar_guard_count(struct ar_repeat *r, const struct ar_invocation *call)
{
	bool is_same = ar_str_eq(r->name, call->name) && ar_str_eq(r->args_ref, call->args_ref) &&
		       ar_str_eq(r->answer_ref, call->answer_ref);

	*r = (struct ar_repeat){ .name = call->name,
				 .args_ref = call->args_ref,
				 .answer_ref = call->answer_ref,
				 .count = AR_OPT_INT(is_same ? r->count.v + 1 : 1) };
}

enum ar_hold ar_guard_check(struct ar_decision *d, struct ar_turn *turn)
{
	int64_t most = d->input->policy->budget.repeats;
	const struct ar_repeat *r = &turn->repeat;

	if (most <= 0 || r->count.v < most)
		return AR_GO_ON;
	ar_decide_fail(
		d, turn,
		&(struct ar_ending){
			.status = AR_TURN_FAILED_STATUS_FAILED,
			.category = AR_STR("no_progress"),
			.message = ar_arena_fmt(d->arena,
						"the tool '%.*s' was called %lld times in a row with the "
						"same arguments (%.*s) and gave the same answer (%.*s)",
						AR_STR_ARG(r->name), (long long)r->count.v,
						AR_STR_ARG(r->args_ref), AR_STR_ARG(r->answer_ref)),
			.advice = AR_STR("read the arguments and the answer, say what to do differently, "
					 "submit again; guard.repeats sets how often is too often") });
	return AR_HELD;
}
