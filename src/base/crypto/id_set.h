/* Ids and hashes that were seen, 16 bytes each: the beginning of a SHA-256, which nobody can choose. */
#ifndef AR_BASE_CRYPTO_ID_SET_H
#define AR_BASE_CRYPTO_ID_SET_H

#include "hash.h"

struct ar_id_set {
	uint8_t (*at)[16]; /* zeros: free */
	size_t count, room;
};

enum ar_id_added { AR_ID_NEW = 1, AR_ID_KNOWN, AR_ID_FULL };

/* FULL: it has `max` others, and this is not among them. */
enum ar_id_added ar_id_set_add(struct ar_id_set *s, const struct ar_hash *h, size_t max);
bool ar_id_set_has(const struct ar_id_set *s, const struct ar_hash *h);
void ar_id_set_fini(struct ar_id_set *s);

#endif
