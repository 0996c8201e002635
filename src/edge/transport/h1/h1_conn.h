/* An HTTP/1 connection: it reads requests from its link one after the other and carries each of
 * them. Owner: the loop thread. */
#ifndef AR_TRANSPORT_H1_CONN_H
#define AR_TRANSPORT_H1_CONN_H

#include "request.h"
#include "h1/h1_again.h"
#include "h1/h1_codec.h"
#include "link/link.h"

enum ar_conn_state {
	AR_CONN_IDLE, /* no request */
	AR_CONN_READING, /* a request is coming in */
	AR_CONN_ANSWERING, /* the core works on it, or the reply is being written; what comes in waits */
	AR_CONN_STREAMING, /* events go out; what comes in is dropped */
	AR_CONN_LINGERING, /* we have said all; what comes in is dropped until the peer closes */
	AR_CONN_LEAVING, /* another protocol takes the link */
	AR_CONN_CLOSED,
};

struct ar_h1_held; /* what a stream could not write yet */

struct ar_conn {
	struct ar_carrier carrier;
	struct ar_byte_link *link;
	struct ar_h1_held *held;
	struct ar_h1_again *again; /* the head of most of its requests; NULL: not known */
	ar_takeover_fn *take;
	struct ar_buf pending; /* pipelined bytes that came in behind a request that is being answered */
	enum ar_conn_state state;
	bool is_known; /* it speaks HTTP/1: the first bytes say so */
	bool is_authenticated; /* somebody was, with a request of it */
	bool is_kept; /* a request was read: more may follow */
	bool is_pumping; /* the parse loop is on the stack */
	bool is_released; /* the link is closed; the rest waits for the core's answer */
	bool is_busy; /* the stream has a write in flight */
	bool is_ending; /* and nothing comes behind it */
};

/* A request and the room for the head of its reply; exists while it is read or answered. */
struct ar_h1_request {
	struct ar_http_request base;
	struct ar_h1 h1;
	size_t head_len;
	char head[1024];
};

static inline struct ar_conn *ar_conn_of(struct ar_carrier *c)
{
	return AR_CONTAINER_OF(c, struct ar_conn, carrier);
}

static inline struct ar_h1_request *ar_h1_request_of(struct ar_conn *c)
{
	return AR_CONTAINER_OF(c->carrier.request, struct ar_h1_request, base);
}

/* ---- h1_conn.c ---- */

/* Speaks HTTP/1 on the link from now on. */
void ar_conn_open(struct ar_byte_link *l);

/* Nothing more will be written: sends FIN and waits a little for the peer's, so that our last bytes are not
 * lost. */
void ar_conn_linger(struct ar_conn *c);

/* Closes at once; memory goes when the link is closed and no call is in flight. Harmless when closed. */
void ar_conn_close(struct ar_conn *c);

/* For the parts of a connection. */
void ar_conn_read_start(struct ar_conn *c);
void ar_conn_drop_request(struct ar_conn *c);

/* ---- h1_request.c ---- */

/* A request that nothing was read of yet; the request is the carrier's. */
struct ar_h1_request *ar_h1_request_begin(struct ar_carrier *c);
void ar_h1_request_end(struct ar_h1_request *r);

/* ---- h1_stream.c: the stream_ functions of the carrier ---- */

bool ar_h1_stream_begin(struct ar_carrier *carrier);
bool ar_h1_stream_frames(struct ar_carrier *carrier, struct ar_frame **frames, size_t count);
bool ar_h1_stream_bytes(struct ar_carrier *carrier, struct ar_str bytes);
void ar_h1_stream_end(struct ar_carrier *carrier, unsigned retry_ms, const struct ar_error *err);

/* The stream was silent for a while. */
void ar_h1_stream_beat(struct ar_conn *c);
void ar_h1_held_free(struct ar_h1_held *held); /* NULL is fine */

/* ---- h1_reply.c ---- */

/* Writes status line and headers into `head`; returns their length. */
size_t ar_h1_reply_format(const struct ar_reply *r, bool is_close, char *head, size_t room);

/* The same for an answer that is an event stream and ends with the connection. */
size_t ar_h1_stream_format(const struct ar_reply *r, char *head, size_t room);

#endif
