/* Server-sent events from a byte stream that may be cut anywhere. Takes what our server sends: one `id:` and one `data:` line
 * per event, comments as heartbeats, and a `retry:` line as its farewell. */
#ifndef AR_CTL_SSE_H
#define AR_CTL_SSE_H

#include "buf.h"
#include "status.h"

struct ar_sse_reader {
	struct ar_buf line; /* the line that is not complete yet */
	struct ar_buf id, payload;
	bool (*event)(void *arg, struct ar_str id, struct ar_str payload); /* false ends the stream */
	void *arg;
};

/* Feeds bytes; events of complete blocks go to event(). AR_E_CANCELED: event() said stop. AR_E_LIMIT: an event over 16 MiB. */
AR_MUST_USE enum ar_status ar_sse_feed(struct ar_sse_reader *r, struct ar_str bytes);

/* Forgets what is half-read, for the next connection. */
void ar_sse_restart(struct ar_sse_reader *r);
void ar_sse_fini(struct ar_sse_reader *r);

#endif
