/* The index of a checkpoint store: which files the last checkpoint holds, and by what their state is known
 * again without reading them. A cache: one that is missing or damaged only costs time. Its bytes are believed
 * only if they are whole. */
#ifndef AR_FILES_CHECKPOINT_INDEX_H
#define AR_FILES_CHECKPOINT_INDEX_H

#include "buf.h"
#include "checkpoint/entries.h"

#define AR_INDEX_BYTES_MAX ((size_t)1 << 30) /* more than the longest paths need */

/* Entries point into `bytes`; false: these bytes are no index. `tree` is the object of the whole. */
bool ar_index_parse(struct ar_str bytes, struct ar_tree_entries *ret, struct ar_hash *ret_tree);

void ar_index_print(const struct ar_tree_entries *l, const struct ar_hash *tree, struct ar_buf *out);

#endif
