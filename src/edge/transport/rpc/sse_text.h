/* Server-sent events as another node writes them (see core/eventlog/frame.c), taken apart again: what a
 * subscription over messages gets from a session that is worked on elsewhere. Single-owner, no I/O. */
#ifndef AR_TRANSPORT_RPC_SSE_TEXT_H
#define AR_TRANSPORT_RPC_SSE_TEXT_H

#include "buf.h"

struct ar_sse_text {
	struct ar_buf rest; /* of an event that is not complete */
};

typedef void ar_sse_text_fn(void *arg, struct ar_str cursor, struct ar_str json);

/* Calls `event` for every event that is complete. False when one passes `cap` bytes: the stream is of no
 * further use. */
AR_MUST_USE bool ar_sse_text_feed(struct ar_sse_text *t, struct ar_str bytes, size_t cap,
				  ar_sse_text_fn *event, void *arg);
void ar_sse_text_fini(struct ar_sse_text *t);

#endif
