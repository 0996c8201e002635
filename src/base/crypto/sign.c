/* See sign.h: libsodium signs; the DER form of an Ed25519 public key is a fixed prefix and the key. */
#include "crypto/sign.h"
#include "base64.h"
#include "status.h"

#include <sodium.h>
#include <string.h>

#define PREFIX "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"
#define PREFIX_LEN 12
#define DER_LEN (PREFIX_LEN + AR_SIGN_PUBLIC)
#define BEGIN "-----BEGIN PUBLIC KEY-----\n"
#define END "\n-----END PUBLIC KEY-----\n"

void ar_sign_key_from(struct ar_sign_key *k, const uint8_t seed[AR_SIGN_SEED])
{
	AR_ASSERT(crypto_sign_seed_keypair(k->public, k->secret, seed) == 0);
}

void ar_sign(const struct ar_sign_key *k, struct ar_str bytes, uint8_t out[AR_SIGNATURE])
{
	AR_ASSERT(crypto_sign_detached(out, NULL, (const uint8_t *)bytes.p, bytes.len, k->secret) == 0);
}

bool ar_sign_is_valid(const uint8_t public[AR_SIGN_PUBLIC], struct ar_str bytes,
		      const uint8_t signature[AR_SIGNATURE])
{
	return crypto_sign_verify_detached(signature, (const uint8_t *)bytes.p, bytes.len, public) == 0;
}

static struct ar_str der(char out[DER_LEN], const uint8_t public[AR_SIGN_PUBLIC])
{
	memcpy(out, PREFIX, PREFIX_LEN);
	memcpy(out + PREFIX_LEN, public, AR_SIGN_PUBLIC);
	return (struct ar_str){ out, DER_LEN };
}

struct ar_str ar_sign_pem(struct ar_arena *a, const uint8_t public[AR_SIGN_PUBLIC])
{
	char bytes[DER_LEN];

	return ar_arena_fmt(a, BEGIN "%.*s" END, AR_STR_ARG(ar_base64(a, der(bytes, public))));
}

bool ar_sign_pem_read(struct ar_str pem, uint8_t ret_public[AR_SIGN_PUBLIC])
{
	struct ar_arena a = { 0 };
	struct ar_str text, bytes;
	size_t around = strlen(BEGIN) + strlen(END);
	bool ok = pem.len > around && ar_str_starts(pem, AR_STR(BEGIN)) && ar_str_ends(pem, AR_STR(END));

	text = ok ? ar_str_sub(pem, strlen(BEGIN), pem.len - around) : AR_STR_NONE;
	ok = ok && ar_base64_decode(&a, text, &bytes) && bytes.len == DER_LEN &&
	     memcmp(bytes.p, PREFIX, PREFIX_LEN) == 0;
	if (ok)
		memcpy(ret_public, bytes.p + PREFIX_LEN, AR_SIGN_PUBLIC);
	ar_arena_fini(&a);
	return ok;
}

struct ar_str ar_sign_fingerprint(struct ar_arena *a, const uint8_t public[AR_SIGN_PUBLIC])
{
	char bytes[DER_LEN];

	return ar_hash_digits(a, der(bytes, public), AR_HASH_HEX);
}
