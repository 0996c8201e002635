/* The server face of A2A 1.0: JSON-RPC and HTTP+JSON under /a2a/AGENT. Nothing of it exists while the
 * settings publish no agent. Owner: the loop thread. */
#ifndef AR_TRANSPORT_A2A_H
#define AR_TRANSPORT_A2A_H

#include "str.h"

struct ar_a2a_exchange;
struct ar_http_request;
struct ar_http_server;

/* Whether a path belongs to it. */
bool ar_a2a_is_path(struct ar_str path);

/* Answers a request whose route it is. */
void ar_a2a_start(struct ar_http_request *req);

/* Refuses a request whose body has a type that is not taken. */
void ar_a2a_refuse_type(struct ar_http_request *req);

/* What a carrier tells what hangs on it; see carrier.h. */
void ar_a2a_drained(struct ar_a2a_exchange *x);
void ar_a2a_drain(struct ar_a2a_exchange *x);
void ar_a2a_stop(struct ar_a2a_exchange *x);
void ar_a2a_free(struct ar_a2a_exchange *x);

/* Does what is due, once per turn of the loop. */
void ar_a2a_flush(struct ar_http_server *s);

/* Ends waits whose time is over. */
void ar_a2a_sweep(struct ar_http_server *s);

#endif
