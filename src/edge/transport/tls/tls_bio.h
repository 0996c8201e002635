/* OpenSSL's view of a link: a BIO that reads from bytes in memory and writes to a buffer, without a copy kept
 * in between, so that an idle connection holds no buffers. Owner: the loop thread. */
#ifndef AR_TRANSPORT_TLS_BIO_H
#define AR_TRANSPORT_TLS_BIO_H

#include "buf.h"

struct bio_st;
struct bio_method_st;

struct ar_tls_bio {
	struct ar_str in; /* what may be read; eaten from the front */
	struct ar_buf *out; /* what was written goes to its end */
};

struct bio_method_st *ar_tls_bio_method(void); /* free it with BIO_meth_free after the last BIO */
struct bio_st *ar_tls_bio_new(struct bio_method_st *method, struct ar_tls_bio *bytes); /* borrows both */

#endif
