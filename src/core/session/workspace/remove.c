/* The folder of a child agent goes when the child is closed and nothing in it is wanted any more: it was not
 * written in since it was filled, or all was merged or discarded. Until then it stays. Pure. */
#include "checkpoint/checkpoints.h"
#include "subagent/subagents.h"
#include "workspace/isolation.h"

#define MILLISECOND 1000

/* A folder that is filled from this one is there: it is merged into this one. */
static bool is_around_another(const struct ar_session *s, const struct ar_work_folder *p)
{
	struct ar_work_folder other;

	for (size_t at = 0; ar_work_folder_next(s, &at, &other);) {
		struct ar_work_folder around = { 0 };

		if (!other.child || !ar_subagent_keeps_files(other.child))
			continue;
		around = ar_work_folder_around(s, &other);
		if (ar_work_folder_is_same(&around, p))
			return true;
	}
	return false;
}

static bool is_done_with(const struct ar_session *s, const struct ar_work_folder *p)
{
	return p->child && ar_subagent_is_closed(p->child) && p->files && !p->files->changed.v &&
	       (ar_work_folder_has(p, AR_SESSION_FILES_STATUS_READY) ||
		ar_work_folder_has(p, AR_SESSION_FILES_STATUS_FAILED)) &&
	       !p->files->apply_status && !ar_session_restoring(s, p) && !is_around_another(s, p);
}

static void clear(struct ar_decision *d, const struct ar_work_folder *p)
{
	struct ar_effect_checkpoint *effect = &ar_decide_effect(d, AR_EFFECT_CHECKPOINT)->checkpoint;

	effect->kind = AR_CHECKPOINT_CLEAR;
	effect->id = effect->child = ar_work_folder_child(p);
	effect->is_waited_for = true;
	effect->deadline = d->input->now + d->input->policy->tool_ms * MILLISECOND;
}

void ar_isolation_release(struct ar_decision *d)
{
	struct ar_work_folder p;

	for (size_t at = 0; d->fault == AR_OK && ar_work_folder_next(d->session, &at, &p);) {
		struct ar_ids ids = ar_work_folder_ids(&p);

		if (!is_done_with(d->session, &p))
			continue;
		ar_decide_emit(d, AR_EV_WORKSPACE_REMOVING, &ids,
			       &(struct ar_ev_workspace_removing){ .workspace_id = p.bound->workspace_id });
		clear(d, &p);
	}
}

void ar_isolation_remove_again(struct ar_decision *d, const struct ar_work_folder *p)
{
	if (ar_work_folder_has(p, AR_SESSION_FILES_STATUS_REMOVING))
		clear(d, p);
}

/* A folder that cannot be removed now goes with its session. */
void ar_isolation_cleared(struct ar_decision *d, const struct ar_checkpoint_end *end)
{
	struct ar_work_folder p = ar_work_folder_named(d->session, end->id);
	struct ar_ids ids = ar_work_folder_ids(&p);

	if (!p.child || !ar_work_folder_has(&p, AR_SESSION_FILES_STATUS_REMOVING))
		return;
	if (end->status == AR_OK)
		ar_decide_emit(d, AR_EV_WORKSPACE_REMOVED, &ids,
			       &(struct ar_ev_workspace_removed){ .workspace_id = p.bound->workspace_id });
	else
		ar_decide_emit(d, AR_EV_WORKSPACE_FAILED, &ids,
			       &(struct ar_ev_workspace_failed){
				       .phase = AR_WORKSPACE_FAILED_PHASE_REMOVE,
				       .category = ar_checkpoint_category(end->status),
				       .message = ar_checkpoint_message(end->message) });
}
