/* The opening handshake of a WebSocket (RFC 6455, 4.2): whether a request asks for one that we speak,
 * and what is answered. Pure. */
#ifndef AR_TRANSPORT_WS_UPGRADE_H
#define AR_TRANSPORT_WS_UPGRADE_H

#include "buf.h"
#include "message.h"

#define AR_WS_PROTOCOL "agentruntime.v1" /* JSON-RPC of clients */
#define AR_WS_WORKER_PROTOCOL "agentruntime.worker.1" /* the number is raised with what old workers misread */

/* Whether it is a request for a WebSocket of version 13 with one of these subprotocols; false with the
 * reason. */
bool ar_ws_upgrade_check(const struct ar_http_head *r, const char *protocol, struct ar_fault *ret_fault);

#define AR_WS_NODE_HEADER "Agent-Runtime-Node" /* address of the node that answers a worker */

/* The whole 101 reply. node: absent for none; has no control characters. */
void ar_ws_upgrade_write(struct ar_buf *out, struct ar_str key, const char *protocol, struct ar_str node);

#endif
