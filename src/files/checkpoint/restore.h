/* The files of the workspace made as a checkpoint has them. */
#ifndef AR_FILES_CHECKPOINT_RESTORE_H
#define AR_FILES_CHECKPOINT_RESTORE_H

#include "checkpoint/differences.h"
#include "checkpoint/save.h"

struct ar_restored {
	struct ar_hash before; /* the tree of the files before it, which is kept */
	bool is_begun; /* `before` is set */
	int64_t files, bytes; /* changed; written */
	struct ar_str changes; /* JSON array of them */
	bool is_cut; /* the list is not complete */
};

/* False with the failure in the work; `incomplete`: all that could be done was, and the message names what
 * was not. */
bool ar_restore(struct ar_store *s, int root, const char *to, struct ar_restored *ret);

/* Writes what differs between what was saved and the tree, and leaves what others change meanwhile as it is.
 */
bool ar_restore_changes(struct ar_store *s, int root, const char *to, const struct ar_saved *before,
			struct ar_restored *ret);

#endif
