/* Content that was written or read lately, unpacked, by hash: a model call needs the whole conversation
 * again, and nearly all of it is from minutes ago. Bounded by bytes, the oldest leave first. One lock; any
 * thread may call. */
#ifndef AR_EDGE_STORE_BLOB_CACHE_H
#define AR_EDGE_STORE_BLOB_CACHE_H

#include "arena.h"
#include "hash.h"
#include "list.h"
#include "map.h"

#include <pthread.h>

struct ar_blob_cache {
	pthread_mutex_t lock;
	struct ar_map map; /* hash -> entry */
	struct ar_list entries; /* oldest first */
	size_t bytes;
};

AR_BEGIN_DECLS

void ar_blob_cache_init(struct ar_blob_cache *c);
void ar_blob_cache_fini(struct ar_blob_cache *c);

/* Keeps a copy, unless it is too large to be worth the others. */
void ar_blob_cache_put(struct ar_blob_cache *c, const struct ar_hash *hash, struct ar_str bytes);

/* A copy in the arena; false when it is not here. */
bool ar_blob_cache_get(struct ar_blob_cache *c, const struct ar_hash *hash, struct ar_arena *a,
		       struct ar_str *ret);

/* Copies of all of them, or false when one is not here. */
bool ar_blob_cache_get_all(struct ar_blob_cache *c, const struct ar_hash *hashes, size_t count,
			   struct ar_arena *a, struct ar_str *ret);

/* Bytes of heap that it has. */
size_t ar_blob_cache_bytes(struct ar_blob_cache *c);

/* Forgets everything: what was put may not have become durable. */
void ar_blob_cache_clear(struct ar_blob_cache *c);

AR_END_DECLS

#endif
