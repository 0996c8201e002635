/* One stream of an HTTP/2 connection: it gathers a request, carries its request, and gives nghttp2 the
 * bytes of the answer as the windows allow. What does not fit yet is held by reference; there is no
 * queue behind it. Owner: the loop thread. */
#ifndef AR_TRANSPORT_H2_STREAM_H
#define AR_TRANSPORT_H2_STREAM_H

#include "request.h"
#include "h2/h2_conn.h"

/* A request while it is read or answered. */
struct ar_h2_request {
	struct ar_http_request base;
	struct ar_http_head head; /* texts in base.pool */
	struct ar_buf body;
	size_t counted; /* of it in the connection's body_bytes; it may be gone before the request */
	struct ar_fault fault; /* of the head; sent when the head is complete */
	size_t head_bytes;
	bool is_expecting; /* 100-continue */
};

struct ar_h2_stream {
	struct ar_carrier carrier;
	struct ar_h2_conn *conn;
	struct ar_list node; /* in conn->streams */
	struct ar_list drained; /* in conn->drained */
	struct ar_deadline deadline;
	struct ar_frame **frames; /* held: those behind `frame_at` are not out yet */
	char *text; /* held: of a relayed stream, a comment, a farewell */
	size_t text_len, text_at;
	size_t late_bytes; /* of the request, after its answer */
	size_t held_bytes; /* of its body, before its caller is known: its window stays as small by that */
	size_t byte_at; /* in the first frame, or in the body of a reply */
	uint32_t frame_count, frame_at;
	int32_t id;
	bool is_whole; /* the request is */
	bool is_answered; /* no head will be sent any more */
	bool is_streaming;
	bool is_stalled; /* who feeds it waits to hear that bytes are out */
	bool is_waiting; /* who feeds it waits for the connection */
	bool is_text_last; /* behind the frames, not before them */
	bool is_ending;
	bool is_gone; /* nghttp2 knows it no more */
};

struct ar_h2_stream *ar_h2_stream_new(struct ar_h2_conn *h, int32_t id);

void ar_h2_stream_released(struct ar_carrier *c); /* of the carrier's vtable */
void ar_h2_stream_admitted(struct ar_carrier *c); /* the same */

/* nghttp2 has closed it, or the connection is: memory goes at once or when the core has answered. */
void ar_h2_stream_close(struct ar_h2_stream *s);

/* ---- the request ---- */

/* False: it is far beyond what can be answered politely; the stream is reset and the rest
 * of the block not looked at. */
bool ar_h2_stream_header(struct ar_h2_stream *s, struct ar_str name, struct ar_str value);

/* The head is whole; `is_last`: there is no body. The answer may be submitted before this returns. */
void ar_h2_stream_head(struct ar_h2_stream *s, bool is_last);
void ar_h2_stream_body(struct ar_h2_stream *s, struct ar_str bytes);
void ar_h2_stream_run(struct ar_h2_stream *s); /* the body is whole */

/* ---- the answer ---- */

/* The last frame of the answer is out. */
void ar_h2_stream_sent(struct ar_h2_stream *s);

/* The connection takes more. */
void ar_h2_stream_go_on(struct ar_h2_stream *s);

/* ---- h2_answer.c: the carrier's vtable ---- */

extern const struct ar_carrier_vtable ar_h2_carrier;
void ar_h2_answer_fini(struct ar_h2_stream *s);
void ar_h2_answer_beat(struct ar_h2_stream *s); /* it was silent for a while */

void ar_h2_drop_request(struct ar_h2_stream *s);

static inline struct ar_h2_stream *ar_h2_stream_of(struct ar_carrier *c)
{
	return AR_CONTAINER_OF(c, struct ar_h2_stream, carrier);
}

static inline struct ar_h2_request *ar_h2_request_of(struct ar_h2_stream *s)
{
	return AR_CONTAINER_OF(s->carrier.request, struct ar_h2_request, base);
}

#endif
