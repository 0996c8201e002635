/* The files that changed between two checkpoints, as they are in the later one: what commands of a turn left.
 * Files that the repository of the workspace ignores (build results, packages) are not among them, nor
 * links. */
#ifndef AR_FILES_CHECKPOINT_CHANGED_H
#define AR_FILES_CHECKPOINT_CHANGED_H

#include "checkpoint/differences.h"

#define AR_CHANGED_MAX 256 /* files that are listed */

/* A JSON array as of write/versions.h, in the arena of the work; absent: none. *ret_count: how many there
 * are, listed or not; those that were not looked at for being too many count. False with the failure in
 * the work. */
bool ar_changed_list(struct ar_store *s, const char *from, const char *to, struct ar_str *ret,
		     int64_t *ret_count);

#endif
