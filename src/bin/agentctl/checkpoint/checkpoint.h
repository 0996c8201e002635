/* Checkpoints of a session's files, by the daemon: the commands that restore or compare them share this. */
#ifndef AR_CTL_CHECKPOINT_H
#define AR_CTL_CHECKPOINT_H

#include "api.h"

/* The checkpoint at the start of the turn that can be restored, kept for the invocation; absent: it has
 * none, or the daemon knows no checkpoints. */
struct ar_str ar_checkpoint_of_turn(struct ar_ctl *c, struct ar_str session, struct ar_str turn);

/* Restores it, waits for the end and says what came of it. */
AR_MUST_USE enum ar_exit ar_checkpoint_restore(struct ar_ctl *c, struct ar_str session,
					       struct ar_str checkpoint, const char *reason);

/* The answer of diff_checkpoints or diff_workspace. */
void ar_checkpoint_print_diff(struct ar_ctl *c, const struct ar_api_reply *r, bool only_names);

/* get_session of the session that a turn is of: the named one, the one in its id, or the last. `ret` always
 * wants fini. */
AR_MUST_USE enum ar_exit ar_checkpoint_session(struct ar_ctl *c, struct ar_str turn, const char *named,
					       struct ar_api_reply *ret);

#endif
