/* Input into a turn that runs. It waits beside the conversation until the next request, so that
 * it comes after the answer that is being given without it; a turn does not end while such input
 * waits. Pure. */
#include "channel/channel.h"
#include "decide.h"
#include "task/task.h"

static enum ar_status check_room(const struct ar_decision *d, const struct ar_turn *turn,
				 struct ar_error *err)
{
	if (turn->steers.count >= AR_STEERS_MAX)
		return ar_refuse(err, AR_ERR_OVERLOADED,
				 "%zu inputs wait for the next model request of turn %.*s already",
				 turn->steers.count, AR_STR_ARG(turn->id));
	if (!ar_str_absent(turn->open_step) && turn->rounds + 1 >= d->input->policy->max_rounds)
		return ar_refuse(err, AR_ERR_TURN_NOT_ACTIVE,
				 "turn %.*s is at its last answer (model.max_rounds); submit a turn instead",
				 AR_STR_ARG(turn->id));
	return AR_OK;
}

static enum ar_status find_turn(const struct ar_decision *d, const struct ar_turn **ret, struct ar_error *err)
{
	const struct ar_cmd_steer_turn_in *in = d->input->command.args;
	const struct ar_turn *turn;
	struct ar_thread *t;

	if (ar_decide_need_thread(d, in->thread_id, &t, err) != AR_OK)
		return AR_E_REFUSED;
	turn = ar_thread_active(t);
	if (turn && !ar_str_eq(turn->id, in->turn_id))
		return ar_refuse(err, AR_ERR_TURN_MISMATCH, "turn %.*s runs in thread %.*s, not %.*s",
				 AR_STR_ARG(turn->id), AR_STR_ARG(t->id), AR_STR_ARG(in->turn_id));
	if (turn && ar_turn_is_modelless(turn))
		return ar_refuse(err, AR_ERR_TURN_NOT_ACTIVE,
				 "turn %.*s runs a command for a task and asks no model",
				 AR_STR_ARG(turn->id));
	if (!turn || turn->is_interrupted || turn->is_lost)
		return ar_refuse(err, AR_ERR_TURN_NOT_ACTIVE, "turn %.*s does not run; submit a turn instead",
				 AR_STR_ARG(in->turn_id));
	*ret = turn;
	return check_room(d, turn, err);
}

/* What a peer adds is a fact of the task that it is for: of the declared one that runs, or else of the turn's
 * own. */
static void note_progress(struct ar_decision *d, const struct ar_turn *turn, struct ar_str channel,
			  struct ar_str summary)
{
	const struct ar_task *declared = ar_task_executed_by(d, turn),
			     *task = declared ? declared : turn->task;
	struct ar_ids ids =
		declared ? ar_task_ids(declared, ar_task_open_run(declared)) : ar_ids_turn(d, turn);
	bool waits = task && task->status == AR_TASK_WAITING;

	if (!task || task->status == AR_TASK_LOST)
		return;
	ids.at[AR_SCOPE_CHANNEL] = channel;
	ar_decide_emit(d, AR_EV_TASK_PROGRESS, &ids,
		       &(struct ar_ev_task_progress){ .phase = waits ? AR_TASK_PROGRESS_PHASE_WAITING
								     : AR_TASK_PROGRESS_PHASE_WORKING,
						      .current_step = AR_STR("input_added"),
						      .summary = summary,
						      .counters = AR_STR("{}") });
}

enum ar_status ar_decide_steer_turn(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_steer_turn_in *in = d->input->command.args;
	struct ar_turn_input input;
	const struct ar_turn *turn = NULL;
	struct ar_ids ids;

	if (ar_decide_input(d, in->input, AR_STR_NONE, &input, err) != AR_OK ||
	    find_turn(d, &turn, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->channel_id) && ar_channel_check_own(d, in->channel_id, err) != AR_OK)
		return AR_E_REFUSED;
	ar_channel_note_use(d, in->channel_id);
	ids = ar_ids_turn(d, turn);
	ids.at[AR_SCOPE_CHANNEL] = in->channel_id;
	ids.at[AR_SCOPE_STEP] = ar_decide_mint(d, "step", &d->counters.step);
	ar_decide_emit(d, AR_EV_RUN_STATUS, &ids,
		       &(struct ar_ev_run_status){
			       .phase = AR_STR(AR_PHASE_STEERED),
			       .title = AR_STR("Input added while running"),
			       .detail = input.preview,
			       .metadata =
				       &(struct ar_shape_run_metadata){
					       .input_ref = ar_decide_content(d, input.parts),
					       .input_bytes = AR_OPT_INT((int64_t)input.parts.len),
					       .submitted_by = d->input->person },
			       .actor = d->input->account });
	if (!ar_str_absent(in->channel_id))
		note_progress(d, turn, in->channel_id, input.preview);
	ar_decide_reply(d, AR_CMD_STEER_TURN,
			&(struct ar_cmd_steer_turn_out){ .accepted = true,
							 .applied_at_step = ids.at[AR_SCOPE_STEP] });
	return AR_OK;
}
