/* The BIO: two callbacks over a string and a buffer. Owner: the loop thread. */
#include "tls/tls_bio.h"

#include <openssl/bio.h>
#include <string.h>

/* Numbers from a counter run out after a hundred; nobody asks a BIO of ours what it is. */
#define BIO_TYPE (BIO_TYPE_SOURCE_SINK | 0xa7)

static int read_bytes(BIO *bio, char *to, int len)
{
	struct ar_tls_bio *b = BIO_get_data(bio);
	size_t n = (size_t)len < b->in.len ? (size_t)len : b->in.len;

	BIO_clear_retry_flags(bio);
	if (!n) {
		BIO_set_retry_read(bio);
		return -1;
	}
	memcpy(to, b->in.p, n);
	b->in = ar_str_sub(b->in, n, b->in.len);
	return (int)n;
}

static int write_bytes(BIO *bio, const char *from, int len)
{
	struct ar_tls_bio *b = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	ar_buf_add(b->out, from, (size_t)len);
	return len;
}

static long control(BIO *bio AR_UNUSED, int what, long number AR_UNUSED, void *pointer AR_UNUSED)
{
	return what == BIO_CTRL_FLUSH; /* there is nothing to flush; everything else is not for us */
}

BIO_METHOD *ar_tls_bio_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_TYPE, "link");

	BIO_meth_set_read(m, read_bytes);
	BIO_meth_set_write(m, write_bytes);
	BIO_meth_set_ctrl(m, control);
	return m;
}

BIO *ar_tls_bio_new(BIO_METHOD *method, struct ar_tls_bio *bytes)
{
	BIO *bio = BIO_new(method);

	BIO_set_data(bio, bytes);
	BIO_set_init(bio, 1);
	return bio;
}
