/* What this server shows and asks for in TLS: its certificate and key, and whose client certificates it
 * believes. The files may change while it runs; connections keep what they began with. TLS 1.3 only. A
 * context of kind `is_mutual` is for the nodes of a cluster: it serves and connects, and both ends must show
 * a certificate that the CA signed and that names them. Owner: the loop thread. */
#ifndef AR_TRANSPORT_TLS_CONTEXT_H
#define AR_TRANSPORT_TLS_CONTEXT_H

#include "status.h"
#include "str.h"

struct ssl_st; /* OpenSSL's SSL */
struct ar_tls_context;

struct ar_tls_files {
	const char *certificate; /* PEM, with the chain behind it */
	const char *key; /* PEM, without a passphrase */
	const char *client_ca; /* PEM of who signs client certificates; NULL or empty: none is asked for */
	bool is_mutual; /* between nodes; client_ca signs the certificates of all of them */
	/* With is_mutual: the DNS name that the certificate of every node has; NULL or empty: each names the
	 * address of its node. */
	const char *name;
	const char *own_host; /* with is_mutual: where other nodes reach this one; empty: nowhere */
};

/* AR_E_INVALID: a file cannot be read or is not what it should be; err says which and why. */
AR_MUST_USE enum ar_status ar_tls_context_open(const struct ar_tls_files *files, struct ar_tls_context **ret,
					       struct ar_error *err);
void ar_tls_context_free(struct ar_tls_context *c); /* NULL is fine; connections live on */

enum ar_tls_refresh {
	AR_TLS_SAME, /* the files are as they were */
	AR_TLS_TAKEN, /* new connections get what is in them now */
	AR_TLS_KEPT, /* they cannot be used (err says why): what was read before stays */
};

/* Looks at the files; reads them if they have changed since the last look, or always, if asked to. */
enum ar_tls_refresh ar_tls_context_refresh(struct ar_tls_context *c, bool is_forced, struct ar_error *err);

/* Whether the certificate is for this host. */
bool ar_tls_context_covers(const struct ar_tls_context *c, struct ar_str host);

/* One server session of it; SSL_free ends it. */
struct ssl_st *ar_tls_context_session(const struct ar_tls_context *c);

/* One session of a mutual context with the node at `host`: a name or an address; of a connection that came
 * in, the address that it came from. The handshake fails unless the node's certificate is signed by the CA
 * and names the node. */
struct ssl_st *ar_tls_context_session_with(const struct ar_tls_context *c, struct ar_str host,
					   bool is_client);

/* Whether the session was made with what is in the files now. */
bool ar_tls_context_is_current(const struct ar_tls_context *c, const struct ssl_st *ssl);

#endif
