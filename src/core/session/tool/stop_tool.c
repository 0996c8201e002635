/* Calls that are not to go on: the turn is interrupted or ends, or the process that ran them is
 * gone. Each gets its end fact. Pure. */
#include "action/action.h"
#include "process/record.h"
#include "subagent/subagents.h"
#include "tool/calls.h"

static void cancel_run(struct ar_decision *d, const struct ar_invocation *call)
{
	if (!call->is_client)
		ar_decide_effect(d, AR_EFFECT_TOOL_CANCEL)->tool_cancel = call->id;
}

static void close_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call)
{
	struct ar_call_failure why = { .status = AR_TOOL_FAILED_STATUS_CANCELLED,
				       .category = AR_STR("cancelled"),
				       .message = AR_STR("the turn ended before this call did"),
				       .advice = AR_STR("call again if it is still wanted"),
				       .retryable = true };

	if (call->stage == AR_CALL_RUNNING) {
		why.status = AR_TOOL_FAILED_STATUS_INTERRUPTED;
		cancel_run(d, call);
		ar_decide_fail_call(d, turn, call, &why);
	} else {
		ar_decide_refuse_call(d, turn, call, call->stage == AR_CALL_WAITING ? "ask" : "allowed",
				      &why);
	}
}

/* What has not begun ends at once; what runs is told to stop, unless its tool wants to be waited
 * for, and ends by itself. */
bool ar_decide_stop_calls(struct ar_decision *d, struct ar_turn *turn)
{
	bool is_running = false;

	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = ar_call_at(turn, i);

		if (call->stage == AR_CALL_ENDED)
			continue;
		if (call->stage != AR_CALL_RUNNING || call->is_client || ar_call_is_delegated(call)) {
			close_call(d, turn, call);
			continue;
		}
		is_running = true;
		if (!call->blocks)
			cancel_run(d, call);
	}
	return is_running;
}

void ar_decide_close_calls(struct ar_decision *d, struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		if (ar_call_at(turn, i)->stage != AR_CALL_ENDED)
			close_call(d, turn, ar_call_at(turn, i));
	}
}

/* ---- after a crash ---- */

/* The process that does its work is no part of the one that is gone: it runs on, or its end is on record. */
static bool has_process(const struct ar_session *s, const struct ar_invocation *call)
{
	return call->stage == AR_CALL_RUNNING && ar_session_process_of(s, call->id);
}

/* A call that may run and has not begun stands behind one that waits. */
bool ar_turn_only_waits(const struct ar_session *s, const struct ar_turn *turn)
{
	bool waits = ar_turn_is_waiting(s, turn) || turn->waits_worker.v;

	if (!ar_str_absent(turn->open_step))
		return false;
	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *call = ar_call_at(turn, i);

		if (call->stage == AR_CALL_ENDED || call->stage == AR_CALL_ALLOWED)
			continue;
		if (call->stage != AR_CALL_WAITING && !has_process(s, call) &&
		    !(call->stage == AR_CALL_RUNNING && (call->is_client || ar_call_is_delegated(call))) &&
		    !(call->stage == AR_CALL_UNKNOWN && (!ar_call_is_safe(call) || turn->waits_worker.v)))
			return false;
		waits = true;
	}
	return waits;
}

void ar_decide_rearm_calls(struct ar_decision *d, const struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *call = ar_call_at(turn, i);

		if ((call->stage == AR_CALL_RUNNING && (call->is_client || ar_call_is_delegated(call))) ||
		    has_process(d->session, call))
			ar_decide_run_call(d, turn, call);
	}
}

bool ar_decide_stop_cut_calls(struct ar_decision *d, struct ar_turn *turn)
{
	bool is_running = false;

	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = ar_call_at(turn, i);

		if (call->stage == AR_CALL_ENDED)
			continue;
		if (!has_process(d->session, call)) {
			close_call(d, turn, call);
			continue;
		}
		is_running = true;
		ar_decide_run_call(d, turn, call);
		ar_decide_end_process_of(d, call, turn->interrupt_reason);
	}
	return is_running;
}

void ar_decide_end_cut_calls(struct ar_decision *d, struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = ar_call_at(turn, i);

		if (call->stage != AR_CALL_RUNNING || call->is_client || ar_call_is_delegated(call) ||
		    has_process(d->session, call))
			continue;
		if (call->runs_process.v)
			ar_decide_begin_again(d, turn, call,
					      AR_STR("the runtime stopped before the command began"));
		else
			ar_decide_lose_call(d, turn, call);
	}
	ar_decide_rearm_calls(d, turn);
}

void ar_decide_recover_calls(struct ar_decision *d, struct ar_turn *turn)
{
	ar_decide_end_cut_calls(d, turn);
	ar_decide_advance(d, turn);
}
