/* See merkle.h. */
#include "crypto/merkle.h"

static struct ar_str bytes_of(const struct ar_hash *h)
{
	return (struct ar_str){ (const char *)h->b, AR_HASH_LEN };
}

struct ar_hash ar_merkle_leaf(struct ar_merkle *m, struct ar_str bytes)
{
	ar_sha256_add(&m->sha, (struct ar_str){ "\0", 1 });
	ar_sha256_add(&m->sha, bytes);
	return ar_sha256_end(&m->sha);
}

static struct ar_hash join(struct ar_merkle *m, const struct ar_hash *left, const struct ar_hash *right)
{
	ar_sha256_add(&m->sha, (struct ar_str){ "\1", 1 });
	ar_sha256_add(&m->sha, bytes_of(left));
	ar_sha256_add(&m->sha, bytes_of(right));
	return ar_sha256_end(&m->sha);
}

void ar_merkle_add(struct ar_merkle *m, const struct ar_hash *leaf)
{
	struct ar_hash h = *leaf;
	unsigned bit = 0;

	for (; m->size & (UINT64_C(1) << bit); bit++)
		h = join(m, &m->full[bit], &h);
	m->full[bit] = h;
	m->size++;
}

struct ar_hash ar_merkle_root(struct ar_merkle *m)
{
	unsigned bit;
	struct ar_hash h;

	if (m->size == 0)
		return ar_sha256_end(&m->sha);
	bit = (unsigned)__builtin_ctzll(m->size);
	h = m->full[bit];
	for (bit++; bit < 64; bit++) {
		if (m->size & (UINT64_C(1) << bit))
			h = join(m, &m->full[bit], &h);
	}
	return h;
}

void ar_merkle_fini(struct ar_merkle *m)
{
	ar_sha256_fini(&m->sha);
	*m = (struct ar_merkle){ 0 };
}
