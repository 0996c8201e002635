/* Connects to a daemon and gives a link to it (port/link.h): libcurl makes the connection (TLS with
 * verification, proxies of the environment), an HTTP upgrade makes it a WebSocket. Owner: the loop thread. */
#ifndef AR_EDGE_LINK_CLIENT_H
#define AR_EDGE_LINK_CLIENT_H

#include "link.h"

#include <uv.h>

#define AR_LINK_PROTOCOL "agentruntime.worker.1"

/* Why there is no link. */
enum ar_link_failure {
	AR_LINK_UNREACHABLE, /* no connection, or it broke, or it took too long: try again later */
	AR_LINK_UNTRUSTED, /* the certificate of the other end is not accepted */
	AR_LINK_DENIED, /* the token is not, or not any more */
	AR_LINK_REFUSED, /* by another status, or the other end is no daemon of this protocol */
};

/* Texts are copied. */
struct ar_link_client_options {
	const char *url; /* of the daemon; https, or http to this machine */
	const char *ca_file; /* PEM: only certificates that it signs; NULL: those of the system */
	struct ar_str token;
	uint32_t timeout_ms; /* from the start to the link; 0: 20 s */
	/* Exactly one of them, once, unless it was cancelled; never before the start returned. */
	/* node: the address of the node that has answered, as it says; absent: it does not say. */
	void (*on_open)(void *arg, struct ar_link *link, struct ar_str node);
	void (*on_failed)(void *arg, enum ar_link_failure failure, const char *why);
	void *arg;
};

struct ar_link_client;

AR_BEGIN_DECLS

/* AR_E_INVALID: the address or the token cannot be used; the sentence says why, and nothing is called. */
AR_MUST_USE enum ar_status ar_link_client_start(uv_loop_t *loop, const struct ar_link_client_options *o,
						struct ar_link_client **ret, struct ar_error *err);

/* Before on_open and on_failed: neither comes. The memory is given back in the loop's next turns. */
void ar_link_client_cancel(struct ar_link_client *c);

AR_END_DECLS

#endif
