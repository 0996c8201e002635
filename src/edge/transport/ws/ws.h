/* A WebSocket as the wire of a JSON-RPC peer: GET /v1/rpc becomes one. Owner: the loop thread. */
#ifndef AR_TRANSPORT_WS_H
#define AR_TRANSPORT_WS_H

struct ar_http_request;

/* Answers the request by becoming a WebSocket, or with the reason why not. */
void ar_ws_open(struct ar_http_request *req);

#endif
