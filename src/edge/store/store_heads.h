/* Newest sequence per session, so that an append needs no lookup. Bounded: it forgets everything when it is
 * full, and its owner clears it when a transaction failed. One thread's. */
#ifndef AR_EDGE_STORE_HEADS_H
#define AR_EDGE_STORE_HEADS_H

#include "map.h"
#include "store_op.h"

/* A zeroed one knows nothing. */
struct ar_store_heads {
	struct ar_map map;
	struct ar_arena arena;
};

AR_BEGIN_DECLS

bool ar_store_heads_get(const struct ar_store_heads *h, const struct ar_store_key *key, uint64_t *ret);
void ar_store_heads_put(struct ar_store_heads *h, const struct ar_store_key *key, uint64_t seq);
void ar_store_heads_remove(struct ar_store_heads *h,
			   const struct ar_store_key *key); /* it has no facts any more */
size_t ar_store_heads_bytes(const struct ar_store_heads *h); /* of heap that it has */
void ar_store_heads_clear(struct ar_store_heads *h);
void ar_store_heads_fini(struct ar_store_heads *h);

AR_END_DECLS

#endif
