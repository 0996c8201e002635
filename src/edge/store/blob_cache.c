/* See blob_cache.h. First in, first out: a conversation is read from its oldest message on, so moving what
 * was just read to the end would only turn the whole list over with every call. */
#include "blob_cache.h"

#include "mem.h"

#include <string.h>

#define BYTES_MAX (8u << 20)
#define ENTRY_MAX (64u << 10)
#define ALLOCATOR_HEAD 8
#define ALLOCATOR_STEP 16

struct entry {
	struct ar_list node;
	struct ar_hash hash;
	size_t len;
	char bytes[];
};

static struct ar_str key_of(const struct ar_hash *hash)
{
	return (struct ar_str){ (const char *)hash->b, sizeof hash->b };
}

/* With what the allocator adds: most contents are small, so that it counts. */
static size_t size_of(const struct entry *e)
{
	return (sizeof *e + e->len + ALLOCATOR_HEAD + ALLOCATOR_STEP - 1) / ALLOCATOR_STEP * ALLOCATOR_STEP;
}

static void drop_oldest(struct ar_blob_cache *c)
{
	struct entry *e = AR_CONTAINER_OF(ar_list_pop(&c->entries), struct entry, node);

	ar_map_del(&c->map, key_of(&e->hash));
	c->bytes -= size_of(e);
	ar_free(e);
}

static void add(struct ar_blob_cache *c, const struct ar_hash *hash, struct ar_str bytes)
{
	struct entry *e = ar_new0(sizeof *e + bytes.len);

	e->hash = *hash;
	e->len = bytes.len;
	memcpy(e->bytes, bytes.p, bytes.len);
	ar_list_push(&c->entries, &e->node);
	ar_map_put(&c->map, key_of(&e->hash), e);
	c->bytes += size_of(e);
	while (c->bytes > BYTES_MAX)
		drop_oldest(c);
}

void ar_blob_cache_init(struct ar_blob_cache *c)
{
	*c = (struct ar_blob_cache){ 0 };
	pthread_mutex_init(&c->lock, NULL);
	ar_list_init(&c->entries);
}

void ar_blob_cache_fini(struct ar_blob_cache *c)
{
	ar_blob_cache_clear(c);
	ar_map_fini(&c->map);
	pthread_mutex_destroy(&c->lock);
}

void ar_blob_cache_put(struct ar_blob_cache *c, const struct ar_hash *hash, struct ar_str bytes)
{
	if (bytes.len > ENTRY_MAX || ar_str_absent(bytes))
		return;
	pthread_mutex_lock(&c->lock);
	if (!ar_map_get(&c->map, key_of(hash)))
		add(c, hash, bytes);
	pthread_mutex_unlock(&c->lock);
}

/* With the lock. */
static bool copy(struct ar_blob_cache *c, const struct ar_hash *hash, struct ar_arena *a, struct ar_str *ret)
{
	const struct entry *e = ar_map_get(&c->map, key_of(hash));

	if (e)
		*ret = ar_arena_str(a, (struct ar_str){ e->bytes, e->len });
	return e != NULL;
}

bool ar_blob_cache_get(struct ar_blob_cache *c, const struct ar_hash *hash, struct ar_arena *a,
		       struct ar_str *ret)
{
	return ar_blob_cache_get_all(c, hash, 1, a, ret);
}

bool ar_blob_cache_get_all(struct ar_blob_cache *c, const struct ar_hash *hashes, size_t count,
			   struct ar_arena *a, struct ar_str *ret)
{
	size_t i = 0;

	pthread_mutex_lock(&c->lock);
	while (i < count && copy(c, &hashes[i], a, &ret[i]))
		i++;
	pthread_mutex_unlock(&c->lock);
	return i == count;
}

size_t ar_blob_cache_bytes(struct ar_blob_cache *c)
{
	size_t bytes;

	pthread_mutex_lock(&c->lock);
	bytes = c->bytes + c->map.room * sizeof *c->map.slots;
	pthread_mutex_unlock(&c->lock);
	return bytes;
}

void ar_blob_cache_clear(struct ar_blob_cache *c)
{
	pthread_mutex_lock(&c->lock);
	while (!ar_list_empty(&c->entries))
		drop_oldest(c);
	pthread_mutex_unlock(&c->lock);
}
