/* Content hashes: SHA-256, as 32 bytes and as 52 characters of lower-case Crockford base32. */
#ifndef AR_BASE_HASH_H
#define AR_BASE_HASH_H

#include "arena.h"
#include "str.h"

#define AR_HASH_LEN 32
#define AR_HASH_TEXT 52
#define AR_HASH_HEX 64

struct ar_hash {
	uint8_t b[AR_HASH_LEN];
};

AR_BEGIN_DECLS

struct ar_hash ar_hash_of(struct ar_str bytes);
void ar_hash_text(const struct ar_hash *h, char out[AR_HASH_TEXT]); /* no NUL */
void ar_hash_hex(const struct ar_hash *h, char out[AR_HASH_HEX]); /* lower case, no NUL */
struct ar_str ar_hash_digits(struct ar_arena *a, struct ar_str bytes, size_t count); /* first of its hex */
bool ar_hash_parse(struct ar_str text, struct ar_hash *ret);

/* Whether two texts are the same, in a time that does not depend on where they differ: for keys and
 * tokens. */
bool ar_hash_is_same(struct ar_str a, struct ar_str b);

/* Fresh bytes that nobody can guess, for keys and tokens; at most 256. */
void ar_hash_draw(uint8_t *out, size_t len);

/* Keyed 64-bit hash (SipHash) with a per-process key; not stable over restarts. */
uint64_t ar_hash_key(struct ar_str s);

AR_END_DECLS

#endif
