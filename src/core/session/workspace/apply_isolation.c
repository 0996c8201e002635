/* What the facts about a folder that is not the workspace's leave in the state. Pure. */
#include "apply.h"
#include "workspace/work_folder.h"

static void close_merge(struct ar_shape_session_files *f)
{
	f->apply_id = f->action_id = AR_STR_NONE;
	f->apply_status = 0;
	f->choice = 0;
	f->paths = (struct ar_texts){ 0 };
}

static void count_checkpoint(struct ar_session *s, struct ar_str id)
{
	ar_apply_count(&s->counters.checkpoint.v, id);
	s->counters.checkpoint.set = true;
}

/* The folder that the fact is about, as it stands; AR_E_CORRUPT: nothing was begun with it. */
static enum ar_status find_files(const struct ar_session *s, const struct ar_event *e,
				 struct ar_work_folder *ret, struct ar_shape_session_files *ret_files,
				 struct ar_error *err)
{
	*ret = ar_apply_work_folder(s, e);
	if (!ret->files)
		return ar_apply_unknown(err, e, "folder of the session");
	*ret_files = *ret->files;
	return AR_OK;
}

enum ar_status ar_apply_workspace_preparing(struct ar_session *s, const struct ar_event *e,
					    struct ar_error *err)
{
	struct ar_work_folder p = ar_apply_work_folder(s, e);

	(void)err;
	ar_apply_files(s, &p,
		       &(struct ar_shape_session_files){ .status = AR_SESSION_FILES_STATUS_PREPARING,
							 .turn_id = e->ids[AR_SCOPE_TURN] });
	return AR_OK;
}

enum ar_status ar_apply_workspace_prepared(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	const struct ar_ev_workspace_prepared *p = PAYLOAD(e, workspace_prepared);
	struct ar_shape_session_files f;
	struct ar_work_folder place;

	if (find_files(s, e, &place, &f, err) != AR_OK)
		return AR_E_CORRUPT;
	ar_apply_files(s, &place,
		       &(struct ar_shape_session_files){ .status = AR_SESSION_FILES_STATUS_READY,
							 .turn_id = f.turn_id,
							 .base = p->base,
							 .checkpoint_id = p->checkpoint_id });
	count_checkpoint(s, p->checkpoint_id);
	return AR_OK;
}

enum ar_status ar_apply_workspace_applying(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	const struct ar_ev_workspace_applying *p = PAYLOAD(e, workspace_applying);
	struct ar_shape_session_files f;
	struct ar_work_folder place;

	if (find_files(s, e, &place, &f, err) != AR_OK)
		return AR_E_CORRUPT;
	f.apply_id = p->apply_id;
	f.apply_status = AR_SESSION_FILES_APPLY_STATUS_MERGING;
	f.action_id = AR_STR_NONE;
	f.choice = p->choice;
	f.paths = p->paths;
	ar_apply_files(s, &place, &f);
	count_checkpoint(s, p->apply_id);
	return AR_OK;
}

/* What was left out stays a change, and what is not merged is not removed. */
static bool is_all(const struct ar_shape_session_files *f, const struct ar_ev_workspace_applied *p)
{
	return f->paths.count == 0 && p->left_out == 0 && f->choice != AR_SESSION_FILES_CHOICE_LEAVE_OUT;
}

enum ar_status ar_apply_workspace_applied(struct ar_session *s, const struct ar_event *e,
					  struct ar_error *err)
{
	const struct ar_ev_workspace_applied *p = PAYLOAD(e, workspace_applied);
	struct ar_shape_session_files f;
	struct ar_work_folder place;

	if (find_files(s, e, &place, &f, err) != AR_OK)
		return AR_E_CORRUPT;
	if (is_all(&f, p))
		f.changed = (struct ar_opt_bool){ 0 };
	close_merge(&f);
	f.base = p->base;
	f.checkpoint_id = p->checkpoint_id;
	ar_apply_files(s, &place, &f);
	ar_apply_count(&s->counters.checkpoint.v, p->checkpoint_id);
	return AR_OK;
}

enum ar_status ar_apply_workspace_conflicted(struct ar_session *s, const struct ar_event *e,
					     struct ar_error *err)
{
	const struct ar_ev_workspace_conflicted *p = PAYLOAD(e, workspace_conflicted);
	struct ar_shape_session_files f;
	struct ar_work_folder place;

	if (find_files(s, e, &place, &f, err) != AR_OK)
		return AR_E_CORRUPT;
	f.apply_status = AR_SESSION_FILES_APPLY_STATUS_ASKED;
	f.action_id = p->action_id;
	ar_apply_files(s, &place, &f);
	return AR_OK;
}

enum ar_status ar_apply_workspace_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_workspace_failed *p = PAYLOAD(e, workspace_failed);
	struct ar_shape_session_files f;
	struct ar_work_folder place;

	if (find_files(s, e, &place, &f, err) != AR_OK)
		return AR_E_CORRUPT;
	if (p->phase == AR_WORKSPACE_FAILED_PHASE_APPLY) {
		close_merge(&f);
	} else {
		f.status = p->phase == AR_WORKSPACE_FAILED_PHASE_REMOVE ? AR_SESSION_FILES_STATUS_LEFT
									: AR_SESSION_FILES_STATUS_FAILED;
		f.message = p->message;
	}
	ar_apply_files(s, &place, &f);
	return AR_OK;
}

/* What is left of it is that it was there. */
enum ar_status ar_apply_workspace_removed(struct ar_session *s, const struct ar_event *e,
					  struct ar_error *err)
{
	struct ar_shape_session_files f;
	struct ar_work_folder place;

	if (find_files(s, e, &place, &f, err) != AR_OK)
		return AR_E_CORRUPT;
	ar_apply_files(s, &place,
		       &(struct ar_shape_session_files){ .status =
								 e->type == AR_EV_WORKSPACE_REMOVING
									 ? AR_SESSION_FILES_STATUS_REMOVING
									 : AR_SESSION_FILES_STATUS_REMOVED });
	return AR_OK;
}
