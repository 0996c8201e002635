/* Ed25519 signatures (RFC 8032), and public keys as the PEM text that openssl reads. */
#ifndef AR_BASE_CRYPTO_SIGN_H
#define AR_BASE_CRYPTO_SIGN_H

#include "arena.h"
#include "hash.h"

#define AR_SIGN_SEED 32
#define AR_SIGN_PUBLIC 32
#define AR_SIGNATURE 64

struct ar_sign_key {
	uint8_t secret[64]; /* as libsodium has it: the seed, then the public key */
	uint8_t public[AR_SIGN_PUBLIC];
};

void ar_sign_key_from(struct ar_sign_key *k, const uint8_t seed[AR_SIGN_SEED]);
void ar_sign(const struct ar_sign_key *k, struct ar_str bytes, uint8_t out[AR_SIGNATURE]);
bool ar_sign_is_valid(const uint8_t public[AR_SIGN_PUBLIC], struct ar_str bytes,
		      const uint8_t signature[AR_SIGNATURE]);

/* PEM of a SubjectPublicKeyInfo. Reading takes exactly what writing gives, nothing else. */
struct ar_str ar_sign_pem(struct ar_arena *a, const uint8_t public[AR_SIGN_PUBLIC]);
bool ar_sign_pem_read(struct ar_str pem, uint8_t ret_public[AR_SIGN_PUBLIC]);

/* SHA-256 of the DER form, in hex: what `openssl pkey -pubin -outform DER | sha256sum` prints. */
struct ar_str ar_sign_fingerprint(struct ar_arena *a, const uint8_t public[AR_SIGN_PUBLIC]);

#endif
