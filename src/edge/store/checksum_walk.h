/* The walk that gives checksums to rows of the log which an older version wrote, a page at a time; every
 * engine does it alike. It goes over sessions that were made before it began, and then over those of no time
 * at all; what is written meanwhile gets its checksum from its writer. A walk that found no row without one
 * was the last. How far it is stands in table meta, so that it goes on after a restart and nodes share one.
 * Pure functions over the caller's memory; any thread. */
#ifndef AR_EDGE_STORE_CHECKSUM_WALK_H
#define AR_EDGE_STORE_CHECKSUM_WALK_H

#include "store_op.h"

#define AR_CHECKSUM_META "seal_walk" /* key of its row in table meta */
#define AR_CHECKSUM_PAGE 256 /* rows that one step looks at, */
#define AR_CHECKSUM_BYTES ((size_t)4 << 20) /* and about how many bytes of them it writes again */

struct ar_checksum_walk {
	struct ar_store_key session; /* the row that was looked at last */
	uint64_t first_seq;
	uint64_t added; /* rows, in this walk */
	ar_usec began; /* wall clock */
	bool is_over;
};

/* What one step found. */
struct ar_checksum_page {
	bool is_full; /* there may be more behind `last` */
	struct ar_store_key last;
	uint64_t last_first_seq;
	uint64_t added;
};

AR_BEGIN_DECLS

/* From the text of its row; a new walk when there is none that can be read. */
struct ar_checksum_walk ar_checksum_walk_read(struct ar_str text, ar_usec now);
struct ar_str ar_checksum_walk_text(const struct ar_checksum_walk *w, struct ar_arena *a);

/* The last session of the range that it is in. */
struct ar_store_key ar_checksum_walk_end(const struct ar_checksum_walk *w);

/* Behind what the page looked at. True: that was the end of a range and little work, the next one can follow
 * in the same step. */
bool ar_checksum_walk_advance(struct ar_checksum_walk *w, const struct ar_checksum_page *page, ar_usec now);

AR_END_DECLS

#endif
