/* Hook points of a turn: before its first request, after an answer, after tool calls, before its
 * end; and where a turn goes on when a handler has ended, or after a crash. Points before a tool
 * call are tool/'s. Pure. */
#include "checkpoint/checkpoints.h"
#include "hook/hooks.h"
#include "task/task.h"
#include "tool/calls.h"

static void stop_turn(struct ar_decision *d, struct ar_turn *turn, const struct ar_hook_chain *chain)
{
	struct ar_str why = ar_str_empty(chain->reason) ? AR_STR("it gave no reason") : chain->reason;

	ar_decide_fail(d, turn,
		       &(struct ar_ending){
			       .status = AR_TURN_FAILED_STATUS_FAILED,
			       .category = AR_STR("blocked_by_hook"),
			       .message = ar_arena_fmt(d->arena, "hook '%.*s' stopped the turn: %.*s",
						       AR_STR_ARG(chain->by_handler), AR_STR_ARG(why)),
			       .advice = chain->has_failed.v
						 ? AR_STR("repair the hook, or let it fail open "
							  "(on_failure: open), and submit again")
						 : AR_STR("change what the hook objects to and submit again"),
			       .output_ref = turn->output_ref });
}

static enum ar_hold ask_at(struct ar_decision *d, struct ar_turn *turn, enum ar_hook_point point)
{
	const struct ar_hook_chain *chain;

	if (ar_hook_ask(d, turn, NULL, point) == AR_HELD)
		return AR_HELD;
	chain = ar_hook_said(turn, NULL, point);
	if (!ar_hook_blocks(chain))
		return AR_GO_ON;
	stop_turn(d, turn, chain);
	return AR_HELD;
}

/* ---- before the first request ---- */

/* The first of all turns that the session began. */
static bool is_first(const struct ar_session *s, const struct ar_turn *turn)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		if (t->forgotten.set)
			return false;
		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *other = t->turns.at[k];

			if (other->start.set && !ar_str_eq(other->id, turn->id) &&
			    (!turn->start.set || other->start.v < turn->start.v))
				return false;
		}
	}
	return true;
}

void ar_decide_begin(struct ar_decision *d, struct ar_turn *turn)
{
	if (!ar_turn_last_step(turn) && !ar_turn_is_system(turn)) {
		if (is_first(d->session, turn) && ask_at(d, turn, AR_AT_SESSION_START) == AR_HELD)
			return;
		if (ask_at(d, turn, AR_AT_USER_PROMPT_SUBMIT) == AR_HELD ||
		    ar_workspace_inspect(d, turn) == AR_HELD)
			return;
	}
	ar_decide_ask_model(d, turn, 1);
}

/* ---- after an answer ---- */

enum ar_hold ar_hook_after_sample(struct ar_decision *d, struct ar_turn *turn)
{
	if (!ar_turn_last_step(turn) || ar_turn_is_modelless(turn))
		return AR_GO_ON;
	return ask_at(d, turn, AR_AT_POST_SAMPLING);
}

static void too_many_blocks(struct ar_decision *d, const struct ar_turn *turn,
			    const struct ar_hook_chain *chain)
{
	struct ar_ids ids = ar_ids_turn(d, turn);

	ar_hook_warn(d, &ids, "stop_hook_limit",
		     ar_arena_fmt(d->arena, "hook '%.*s' kept the turn from ending %d times; it ends now",
				  AR_STR_ARG(chain->by_handler), AR_STOP_BLOCKS_MAX));
}

/* Before the end. Held: a handler runs, or said that the turn goes on; what it said is a message by now. */
static enum ar_hold ask_to_stop(struct ar_decision *d, struct ar_turn *turn)
{
	const struct ar_hook_chain *chain;

	if (ar_hook_ask(d, turn, NULL, AR_AT_STOP) == AR_HELD)
		return AR_HELD;
	chain = ar_hook_said(turn, NULL, AR_AT_STOP);
	if (!ar_hook_blocks(chain))
		return AR_GO_ON;
	if (chain->has_failed.v) {
		stop_turn(d, turn, chain);
		return AR_HELD;
	}
	if (turn->stop_blocks.v > AR_STOP_BLOCKS_MAX) {
		too_many_blocks(d, turn, chain);
		return AR_GO_ON;
	}
	ar_decide_ask_again(d, turn);
	return AR_HELD;
}

void ar_decide_sampled(struct ar_decision *d, struct ar_turn *turn)
{
	if (turn->is_interrupted) {
		ar_decide_cancel(d, turn, turn->interrupt_reason, turn->output_ref);
		return;
	}
	if (ar_hook_after_sample(d, turn) == AR_HELD)
		return;
	if (turn->steers.count > 0) {
		ar_decide_ask_again(d, turn);
		return;
	}
	if (ask_to_stop(d, turn) == AR_GO_ON && ar_checkpoint_before_end(d, turn) == AR_GO_ON &&
	    !ar_task_lacks_artifact(d, turn))
		ar_decide_complete(d, turn, turn->output_ref, turn->stop_reason);
}

/* ---- after tool calls ---- */

/* 0: nobody is asked about a call that was kept from running. */
static enum ar_hook_point point_after(const struct ar_invocation *call)
{
	if (ar_str_is(call->status, "ok"))
		return AR_AT_POST_TOOL_USE;
	if (ar_texts_have(AR_TEXTS(AR_STR("denied"), AR_STR("blocked"), AR_STR("cancelled")), call->status))
		return 0;
	return AR_AT_POST_TOOL_FAILURE;
}

enum ar_hold ar_hook_after_calls(struct ar_decision *d, struct ar_turn *turn)
{
	const struct ar_step *step = ar_turn_last_step(turn);
	enum ar_hold hold = AR_GO_ON;

	for (size_t i = 0; step && i < turn->calls.count; i++) {
		const struct ar_invocation *call = ar_call_at(turn, i);
		const struct ar_hook_chain *chain;
		enum ar_hook_point point = point_after(call);

		if (call->stage != AR_CALL_ENDED || !ar_str_eq(call->step, step->id) || !point)
			continue;
		if (ar_hook_ask(d, turn, call, point) == AR_HELD)
			hold = AR_HELD;
		chain = ar_hook_said(turn, call, point);
		if (!chain || !chain->has_failed.v)
			continue;
		stop_turn(d, turn, chain);
		return AR_HELD;
	}
	return hold;
}

/* ---- going on ---- */

static bool has_calls(const struct ar_turn *turn, const struct ar_step *step)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		if (ar_str_eq(ar_call_at(turn, i)->step, step->id))
			return true;
	}
	return false;
}

void ar_decide_resume(struct ar_decision *d, struct ar_turn *turn)
{
	const struct ar_step *step = ar_turn_last_step(turn);

	/* A summary is asked for when what was said before it has been dealt with. */
	if (!step || !ar_str_is(step->status, "completed") || ar_str_is(step->purpose, AR_PURPOSE_COMPACTION))
		ar_decide_begin(d, turn);
	else if (has_calls(turn, step))
		ar_decide_advance(d, turn);
	else
		ar_decide_sampled(d, turn);
}
