/* Checkpoints: states of the files of a session's workspace, at the start and the end of its turns and
 * before each restore. The bytes are with the port (port/checkpoint.h); the state has the newest records.
 * Only a session with a workspace of its own has them, where the policy keeps some. Pure. */
#ifndef AR_SESSION_CHECKPOINTS_H
#define AR_SESSION_CHECKPOINTS_H

#include "decide.h"

struct ar_work_folder; /* workspace/work_folder.h */

#define AR_CHECKPOINT_CHANGES_MAX ((size_t)1024 * 1024) /* bytes of the list of a restore that is stored */

struct ar_checkpoint {
	const struct ar_shape_checkpoint_record *record;
};

static inline const struct ar_shape_checkpoint_record *ar_checkpoint_at(const struct ar_session *s, size_t i)
{
	return ((const struct ar_checkpoint *)s->checkpoints.at[i])->record;
}

/* state.c */
/* NULL: there is none, or it is not kept any more. */
const struct ar_shape_checkpoint_record *ar_session_checkpoint(const struct ar_session *s, struct ar_str id);

/* The newest of the turn with that phase that can be restored; NULL: none. */
const struct ar_shape_checkpoint_record *ar_session_checkpoint_of(const struct ar_session *s,
								  struct ar_str turn, int phase);
/* By its age; the store forgets those of sessions that are not used any more by itself. */
bool ar_checkpoint_is_kept(const struct ar_shape_checkpoint_record *r, const struct ar_policy *policy,
			   ar_usec now);

/* The restore that is under way in the folder: some files are as they were, some are not yet. NULL: none. */
const struct ar_shape_checkpoint_record *ar_session_restoring(const struct ar_session *s,
							      const struct ar_work_folder *p);
bool ar_session_makes_checkpoint(const struct ar_session *s); /* or restores one */

/* decide_checkpoint.c */
/* Whether the call may begin: one that works in the folder waits for the end of a restore, and one that may
 * change files for the checkpoint at the start of its turn, which is begun here. One that failed holds
 * nothing. */
enum ar_hold ar_checkpoint_before_call(struct ar_decision *d, const struct ar_turn *turn,
				       const struct ar_tool *tool);

/* Whether the turn may complete: one with a checkpoint at its start waits for that at its end, which says
 * what its commands changed. */
enum ar_hold ar_checkpoint_before_end(struct ar_decision *d, const struct ar_turn *turn);
void ar_checkpoint_drop(struct ar_decision *d, const struct ar_turn *turn); /* it ends: nobody waits */
void ar_checkpoint_after_turn(struct ar_decision *d, const struct ar_turn *turn);
/* restore.c */
/* The files are made as the tree has them; returns the checkpoint of the state before. */
struct ar_restore {
	struct ar_str target, tree, reason;
};
struct ar_str ar_checkpoint_restore(struct ar_decision *d, const struct ar_work_folder *p,
				    const struct ar_restore *r);

/* Refuses while a turn runs in the folder, or its files are moved; in the session's, while any turn runs. */
AR_MUST_USE enum ar_status ar_checkpoints_check_rest(const struct ar_session *s,
						     const struct ar_work_folder *p, struct ar_error *err);

/* decide_checkpoint.c */
void ar_checkpoints_lost(struct ar_decision *d); /* after a crash: what is open has no process */

/* The words of an end that is no good, for a fact. */
struct ar_str ar_checkpoint_category(enum ar_status status);
struct ar_str ar_checkpoint_message(struct ar_str message);

/* expire.c: those that are too many or too old leave. */
void ar_checkpoints_expire(struct ar_decision *d);

#endif
