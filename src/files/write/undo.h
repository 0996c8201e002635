/* Putting files back as they were. */
#ifndef AR_FILES_UNDO_H
#define AR_FILES_UNDO_H

#include "work.h"

/* Takes back args.changes of one call (JSON array, as record.h writes it), the last one first. The text has a
 * line per file: restored, removed, or kept and why; with one that was kept the call fails with
 * `conflict`. */
void ar_files_undo(struct ar_files_work *w, struct ar_json args);

#endif
