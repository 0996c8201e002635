/* See es256.h; OpenSSL signs. Its DER form of a signature becomes r and s of fixed length. Any thread. */
#include "crypto/es256.h"
#include "base64.h"
#include "hash.h"
#include "mem.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#define COORDINATE 32
#define PEM_MAX 16384

struct ar_es256 {
	EVP_PKEY *key;
	uint8_t x[COORDINATE], y[COORDINATE];
};

/* A key with a password is refused instead of asked for on the terminal. */
static int no_password(char *room, int size, int is_write, void *arg)
{
	(void)room, (void)size, (void)is_write, (void)arg;
	return -1;
}

static EVP_PKEY *parse(struct ar_str pem)
{
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.len);
	EVP_PKEY *key;

	AR_ASSERT(bio);
	key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
	BIO_free(bio);
	ERR_clear_error();
	return key;
}

static bool is_p256(EVP_PKEY *key)
{
	char group[64];

	return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
	       EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, NULL) &&
	       (strcmp(group, "prime256v1") == 0 || strcmp(group, "P-256") == 0);
}

static bool read_coordinate(EVP_PKEY *key, const char *name, uint8_t out[COORDINATE])
{
	BIGNUM *v = NULL;
	bool is_good = EVP_PKEY_get_bn_param(key, name, &v) && BN_bn2binpad(v, out, COORDINATE) == COORDINATE;

	BN_free(v);
	return is_good;
}

enum ar_status ar_es256_read(struct ar_str pem, struct ar_es256 **ret, struct ar_error *err)
{
	struct ar_es256 *k = ar_new0(sizeof(*k));

	k->key = pem.len <= PEM_MAX ? parse(pem) : NULL;
	if (k->key && is_p256(k->key) && read_coordinate(k->key, OSSL_PKEY_PARAM_EC_PUB_X, k->x) &&
	    read_coordinate(k->key, OSSL_PKEY_PARAM_EC_PUB_Y, k->y)) {
		*ret = k;
		return AR_OK;
	}
	ar_es256_free(k);
	return ar_fail(err, AR_E_INVALID,
		       "it is not a private key of the curve P-256 in PEM without a password; make one with "
		       "openssl ecparam -name prime256v1 -genkey -noout");
}

void ar_es256_free(struct ar_es256 *k)
{
	if (!k)
		return;
	EVP_PKEY_free(k->key);
	ar_free(k);
}

static void split(const uint8_t *der, size_t len, uint8_t out[AR_ES256_SIGNATURE])
{
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)len);

	AR_ASSERT(sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, COORDINATE) == COORDINATE &&
		  BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + COORDINATE, COORDINATE) == COORDINATE);
	ECDSA_SIG_free(sig);
}

void ar_es256_sign(const struct ar_es256 *k, struct ar_str bytes, uint8_t out[AR_ES256_SIGNATURE])
{
	uint8_t der[128];
	size_t len = sizeof der;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	AR_ASSERT(ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
		  EVP_DigestSign(ctx, der, &len, (const uint8_t *)bytes.p, bytes.len) == 1);
	EVP_MD_CTX_free(ctx);
	split(der, len, out);
}

static struct ar_str coordinate(struct ar_arena *a, const uint8_t v[COORDINATE])
{
	return ar_base64url(a, (struct ar_str){ (const char *)v, COORDINATE });
}

struct ar_str ar_es256_jwk(const struct ar_es256 *k, struct ar_arena *a)
{
	return ar_arena_fmt(a, "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"%.*s\",\"y\":\"%.*s\"}",
			    AR_STR_ARG(coordinate(a, k->x)), AR_STR_ARG(coordinate(a, k->y)));
}

struct ar_str ar_es256_thumbprint(const struct ar_es256 *k, struct ar_arena *a)
{
	struct ar_hash h = ar_hash_of(ar_es256_jwk(k, a));

	return ar_base64url(a, (struct ar_str){ (const char *)h.b, sizeof h.b });
}
