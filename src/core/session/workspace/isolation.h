/* A session or a child agent with a folder of its own: filled before its first call that works there,
 * compared with the state that it began with, merged by command into the workspace, or into the folder of
 * the child's parent. What does it is the checkpoint port. A fill, a merge or a removal that was cut by a
 * crash is repeated: all of them may be. Pure. */
#ifndef AR_SESSION_WORKSPACE_ISOLATION_H
#define AR_SESSION_WORKSPACE_ISOLATION_H

#include "action/action.h"
#include "workspace/work_folder.h"

/* It fills, merges or removes, or has a question about it that becomes due: after a crash it is taken up. */
bool ar_session_moves_files(const struct ar_session *s);

/* prepare.c */
/* Whether the call may begin: it waits for the folder, which is begun to be filled here, and for a merge. */
enum ar_hold ar_isolation_before_call(struct ar_decision *d, const struct ar_turn *turn,
				      const struct ar_tool *tool);

/* Why the call cannot begin; absent: it can. */
struct ar_str ar_isolation_fault(const struct ar_session *s, const struct ar_turn *turn,
				 const struct ar_tool *tool);
void ar_isolation_recover(struct ar_decision *d); /* after a crash: what is open is begun again */
void ar_isolation_filled(struct ar_decision *d, const struct ar_checkpoint_end *end);

/* merge.c */
void ar_isolation_merged(struct ar_decision *d, const struct ar_checkpoint_end *end);
void ar_isolation_merge_again(struct ar_decision *d, const struct ar_work_folder *p);

/* Whether the answer to the question about conflicts may be given now. */
AR_MUST_USE enum ar_status ar_isolation_check_answer(const struct ar_session *s, const struct ar_action *a,
						     struct ar_str decision, struct ar_error *err);
void ar_isolation_answered(struct ar_decision *d, const struct ar_action *a, const struct ar_settlement *s);

/* remove.c */
/* Folders of closed children that nothing is wanted of any more are begun to be removed. */
void ar_isolation_release(struct ar_decision *d);
void ar_isolation_remove_again(struct ar_decision *d, const struct ar_work_folder *p);
void ar_isolation_cleared(struct ar_decision *d, const struct ar_checkpoint_end *end);

#endif
