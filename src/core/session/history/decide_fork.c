/* A thread branches: one fact that names the parent and the turn after which the two part.
 * Nothing is copied in the log; the branch goes on with the messages that its parent had then.
 * Pure. */
#include "decide.h"

/* The newest turn that ran and ended; NULL when none did. */
static const struct ar_turn *newest_ended(const struct ar_thread *t)
{
	const struct ar_turn *newest = NULL;

	for (size_t i = 0; i < t->turns.count; i++) {
		const struct ar_turn *turn = t->turns.at[i];

		if (!ar_str_absent(turn->outcome) && turn->start.set && !turn->removed.v &&
		    (!newest || turn->start.v > newest->start.v))
			newest = turn;
	}
	return newest;
}

static enum ar_status find_point(const struct ar_decision *d, const struct ar_thread *t,
				 const struct ar_turn **ret, struct ar_error *err)
{
	const struct ar_cmd_fork_thread_in *in = d->input->command.args;
	const struct ar_turn *turn;

	*ret = NULL;
	if (ar_str_absent(in->turn_id)) {
		*ret = newest_ended(t);
		return AR_OK;
	}
	turn = ar_thread_turn(t, in->turn_id);
	if (!turn || turn->removed.v || (!ar_str_absent(turn->outcome) && !turn->start.set))
		return ar_refuse(err, AR_ERR_TURN_NOT_FOUND,
				 "turn %.*s is not among the newest %d turns that ran in thread %.*s",
				 AR_STR_ARG(in->turn_id), AR_WINDOW_TURNS, AR_STR_ARG(t->id));
	if (ar_str_absent(turn->outcome))
		return ar_refuse(err, AR_ERR_ACTIVE_TURN, "turn %.*s has not ended; branch after it has",
				 AR_STR_ARG(turn->id));
	*ret = turn;
	return AR_OK;
}

enum ar_status ar_decide_fork_thread(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_fork_thread_in *in = d->input->command.args;
	const struct ar_turn *turn;
	struct ar_ids ids = { 0 };
	struct ar_thread *t;

	if (ar_decide_need_thread(d, in->thread_id, &t, err) != AR_OK ||
	    find_point(d, t, &turn, err) != AR_OK)
		return AR_E_REFUSED;
	ids.at[AR_SCOPE_THREAD] = ar_decide_mint(d, "thread", &d->counters.thread);
	ar_decide_emit(d, AR_EV_THREAD_STARTED, &ids,
		       &(struct ar_ev_thread_started){ .reason = AR_THREAD_STARTED_REASON_BRANCH,
						       .parent_thread_id = t->id,
						       .parent_turn_id = turn ? turn->id : AR_STR_NONE,
						       .status = AR_THREAD_STATUS_IDLE,
						       .actor = d->input->account });
	ar_decide_reply(d, AR_CMD_FORK_THREAD,
			&(struct ar_cmd_fork_thread_out){ .thread_id = ids.at[AR_SCOPE_THREAD],
							  .parent_thread_id = t->id,
							  .parent_turn_id = turn ? turn->id : AR_STR_NONE,
							  .sequence = (int64_t)d->head + 1 });
	return AR_OK;
}
