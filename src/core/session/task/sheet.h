/* How facts about a declared task change what is known of it beyond its status. Called by
 * turn/apply_task.c, which has found the task. Pure; only appliers may call these. */
#ifndef AR_SESSION_TASK_SHEET_H
#define AR_SESSION_TASK_SHEET_H

#include "apply.h"

/* task.created: the task joins the session's declared ones, with all that was said about it. */
void ar_sheet_begin(struct ar_session *s, const struct ar_event *e, struct ar_task *task);

/* task.attempt.started and the end of an attempt: what only runs of declared tasks keep. */
void ar_sheet_run(struct ar_session *s, const struct ar_event *e, struct ar_task *task, struct ar_run *run);
void ar_sheet_run_over(struct ar_session *s, const struct ar_event *e, struct ar_task *task,
		       struct ar_run *run);

/* Any fact that moves the status of the task, before it does. */
void ar_sheet_moved(struct ar_session *s, const struct ar_event *e, struct ar_task *task);

/* The oldest ended tasks leave when there are too many. */
void ar_sheet_window(struct ar_session *s);

ar_apply_fn ar_apply_task_updated, ar_apply_task_progress, ar_apply_dependency, ar_apply_task_archived;

#endif
