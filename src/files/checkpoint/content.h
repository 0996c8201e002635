/* What is in a file or a link of the workspace, read for a checkpoint. Reading follows no link and waits for
 * nobody. */
#ifndef AR_FILES_CHECKPOINT_CONTENT_H
#define AR_FILES_CHECKPOINT_CONTENT_H

#include "buf.h"
#include "checkpoint/scan.h"

/* Reads it into `ret` (cleared before), behind the head that git hashes with it, and sets the stat of what
 * was read, mode and object of the entry. False: it cannot be read, or is no file or link any more. */
bool ar_content_read(const struct ar_scan_found *f, struct ar_buf *ret, struct ar_tree_entry *e);

/* Since when a change may not show in the times of a file that is read now. */
int64_t ar_content_racy_since(void);
bool ar_content_is_racy(const struct ar_tree_entry *e, int64_t since);

#endif
