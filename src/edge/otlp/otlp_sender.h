/* Sends the records of one signal to a collector, in batches, one request at a time. Nothing waits for it: a
 * record that does not fit into the queue is dropped and counted. A request that the collector asks to repeat
 * (429, 502, 503, 504), or that does not get through, is repeated with growing pauses until the batch is too
 * old; then it is dropped and counted. Owner: the loop thread. */
#ifndef AR_OTLP_SENDER_H
#define AR_OTLP_SENDER_H

#include "encode.h"

#include <uv.h>

#define AR_OTLP_BATCH 512 /* records of one request */

enum ar_otlp_drop {
	AR_OTLP_FULL, /* the queue is */
	AR_OTLP_REFUSED, /* by the collector */
	AR_OTLP_EXPIRED, /* it could not be delivered for too long */
	AR_OTLP_STOPPED, /* the process ends */
	AR_OTLP_REJECTED, /* by the collector, out of a batch that it accepted */
	AR_OTLP_DROPS
};

enum ar_otlp_request {
	AR_OTLP_OK,
	AR_OTLP_RETRIED,
	AR_OTLP_FAILED,
	AR_OTLP_REQUESTS,
};

struct ar_otlp_counts {
	uint64_t exported;
	uint64_t dropped[AR_OTLP_DROPS];
	uint64_t requests[AR_OTLP_REQUESTS];
	size_t queued; /* records now, those under way included */
};

struct ar_otlp_options {
	const char *url; /* copied, as is ca_file */
	const char *ca_file; /* NULL or empty: the system's certificates */
	const struct ar_str *headers; /* whole lines; copied */
	size_t header_count;
	const struct ar_otlp_source *source; /* borrowed */
	uint32_t timeout_ms, interval_ms;
	size_t queue; /* records */
	/* A batch was dropped, or one is accepted again after that; a sentence. NULL: nobody asks. */
	void (*on_trouble)(void *arg, const char *why);
	void *arg;
};

struct ar_otlp_sender;

AR_BEGIN_DECLS

struct ar_otlp_sender *ar_otlp_sender_new(uv_loop_t *loop, const struct ar_otlp_options *o);

/* Where the next record is to be written, or NULL: there is no room, and it is counted as dropped. Then
 * ar_otlp_sender_added() with the number of records that were written. */
struct ar_buf *ar_otlp_sender_room(struct ar_otlp_sender *s);
void ar_otlp_sender_added(struct ar_otlp_sender *s, size_t records);

/* Sends what is there without waiting for more. */
void ar_otlp_sender_flush(struct ar_otlp_sender *s);

struct ar_otlp_counts ar_otlp_sender_counts(const struct ar_otlp_sender *s);

/* Sends what is there, for two seconds at most, then drops the rest. The memory goes when the loop has run.
 * NULL is allowed. */
void ar_otlp_sender_close(struct ar_otlp_sender *s);

AR_END_DECLS

#endif
