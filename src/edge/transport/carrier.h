/* What a request hangs on, whatever the protocol: an HTTP/1 connection carries one after the
 * other, an HTTP/2 stream carries one, a JSON-RPC message is one. The request, the event stream
 * and the forward to a peer know only this; the protocol implements the vtable and embeds the
 * carrier. Owner: the loop thread. */
#ifndef AR_TRANSPORT_CARRIER_H
#define AR_TRANSPORT_CARRIER_H

#include "status.h"
#include "str.h"

#include <stdint.h>

struct ar_carrier;
struct ar_http_request;
struct ar_frame;
struct ar_http_server;
struct ar_byte_link;
struct ar_principal;
struct ar_http_admission;
struct ar_a2a_exchange;

/* Where a peer came from; one per link. */
struct ar_source {
	struct ar_str certificate; /* subject of the client certificate that was verified; absent: none */
	unsigned uid; /* with is_unix or is_loopback: the kernel's word; AR_NO_USER: it does not say */
	bool is_unix;
	bool is_in_group; /* with is_unix: that user is of the server's own group */
	bool is_peer; /* another node of the cluster, at its own address */
	bool is_loopback; /* TCP from this machine */
	bool is_tls;
	bool is_inside; /* a part of this process */
	char address[46]; /* of the other end, over TCP; empty: none */
};

/* Becomes the owner of the link. `req` may be looked at until this returns; `rest` is what
 * was read behind the request. */
typedef void ar_takeover_fn(struct ar_byte_link *l, struct ar_http_request *req, struct ar_str rest);

/* The stream_ functions return true when everything was taken and more may come at once. False: the
 * carrier is closed, or it is busy and calls ar_carrier_drained() once, later. */
struct ar_carrier_vtable {
	/* c->request->reply is the answer: sends it and drops c->request when it is out. */
	void (*reply)(struct ar_carrier *c);

	/* ar_http_request_admit() could not say yet who asks; now the caller is authenticated:
	 * the body may be read. */
	void (*admitted)(struct ar_carrier *c);

	/* Asked before frames are pulled for it; NULL: always. False: it calls
	 * ar_carrier_drained() later. Many streams may share what one peer reads. */
	bool (*takes_more)(struct ar_carrier *c);

	/* The answer is an event stream. c->request is dropped. */
	bool (*stream_begin)(struct ar_carrier *c);
	bool (*stream_frames)(struct ar_carrier *c, struct ar_frame **frames, size_t count); /* takes the
											      references */
	bool (*stream_bytes)(struct ar_carrier *c,
			     struct ar_str bytes); /* server-sent events as a peer wrote them; copied */
	/* The stream is over; not called while it is busy. retry_ms: when to come back, 0 = not
	 * said. err: why, or NULL. */
	void (*stream_end)(struct ar_carrier *c, unsigned retry_ms, const struct ar_error *err);

	/* The core has answered after the carrier was closed: it may be freed now. */
	void (*released)(struct ar_carrier *c);

	/* Gives the connection to another protocol instead of a reply; `take` is called before or after
	 * this returns. NULL: this protocol cannot. */
	void (*upgrade)(struct ar_carrier *c, ar_takeover_fn *take);
};

struct ar_carrier {
	const struct ar_carrier_vtable *v;
	struct ar_http_server *server;
	const struct ar_source *source;
	struct ar_http_request *request; /* the one that is read or answered */
	struct ar_sse *sse;
	struct ar_forward *forward;
	struct ar_a2a_exchange *a2a;
	/* of who was admitted with the request or the stream; NULL: the operator, or someone else's */
	struct ar_http_admission *admission;
	/* who asks; NULL: the operator. Set before ar_http_request_start(). */
	const struct ar_principal *who;
	bool is_closed; /* nobody is there any more */
	bool is_stuck; /* it is being closed because the peer takes nothing */
};

/* Newest fact of the session when the stream began, here or at the owner; 0: not known, or
 * a stream of many sessions. */
uint64_t ar_carrier_opened_at(const struct ar_carrier *c);

/* What the stream handed over is out: it may go on. */
void ar_carrier_drained(struct ar_carrier *c);

/* The server stops: streams end, what is under way finishes. */
void ar_carrier_drain(struct ar_carrier *c);

/* From now on `who` asks, which is copied; NULL: the operator. */
void ar_carrier_admit(struct ar_carrier *c, const struct ar_principal *who);
void ar_carrier_drop_admission(struct ar_carrier *c);

/* What was shown for the stream is not good any more: it ends, for that reason. */
void ar_carrier_expire(struct ar_carrier *c, const struct ar_error *why);

/* Nobody is there any more: ends what hangs on it, without an answer. Harmless when closed. */
void ar_carrier_stop(struct ar_carrier *c);

/* After stop: frees what hangs on it except the request. False while the core owes an
 * answer; released() follows. */
bool ar_carrier_fini(struct ar_carrier *c);

#endif
