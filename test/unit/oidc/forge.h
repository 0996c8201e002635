/* Keys of a test and what can be made with them: documents of keys, and tokens that are right or wrong in one
 * place. Text lives in the arena. */
#ifndef AR_TEST_OIDC_FORGE_H
#define AR_TEST_OIDC_FORGE_H

#include "arena.h"

#include <openssl/evp.h>

#define CLAIMS "{\"sub\":\"ada\"}"

/* An EVP_PKEY_fromdata-able key of a kind: "RSA" of so many bits, or "EC" of a curve, or "ED25519". */
EVP_PKEY *forge_rsa(unsigned bits);
EVP_PKEY *forge_ec(const char *curve);
EVP_PKEY *forge_ed(void);

struct ar_str forge_base64url(struct ar_arena *a, struct ar_str bytes);

/* A member of a key as a number: "n", "e", "qx", "qy"; base64url, in so many bytes (0: as it needs). */
struct ar_str forge_number(struct ar_arena *a, EVP_PKEY *key, const char *name, size_t bytes);

/* The key as a JWK with further members (`more` begins with a comma, or is empty). */
struct ar_str forge_jwk(struct ar_arena *a, EVP_PKEY *key, const char *kid, const char *more);

/* header.claims, each base64url. */
struct ar_str forge_input(struct ar_arena *a, const char *header, const char *claims);

struct ar_str forge_token(struct ar_arena *a, struct ar_str input, struct ar_str signature);

/* By the key's own rules (RSA: PKCS#1 v1.5; EC: DER); `digest` NULL for Ed25519. */
struct ar_str forge_sign(struct ar_arena *a, EVP_PKEY *key, const char *digest, struct ar_str input);
struct ar_str forge_sign_pss(struct ar_arena *a, EVP_PKEY *key, struct ar_str input);

/* A DER signature as two numbers of 32 bytes; `is_negated`: the second one as n-s, which also verifies. */
struct ar_str forge_raw_ec(struct ar_arena *a, struct ar_str der, bool is_negated);

/* The bytes to the power of the private exponent: a signature over a block of any form. */
struct ar_str forge_rsa_block(struct ar_arena *a, EVP_PKEY *key, struct ar_str block);

#endif
