/* Where a reader of a whole tenant is: `t<lane>:<position>[.<sequence>][,...]`, see
 * port/store_feed.h for lanes and positions. Everything up to these places was seen; of the facts at
 * the one with a sequence, those up to that. Places of a tenant's feed and cursors of a session
 * cannot be taken for each other. */
#ifndef AR_CURSOR_PLACES_H
#define AR_CURSOR_PLACES_H

#include "buf.h"
#include "status.h"
#include "store_feed.h"

/* Zero is the beginning. */
struct ar_places {
	struct ar_store_place *lanes; /* its own; room for all of them once there is one */
	size_t count;
	uint64_t part_lane, part_sequence; /* the lane whose place was not seen to its end; 0: none */
};

void ar_places_fini(struct ar_places *p); /* harmless twice */

/* Empty or absent text is the beginning. AR_E_REFUSED with invalid_cursor otherwise, and
 * then nothing to end. */
AR_MUST_USE enum ar_status ar_places_parse(struct ar_str text, struct ar_places *ret, struct ar_error *err);
void ar_places_print(const struct ar_places *p, struct ar_buf *out);

/* Everything up to that place was seen, of its own facts those up to the sequence (0: all). False:
 * there is no room for another lane. */
bool ar_places_move(struct ar_places *p, struct ar_store_place to, uint64_t sequence);

/* The same for each of some places that is further than what was seen. False: there is no room for all. */
bool ar_places_raise(struct ar_places *p, const struct ar_store_place *to, size_t count);

/* Whether the fact at a place is among what was seen. */
bool ar_places_have(const struct ar_places *p, struct ar_store_place at, uint64_t sequence);

/* Whether all places of another were reached. */
bool ar_places_cover(const struct ar_places *p, const struct ar_places *other);

/* Whether one is further than another in at least one lane; both can be, of each other. */
bool ar_places_beyond(const struct ar_places *p, const struct ar_places *other);

/* The highest position that it names; 0: none. */
uint64_t ar_places_reach(const struct ar_places *p);

/* The same as what a store is asked for: behind these, and a place that was not seen to its end once more. */
size_t ar_places_after(const struct ar_places *p, struct ar_store_place ret[AR_FEED_LANES]);

#endif
