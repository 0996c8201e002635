/* Changes of a tree on their way into the store: one git fast-import, which begins with the tree of the last
 * checkpoint and is told what differs. */
#ifndef AR_FILES_CHECKPOINT_IMPORT_H
#define AR_FILES_CHECKPOINT_IMPORT_H

#include "checkpoint/entries.h"
#include "checkpoint/store.h"

struct ar_import {
	struct ar_store *store;
	struct ar_git_child git;
};

/* `base`: NULL for an empty tree. False with the failure in the work. */
bool ar_import_open(struct ar_import *m, struct ar_store *s, const struct ar_hash *base);

/* False: git has ended; close() says why. */
bool ar_import_put(struct ar_import *m, const struct ar_tree_entry *e, struct ar_str content);
bool ar_import_set(struct ar_import *m, struct ar_str path, uint32_t mode,
		   struct ar_str object); /* one that the store has, in hex */
bool ar_import_delete(struct ar_import *m, struct ar_str path);

/* Completes the tree and keeps it, durably: as the base of the next one, and with `keeps` under its id. False
 * with the failure in the work. */
bool ar_import_close(struct ar_import *m, bool keeps, struct ar_hash *ret_tree);

void ar_import_drop(struct ar_import *m); /* instead of close: nothing of it is kept */

/* A path as fast-import reads it, in quotes. */
void ar_import_add_path(struct ar_buf *out, struct ar_str path);

/* From hex; false: it is none. */
bool ar_import_object(struct ar_str hex, struct ar_hash *ret);

#endif
