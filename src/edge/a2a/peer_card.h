/* Whether a card is to be trusted, and which of its interfaces is used. */
#ifndef AR_EDGE_A2A_PEER_CARD_H
#define AR_EDGE_A2A_PEER_CARD_H

#include "jwk.h"
#include "reader.h"

struct ar_a2a_trust {
	const char *url; /* configured: nothing is used that has another origin */
	const struct ar_jwks *keys; /* pinned; NULL: no signature is asked for */
	struct ar_json_parser *parser; /* for headers of signatures; not the one that read the card */
};

/* The first interface that is spoken; `ret_key` is the id of the key that signed, absent: none is pinned. */
enum ar_peer_error ar_a2a_card_check(struct ar_a2a_reading *r, const struct ar_a2a_trust *t,
				     struct ar_json doc, const struct ar_a2a_card *card,
				     const struct ar_a2a_interface **ret, struct ar_str *ret_key);

#endif
