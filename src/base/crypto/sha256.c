/* See sha256.h; OpenSSL's, as in hash.c. Any thread may call it. */
#include "crypto/sha256.h"
#include "status.h"

#include <openssl/evp.h>

static EVP_MD_CTX *begun(struct ar_sha256 *s)
{
	if (s->context)
		return s->context;
	s->context = EVP_MD_CTX_new();
	AR_ASSERT(s->context && EVP_DigestInit_ex(s->context, EVP_sha256(), NULL) == 1);
	return s->context;
}

void ar_sha256_add(struct ar_sha256 *s, struct ar_str bytes)
{
	AR_ASSERT(EVP_DigestUpdate(begun(s), bytes.p, bytes.len) == 1);
}

struct ar_hash ar_sha256_end(struct ar_sha256 *s)
{
	EVP_MD_CTX *context = begun(s);
	struct ar_hash h;

	AR_ASSERT(EVP_DigestFinal_ex(context, h.b, NULL) == 1);
	AR_ASSERT(EVP_DigestInit_ex(context, NULL, NULL) == 1);
	return h;
}

void ar_sha256_fini(struct ar_sha256 *s)
{
	EVP_MD_CTX_free(s->context);
	*s = (struct ar_sha256){ 0 };
}
