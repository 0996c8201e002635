/* Chains: the handlers of one hook point that were asked about one thing, and what they came to. Pure. */
#include "hook/hooks.h"

static struct ar_hook_chain *chain_at(const struct ar_turn *turn, size_t i)
{
	return turn->hooks.at[i];
}

struct ar_str ar_hook_subject(const struct ar_turn *turn, const struct ar_invocation *call,
			      enum ar_hook_point point)
{
	const struct ar_step *step = ar_turn_last_step(turn);

	if (call)
		return call->id;
	return (point == AR_AT_POST_SAMPLING || point == AR_AT_STOP) && step ? step->id : AR_STR_NONE;
}

struct ar_hook_chain *ar_hook_chain(const struct ar_turn *turn, int64_t point, struct ar_str subject)
{
	for (size_t i = 0; i < turn->hooks.count; i++) {
		struct ar_hook_chain *chain = chain_at(turn, i);

		if (chain->point == point && ar_str_eq(chain->subject, subject))
			return chain;
	}
	return NULL;
}

struct ar_hook_chain *ar_hook_said(const struct ar_turn *turn, const struct ar_invocation *call,
				   enum ar_hook_point point)
{
	return ar_hook_chain(turn, point, ar_hook_subject(turn, call, point));
}

bool ar_hook_is_open(const struct ar_turn *turn, const struct ar_invocation *call, enum ar_hook_point point)
{
	const struct ar_hook_chain *chain = ar_hook_said(turn, call, point);

	return chain && !ar_str_absent(chain->run);
}

bool ar_hook_objects(int64_t decision)
{
	return decision == AR_HOOK_COMPLETED_DECISION_BLOCK || decision == AR_HOOK_COMPLETED_DECISION_DENY;
}

bool ar_hook_blocks(const struct ar_hook_chain *chain)
{
	return chain && ar_hook_objects(chain->decision);
}

bool ar_hook_is_policy(const struct ar_policy *policy, struct ar_str name)
{
	for (size_t i = 0; i < policy->hook_count; i++) {
		if (ar_str_eq(policy->hooks[i].name, name))
			return policy->hooks[i].is_policy;
	}
	return false;
}

struct ar_hook_chain *ar_turn_hook_run(const struct ar_turn *turn, struct ar_str run)
{
	return ar_str_absent(run) ? NULL
				  : ar_vec_last_with(&turn->hooks, offsetof(struct ar_hook_chain, run), run);
}

struct ar_str ar_hook_prompt(const struct ar_turn *turn)
{
	return ar_str_absent(turn->updated_input_ref) ? turn->input_ref : turn->updated_input_ref;
}

void ar_hook_follow(struct ar_turn *turn, struct ar_str before, struct ar_str now)
{
	for (size_t i = 0; i < turn->hooks.count; i++) {
		if (ar_str_eq(chain_at(turn, i)->subject, before))
			chain_at(turn, i)->subject = now;
	}
}

struct ar_texts ar_hook_refs(struct ar_decision *d, const struct ar_turn *turn,
			     const struct ar_invocation *call)
{
	struct ar_texts all = { 0 };

	for (size_t i = 0; i < turn->hooks.count; i++) {
		const struct ar_hook_chain *chain = chain_at(turn, i);

		for (size_t n = 0; ar_str_eq(chain->subject, call->id) && n < chain->runs.count; n++)
			all = ar_arena_texts_add(d->arena, all, chain->runs.at[n]);
	}
	return all;
}
