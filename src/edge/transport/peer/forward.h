/* What happens to a request that this node does not answer itself: it is passed on to the session's
 * owner (forward.c), an event stream is relayed from there (relay.c), or it waits until there is an
 * owner (settle.c). Owner: the loop thread. */
#ifndef AR_TRANSPORT_FORWARD_H
#define AR_TRANSPORT_FORWARD_H

#include "request.h"
#include "peer/peer_link.h"

#define AR_RELAY_TAIL 16

struct ar_forward {
	struct ar_peer_ask ask;
	struct ar_carrier *carrier;
	char *address;
	bool has_repeated;
	bool is_counted; /* among the subscribers */

	uint64_t opened_at; /* what the owner says of the session as the stream begins; 0: nothing */
	bool is_open; /* the stream's head is out: from here on relay.c's */
	bool is_over; /* nothing more to send but what is below */
	bool is_busy; /* the carrier will say when it takes more */
	unsigned retry_ms; /* when it is over: the Retry-After of the client */
	struct ar_buf next; /* came in while it was busy: at most one read, since nothing is read meanwhile */
	char tail[AR_RELAY_TAIL]; /* newest bytes of the stream */
	size_t tail_len;
};

/* ---- forward.c ---- */

/* Asks the owner at `address` with the request's command and input. The answer goes to its carrier,
 * possibly before this returns. */
void ar_forward_open(struct ar_http_request *req, struct ar_str address);

/* The server stops: ends streams, lets commands finish. */
void ar_forward_drain(struct ar_forward *f);

/* The reader of a stream may not read on. */
void ar_forward_expire(struct ar_forward *f);

/* The carrier closes: nothing comes any more. The memory stays until ar_forward_free. */
void ar_forward_stop(struct ar_forward *f);
void ar_forward_free(struct ar_forward *f);

/* ---- relay.c ---- */

void ar_relay_open(struct ar_forward *f);
void ar_relay_bytes(struct ar_forward *f, struct ar_str bytes);

void ar_relay_drained(struct ar_forward *f); /* the client takes more */

/* Ends the client's stream, with a word on when to come back if it is between two
 * events: it resumes by its cursor. */
void ar_relay_end(struct ar_forward *f, unsigned retry_ms);

/* ---- settle.c ---- */

/* Tries it again in a moment, until its time is over or the server drains. It may be
 * answered before this returns. */
void ar_settle_wait(struct ar_http_request *req);
bool ar_settle_is_waiting(const struct ar_http_request *req);
void ar_settle_drop(struct ar_http_request *req); /* harmless when it does not wait */

#endif
