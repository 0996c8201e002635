/* The Agent Card of a published agent (A2A 1.0, section 8), for 0.3 as well where that is asked for, and its
 * signatures: ES256 over the RFC 8785 form of the card without them. Pure, any thread. */
#ifndef AR_A2A_CARD_H
#define AR_A2A_CARD_H

#include "crypto/es256.h"
#include "json.h"
#include "published.h"

/* Of `key` NULL: the card has no signatures. A card for 1.0 alone has one. One that has members of 0.3 has
 * two: over the members of 1.0, as readers see it that know nothing else, and over all that is in it. */
void ar_a2a_card_write(const struct ar_a2a_published *p, const struct ar_a2a_card_ask *ask,
		       const struct ar_es256 *key, struct ar_json_parser *json, struct ar_arena *a,
		       struct ar_buf *out);

#endif
