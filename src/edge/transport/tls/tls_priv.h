/* One TLS session under a link, between the files that run it: tls_link.c (handshake, reading, life) and
 * tls_write.c. Owner: the loop thread. */
#ifndef AR_TRANSPORT_TLS_PRIV_H
#define AR_TRANSPORT_TLS_PRIV_H

#include "server.h"
#include "tls/tls_bio.h"
#include "tls/tls_link.h"

#include <openssl/ssl.h>

#define AR_TLS_RECORD ((size_t)16 * 1024)

/* A write that the owner was promised to hear of. */
struct ar_tls_queue {
	ar_byte_link_written_fn *done;
	unsigned count, at; /* bufs before `at` are encrypted */
	uv_buf_t bufs[];
};

struct ar_tls {
	SSL *ssl;
	struct ar_byte_link *link;
	struct ar_tls_bio bio;
	struct ar_buf in; /* ciphertext that came in and nobody wants to read yet */
	struct ar_buf out; /* ciphertext that the socket did not take; being written */
	struct ar_buf next; /* came behind it: answers of the protocol itself, a few bytes each */
	struct ar_tls_queue *queue;
	uv_write_t *write; /* in flight */
	struct ar_list ready; /* in shared->ready */
	char *subject; /* of the client's certificate */
	bool is_established;
	bool is_reading;
	bool is_feeding; /* the read loop is on the stack */
	bool is_ending; /* close_notify is out, FIN follows when all is */
};

/* Sends what OpenSSL has written; what the socket does not take is written as the peer reads. False: the
 * connection is broken. */
bool ar_tls_send(struct ar_tls *t);

/* The flush of this turn looks at it. */
void ar_tls_wake(struct ar_tls *t);

/* Goes on with the owner's write; calls it back when all of it is out. */
void ar_tls_write_more(struct ar_tls *t);

#endif
