/* See jwk.h. Keys are put together by OpenSSL from their numbers; a key says itself which algorithm it
 * serves, so that a token cannot turn a public key into the secret of another algorithm. */
#include "jwk.h"
#include "base64.h"
#include "mem.h"
#include "weak_rsa.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <string.h>

#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 8192
#define P256_BYTES 32
#define ED25519_BYTES 32

/* A member of base64url bytes. */
static bool read_bytes(struct ar_json v, const char *name, struct ar_arena *a, struct ar_str *ret)
{
	struct ar_str text;

	return ar_json_str(ar_json_get(v, name), &text) && text.len && ar_base64url_decode(a, text, ret);
}

static EVP_PKEY *make_key(const char *type, OSSL_PARAM *params)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *key = NULL;

	if (!ctx || !params || EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(ctx);
	return key;
}

/* ---- RSA ---- */

static EVP_PKEY *make_rsa(struct ar_str n, struct ar_str e)
{
	BIGNUM *modulus = BN_bin2bn((const unsigned char *)n.p, (int)n.len, NULL);
	BIGNUM *exponent = BN_bin2bn((const unsigned char *)e.p, (int)e.len, NULL);
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	OSSL_PARAM *params = NULL;
	EVP_PKEY *key = NULL;

	if (!ar_rsa_is_weak(modulus, exponent) &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
		params = OSSL_PARAM_BLD_to_param(build);
	key = make_key("RSA", params);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(build);
	BN_free(modulus);
	BN_free(exponent);
	return key;
}

static EVP_PKEY *read_rsa(struct ar_json v, struct ar_arena *a)
{
	struct ar_str n, e;
	EVP_PKEY *key;

	if (!read_bytes(v, "n", a, &n) || !read_bytes(v, "e", a, &e) || n.len > RSA_BITS_MAX / 8 + 1 ||
	    e.len > 8)
		return NULL;
	key = make_rsa(n, e);
	if (key && EVP_PKEY_get_bits(key) >= RSA_BITS_MIN && EVP_PKEY_get_bits(key) <= RSA_BITS_MAX)
		return key;
	EVP_PKEY_free(key);
	return NULL;
}

/* ---- P-256, Ed25519 ---- */

static EVP_PKEY *read_ec(struct ar_json v, struct ar_arena *a)
{
	unsigned char point[1 + 2 * P256_BYTES] = { POINT_CONVERSION_UNCOMPRESSED };
	char group[] = "prime256v1";
	struct ar_str curve, x, y;

	if (!ar_json_str(ar_json_get(v, "crv"), &curve) || !ar_str_is(curve, "P-256") ||
	    !read_bytes(v, "x", a, &x) || !read_bytes(v, "y", a, &y) || x.len != P256_BYTES ||
	    y.len != P256_BYTES)
		return NULL;
	memcpy(point + 1, x.p, P256_BYTES);
	memcpy(point + 1 + P256_BYTES, y.p, P256_BYTES);
	OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
				OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point,
								  sizeof point),
				OSSL_PARAM_construct_end() };

	return make_key("EC", params);
}

static EVP_PKEY *read_okp(struct ar_json v, struct ar_arena *a)
{
	struct ar_str curve, x;

	if (!ar_json_str(ar_json_get(v, "crv"), &curve) || !ar_str_is(curve, "Ed25519") ||
	    !read_bytes(v, "x", a, &x) || x.len != ED25519_BYTES)
		return NULL;
	return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)x.p, x.len);
}

/* ---- the set ---- */

static const struct {
	const char *kty;
	enum ar_jwt_alg alg;
	EVP_PKEY *(*read)(struct ar_json v, struct ar_arena *a);
} kinds[] = {
	{ "RSA", AR_JWT_RS256, read_rsa },
	{ "EC", AR_JWT_ES256, read_ec },
	{ "OKP", AR_JWT_EDDSA, read_okp },
};

/* Whether key_ops, if there is one, has the word: the other way to say what a key is for. */
static bool may_verify(struct ar_json ops)
{
	struct ar_str op;

	if (ar_json_type(ops) == AR_JSON_NONE)
		return true;
	for (struct ar_json_iter it = ar_json_iter(ops); ar_json_next(&it);) {
		if (ar_json_str(it.value, &op) && ar_str_is(op, "verify"))
			return true;
	}
	return false;
}

/* A key that says what it is for has to say signatures, and the algorithm that its kind has here. */
static bool is_for(struct ar_json v, enum ar_jwt_alg alg)
{
	struct ar_str text;

	if (!may_verify(ar_json_get(v, "key_ops")))
		return false;
	if (ar_json_str(ar_json_get(v, "use"), &text) && !ar_str_is(text, "sig"))
		return false;
	return !ar_json_str(ar_json_get(v, "alg"), &text) || ar_jwt_alg_parse(text) == alg;
}

static bool read_key(struct ar_json v, struct ar_arena *a, struct ar_jwk *ret)
{
	struct ar_str kty, kid = AR_STR_NONE;

	if (!ar_json_str(ar_json_get(v, "kty"), &kty))
		return false;
	ar_json_str(ar_json_get(v, "kid"), &kid);
	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		if (!ar_str_is(kty, kinds[i].kty) || !is_for(v, kinds[i].alg))
			continue;
		*ret = (struct ar_jwk){ .alg = kinds[i].alg, .key = kinds[i].read(v, a) };
		if (!ret->key)
			return false;
		ret->kid = ar_str_dup(kid);
		return true;
	}
	return false;
}

bool ar_jwks_read(struct ar_jwks *set, struct ar_json_parser *parser, struct ar_str text,
		  const char **ret_why)
{
	struct ar_jwks *fresh = ar_new0(sizeof *fresh);
	struct ar_arena a = { 0 };
	struct ar_json doc;
	bool is_good;

	if (ar_json_parse(parser, text, &doc, NULL) == AR_OK) {
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(doc, "keys"));
		     fresh->count < AR_JWK_MAX && ar_json_next(&it);)
			fresh->count += read_key(it.value, &a, &fresh->keys[fresh->count]);
	}
	is_good = fresh->count > 0;
	*ret_why = "it holds no key that can be used (RSA from 2048 bits, P-256, Ed25519)";
	if (is_good) {
		ar_jwks_fini(set);
		*set = *fresh;
	}
	ar_arena_fini(&a);
	ar_free(fresh);
	return is_good;
}

void ar_jwks_fini(struct ar_jwks *set)
{
	for (size_t i = 0; i < set->count; i++) {
		EVP_PKEY_free(set->keys[i].key);
		ar_free(set->keys[i].kid);
	}
	set->count = 0;
}

static bool fits(const struct ar_jwk *k, const struct ar_jwt *t)
{
	return k->alg == t->alg && (ar_str_absent(t->kid) || (k->kid && ar_str_is(t->kid, k->kid)));
}

bool ar_jwks_has(const struct ar_jwks *set, const struct ar_jwt *t)
{
	for (size_t i = 0; i < set->count; i++) {
		if (fits(&set->keys[i], t))
			return true;
	}
	return false;
}

/* ---- signatures ---- */

/* JOSE writes an ECDSA signature as two numbers of 32 bytes; OpenSSL reads DER. NULL: it is none. */
static unsigned char *to_der(struct ar_str raw, int *ret_len)
{
	const unsigned char *bytes = (const unsigned char *)raw.p;
	ECDSA_SIG *sig;
	unsigned char *der = NULL;
	BIGNUM *r, *s;

	if (raw.len != 2 * P256_BYTES)
		return NULL;
	sig = ECDSA_SIG_new();
	r = BN_bin2bn(bytes, P256_BYTES, NULL);
	s = BN_bin2bn(bytes + P256_BYTES, P256_BYTES, NULL);
	ECDSA_SIG_set0(sig, r, s);
	*ret_len = i2d_ECDSA_SIG(sig, &der);
	ECDSA_SIG_free(sig);
	return der;
}

static bool check(EVP_PKEY *key, const EVP_MD *md, struct ar_str input, const unsigned char *sig, size_t len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool is_good = EVP_DigestVerifyInit(ctx, NULL, md, NULL, key) == 1 &&
		       EVP_DigestVerify(ctx, sig, len, (const unsigned char *)input.p, input.len) == 1;

	EVP_MD_CTX_free(ctx);
	return is_good;
}

static bool verify(const struct ar_jwk *k, const struct ar_jwt *t)
{
	const unsigned char *sig = (const unsigned char *)t->signature.p;
	unsigned char *der;
	bool is_good;
	int len = 0;

	if (k->alg == AR_JWT_EDDSA)
		return check(k->key, NULL, t->input, sig, t->signature.len);
	if (k->alg == AR_JWT_RS256)
		return check(k->key, EVP_sha256(), t->input, sig, t->signature.len);
	der = to_der(t->signature, &len);
	is_good = der && len > 0 && check(k->key, EVP_sha256(), t->input, der, (size_t)len);
	OPENSSL_free(der);
	return is_good;
}

bool ar_jwks_verify(const struct ar_jwks *set, const struct ar_jwt *t)
{
	for (size_t i = 0; i < set->count; i++) {
		if (fits(&set->keys[i], t) && verify(&set->keys[i], t))
			return true;
	}
	return false;
}
