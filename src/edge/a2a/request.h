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

/* Whether the interface is spoken here. */
bool ar_a2a_interface_is_spoken(const struct ar_a2a_interface *i);

void ar_a2a_request_write(struct ar_a2a_request *ret, const struct ar_a2a_interface *i,
			  const struct ar_peer_run *run, struct ar_arena *a);

/* The address of the card: the url itself, or its well-known path. */
struct ar_str ar_a2a_card_url(struct ar_str url, struct ar_arena *a);

#endif
