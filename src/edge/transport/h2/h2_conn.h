/* An HTTP/2 connection: many streams on one link, each a carrier of its own. nghttp2 frames,
 * compresses and counts windows; here is who may have how many of what, and when bytes go
 * out. Owner: the loop thread. */
#ifndef AR_TRANSPORT_H2_CONN_H
#define AR_TRANSPORT_H2_CONN_H

#include "buf.h"
#include "h2/h2_budget.h"
#include "link/link.h"
#include "list.h"

#include <nghttp2/nghttp2.h>

#define AR_H2_STREAMS 128 /* at once, of one connection */

struct ar_h2_conn {
	struct ar_byte_link *link;
	nghttp2_session *session;
	struct ar_list streams; /* struct ar_h2_stream, also those that wait for the core */
	struct ar_list drained; /* streams whose bytes are out and who want to hear of it */
	struct ar_list ready; /* in server->h2_ready */
	struct ar_h2_budget budget;
	char *out; /* what the socket did not take; being written */
	size_t body_bytes; /* of all requests that are being read */
	unsigned stream_count;
	bool is_busy; /* `out` is being written: nothing is read, nothing more is framed */
	bool is_over; /* all is said; what comes in is dropped until the peer closes */
	bool is_authenticated; /* somebody was, with a request of it */
	bool is_closed;
	bool is_released; /* the link is closed; the rest waits for the core's answers */
};

/* What the connections of a server share. */
struct ar_h2_shared {
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	struct ar_list ready; /* connections that have something to write */
	struct ar_buf out; /* empty between two writes */
};

void ar_h2_shared_init(struct ar_h2_shared *s);
void ar_h2_shared_fini(struct ar_h2_shared *s);

/* Speaks HTTP/2 on the link from now on; `rest` was read already. The link may be closed
 * when this returns. */
void ar_h2_open(struct ar_byte_link *l, struct ar_str rest);

/* How a client begins that knows without asking that we speak HTTP/2. */
struct ar_str ar_h2_preface(void);

/* Frames what there is and writes it; of all connections, once per turn of the loop. */
void ar_h2_flush(struct ar_http_server *s);

/* ---- for the streams ---- */

/* The flush of this turn looks at it. */
void ar_h2_wake(struct ar_h2_conn *h);

/* A stream is gone for good. */
void ar_h2_forget(struct ar_h2_conn *h);

#endif
