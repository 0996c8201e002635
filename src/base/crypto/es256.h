/* ES256 (RFC 7518): ECDSA over P-256 with SHA-256, as signed tokens have it, with a private key in PEM. */
#ifndef AR_BASE_CRYPTO_ES256_H
#define AR_BASE_CRYPTO_ES256_H

#include "arena.h"
#include "status.h"

#define AR_ES256_SIGNATURE 64

struct ar_es256;

AR_BEGIN_DECLS

/* AR_E_INVALID: it is no private key of that curve, or one that needs a password. */
AR_MUST_USE enum ar_status ar_es256_read(struct ar_str pem, struct ar_es256 **ret, struct ar_error *err);
void ar_es256_free(struct ar_es256 *k); /* NULL: nothing */

/* r and s, 32 bytes each. Two signatures of the same bytes differ. */
void ar_es256_sign(const struct ar_es256 *k, struct ar_str bytes, uint8_t out[AR_ES256_SIGNATURE]);

/* The public key as JSON Web Key, with the members that RFC 7638 hashes, in their order. */
struct ar_str ar_es256_jwk(const struct ar_es256 *k, struct ar_arena *a);

/* RFC 7638: base64url of the SHA-256 of that. */
struct ar_str ar_es256_thumbprint(const struct ar_es256 *k, struct ar_arena *a);

AR_END_DECLS

#endif
