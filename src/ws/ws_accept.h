/* The proof in a WebSocket handshake that the server has read the request of this client (RFC 6455, 4.2.2).
 * SHA-1 is what the handshake asks for: it protects nothing. Pure. */
#ifndef AR_WS_ACCEPT_H
#define AR_WS_ACCEPT_H

#include "arena.h"

/* The value of Sec-WebSocket-Accept for that of Sec-WebSocket-Key; empty if it cannot be computed. */
struct ar_str ar_ws_accept(struct ar_arena *a, struct ar_str key);

#endif
