/* What the facts about the folder that a session has for itself leave in the state. Pure. */
#include "apply.h"

static void keep_files(struct ar_session *s, const struct ar_shape_session_files *f)
{
	s->files = ar_struct_copy(&ar_shape_session_files_desc, f, AR_COPY_TEXT, &s->arena);
}

static void close_merge(struct ar_shape_session_files *f)
{
	f->apply_id = f->action_id = AR_STR_NONE;
	f->apply_status = 0;
	f->choice = 0;
	f->paths = (struct ar_texts){ 0 };
}

enum ar_status ar_apply_workspace_preparing(struct ar_session *s, const struct ar_event *e,
					    struct ar_error *err)
{
	(void)err;
	keep_files(s, &(struct ar_shape_session_files){ .status = AR_SESSION_FILES_STATUS_PREPARING,
							.turn_id = e->ids[AR_SCOPE_TURN] });
	return AR_OK;
}

enum ar_status ar_apply_workspace_prepared(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	const struct ar_ev_workspace_prepared *p = PAYLOAD(e, workspace_prepared);

	if (!s->files)
		return ar_apply_unknown(err, e, "folder of the session");
	keep_files(s, &(struct ar_shape_session_files){ .status = AR_SESSION_FILES_STATUS_READY,
							.turn_id = s->files->turn_id,
							.base = p->base,
							.checkpoint_id = p->checkpoint_id });
	ar_apply_count(&s->counters.checkpoint.v, p->checkpoint_id);
	s->counters.checkpoint.set = true;
	return AR_OK;
}

enum ar_status ar_apply_workspace_applying(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	const struct ar_ev_workspace_applying *p = PAYLOAD(e, workspace_applying);
	struct ar_shape_session_files f;

	if (!s->files)
		return ar_apply_unknown(err, e, "folder of the session");
	f = *s->files;
	f.apply_id = p->apply_id;
	f.apply_status = AR_SESSION_FILES_APPLY_STATUS_MERGING;
	f.action_id = AR_STR_NONE;
	f.choice = p->choice;
	f.paths = p->paths;
	keep_files(s, &f);
	ar_apply_count(&s->counters.checkpoint.v, p->apply_id);
	s->counters.checkpoint.set = true;
	return AR_OK;
}

enum ar_status ar_apply_workspace_applied(struct ar_session *s, const struct ar_event *e,
					  struct ar_error *err)
{
	const struct ar_ev_workspace_applied *p = PAYLOAD(e, workspace_applied);
	struct ar_shape_session_files f;

	if (!s->files)
		return ar_apply_unknown(err, e, "folder of the session");
	f = *s->files;
	close_merge(&f);
	f.base = p->base;
	f.checkpoint_id = p->checkpoint_id;
	keep_files(s, &f);
	ar_apply_count(&s->counters.checkpoint.v, p->checkpoint_id);
	return AR_OK;
}

enum ar_status ar_apply_workspace_conflicted(struct ar_session *s, const struct ar_event *e,
					     struct ar_error *err)
{
	const struct ar_ev_workspace_conflicted *p = PAYLOAD(e, workspace_conflicted);
	struct ar_shape_session_files f;

	if (!s->files)
		return ar_apply_unknown(err, e, "folder of the session");
	f = *s->files;
	f.apply_status = AR_SESSION_FILES_APPLY_STATUS_ASKED;
	f.action_id = p->action_id;
	keep_files(s, &f);
	return AR_OK;
}

enum ar_status ar_apply_workspace_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_workspace_failed *p = PAYLOAD(e, workspace_failed);
	struct ar_shape_session_files f;

	if (!s->files)
		return ar_apply_unknown(err, e, "folder of the session");
	f = *s->files;
	if (p->phase == AR_WORKSPACE_FAILED_PHASE_APPLY) {
		close_merge(&f);
	} else {
		f.status = AR_SESSION_FILES_STATUS_FAILED;
		f.message = p->message;
	}
	keep_files(s, &f);
	return AR_OK;
}
