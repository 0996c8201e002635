/* The feed of a tenant, part of the store port (store.h): the facts of all its sessions in one
 * order that can be gone on from.
 *
 * Each append has a place: a lane and a position in it. A lane has one writer at a time, and what that
 * writer commits becomes visible in the order of its positions; positions of all lanes are of one
 * series. So a reader that has seen a position of a lane has seen all before it in that lane, and of
 * two appends of one session, whichever lanes they are of, the later one has the higher position. A
 * store of one writer has one lane. A place is never given twice, also when what had it was removed. */
#ifndef AR_PORT_STORE_FEED_H
#define AR_PORT_STORE_FEED_H

#include "store.h"

#define AR_FEED_LANES 64 /* of one store, at most: as many as nodes that write at once */

struct ar_store_place {
	uint64_t lane, position; /* both from 1 on */
};

struct ar_store_feed_row {
	struct ar_store_place at;
	struct ar_str session; /* the 26 characters */
	uint64_t first_seq, last_seq;
	struct ar_str body; /* as in struct ar_store_append */
};

/* Appends of a tenant behind some places, by position: all that one moment shows, up to a size, at least one.
 * Those that came without a session row, or were written before there were feeds, are in none. A page costs
 * what it holds, however many facts others have.
 *
 * With only_heads no rows are looked for: `heads` has the newest place of each lane that holds
 * something of the tenant, and `limit` a position that none was given above. `floors` has, for each
 * lane from which upkeep removed appends of the tenant, the highest position that it removed there: a
 * reader whose place in that lane lies below it has missed something, one at or above it has not; a
 * lane that its cursor does not name counts as place 0. A floor never falls, and may lie above the
 * head: a reader that begins with what is new begins in each lane at the higher of both. AR_E_LIMIT:
 * there are more than AR_FEED_LANES lanes. */
struct ar_store_feed {
	struct ar_store_op op;
	struct ar_str tenant;
	const struct ar_store_place *after; /* a lane that is not named: from its beginning */
	size_t after_count;
	bool only_heads;
	size_t max_bytes;
	struct ar_store_feed_row *rows;
	size_t row_count;
	struct ar_str damaged; /* AR_E_CORRUPT: the session whose row comes next and is not what was stored */
	bool at_end; /* nothing further at that moment */
	struct ar_store_place *heads;
	size_t head_count;
	struct ar_store_place *floors;
	size_t floor_count;
	uint64_t limit;
};

/* For stores: nothing is found yet. */
static inline void ar_store_feed_reset(struct ar_store_feed *op)
{
	op->rows = NULL;
	op->heads = op->floors = NULL;
	op->row_count = op->head_count = op->floor_count = 0;
	op->at_end = false;
	op->damaged = AR_STR_NONE;
	op->limit = 0;
}

/* The position in a lane that some places name; 0: none does. */
static inline uint64_t ar_store_place_of(const struct ar_store_place *places, size_t count, uint64_t lane)
{
	for (size_t i = 0; i < count; i++) {
		if (places[i].lane == lane)
			return places[i].position;
	}
	return 0;
}

#endif
