/* restore_checkpoint: the files are made as a checkpoint has them. The port keeps the state before first,
 * under a checkpoint of its own, so that a restore can be taken back. Pure. */
#include "checkpoint/checkpoints.h"

#define MILLISECOND 1000

enum ar_status ar_checkpoints_check_rest(const struct ar_session *s, struct ar_error *err)
{
	const struct ar_shape_checkpoint_record *restoring = ar_session_restoring(s);

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		if (!ar_str_absent(t->active_turn))
			return ar_refuse(err, AR_ERR_ACTIVE_TURN,
					 "turn %.*s runs in the session; wait for its end or interrupt it",
					 AR_STR_ARG(t->active_turn));
	}
	if (restoring)
		return ar_refuse(err, AR_ERR_CONFLICT, "checkpoint %.*s is being restored; wait for its end",
				 AR_STR_ARG(restoring->target_id));
	if (s->files && s->files->apply_status == AR_SESSION_FILES_APPLY_STATUS_MERGING)
		return ar_refuse(err, AR_ERR_CONFLICT, "%.*s is being applied; wait for its end",
				 AR_STR_ARG(s->files->apply_id));
	return AR_OK;
}

static enum ar_status find_target(const struct ar_decision *d, const struct ar_shape_checkpoint_record **ret,
				  struct ar_error *err)
{
	const struct ar_cmd_restore_checkpoint_in *in = d->input->command.args;
	bool has_id = !ar_str_absent(in->checkpoint_id);
	int phase = in->phase == AR_RESTORE_CHECKPOINT_PHASE_END ? AR_CHECKPOINT_RECORD_PHASE_END
								 : AR_CHECKPOINT_RECORD_PHASE_START;

	*ret = has_id ? ar_session_checkpoint(d->session, in->checkpoint_id)
		      : ar_session_checkpoint_of(d->session, in->turn_id, phase);
	if (*ret && (*ret)->status == AR_CHECKPOINT_RECORD_STATUS_AVAILABLE &&
	    ar_checkpoint_is_kept(*ret, d->input->policy, d->input->now))
		return AR_OK;
	return ar_refuse(err, AR_ERR_CHECKPOINT_NOT_FOUND,
			 has_id ? "the session has no checkpoint '%.*s' that can be restored"
				: "turn '%.*s' has no such checkpoint that can be restored",
			 AR_STR_ARG(ar_str_utf8_prefix(has_id ? in->checkpoint_id : in->turn_id, 100)));
}

static enum ar_status check_restore(const struct ar_decision *d,
				    const struct ar_shape_checkpoint_record **ret, struct ar_error *err)
{
	if (find_target(d, ret, err) != AR_OK)
		return AR_E_REFUSED;
	if (d->input->policy->checkpoints <= 0)
		return ar_refuse(err, AR_ERR_UNAVAILABLE,
				 "this server has no checkpoints; set workspaces.dir, and "
				 "workspaces.checkpoints above 0");
	return ar_checkpoints_check_rest(d->session, err);
}

struct ar_str ar_checkpoint_restore(struct ar_decision *d, struct ar_str target, struct ar_str tree,
				    struct ar_str reason)
{
	static const struct ar_ids none;
	struct ar_str id = ar_decide_mint(d, "cp", &d->counters.checkpoint.v);
	struct ar_effect_checkpoint *effect;

	ar_decide_emit(d, AR_EV_CHECKPOINT_RESTORING, &none,
		       &(struct ar_ev_checkpoint_restoring){ .checkpoint_id = id,
							     .target_id = target,
							     .tree = tree,
							     .workspace_id = d->session->bound->workspace_id,
							     .actor = d->input->account,
							     .reason = reason });
	effect = &ar_decide_effect(d, AR_EFFECT_CHECKPOINT)->checkpoint;
	effect->kind = AR_CHECKPOINT_RESTORE;
	effect->id = id;
	effect->tree = tree;
	effect->is_waited_for = true;
	effect->deadline = d->input->now + d->input->policy->tool_ms * MILLISECOND;
	return id;
}

enum ar_status ar_decide_restore_checkpoint(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_restore_checkpoint_in *in = d->input->command.args;
	const struct ar_shape_checkpoint_record *target;
	struct ar_str id;

	if (check_restore(d, &target, err) != AR_OK)
		return AR_E_REFUSED;
	id = ar_checkpoint_restore(d, target->checkpoint_id, target->tree, in->reason);
	ar_decide_reply(d, AR_CMD_RESTORE_CHECKPOINT,
			&(struct ar_cmd_restore_checkpoint_out){ .checkpoint_id = id,
								 .target_id = target->checkpoint_id,
								 .sequence = (int64_t)d->session->head });
	return AR_OK;
}
