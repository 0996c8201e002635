/* Hashes: OpenSSL's SHA-256 for content, which uses the processor's own instructions where it has them (every
 * content of every commit is hashed on the loop's thread); libsodium's SipHash-2-4 for hash tables. The
 * SipHash key is drawn once per process and never leaves this file. Any thread may call anything here. */
#include "hash.h"
#include "base32.h"
#include "status.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <sodium.h>
#include <sys/random.h>

/* ---- content ---- */

/* Fetched once: looking an algorithm up takes longer than a small hash. */
static EVP_MD *sha256;
static pthread_once_t sha256_once = PTHREAD_ONCE_INIT;

static void fetch_sha256(void)
{
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	AR_ASSERT(sha256);
}

struct ar_hash ar_hash_of(struct ar_str bytes)
{
	struct ar_hash h;

	pthread_once(&sha256_once, fetch_sha256);
	AR_ASSERT(EVP_Digest(bytes.p, bytes.len, h.b, NULL, sha256, NULL) == 1);
	return h;
}

bool ar_hash_is_same(struct ar_str a, struct ar_str b)
{
	struct ar_hash x = ar_hash_of(a), y = ar_hash_of(b);

	return sodium_memcmp(x.b, y.b, AR_HASH_LEN) == 0;
}

void ar_hash_draw(uint8_t *out, size_t len)
{
	AR_ASSERT(len <= 256 && getrandom(out, len, 0) == (ssize_t)len);
}

/* ---- text ---- */

void ar_hash_text(const struct ar_hash *h, char out[AR_HASH_TEXT])
{
	_Static_assert(AR_BASE32_LEN(AR_HASH_LEN) == AR_HASH_TEXT, "length of the text");
	ar_base32_encode(h->b, AR_HASH_LEN, out);
}

void ar_hash_hex(const struct ar_hash *h, char out[AR_HASH_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < AR_HASH_LEN; i++) {
		out[2 * i] = digits[h->b[i] >> 4];
		out[2 * i + 1] = digits[h->b[i] & 15];
	}
}

struct ar_str ar_hash_digits(struct ar_arena *a, struct ar_str bytes, size_t count)
{
	struct ar_hash h = ar_hash_of(bytes);
	char text[AR_HASH_HEX];

	ar_hash_hex(&h, text);
	return ar_arena_str(a, (struct ar_str){ text, count });
}

bool ar_hash_parse(struct ar_str text, struct ar_hash *ret)
{
	struct ar_hash h;

	if (!ar_base32_decode(text, h.b, AR_HASH_LEN))
		return false;
	*ret = h;
	return true;
}

/* ---- hash tables ---- */

static uint8_t process_key[crypto_shorthash_KEYBYTES];
static pthread_once_t process_key_once = PTHREAD_ONCE_INIT;

static void draw_key(void)
{
	AR_ASSERT(getrandom(process_key, sizeof process_key, 0) == (ssize_t)sizeof process_key);
}

uint64_t ar_hash_key(struct ar_str s)
{
	uint64_t h;

	_Static_assert(sizeof h == crypto_shorthash_BYTES, "SipHash gives 64 bits");
	pthread_once(&process_key_once, draw_key);
	crypto_shorthash((unsigned char *)&h, (const unsigned char *)s.p, s.len, process_key);
	return h;
}
