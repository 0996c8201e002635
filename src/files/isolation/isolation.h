/* The folder that a session has for itself: operations of agent-files for the runtime, offered to no model.
 * The workspace of the request is the folder of the workspace, args.folder that of the session, args.store
 * the store of checkpoints, args.session whose ids it keeps. The answer has `checkpoint`
 * (checkpoint/checkpoint.h) with further members.
 *
 *   workspace_fill   args.kind: empty, copy, overlay or worktree. Makes args.folder as the workspace is now;
 *                    what was in it is gone. `id`: that state, kept. `method`: reflink, copy or none.
 *                    worktree: with a repository of its own, on the branch args.branch
 *   workspace_merge  args.base: what args.folder was filled with. Brings what changed since into the
 *                    workspace, all of it or nothing. args.paths: only those. args.choice: what becomes of
 *                    conflicts (session, workspace, leave_out); without it they are listed in `conflicts`
 *                    and nothing is written. args.protected: never written; `leftOut` counts them.
 *                    args.apply: its id; repeated with the same one, `id` is the state before the first try.
 *                    `base`: what the next merge begins with
 *   workspace_clear  everything in args.folder is removed */
#ifndef AR_FILES_ISOLATION_H
#define AR_FILES_ISOLATION_H

#include "work.h"

void ar_files_workspace_fill(struct ar_files_work *w, struct ar_json args);
void ar_files_workspace_merge(struct ar_files_work *w, struct ar_json args);
void ar_files_workspace_clear(struct ar_files_work *w, struct ar_json args);

#endif
