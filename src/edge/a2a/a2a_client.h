/* One remote agent over A2A 1.0, JSON-RPC or HTTP+JSON, behind the peer port (port/peer/peer.h). The card is
 * fetched with the first run and again when it is old. The credentials go to the configured origin alone, and
 * an interface elsewhere is not used. Loop thread only. */
#ifndef AR_EDGE_A2A_CLIENT_H
#define AR_EDGE_A2A_CLIENT_H

#include "peer/peer.h"

#include <uv.h>

/* Text is borrowed for the life of the peer. */
struct ar_a2a_options {
	const char
		*url; /* of the card when its path ends in .json, else what the well-known path is added to */
	const char *const *token; /* read with each request, for it is renewed; NULL or empty: none */
	const char *ca_file; /* NULL or empty: the system's certificates */
	struct ar_str keys; /* JWKS: one of them must have signed the card; absent: no check */
	uint32_t poll_ms;
	uint32_t timeout_ms; /* of one request */
	uint32_t idle_ms; /* longest silence of a stream, or of a peer that posts what is new */
	uint32_t card_ms; /* how long a card is used */
	uint32_t answer_max, artifact_max, stream_max; /* bytes */
	/* Something that the peer said was not taken, or it was not reached; NULL: nobody wants to know.
	 * The reason lives until it returns. */
	void (*on_trouble)(void *arg, enum ar_peer_error error, struct ar_str reason);
	void *arg;
};

AR_BEGIN_DECLS

/* Never NULL; costs no connection and no buffer until the first run. After close() the loop must run once
 * more for its memory to go. */
struct ar_peer *ar_a2a_peer_new(uv_loop_t *loop, const struct ar_a2a_options *o);

/* A word for an error, as logs and metrics have it. */
const char *ar_a2a_error_word(enum ar_peer_error error);

AR_END_DECLS

#endif
