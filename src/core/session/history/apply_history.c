/* A rollback: the thread goes on from what survives. The removed turns stay known, so that their
 * ids and tasks mean what they meant. Pure; see apply.c. */
#include "apply.h"

static void drop_messages(struct ar_thread *t, int64_t first)
{
	while (t->context.count > 0 &&
	       ((const struct ar_context_entry *)t->context.at[t->context.count - 1])->turn.v >= first)
		t->context.count--;
}

static void drop_boundaries(struct ar_thread *t, int64_t first)
{
	while (t->boundaries.count > 0 &&
	       ((const struct ar_boundary *)t->boundaries.at[t->boundaries.count - 1])->start >= first)
		t->boundaries.count--;
}

static void drop_incidents(struct ar_thread *t, struct ar_str turn)
{
	for (size_t i = t->incidents.count; i > 0; i--) {
		if (ar_str_eq(((const struct ar_incident *)t->incidents.at[i - 1])->turn, turn))
			ar_vec_remove(&t->incidents, i - 1);
	}
}

/* The end that the thread stands at now: that of the newest turn that is left. */
static void set_outcome(struct ar_thread *t)
{
	const struct ar_turn none = { 0 }, *last = &none;

	for (size_t i = 0; i < t->turns.count; i++) {
		const struct ar_turn *turn = t->turns.at[i];

		if (!turn->removed.v && !ar_str_absent(turn->outcome) && turn->ended >= last->ended)
			last = turn;
	}
	t->last_turn = last->id;
	t->last_outcome = last->outcome;
	t->last_category = last->error_category;
	t->last_message = last->error_message;
	t->last_ended = last->ended;
}

enum ar_status ar_apply_rolled_back(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_history_rollback_completed *p = PAYLOAD(e, history_rollback_completed);
	struct ar_thread *t = ar_apply_thread(s, e);
	int64_t first = INT64_MAX;

	if (!t)
		return ar_apply_unknown(err, e, "thread");
	for (size_t i = 0; i < p->removed_turn_ids.count; i++) {
		struct ar_turn *turn = ar_thread_turn(t, p->removed_turn_ids.at[i]);

		if (!turn || !turn->start.set)
			return ar_apply_unknown(err, e, "turn");
		turn->removed = AR_OPT_BOOL(true);
		drop_incidents(t, turn->id);
		if (turn->start.v < first)
			first = turn->start.v;
	}
	drop_messages(t, first);
	drop_boundaries(t, first);
	t->anchor = t->anchor_at = (struct ar_opt_int){ 0 };
	set_outcome(t);
	t->request_ref = ar_apply_keep(s, p->surviving_baseline_ref);
	t->sent = (int64_t)t->context.count;
	return AR_OK;
}

/* It is about the session: each of its threads shows it. */
enum ar_status ar_apply_runtime_error(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_runtime_error *p = PAYLOAD(e, runtime_error);

	(void)err;
	for (size_t i = 0; i < s->threads.count; i++) {
		struct ar_thread *t = s->threads.at[i];

		if (!t->pack)
			ar_apply_incident(s, e, t,
					  &(struct ar_shape_failure){ .category = p->code,
								      .message = p->message });
	}
	return AR_OK;
}
