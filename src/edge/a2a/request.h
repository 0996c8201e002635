/* What is sent to a peer for one step of a run: address, method, body. Text lives in the arena. */
#ifndef AR_EDGE_A2A_REQUEST_H
#define AR_EDGE_A2A_REQUEST_H

#include "json.h"
#include "peer/peer.h"
#include "reader.h"

enum ar_a2a_ask {
	AR_A2A_ASK_CARD = 1,
	AR_A2A_ASK_SEND,
	AR_A2A_ASK_GET,
	AR_A2A_ASK_LIST,
	AR_A2A_ASK_SUBSCRIBE,
	AR_A2A_ASK_CANCEL,
};

struct ar_a2a_request {
	enum ar_a2a_ask ask;
	const char *method; /* NULL: POST */
	struct ar_str url, body; /* body: absent: none */
	int64_t id; /* of JSON-RPC; 0: it is HTTP+JSON */
};

/* The first interface of version 1 that is spoken here, else the first of 0.3, which is spoken over JSON-RPC.
 * NULL: none. */
const struct ar_a2a_interface *ar_a2a_interface_choose(const struct ar_a2a_card *card);
bool ar_a2a_interface_is_old(const struct ar_a2a_interface *i); /* 0.3 */

/* The method of JSON-RPC, by its name in 1.0. */
struct ar_str ar_a2a_method(enum ar_a2a_ask ask);

/* False: the version of the interface has no such request. The parser's document is used up. */
bool ar_a2a_request_write(struct ar_a2a_request *ret, const struct ar_a2a_interface *i,
			  const struct ar_peer_run *run, struct ar_json_parser *parser, struct ar_arena *a);

/* The address of the card: the url itself, or its well-known path. */
struct ar_str ar_a2a_card_url(struct ar_str url, struct ar_arena *a);

#endif
