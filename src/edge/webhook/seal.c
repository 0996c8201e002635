/* See seal.h. */
#include "seal.h"
#include "base64.h"
#include "hash.h"
#include "status.h"

#include <limits.h>
#include <openssl/evp.h>
#include <string.h>

#define NONCE 12
#define TAG 16

/* One key for one use: what signs elsewhere does not encrypt here. */
static struct ar_hash key_of(struct ar_str secret)
{
	struct ar_arena a = { 0 };
	struct ar_str parts[] = { AR_STR("agentruntime a2a push v1\n"), secret };
	struct ar_hash h = ar_hash_of(ar_arena_join(&a, parts, AR_ARRAY_LEN(parts)));

	ar_arena_fini(&a);
	return h;
}

static const unsigned char *bytes_of(struct ar_str s)
{
	return (const unsigned char *)s.p;
}

struct ar_str ar_webhook_seal(struct ar_str key, struct ar_str place, struct ar_str text, struct ar_arena *a)
{
	struct ar_hash k = key_of(key);
	size_t size = NONCE + text.len + TAG;
	unsigned char *out = ar_arena_alloc(a, size);
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int len = 0, last = 0;

	AR_ASSERT(text.len < INT_MAX && place.len < INT_MAX);
	ar_hash_draw(out, NONCE);
	AR_ASSERT(c && EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, k.b, out) == 1 &&
		  EVP_EncryptUpdate(c, NULL, &len, bytes_of(place), (int)place.len) == 1 &&
		  EVP_EncryptUpdate(c, out + NONCE, &len, bytes_of(text), (int)text.len) == 1 &&
		  EVP_EncryptFinal_ex(c, out + NONCE + len, &last) == 1 &&
		  EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, out + NONCE + text.len) == 1);
	EVP_CIPHER_CTX_free(c);
	return ar_base64(a, (struct ar_str){ (const char *)out, size });
}

/* The tag is checked by the last step: nothing of `out` is used before. */
static bool decrypt(const struct ar_hash *k, struct ar_str place, struct ar_str in, unsigned char *out)
{
	size_t size = in.len - NONCE - TAG;
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	unsigned char tag[TAG];
	int len = 0, last = 0;
	bool is_good;

	memcpy(tag, in.p + NONCE + size, TAG);
	is_good = c && EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, k->b, bytes_of(in)) == 1 &&
		  EVP_DecryptUpdate(c, NULL, &len, bytes_of(place), (int)place.len) == 1 &&
		  EVP_DecryptUpdate(c, out, &len, bytes_of(in) + NONCE, (int)size) == 1 &&
		  EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, tag) == 1 &&
		  EVP_DecryptFinal_ex(c, out + len, &last) == 1;
	EVP_CIPHER_CTX_free(c);
	return is_good;
}

bool ar_webhook_unseal(struct ar_str key, struct ar_str place, struct ar_str sealed, struct ar_arena *a,
		       struct ar_str *ret)
{
	struct ar_hash k = key_of(key);
	struct ar_str in;
	unsigned char *out;

	if (!ar_base64_decode(a, sealed, &in) || in.len < NONCE + TAG || in.len >= INT_MAX)
		return false;
	out = ar_arena_alloc(a, in.len - NONCE - TAG + 1); /* ends with the NUL of a text */
	if (!decrypt(&k, place, in, out))
		return false;
	*ret = (struct ar_str){ (const char *)out, in.len - NONCE - TAG };
	return true;
}
