/* Asking another node: one request on one connection, its answer or the loss of it. Connections that
 * carried a whole answer are kept per address for the next one (peer_pool.c); an event stream has one
 * of its own. Owner: the loop thread. */
#ifndef AR_TRANSPORT_PEER_LINK_H
#define AR_TRANSPORT_PEER_LINK_H

#include "auth.h"
#include "deadline.h"
#include "peer/h1_answer.h"
#include "list.h"
#include "map.h"

#include <uv.h>

struct ar_http_server;
struct ar_byte_link;
struct ar_principal;
struct ar_peer_link;
struct ar_peer_ask;

/* One address that we have connections to. */
struct ar_peer {
	char *address;
	struct ar_list idle; /* links without a request, the most recently used last */
	unsigned idle_count;
	unsigned link_count; /* all of them; the last one takes the peer along */
};

struct ar_peers {
	struct ar_map by_address;
	struct ar_list links; /* all, also those that are closing */
	const char *key; /* what we show, and what others have to show; NULL = none */
};

/* Each ask ends with exactly one of answered, ended and lost; none of them comes before
 * ar_peer_ask_start has returned, and after it the ask has no link any more. */
struct ar_peer_ask_vtable {
	/* The whole answer: status and body, which may be taken out of it. */
	void (*answered)(struct ar_peer_ask *ask, struct ar_h1_answer *answer);
	void (*opened)(struct ar_peer_ask *ask,
		       uint64_t as_of); /* an event stream begins; as in h1_answer.h */
	void (*bytes)(struct ar_peer_ask *ask, struct ar_str bytes);
	void (*ended)(struct ar_peer_ask *ask); /* the peer ended the stream, or died: it looks the same */
	void (*lost)(struct ar_peer_ask *ask, const char *why); /* what became of the request is not known */
};

/* The caller owns it (zeroed) and what it borrows until the end. */
struct ar_peer_ask {
	const struct ar_peer_ask_vtable *v;
	struct ar_str address;
	const char *command;
	struct ar_str body;
	const struct ar_principal *who; /* who asks; NULL: the operator */
	struct ar_call_origin from;
	bool is_stream; /* an event stream is hoped for; gets a connection of its own */
	bool is_fresh; /* no connection that was used before */

	/* after a start that failed: why nothing was sent; NULL: the address cannot be used */
	const char *refused;

	struct ar_peer_link *link; /* private from here on */
	bool was_pooled; /* it went out on a connection that had been idle */
	bool has_bytes; /* some of an answer has come */
};

struct ar_peer_link {
	struct ar_byte_link *link;
	uv_connect_t connect;
	uv_getaddrinfo_t resolve;
	struct ar_http_server *server;
	struct ar_peer *peer;
	struct ar_peer_ask *ask; /* NULL: idle or closing */
	struct ar_list node; /* in peers->links */
	struct ar_list idle; /* in peer->idle */
	struct ar_deadline deadline;
	struct ar_h1_answer answer;
	struct ar_buf request;
	bool is_resolving;
	bool is_writing;
	bool is_closing;
	bool is_closed; /* the handle is; the memory may wait for the resolver */
};

/* Sends the request, over an idle connection if one takes it, else over a new one. A request that an
 * idle connection did not take at all goes to the next: that is the only thing that is ever sent twice.
 * False: it could not be begun. */
AR_MUST_USE bool ar_peer_ask_start(struct ar_http_server *s, struct ar_peer_ask *ask);

/* Ends it from the caller's side and closes its connection; no callback comes any more.
 * Harmless when it is over. */
void ar_peer_ask_stop(struct ar_peer_ask *ask);

/* Of a stream: stops and goes on reading, so that the peer is held back. */
void ar_peer_ask_pause(struct ar_peer_ask *ask);
void ar_peer_ask_resume(struct ar_peer_ask *ask);

void ar_peer_link_close(struct ar_peer_link *l);
void ar_peer_link_lose(struct ar_peer_link *l, const char *why); /* and fails the requests on it */

/* ---- between peer_link.c and peer_pool.c ---- */

struct ar_peer_link *ar_peer_link_new(struct ar_http_server *s, struct ar_peer *peer);
AR_MUST_USE bool ar_peer_link_connect(struct ar_peer_link *l);

/* Writes the ask's request on a connected link; false when the connection took none of it
 * (the link is closed then). */
AR_MUST_USE bool ar_peer_link_send(struct ar_peer_link *l, struct ar_peer_ask *ask);

/* The answer is complete and the connection as good as new: keeps it, or closes it when there are enough. */
void ar_peer_pool_put(struct ar_peer_link *l);
void ar_peer_pool_forget(struct ar_peer_link *l); /* it is not idle any more, or gone */
void ar_peer_pool_release(struct ar_peers *peers, struct ar_peer *peer); /* one link less */

void ar_peers_init(struct ar_peers *peers, const char *key);
void ar_peers_close(struct ar_peers *peers);
void ar_peers_fini(struct ar_peers *peers);

#endif
