/* See the header. */
#include "store_heads.h"

#define HEADS_MAX 65536

struct head {
	struct ar_store_key key;
	uint64_t seq;
};

bool ar_store_heads_get(const struct ar_store_heads *h, const struct ar_store_key *key, uint64_t *ret)
{
	const struct head *head = ar_map_get(&h->map, ar_store_key_bytes(key));

	if (head)
		*ret = head->seq;
	return head;
}

void ar_store_heads_put(struct ar_store_heads *h, const struct ar_store_key *key, uint64_t seq)
{
	struct head *head = ar_map_get(&h->map, ar_store_key_bytes(key));

	if (!head) {
		if (h->map.count >= HEADS_MAX)
			ar_store_heads_clear(h);
		head = ar_arena_alloc(&h->arena, sizeof *head);
		head->key = *key;
		ar_map_put(&h->map, ar_store_key_bytes(&head->key), head);
	}
	head->seq = seq;
}

void ar_store_heads_remove(struct ar_store_heads *h, const struct ar_store_key *key)
{
	struct head *head = ar_map_get(&h->map, ar_store_key_bytes(key));

	if (head) /* kept as one that may begin: taking it out would leave its memory behind */
		head->seq = 0;
}

size_t ar_store_heads_bytes(const struct ar_store_heads *h)
{
	return h->arena.total + h->map.room * sizeof *h->map.slots;
}

void ar_store_heads_clear(struct ar_store_heads *h)
{
	ar_map_fini(&h->map);
	ar_arena_reset(&h->arena);
}

void ar_store_heads_fini(struct ar_store_heads *h)
{
	ar_map_fini(&h->map);
	ar_arena_fini(&h->arena);
}
