/* The wire of one peer on two pipes, as an editor or an SDK starts us: one JSON text per line, both ways.
 * When the peer has said all, its calls are answered and the rest is the host's to end. Owner: the loop
 * thread. */
#ifndef AR_TRANSPORT_RPC_STDIO_WIRE_H
#define AR_TRANSPORT_RPC_STDIO_WIRE_H

#include "status.h"

struct ar_http_server;
struct ar_stdio_options;

/* AR_E_IO: the descriptors cannot be used; they are closed then. */
AR_MUST_USE enum ar_status ar_stdio_open(struct ar_http_server *s, const struct ar_stdio_options *o,
					 struct ar_error *err);

#endif
