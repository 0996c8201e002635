/* Requests whose senders the host judges; see trigger.c. Owner: the loop thread. */
#ifndef AR_TRANSPORT_TRIGGER_H
#define AR_TRANSPORT_TRIGGER_H

struct ar_http_request;

void ar_trigger_start(struct ar_http_request *req);
void ar_peer_push_start(struct ar_http_request *req);

#endif
