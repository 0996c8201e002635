/* What an answer leaves behind for a later search for the request: an id that client and log
 * share, and a report to the host. The id is the client's X-Request-Id when that is a plain
 * short word, otherwise made here; it goes back in the head of the answer when the client sent
 * one or the answer is an error. It is not in the body: bodies of refusals are the same for
 * everybody. Owner: the loop thread. */
#ifndef AR_TRANSPORT_TRACE_H
#define AR_TRANSPORT_TRACE_H

#include "request.h"

/* Right before the answer, or the beginning of a stream, goes out; req->reply.status is set. */
void ar_trace_answer(struct ar_http_request *req);

/* The id that the client sent, if it is a plain short word; absent: none. */
struct ar_str ar_trace_sent(const struct ar_http_request *req);

/* The traceparent that the client sent, if it is a valid one of the first version; absent: none. */
struct ar_str ar_trace_parent_sent(const struct ar_http_request *req);

#endif
