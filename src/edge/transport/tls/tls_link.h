/* TLS under a link: what the owner writes leaves encrypted, what comes in reaches it as plain text. On a
 * connection that came in the owner appears only when the handshake is over, and which protocol that is was
 * agreed in it; an owner that made the connection is notified by link->secured(). Called by link.c alone.
 * Owner: the loop thread. */
#ifndef AR_TRANSPORT_TLS_LINK_H
#define AR_TRANSPORT_TLS_LINK_H

#include "link/link.h"
#include "buf.h"

struct ar_tls;
struct ar_tls_context;
struct bio_method_st;

/* What the TLS links of a server share: nothing of it is needed between two turns of the loop. */
struct ar_tls_shared {
	struct ar_tls_context *context; /* of `listen`; NULL: no TLS */
	struct ar_tls_context *mutual; /* between nodes; NULL: no TLS */
	struct bio_method_st *method;
	struct ar_list ready; /* links that have something to do at once */
	struct ar_buf out; /* what OpenSSL wrote and the socket has not seen yet */
	char *plain_in, *plain_out; /* one record each */
	uint32_t reload_in; /* sweeps until the files are looked at again */
};

void ar_tls_shared_init(struct ar_tls_shared *s);

/* TLS links may come from now on. */
void ar_tls_shared_open(struct ar_tls_shared *s);
void ar_tls_shared_fini(struct ar_tls_shared *s);

/* Begins the handshake on a fresh link that came in, of a client or of another node. */
void ar_tls_start(struct ar_byte_link *l);

/* Begins the handshake on a link that is connected to the node at `host`. The caller has the deadline. */
void ar_tls_connect(struct ar_byte_link *l, struct ar_str host);

/* The same as the functions of link.h with these names. */
bool ar_tls_read_start(struct ar_byte_link *l);
void ar_tls_read_stop(struct ar_byte_link *l);
int ar_tls_try_write(struct ar_byte_link *l, const uv_buf_t *bufs, unsigned count);
int ar_tls_write(struct ar_byte_link *l, const uv_buf_t *bufs, unsigned count, ar_byte_link_written_fn *done);
bool ar_tls_shutdown(struct ar_byte_link *l);
bool ar_tls_is_flushed(const struct ar_byte_link *l);

/* The handles are closed: answers a write that is still owed. */
void ar_tls_closed(struct ar_byte_link *l);
void ar_tls_free(struct ar_tls *t); /* NULL is fine */

/* Ciphertext came in. */
void ar_tls_feed(struct ar_byte_link *l, struct ar_str bytes);

/* Does what could not be done inside a call of the owner; once per turn of the loop. */
void ar_tls_flush(struct ar_http_server *s);

#endif
