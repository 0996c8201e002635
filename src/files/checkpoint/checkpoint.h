/* Checkpoints of a workspace's files: operations of agent-files for the runtime itself, offered to no model.
 * All have args.store, the folder of the store, and args.session, whose ids they are: the same id may be kept
 * for several sessions. args.private: the folder is that of the session alone. The answer has `checkpoint`:
 * {"id","files","bytes","leftOut","changed","diff","isCut"}, and `changes` as an array of {"path","change"}.
 *
 *   checkpoint_save     keeps the files as they are; with args.from the answer has `versions`
 *                       (write/versions.h) of the files that differ from that checkpoint (changed.h)
 *                       States of sessions that saved none for args.keepDays days go
 *   checkpoint_restore  args.to: makes the files as that checkpoint has them; `id`: the files before, kept
 *   checkpoint_diff     args.from, and args.to or the files as they are
 *   checkpoint_forget   args.ids: they are no longer kept
 *
 * Kept are regular files with their x bit, and links as links. Left out and counted: `.git`, sockets, fifos,
 * devices, files above 64 MiB, what cannot be read. Empty folders are not kept. */
#ifndef AR_FILES_CHECKPOINT_H
#define AR_FILES_CHECKPOINT_H

#include "work.h"

void ar_files_checkpoint_save(struct ar_files_work *w, struct ar_json args);
void ar_files_checkpoint_restore(struct ar_files_work *w, struct ar_json args);
void ar_files_checkpoint_diff(struct ar_files_work *w, struct ar_json args);
void ar_files_checkpoint_forget(struct ar_files_work *w, struct ar_json args);

#endif
