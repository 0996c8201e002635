/* Hashes: SHA-256 for content, libsodium's SipHash-2-4 for hash tables. Every content and every canonical input is hashed on the
 * loop's thread, so SHA-256 is on the path of every commit: the x86 instructions for it take a fifth of the time of portable
 * code; where they are missing libsodium does it. The SipHash key is drawn once per process and never leaves this file. Any thread
 * may call anything here. */
#include "hash.h"
#include "base32.h"
#include "status.h"

#include <pthread.h>
#include <sodium.h>
#include <string.h>
#include <sys/random.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* ---- content ---- */

#if defined(__x86_64__)

#define BLOCK 64
#define WITH_SHA __attribute__((target("sha,sse4.1")))

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
static const uint32_t round_constants[BLOCK] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The eight words of the state as the instructions want them: a, b, e, f and c, d, g, h, the first in the highest place. */
struct state {
	__m128i abef, cdgh;
};

/* Four words of the message, of which the instructions want the first in the lowest place. */
WITH_SHA static __m128i load_words(const uint8_t *p)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);

	return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p), swap);
}

/* The next four words of the schedule from the sixteen before them. */
WITH_SHA static __m128i next_words(const __m128i m[4], unsigned i)
{
	__m128i newest = m[(i + 3) & 3], second = m[(i + 2) & 3];
	__m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(m[i & 3], m[(i + 1) & 3]),
				    _mm_alignr_epi8(newest, second, 4));

	return _mm_sha256msg2_epu32(sum, newest);
}

WITH_SHA static void add_block(struct state *s, const uint8_t *block)
{
	__m128i abef = s->abef, cdgh = s->cdgh, m[4], k;

	for (unsigned i = 0; i < 16; i++) {
		m[i & 3] = i < 4 ? load_words(block + 16 * (size_t)i) : next_words(m, i);
		k = _mm_loadu_si128((const __m128i *)(round_constants + 4 * (size_t)i));
		k = _mm_add_epi32(k, m[i & 3]);
		cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
		abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0e));
	}
	s->abef = _mm_add_epi32(s->abef, abef);
	s->cdgh = _mm_add_epi32(s->cdgh, cdgh);
}

static void put_be64(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof v);
}

/* What does not fill a block, the mark after it, and the length in bits at the end of the last block. */
WITH_SHA static void add_rest(struct state *s, const uint8_t *rest, size_t len, uint64_t total)
{
	uint8_t last[2 * BLOCK] = { 0 };
	size_t size = len < BLOCK - 8 ? BLOCK : 2 * BLOCK;

	if (len)
		memcpy(last, rest, len);
	last[len] = 0x80;
	put_be64(last + size - 8, total * 8);
	for (size_t at = 0; at < size; at += BLOCK)
		add_block(s, last + at);
}

WITH_SHA static void hash_with_sha(struct ar_str bytes, uint8_t ret[AR_HASH_LEN])
{
	struct state s = { _mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f, (int)0x9b05688c),
			   _mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19) };
	const uint8_t *p = (const uint8_t *)bytes.p;
	size_t whole = bytes.len / BLOCK * BLOCK;

	for (size_t at = 0; at < whole; at += BLOCK)
		add_block(&s, p + at);
	add_rest(&s, whole < bytes.len ? p + whole : NULL, bytes.len - whole, bytes.len);
	put_be64(ret, (uint64_t)_mm_extract_epi64(s.abef, 1));
	put_be64(ret + 8, (uint64_t)_mm_extract_epi64(s.cdgh, 1));
	put_be64(ret + 16, (uint64_t)_mm_extract_epi64(s.abef, 0));
	put_be64(ret + 24, (uint64_t)_mm_extract_epi64(s.cdgh, 0));
}

/* Asked once: in a virtual machine the question itself takes longer than a hash. */
static bool has_sha;
static pthread_once_t has_sha_once = PTHREAD_ONCE_INIT;

static void look_for_sha(void)
{
	unsigned eax, ebx = 0, ecx = 0, edx;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_SSE4_1) || !(ecx & bit_SSSE3))
		return;
	has_sha = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_SHA);
}

static bool hash_by_instructions(struct ar_str bytes, uint8_t ret[AR_HASH_LEN])
{
	pthread_once(&has_sha_once, look_for_sha);
	if (has_sha)
		hash_with_sha(bytes, ret);
	return has_sha;
}

#else

static bool hash_by_instructions(struct ar_str bytes AR_UNUSED, uint8_t ret[AR_HASH_LEN] AR_UNUSED)
{
	return false;
}

#endif

struct ar_hash ar_hash_of(struct ar_str bytes)
{
	struct ar_hash h;

	_Static_assert(AR_HASH_LEN == crypto_hash_sha256_BYTES, "a content hash is SHA-256");
	if (!hash_by_instructions(bytes, h.b))
		crypto_hash_sha256(h.b, (const unsigned char *)bytes.p, bytes.len);
	return h;
}

bool ar_hash_is_same(struct ar_str a, struct ar_str b)
{
	struct ar_hash x = ar_hash_of(a), y = ar_hash_of(b);

	return sodium_memcmp(x.b, y.b, AR_HASH_LEN) == 0;
}

/* ---- text ---- */

void ar_hash_text(const struct ar_hash *h, char out[AR_HASH_TEXT])
{
	_Static_assert(AR_BASE32_LEN(AR_HASH_LEN) == AR_HASH_TEXT, "length of the text");
	ar_base32_encode(h->b, AR_HASH_LEN, out);
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
