/* The status of a child follows from its turns: each change of its thread is told as a fact about the child,
 * so that its parent need not read it. And what waits for children goes on when they have ended. Pure. */
#include "subagent/subagents.h"
#include "tool/calls.h"

#define REASON_MAX 1024

/* ---- status ---- */

static void say_status(struct ar_decision *d, const struct ar_shape_subagent_record *r, int status,
		       struct ar_str reason, struct ar_str detail)
{
	struct ar_ids ids = ar_ids_subagent(r);

	ar_decide_emit(d, AR_EV_SUBAGENT_STATUS, &ids,
		       &(struct ar_ev_subagent_status){ .status = status,
							.reason = ar_str_absent(reason) ? AR_STR("") : reason,
							.last_message_ref = r->last_message_ref,
							.status_detail = detail });
}

static bool is_resumption(const struct ar_thread *t)
{
	return ar_str_is(t->reason, AR_REASON_RESUMED) || ar_str_is(t->reason, "resume_after_crash");
}

void ar_subagent_follow(struct ar_decision *d, const struct ar_thread *t)
{
	const struct ar_shape_subagent_record *r =
		d->session->subagents.count ? ar_session_subagent_in(d->session, t->id) : NULL;
	const struct ar_turn *turn = ar_thread_active(t);
	bool is_running = t->status == AR_THREAD_STATUS_RUNNING;
	struct ar_str reason;

	if (!r || !turn || ar_subagent_is_closed(r) || ar_subagent_is_closing(r))
		return;
	if (is_running)
		reason = is_resumption(t) ? AR_STR(AR_REASON_RESUMED) : t->reason;
	else
		reason = turn->is_lost ? AR_STR(AR_SUBAGENT_LOST) : t->detail;
	if (ar_str_is(r->status, is_running ? "running" : "blocked") &&
	    (is_running || ar_str_eq(r->status_reason, reason)))
		return;
	say_status(d, r, is_running ? AR_SUBAGENT_STATUS_STATUS_RUNNING : AR_SUBAGENT_STATUS_STATUS_BLOCKED,
		   reason, is_running ? AR_STR_NONE : reason);
}

void ar_subagent_lost(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_shape_subagent_record *r =
		d->session->subagents.count ? ar_session_subagent_in(d->session, turn->thread) : NULL;

	if (r && !ar_subagent_is_closing(r) && !ar_subagent_is_closed(r))
		say_status(d, r, AR_SUBAGENT_STATUS_STATUS_BLOCKED, AR_STR(AR_SUBAGENT_LOST),
			   AR_STR(AR_SUBAGENT_LOST));
}

/* ---- ends ---- */

/* The beginning of what it said; when the text is not at hand, what the step shows of it. */
static struct ar_str summary_of(struct ar_decision *d, const struct ar_turn *turn, struct ar_str ref)
{
	const struct ar_step *step = ar_turn_last_step(turn);
	struct ar_str text = ar_decide_text(d, ref);

	if (ar_str_absent(text) && step)
		text = step->preview;
	return ar_str_absent(text) ? AR_STR("") : ar_arena_excerpt(d->arena, text, AR_SUBAGENT_SUMMARY);
}

static void say_output(struct ar_decision *d, const struct ar_shape_subagent_record *r,
		       const struct ar_turn *turn, struct ar_str ref)
{
	struct ar_ids ids = ar_ids_subagent(r);

	ar_decide_emit(d, AR_EV_SUBAGENT_OUTPUT, &ids,
		       &(struct ar_ev_subagent_output){ .output_ref = ref,
							.summary = summary_of(d, turn, ref) });
}

static void say_completed(struct ar_decision *d, const struct ar_shape_subagent_record *r,
			  const struct ar_turn *turn, struct ar_str ref)
{
	struct ar_ids ids = ar_ids_subagent(r);

	if (ar_str_absent(ref)) /* it ended well without a word */
		ref = ar_decide_content(d, AR_STR("(no output)"));
	ar_decide_emit(d, AR_EV_SUBAGENT_COMPLETED, &ids,
		       &(struct ar_ev_subagent_completed){
			       .result_ref = ref,
			       .last_message_ref = ref,
			       .usage = &(struct ar_shape_usage){
				       .input_tokens = AR_OPT_INT(turn->input_tokens),
				       .output_tokens = AR_OPT_INT(turn->output_tokens),
				       .cached_tokens = AR_OPT_INT(turn->cached_tokens) } });
}

static void say_failed(struct ar_decision *d, const struct ar_shape_subagent_record *r,
		       const struct ar_ending *end)
{
	struct ar_ids ids = ar_ids_subagent(r);

	ar_decide_emit(d, AR_EV_SUBAGENT_FAILED, &ids,
		       &(struct ar_ev_subagent_failed){
			       .error = &(struct ar_shape_failure){ .category = end->category,
								    .message = end->message,
								    .retryable = AR_OPT_BOOL(end->retryable),
								    .recovery_advice = end->advice },
			       .last_message_ref = r->last_message_ref });
}

void ar_subagent_turn_ended(struct ar_decision *d, const struct ar_turn *turn, const struct ar_ending *end)
{
	const struct ar_shape_subagent_record *r =
		d->session->subagents.count ? ar_session_subagent_in(d->session, turn->thread) : NULL;
	const struct ar_thread *t = ar_decide_thread(d, turn);

	if (!r || ar_subagent_is_closed(r) || ar_turn_is_system(turn))
		return;
	if (!ar_str_absent(end->output_ref))
		say_output(d, r, turn, end->output_ref);
	r = ar_session_subagent_in(d->session, turn->thread);
	if (ar_subagent_is_closing(r) || !ar_str_absent(t->active_turn) || t->queue.count > 0)
		return; /* it closes, or has more to do */
	if (end->status == 0)
		say_completed(d, r, turn, end->output_ref);
	else if (end->status == AR_TURN_FAILED_STATUS_CANCELLED)
		say_status(d, r, AR_SUBAGENT_STATUS_STATUS_CANCELLED,
			   ar_str_utf8_prefix(end->message, REASON_MAX), AR_STR_NONE);
	else
		say_failed(d, r, end);
}

/* ---- what waited ---- */

/* The next call whose children have ended as it wants; NULL: none. */
static struct ar_invocation *next_ready(const struct ar_decision *d, struct ar_turn **ret_turn)
{
	for (size_t i = 0; i < d->session->threads.count; i++) {
		struct ar_turn *turn = ar_thread_active(d->session->threads.at[i]);

		for (size_t k = 0; turn && !turn->is_lost && k < turn->calls.count; k++) {
			struct ar_invocation *call = ar_call_at(turn, k);

			*ret_turn = turn;
			if (call->stage == AR_CALL_RUNNING && ar_subagent_has_ended(d->session, call))
				return call;
		}
	}
	return NULL;
}

void ar_subagents_settle(struct ar_decision *d)
{
	struct ar_invocation *call;
	struct ar_turn *turn;

	if (d->session->subagents.count == 0)
		return;
	ar_subagents_close_ended(d);
	while (d->fault == AR_OK && (call = next_ready(d, &turn))) {
		ar_subagent_answer(d, turn, call, false);
		ar_decide_advance(d, turn);
	}
	ar_subagents_start_waiting(d);
}
