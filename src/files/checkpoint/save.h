/* The files of the workspace as they are now, saved into the store. */
#ifndef AR_FILES_CHECKPOINT_SAVE_H
#define AR_FILES_CHECKPOINT_SAVE_H

#include "checkpoint/entries.h"
#include "checkpoint/store.h"

struct ar_saved {
	struct ar_hash tree;
	struct ar_tree_entries now; /* what is in it */
	int64_t left_out;
	struct ar_buf index; /* old bytes, which paths point into */
};

/* `keeps`: under refs/checkpoints, until it is forgotten. False with the failure in the work: nothing new is
 * kept. fini() follows in any case. */
bool ar_save(struct ar_store *s, int root, bool keeps, struct ar_saved *ret);
void ar_saved_fini(struct ar_saved *r);

#endif
