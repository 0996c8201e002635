/* A WebSocket as the link of a worker (port/link.h): GET /v1/worker becomes one. Who the worker is was
 * decided by its token; what the messages mean is the owner's business. Owner: the loop thread. */
#ifndef AR_TRANSPORT_WORKER_LINK_H
#define AR_TRANSPORT_WORKER_LINK_H

struct ar_http_request;

/* Answers the request by becoming a link, or with the reason why not. */
void ar_worker_link_open(struct ar_http_request *req);

#endif
