/* The walk over old sessions that every engine does alike, a page at a time. Session ids rise with the time
 * they were made at, so a walk in their order meets the old ones first and needs no index by age; ids that a
 * caller made may lie beyond any time, and come last. Pure functions over the caller's memory; any thread. */
#ifndef AR_EDGE_STORE_UPKEEP_H
#define AR_EDGE_STORE_UPKEEP_H

#include "store_op.h"

#define AR_STORE_LOOK 1024 /* sessions that one step looks at */
#define AR_STORE_AHEAD \
	((ar_usec)62 * 24 * 3600 * \
	 1000000) /* ids further in the future than this are not minted by a clock */
#define AR_STORE_LITTER 8 /* receipts and contents that a step removes, for each session it may */

/* The keys that this step looks at, both ends included. */
struct ar_store_walk {
	struct ar_store_key from, to;
	bool is_empty; /* nothing can be that old */
	bool is_last; /* nothing comes after `to` */
	struct ar_str skip_to; /* the 26 characters before the next range; absent when is_last */
};

AR_BEGIN_DECLS

/* The smallest id of that time. */
struct ar_store_key ar_store_key_at(ar_usec wall);

/* Clears the results and finds the range. AR_E_INVALID: `after` is not a session. */
AR_MUST_USE enum ar_status ar_store_walk_start(struct ar_store_upkeep *op, ar_usec now,
					       struct ar_store_walk *ret);

/* Whether a session that the walk meets may go. */
bool ar_store_walk_includes(const struct ar_store_upkeep *op, const struct ar_store_key *key, bool is_active,
			    ar_usec updated);

/* Where the next step goes on: behind `last`, the last one looked at, or behind the range when last is
 * NULL. */
void ar_store_walk_end(struct ar_store_upkeep *op, const struct ar_store_walk *w,
		       const struct ar_store_key *last);

/* Adds to op->ids. */
void ar_store_upkeep_removed(struct ar_store_upkeep *op, const struct ar_store_key *key);

AR_END_DECLS

#endif
