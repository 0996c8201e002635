/* See forge.h. */
#include "forge.h"
#include "base64.h"

#include "cmocka_unit.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/rsa.h>
#include <string.h>

EVP_PKEY *forge_rsa(unsigned bits)
{
	EVP_PKEY *key = EVP_RSA_gen(bits);

	assert_non_null(key);
	return key;
}

EVP_PKEY *forge_ec(const char *curve)
{
	EVP_PKEY *key = EVP_EC_gen(curve);

	assert_non_null(key);
	return key;
}

EVP_PKEY *forge_ed(void)
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

	assert_non_null(key);
	return key;
}

struct ar_str forge_base64url(struct ar_arena *a, struct ar_str bytes)
{
	struct ar_str text = ar_arena_str(a, ar_base64(a, bytes));
	char *p = (char *)text.p;

	for (size_t i = 0; i < text.len; i++)
		p[i] = p[i] == '+' ? '-' : p[i] == '/' ? '_' : p[i];
	while (text.len && text.p[text.len - 1] == '=')
		text.len--;
	return text;
}

struct ar_str forge_number(struct ar_arena *a, EVP_PKEY *key, const char *name, size_t bytes)
{
	unsigned char out[1024];
	BIGNUM *number = NULL;
	int len;

	assert_int_equal(EVP_PKEY_get_bn_param(key, name, &number), 1);
	len = bytes ? (int)bytes : BN_num_bytes(number);
	assert_int_equal(BN_bn2binpad(number, out, len), len);
	BN_free(number);
	return forge_base64url(a, (struct ar_str){ (char *)out, (size_t)len });
}

static struct ar_str ed_point(struct ar_arena *a, EVP_PKEY *key)
{
	unsigned char out[32];
	size_t len = sizeof out;

	assert_int_equal(EVP_PKEY_get_raw_public_key(key, out, &len), 1);
	return forge_base64url(a, (struct ar_str){ (char *)out, len });
}

struct ar_str forge_jwk(struct ar_arena *a, EVP_PKEY *key, const char *kid, const char *more)
{
	if (EVP_PKEY_is_a(key, "RSA"))
		return ar_arena_fmt(a, "{\"kty\":\"RSA\",\"kid\":\"%s\",\"n\":\"%.*s\",\"e\":\"%.*s\"%s}",
				    kid, AR_STR_ARG(forge_number(a, key, OSSL_PKEY_PARAM_RSA_N, 0)),
				    AR_STR_ARG(forge_number(a, key, OSSL_PKEY_PARAM_RSA_E, 0)), more);
	if (EVP_PKEY_is_a(key, "EC"))
		return ar_arena_fmt(a,
				    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"%s\",\"x\":\"%.*s\","
				    "\"y\":\"%.*s\"%s}",
				    kid, AR_STR_ARG(forge_number(a, key, OSSL_PKEY_PARAM_EC_PUB_X, 32)),
				    AR_STR_ARG(forge_number(a, key, OSSL_PKEY_PARAM_EC_PUB_Y, 32)), more);
	return ar_arena_fmt(a, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"%s\",\"x\":\"%.*s\"%s}", kid,
			    AR_STR_ARG(ed_point(a, key)), more);
}

struct ar_str forge_input(struct ar_arena *a, const char *header, const char *claims)
{
	return ar_arena_fmt(a, "%.*s.%.*s", AR_STR_ARG(forge_base64url(a, ar_str_from(header))),
			    AR_STR_ARG(forge_base64url(a, ar_str_from(claims))));
}

struct ar_str forge_token(struct ar_arena *a, struct ar_str input, struct ar_str signature)
{
	return ar_arena_fmt(a, "%.*s.%.*s", AR_STR_ARG(input), AR_STR_ARG(forge_base64url(a, signature)));
}

static struct ar_str sign(struct ar_arena *a, EVP_PKEY *key, const char *digest, int padding,
			  struct ar_str input)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *inner = NULL;
	unsigned char out[1024];
	size_t len = sizeof out;

	assert_int_equal(EVP_DigestSignInit_ex(ctx, &inner, digest, NULL, NULL, key, NULL), 1);
	if (padding)
		assert_true(EVP_PKEY_CTX_set_rsa_padding(inner, padding) > 0);
	assert_int_equal(EVP_DigestSign(ctx, out, &len, (const unsigned char *)input.p, input.len), 1);
	EVP_MD_CTX_free(ctx);
	return ar_arena_str(a, (struct ar_str){ (char *)out, len });
}

struct ar_str forge_sign(struct ar_arena *a, EVP_PKEY *key, const char *digest, struct ar_str input)
{
	return sign(a, key, digest, 0, input);
}

struct ar_str forge_sign_pss(struct ar_arena *a, EVP_PKEY *key, struct ar_str input)
{
	return sign(a, key, "SHA256", RSA_PKCS1_PSS_PADDING, input);
}

struct ar_str forge_raw_ec(struct ar_arena *a, struct ar_str der, bool is_negated)
{
	const unsigned char *p = (const unsigned char *)der.p;
	EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &p, (long)der.len);
	BIGNUM *s = BN_dup(ECDSA_SIG_get0_s(sig));
	unsigned char out[64];

	if (is_negated)
		BN_sub(s, EC_GROUP_get0_order(group), s);
	assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, 32), 32);
	assert_int_equal(BN_bn2binpad(s, out + 32, 32), 32);
	BN_free(s);
	ECDSA_SIG_free(sig);
	EC_GROUP_free(group);
	return ar_arena_str(a, (struct ar_str){ (char *)out, sizeof out });
}

struct ar_str forge_rsa_block(struct ar_arena *a, EVP_PKEY *key, struct ar_str block)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
	unsigned char out[1024];
	size_t len = sizeof out;

	assert_int_equal(EVP_PKEY_sign_init(ctx), 1);
	assert_true(EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_NO_PADDING) > 0);
	assert_int_equal(EVP_PKEY_sign(ctx, out, &len, (const unsigned char *)block.p, block.len), 1);
	EVP_PKEY_CTX_free(ctx);
	return ar_arena_str(a, (struct ar_str){ (char *)out, len });
}
