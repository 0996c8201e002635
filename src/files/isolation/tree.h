/* A tree of the store with some paths as another one has them. */
#ifndef AR_FILES_ISOLATION_TREE_H
#define AR_FILES_ISOLATION_TREE_H

#include "checkpoint/differences.h"
#include "checkpoint/import.h"

enum ar_tree_side {
	AR_TREE_OLD, /* what the differences say was there */
	AR_TREE_NEW,
};

struct ar_tree_change {
	const struct ar_differences *differences;
	enum ar_tree_side side;
	const bool *is_wanted; /* by their index; NULL: all */
};

/* `keeps`: under the session's ids. False with the
 * failure in the work. */
bool ar_tree_with(struct ar_store *s, const struct ar_hash *base, const struct ar_tree_change *c, bool keeps,
		  struct ar_hash *ret);

/* One of the differences; false: git has ended. */
bool ar_tree_take(struct ar_import *m, const struct ar_difference *d, enum ar_tree_side side);

/* NULL: the path is in none of them. */
const struct ar_difference *ar_tree_difference(const struct ar_differences *d, struct ar_str path);

#endif
