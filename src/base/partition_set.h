/* A set of partitions (ar_id_partition): what a node owns, gains or gives away. */
#ifndef AR_BASE_PARTITION_SET_H
#define AR_BASE_PARTITION_SET_H

#include "id.h"

#define AR_PARTITION_WORDS (AR_PARTITIONS / 64)

struct ar_partition_set {
	uint64_t bits[AR_PARTITION_WORDS];
};

static inline bool ar_partition_has(const struct ar_partition_set *s, unsigned partition)
{
	return s->bits[partition / 64] >> partition % 64 & 1;
}

static inline void ar_partition_add(struct ar_partition_set *s, unsigned partition)
{
	s->bits[partition / 64] |= UINT64_C(1) << partition % 64;
}

static inline void ar_partition_remove(struct ar_partition_set *s, unsigned partition)
{
	s->bits[partition / 64] &= ~(UINT64_C(1) << partition % 64);
}

static inline void ar_partition_union(struct ar_partition_set *s, const struct ar_partition_set *more)
{
	for (unsigned i = 0; i < AR_PARTITION_WORDS; i++)
		s->bits[i] |= more->bits[i];
}

static inline bool ar_partition_any(const struct ar_partition_set *s)
{
	for (unsigned i = 0; i < AR_PARTITION_WORDS; i++) {
		if (s->bits[i])
			return true;
	}
	return false;
}

#endif
