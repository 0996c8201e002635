/* Facts about hooks. What they mean for a chain is chain.c's. Pure; see apply.c. */
#include "apply.h"
#include "hook/hooks.h"

static struct ar_hook_place place_of(struct ar_session *s, struct ar_turn *turn, struct ar_thread *t)
{
	return (struct ar_hook_place){ &s->arena, s->json, turn, &t->context };
}

enum ar_status ar_apply_hook_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_hook_place at;

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	at = place_of(s, turn, t);
	ar_hook_take_started(&at, e);
	return AR_OK;
}

/* The chain of a run that ends, and where its end is taken up; NULL: no such run is open. */
static struct ar_hook_chain *ending(struct ar_session *s, const struct ar_event *e, struct ar_str run,
				    struct ar_hook_place *ret)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_hook_chain *chain = turn ? ar_turn_hook_run(turn, run) : NULL;

	if (chain)
		*ret = place_of(s, turn, t);
	return chain;
}

enum ar_status ar_apply_hook_completed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_hook_completed *p = PAYLOAD(e, hook_completed);
	struct ar_hook_place at;
	struct ar_hook_chain *chain = ending(s, e, p->hook_run_ref, &at);

	if (!chain)
		return ar_apply_unknown(err, e, "hook run");
	ar_hook_take_completed(&at, chain, p);
	return AR_OK;
}

enum ar_status ar_apply_hook_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_hook_failed *p = PAYLOAD(e, hook_failed);
	struct ar_hook_place at;
	struct ar_hook_chain *chain = ending(s, e, p->hook_run_ref, &at);

	if (!chain)
		return ar_apply_unknown(err, e, "hook run");
	ar_hook_take_failed(&at, chain, p);
	return AR_OK;
}

/* What was said about steps and calls that are over is no longer asked for; what was said about
 * the turn is. */
void ar_apply_forget_hooks(struct ar_turn *turn)
{
	for (size_t i = turn->hooks.count; i > 0; i--) {
		if (!ar_str_absent(((const struct ar_hook_chain *)turn->hooks.at[i - 1])->subject))
			ar_vec_remove(&turn->hooks, i - 1);
	}
}
