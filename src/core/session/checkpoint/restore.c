/* restore_checkpoint: the files are made as a checkpoint has them. The port keeps the state before first,
 * under a checkpoint of its own, so that a restore can be taken back. Pure. */
#include "checkpoint/checkpoints.h"
#include "workspace/work_folder.h"

#define MILLISECOND 1000

static bool is_used_by(const struct ar_session *s, const struct ar_work_folder *p, const struct ar_thread *t)
{
	struct ar_work_folder in = ar_work_folder_in(s, t->id);

	return !p->child || ar_work_folder_is_same(&in, p);
}

enum ar_status ar_checkpoints_check_rest(const struct ar_session *s, const struct ar_work_folder *p,
					 struct ar_error *err)
{
	const struct ar_shape_checkpoint_record *restoring = ar_session_restoring(s, p);

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		if (!ar_str_absent(t->active_turn) && is_used_by(s, p, t))
			return ar_refuse(err, AR_ERR_ACTIVE_TURN,
					 "turn %.*s runs in the session; wait for its end or interrupt it",
					 AR_STR_ARG(t->active_turn));
	}
	if (restoring)
		return ar_refuse(err, AR_ERR_CONFLICT, "checkpoint %.*s is being restored; wait for its end",
				 AR_STR_ARG(restoring->target_id));
	if (ar_work_folder_is_merging(p))
		return ar_refuse(err, AR_ERR_CONFLICT, "%.*s is being applied; wait for its end",
				 AR_STR_ARG(p->files->apply_id));
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
				    const struct ar_shape_checkpoint_record **ret,
				    struct ar_work_folder *ret_place, struct ar_error *err)
{
	if (find_target(d, ret, err) != AR_OK)
		return AR_E_REFUSED;
	*ret_place = ar_work_folder_in(d->session, (*ret)->thread_id);
	if (ret_place->child && !ar_work_folder_has(ret_place, AR_SESSION_FILES_STATUS_READY))
		return ar_refuse(err, AR_ERR_CHECKPOINT_NOT_FOUND,
				 "checkpoint %.*s is of the folder of agent %.*s, which is gone",
				 AR_STR_ARG((*ret)->checkpoint_id),
				 AR_STR_ARG(ret_place->child->subagent_id));
	if (d->input->policy->checkpoints <= 0)
		return ar_refuse(err, AR_ERR_UNAVAILABLE,
				 "this server has no checkpoints; set workspaces.dir, and "
				 "workspaces.checkpoints above 0");
	return ar_checkpoints_check_rest(d->session, ret_place, err);
}

struct ar_str ar_checkpoint_restore(struct ar_decision *d, const struct ar_work_folder *p,
				    const struct ar_restore *r)
{
	struct ar_ids ids = ar_work_folder_ids(p);
	struct ar_str id = ar_decide_mint(d, "cp", &d->counters.checkpoint.v);
	struct ar_effect_checkpoint *effect;

	ar_decide_emit(d, AR_EV_CHECKPOINT_RESTORING, &ids,
		       &(struct ar_ev_checkpoint_restoring){ .checkpoint_id = id,
							     .target_id = r->target,
							     .tree = r->tree,
							     .workspace_id = p->bound->workspace_id,
							     .actor = d->input->account,
							     .reason = r->reason });
	effect = &ar_decide_effect(d, AR_EFFECT_CHECKPOINT)->checkpoint;
	effect->kind = AR_CHECKPOINT_RESTORE;
	effect->id = id;
	effect->child = ar_work_folder_child(p);
	effect->tree = r->tree;
	effect->is_waited_for = true;
	effect->deadline = d->input->now + d->input->policy->tool_ms * MILLISECOND;
	return id;
}

enum ar_status ar_decide_restore_checkpoint(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_restore_checkpoint_in *in = d->input->command.args;
	const struct ar_shape_checkpoint_record *target;
	struct ar_work_folder p;
	struct ar_str id;

	if (check_restore(d, &target, &p, err) != AR_OK)
		return AR_E_REFUSED;
	id = ar_checkpoint_restore(d, &p,
				   &(struct ar_restore){ .target = target->checkpoint_id,
							 .tree = target->tree,
							 .reason = in->reason });
	ar_decide_reply(d, AR_CMD_RESTORE_CHECKPOINT,
			&(struct ar_cmd_restore_checkpoint_out){ .checkpoint_id = id,
								 .target_id = target->checkpoint_id,
								 .sequence = (int64_t)d->session->head });
	return AR_OK;
}
