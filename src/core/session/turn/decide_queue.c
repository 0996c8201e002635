/* Queued turns: promote, remove; and interrupting the one that runs. Pure. */
#include "action/action.h"
#include "decide.h"
#include "subagent/subagents.h"

/* The queued turn a command names; ALREADY_STARTED when it left the queue by running. */
static enum ar_status find_queued(struct ar_decision *d, struct ar_str queued_turn_id, struct ar_str turn_id,
				  struct ar_turn **ret, struct ar_thread **ret_thread, struct ar_error *err)
{
	struct ar_str id = ar_str_absent(queued_turn_id) ? turn_id : queued_turn_id;
	size_t at;

	*ret = ar_session_turn(d->session, id, ret_thread);
	if (!*ret)
		return ar_refuse(err, AR_ERR_QUEUED_TURN_NOT_FOUND, "session %.*s has no queued turn %.*s",
				 AR_STR_ARG(d->session->id), AR_STR_ARG(id));
	if (!ar_vec_find(&(*ret_thread)->queue, *ret, &at) && ar_str_absent((*ret)->outcome))
		return ar_refuse(err, AR_ERR_ALREADY_STARTED,
				 "turn %.*s runs already; use interrupt_turn to stop it", AR_STR_ARG(id));
	return AR_OK;
}

static struct ar_shape_run_metadata interrupt_metadata(const struct ar_turn *turn, enum ar_interrupt why,
						       bool is_by_policy)
{
	if (turn->silent.v || why == AR_INTERRUPT_SILENT)
		return (struct ar_shape_run_metadata){ .limit = AR_STR(AR_LIMIT_SILENCE) };
	if (turn->overdue.v || why == AR_INTERRUPT_OVERDUE)
		return (struct ar_shape_run_metadata){ .limit = AR_STR("turn_ms") };
	if (turn->unwanted.v || why == AR_INTERRUPT_ROLLBACK)
		return (struct ar_shape_run_metadata){ .rollback = AR_OPT_BOOL(true) };
	return (struct ar_shape_run_metadata){ .cancelled_by = is_by_policy ? AR_STR(AR_CANCELLED_BY_POLICY)
									    : AR_STR_NONE };
}

void ar_decide_say_interrupting(struct ar_decision *d, const struct ar_turn *turn, enum ar_interrupt why,
				struct ar_str reason)
{
	const struct ar_shape_run_metadata metadata = interrupt_metadata(turn, why, ar_decide_is_policy(d));

	ar_turn_emit(d, turn, AR_EV_RUN_STATUS,
		     &(struct ar_ev_run_status){ .phase = AR_STR(AR_PHASE_INTERRUPTING),
						 .title = AR_STR("Interrupt requested"),
						 .detail = reason,
						 .metadata = &metadata,
						 .actor = d->input->account });
}

bool ar_decide_is_policy(const struct ar_decision *d)
{
	return d->input->kind != AR_IN_COMMAND || d->input->is_runtime;
}

/* The intent is a fact before anything is stopped: a crash right after the reply still ends in cancelled. */
void ar_decide_interrupt_for(struct ar_decision *d, struct ar_turn *turn, enum ar_interrupt why,
			     struct ar_str reason)
{
	bool is_lost = turn->is_lost;

	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_RUNNING, AR_REASON_INTERRUPT,
			 "interrupting", turn);
	ar_decide_say_interrupting(d, turn, why, reason);
	ar_decide_cancel_actions(d, turn, reason);
	ar_subagents_interrupt(d, turn, reason);
	if (ar_str_absent(turn->open_step)) {
		if (is_lost || !ar_decide_stop_calls(d, turn))
			ar_decide_cancel(d, turn, reason, AR_STR_NONE);
		return;
	}
	ar_decide_effect(d, AR_EFFECT_MODEL_CANCEL)->model_cancel = turn->open_step;
}

void ar_decide_interrupt(struct ar_decision *d, struct ar_turn *turn, struct ar_str reason)
{
	ar_decide_interrupt_for(d, turn, AR_INTERRUPT_ASKED, reason);
}

enum ar_status ar_decide_promote_queued_turn(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_promote_queued_turn_in *in = d->input->command.args;
	size_t to = in->position.set && in->position.v > 0 ? (size_t)in->position.v - 1 : 0;
	struct ar_thread *t;
	struct ar_cmd_promote_queued_turn_out out;
	struct ar_turn *turn, *active;
	struct ar_vec order;
	size_t at;

	if (find_queued(d, in->queued_turn_id, in->turn_id, &turn, &t, err) != AR_OK)
		return AR_E_REFUSED;
	order = ar_vec_copy(d->arena, &t->queue);
	if (!ar_vec_find(&order, turn, &at))
		return ar_refuse(err, AR_ERR_QUEUED_TURN_NOT_FOUND, "turn %.*s has ended",
				 AR_STR_ARG(turn->id));
	if (to >= order.count)
		to = order.count - 1;
	if (at != to) {
		ar_vec_remove(&order, at);
		ar_vec_insert(d->arena, &order, to, turn);
		ar_decide_queue_changed(d, t, AR_QUEUE_CHANGED_CHANGE_PROMOTED, turn, &order);
	}
	out.order = ar_decide_turn_ids(d, &order);
	active = ar_thread_active(t);
	if (in->interrupt_active.v && active && !active->is_interrupted)
		ar_decide_interrupt(d, active, AR_STR("a promoted turn takes its place"));
	ar_decide_reply(d, AR_CMD_PROMOTE_QUEUED_TURN, &out);
	return AR_OK;
}

enum ar_status ar_decide_remove_queued_turn(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_remove_queued_turn_in *in = d->input->command.args;
	struct ar_str reason = ar_str_absent(in->reason) ? AR_STR("removed from the queue") : in->reason;
	struct ar_cmd_remove_queued_turn_out out = { 0 };
	struct ar_thread *t;
	struct ar_turn *turn;
	size_t at;

	if (find_queued(d, in->queued_turn_id, in->turn_id, &turn, &t, err) != AR_OK)
		return AR_E_REFUSED;
	out.removed = ar_vec_find(&t->queue, turn, &at);
	if (out.removed)
		ar_decide_cancel_queued(d, turn, reason);
	ar_subagents_settle(d); /* it may have been all that a child had to do */
	out.order = ar_decide_turn_ids(d, &t->queue);
	ar_decide_reply(d, AR_CMD_REMOVE_QUEUED_TURN, &out);
	return AR_OK;
}

/* ---- interrupt ---- */

static void clear_queue(struct ar_decision *d, const struct ar_thread *t, struct ar_str reason)
{
	while (d->fault == AR_OK && t->queue.count > 0)
		ar_decide_cancel_queued(d, t->queue.at[t->queue.count - 1], reason);
}

static bool is_target(const struct ar_cmd_interrupt_turn_in *in, const struct ar_thread *t,
		      const struct ar_turn *turn)
{
	return turn && !turn->is_interrupted &&
	       (ar_str_absent(in->thread_id) || ar_str_eq(in->thread_id, t->id)) &&
	       (ar_str_absent(in->turn_id) || ar_str_eq(in->turn_id, turn->id));
}

/* Turns of children are stopped with their parents, unless they are meant. */
static bool is_named(const struct ar_cmd_interrupt_turn_in *in)
{
	return in->all.v || !ar_str_absent(in->thread_id) || !ar_str_absent(in->turn_id);
}

/* Whether the session has or had the turn. Of turns that left the window only ids of our own
 * making can tell. */
static bool knows_turn(const struct ar_session *s, struct ar_str id)
{
	struct ar_thread *t;
	uint64_t n;

	if (ar_session_turn(s, id, &t))
		return true;
	return ar_str_eq(ar_id_session_key(id), s->session_key) && ar_id_counter(id, &n) &&
	       (int64_t)n <= s->counters.turn;
}

static enum ar_status check_scope(const struct ar_decision *d, size_t targets, struct ar_error *err)
{
	const struct ar_cmd_interrupt_turn_in *in = d->input->command.args;
	struct ar_thread *t;

	if (!ar_str_absent(in->turn_id) && !knows_turn(d->session, in->turn_id))
		return ar_refuse(err, AR_ERR_TURN_NOT_FOUND, "session %.*s has no turn %.*s",
				 AR_STR_ARG(d->session->id), AR_STR_ARG(in->turn_id));
	if (!ar_str_absent(in->thread_id) && ar_decide_need_thread(d, in->thread_id, &t, err) != AR_OK)
		return AR_E_REFUSED;
	if (targets > 1 && !in->all.v)
		return ar_refuse(err, AR_ERR_AMBIGUOUS_SCOPE,
				 "%zu turns run; name a threadId or turnId, or send all=true", targets);
	return AR_OK;
}

static const struct ar_turn *turn_among(const struct ar_vec *turns, struct ar_str id)
{
	return ar_vec_last_with(turns, offsetof(struct ar_turn, id), id);
}

static struct ar_texts running_calls(struct ar_decision *d, const struct ar_vec *turns)
{
	struct ar_texts ids = ar_texts_empty;

	for (size_t i = 0; i < turns->count; i++) {
		const struct ar_vec *calls = &((const struct ar_turn *)turns->at[i])->calls;

		for (size_t k = 0; k < calls->count; k++) {
			const struct ar_invocation *call = calls->at[k];

			if (call->stage == AR_CALL_RUNNING)
				ids = ar_arena_texts_add(d->arena, ids, call->id);
		}
	}
	return ids;
}

/* Those whose call still waits for them: what runs in the background is not the turn's any more. */
static struct ar_texts running_processes(struct ar_decision *d, const struct ar_vec *turns)
{
	const struct ar_vec *processes = &d->session->processes;
	struct ar_texts ids = ar_texts_empty;

	for (size_t i = 0; i < processes->count; i++) {
		const struct ar_process_record *p = processes->at[i];

		if (p->status == AR_PROCESS_RUNNING && !p->is_background && turn_among(turns, p->turn))
			ids = ar_arena_texts_add(d->arena, ids, p->id);
	}
	return ids;
}

static struct ar_texts open_actions(struct ar_decision *d, const struct ar_vec *turns)
{
	const struct ar_vec *actions = &d->session->actions;
	struct ar_texts ids = ar_texts_empty;

	for (size_t i = 0; i < actions->count; i++) {
		const struct ar_action *a = actions->at[i];

		if (a->status == AR_ACTION_PENDING && turn_among(turns, a->turn))
			ids = ar_arena_texts_add(d->arena, ids, a->id);
	}
	return ids;
}

enum ar_status ar_decide_interrupt_turn(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_interrupt_turn_in *in = d->input->command.args;
	struct ar_shape_interrupt_effect affected;
	struct ar_cmd_interrupt_turn_out out = { .result = AR_INTERRUPT_TURN_RESULT_NO_OP,
						 .affected = &affected };
	struct ar_vec targets = { 0 };

	for (size_t i = 0; i < d->session->threads.count; i++) {
		const struct ar_thread *t = d->session->threads.at[i];
		struct ar_turn *turn = ar_thread_active(t);

		if (is_target(in, t, turn) && (is_named(in) || !ar_session_subagent_in(d->session, t->id)))
			ar_vec_push(d->arena, &targets, turn);
	}
	if (check_scope(d, targets.count, err) != AR_OK)
		return AR_E_REFUSED;
	affected = (struct ar_shape_interrupt_effect){ .tools = running_calls(d, &targets),
						       .processes = running_processes(d, &targets),
						       .subagents = ar_subagents_of_turns(d, &targets, true),
						       .actions = open_actions(d, &targets) };
	for (size_t i = 0; i < targets.count; i++) {
		struct ar_turn *turn = targets.at[i];

		if (in->queue_policy == AR_INTERRUPT_TURN_QUEUE_POLICY_CLEAR)
			clear_queue(d, ar_decide_thread(d, turn), in->reason);
		if (!turn->is_interrupted) /* not with its parent, just now */
			ar_decide_interrupt(d, turn, in->reason);
		out.result = AR_INTERRUPT_TURN_RESULT_ACCEPTED;
		out.turn_id = turn->id;
	}
	ar_decide_reply(d, AR_CMD_INTERRUPT_TURN, &out);
	return AR_OK;
}
