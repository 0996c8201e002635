/* Open addressing with linear probing; deletion shifts back what probed past the hole, so there are no
 * tombstones and a lookup ends at the first empty slot. A map has one owner. */
#include "map.h"
#include "hash.h"
#include "mem.h"
#include "status.h"

#define FIRST_ROOM ((size_t)8)

/* The slot that holds the key, or the empty slot where it belongs. */
static struct ar_map_slot *find_slot(const struct ar_map *m, struct ar_str key, uint64_t hash)
{
	size_t at = (size_t)hash & (m->room - 1);

	while (m->slots[at].key.p && (m->slots[at].hash != hash || !ar_str_eq(m->slots[at].key, key)))
		at = (at + 1) & (m->room - 1);
	return &m->slots[at];
}

static void grow(struct ar_map *m)
{
	struct ar_map bigger = { .room = m->room ? m->room * 2 : FIRST_ROOM, .count = m->count };

	AR_ASSERT(bigger.room <= SIZE_MAX / 2 / sizeof *m->slots);
	bigger.slots = ar_new0(bigger.room * sizeof *m->slots);
	for (size_t i = 0; i < m->room; i++) {
		if (m->slots[i].key.p)
			*find_slot(&bigger, m->slots[i].key, m->slots[i].hash) = m->slots[i];
	}
	ar_free(m->slots);
	*m = bigger;
}

void *ar_map_get(const struct ar_map *m, struct ar_str key)
{
	if (m->count == 0 || ar_str_absent(key))
		return NULL;
	return find_slot(m, key, ar_hash_key(key))->value;
}

/* The key pointer is replaced too: the old one lives in the old value. */
void ar_map_put(struct ar_map *m, struct ar_str key, void *value)
{
	uint64_t hash = ar_hash_key(key);
	struct ar_map_slot *slot;

	AR_ASSERT(key.p && value);
	if (m->count + 1 > m->room - m->room / 4)
		grow(m);
	slot = find_slot(m, key, hash);
	m->count += slot->key.p == NULL;
	*slot = (struct ar_map_slot){ key, value, hash };
}

/* Whether the entry at `at` may move to the hole: its home slot is not between the two. */
static bool may_fill(const struct ar_map *m, size_t hole, size_t at)
{
	size_t mask = m->room - 1, home = (size_t)m->slots[at].hash & mask;

	return ((at - home) & mask) >= ((at - hole) & mask);
}

static void close_hole(struct ar_map *m, size_t hole)
{
	size_t mask = m->room - 1;

	for (size_t at = (hole + 1) & mask; m->slots[at].key.p; at = (at + 1) & mask) {
		if (!may_fill(m, hole, at))
			continue;
		m->slots[hole] = m->slots[at];
		hole = at;
	}
	m->slots[hole] = (struct ar_map_slot){ 0 };
}

void *ar_map_del(struct ar_map *m, struct ar_str key)
{
	struct ar_map_slot *slot;
	void *value;

	if (m->count == 0 || ar_str_absent(key))
		return NULL;
	slot = find_slot(m, key, ar_hash_key(key));
	value = slot->value;
	if (!value)
		return NULL;
	close_hole(m, (size_t)(slot - m->slots));
	m->count--;
	return value;
}

void ar_map_fini(struct ar_map *m)
{
	ar_free(m->slots);
	*m = (struct ar_map){ 0 };
}

void *ar_map_next(const struct ar_map *m, size_t *cursor)
{
	while (*cursor < m->room) {
		void *value = m->slots[(*cursor)++].value;

		if (value)
			return value;
	}
	return NULL;
}
