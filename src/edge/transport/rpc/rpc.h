/* A JSON-RPC 2.0 peer: every command of the catalogue as a method, and any number of subscriptions beside
 * them. Knows messages and no bytes: a wire (WebSocket, lines on two pipes) brings one JSON text after the
 * other and takes texts away.
 *
 * Nothing is queued. Answers go to the wire as they come; events are pulled only while the wire takes more,
 * one batch of each subscription in turn; and while the wire is full, 64 calls are under way or their inputs
 * are too large together, no further message is wanted. So a peer that does not read holds up itself. Owner:
 * the loop thread. */
#ifndef AR_TRANSPORT_RPC_H
#define AR_TRANSPORT_RPC_H

#include "carrier.h"
#include "list.h"

#define AR_RPC_CALLS 64 /* under way at once; the last message may add a batch */
#define AR_RPC_SUBSCRIPTIONS 256

struct ar_rpc;
struct ar_principal;

/* What a wire does. None of it calls back into the peer before it returns. */
struct ar_rpc_vtable {
	void (*send)(struct ar_rpc *r, struct ar_str text); /* one message; taken in any case */
	bool (*takes_more)(struct ar_rpc *r); /* events: its output is not full */
	void (*hurry)(
		struct ar_rpc *r); /* what was sent may go out at once: there is nobody else to wait for */
	void (*moved)(
		struct ar_rpc *r); /* a call is over: ar_rpc_wants_more() and ar_rpc_is_idle() may be new */
};

/* Embedded in its wire. */
struct ar_rpc {
	const struct ar_rpc_vtable *v;
	struct ar_http_server *server;
	const struct ar_source *source;
	const struct ar_principal *who; /* who was let in with the connection; NULL: the operator */
	struct ar_list calls; /* requests that are not answered yet, and those nobody waits for any more */
	struct ar_list subscriptions;
	struct ar_list waiting; /* subscriptions that may have more, while the wire takes no more */
	struct ar_list served; /* the same, and they had a turn since those above */
	size_t call_count;
	size_t call_bytes; /* of the messages that they came in */
	size_t subscription_count;
	uint64_t last_number; /* of a subscription */
	bool is_draining;
	bool is_stopped;
};

/* Memory of the wire's; `source` and `who` live as long. */
void ar_rpc_init(struct ar_rpc *r, const struct ar_rpc_vtable *v, struct ar_http_server *s,
		 const struct ar_source *source, const struct ar_principal *who);

/* A message has come. Its requests may be answered before this returns. */
void ar_rpc_take(struct ar_rpc *r, struct ar_str text);

/* Something came that is no message: answered with the id null. */
void ar_rpc_refuse(struct ar_rpc *r, uint16_t code, const char *why);

/* Whether another message may come now. */
bool ar_rpc_wants_more(const struct ar_rpc *r);

/* The wire takes more again: subscriptions go on. */
void ar_rpc_drained(struct ar_rpc *r);

/* The server stops, or the peer has said all: subscriptions end, calls are answered, nothing new is taken. */
void ar_rpc_drain(struct ar_rpc *r);

/* Nothing is under way, and nothing will be sent any more of itself. */
bool ar_rpc_is_idle(const struct ar_rpc *r);

/* Nobody is there any more; is_stuck: because the peer takes nothing. Memory that the core still works with
 * stays: the wire may go when ar_rpc_is_idle(), which moved() signals. */
void ar_rpc_stop(struct ar_rpc *r, bool is_stuck);

#endif
