/* One file or link put in place, or removed, for a restore: only what is still as it was saved is replaced,
 * and no link is followed on the way. */
#ifndef AR_FILES_CHECKPOINT_PLACE_H
#define AR_FILES_CHECKPOINT_PLACE_H

#include "checkpoint/entries.h"

struct ar_place {
	int root;
	int folder; /* that of the last one; -1: none */
	char path[AR_TREE_ENTRY_PATH_MAX + 1]; /* of that folder */
};

/* 0, or the errno; ESTALE: it is not as it was saved. `was`: NULL when it was not saved, so that there must
 * be nothing. */
int ar_place_put(struct ar_place *p, struct ar_str path, const struct ar_tree_entry *was, uint32_t mode,
		 struct ar_str content);

/* A new file with the content of the descriptor, shared with it where the file system can; its permissions.
 * There must be nothing. */
int ar_place_clone(struct ar_place *p, struct ar_str path, int source, mode_t mode, bool *ret_is_shared);

/* Removes it, and the folders that are empty then. */
int ar_place_remove(struct ar_place *p, const struct ar_tree_entry *was);

/* All that was put in place survives a crash of the machine. errno says why not. */
bool ar_place_sync(const struct ar_place *p);

void ar_place_fini(struct ar_place *p);

#endif
