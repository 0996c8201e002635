/* The hash tree of RFC 6962 (and RFC 9162) over a list that only grows: a leaf is SHA-256(0x00 || bytes), a
 * node SHA-256(0x01 || left || right). What is kept are the roots of the full subtrees, one per bit of the
 * size, so adding and the root cost the logarithm of the size. */
#ifndef AR_BASE_CRYPTO_MERKLE_H
#define AR_BASE_CRYPTO_MERKLE_H

#include "crypto/sha256.h"

struct ar_merkle {
	uint64_t size; /* leaves */
	struct ar_hash full[64]; /* [i]: of the subtree with 2^i leaves, where that bit of the size is set */
	struct ar_sha256 sha;
};

struct ar_hash ar_merkle_leaf(struct ar_merkle *m, struct ar_str bytes); /* its hash; adds nothing */
void ar_merkle_add(struct ar_merkle *m, const struct ar_hash *leaf);
struct ar_hash ar_merkle_root(struct ar_merkle *m); /* of nothing: the hash of nothing */
void ar_merkle_fini(struct ar_merkle *m);

#endif
