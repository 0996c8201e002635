/* SHA-256 of bytes that come in pieces; ar_hash_of() is for those that are there at once. */
#ifndef AR_BASE_CRYPTO_SHA256_H
#define AR_BASE_CRYPTO_SHA256_H

#include "hash.h"

struct ar_sha256 {
	void *context; /* NULL: nothing was added yet */
};

void ar_sha256_add(struct ar_sha256 *s, struct ar_str bytes);
struct ar_hash ar_sha256_end(struct ar_sha256 *s); /* of all that was added; it is empty again */
void ar_sha256_fini(struct ar_sha256 *s);

#endif
