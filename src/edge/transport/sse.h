/* An event stream on a carrier: frames of the log as the peer takes them. Owner: the loop thread. */
#ifndef AR_TRANSPORT_SSE_H
#define AR_TRANSPORT_SSE_H

#include <stdint.h>

struct ar_error;
struct ar_http_request;
struct ar_http_server;
struct ar_sse;

/* Subscribes with the input of the request and turns its carrier into a stream; a
 * refusal is answered as JSON. */
void ar_sse_open(struct ar_http_request *req);

uint64_t ar_sse_opened_at(const struct ar_sse *s); /* as in follow.h */

void ar_sse_drained(struct ar_sse *s); /* the peer takes more */
void ar_sse_drain(struct ar_sse *s); /* the server stops */
void ar_sse_expire(struct ar_sse *s, const struct ar_error *why); /* the reader may not read on */

/* The carrier closes: no callback any more. The memory stays until ar_sse_free. */
void ar_sse_stop(struct ar_sse *s);
void ar_sse_free(struct ar_sse *s);

/* Writes what the waiting streams have, once per turn of the loop. */
void ar_sse_flush(struct ar_http_server *s);

#endif
