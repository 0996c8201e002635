/* Hash map from byte strings to pointers. Keys are borrowed: they must live as long as the entry (in
 * practice the key is a member of the value). Neither key nor value may be NULL. Keyed hash, so that a
 * client cannot choose collisions. */
#ifndef AR_BASE_MAP_H
#define AR_BASE_MAP_H

#include "str.h"

struct ar_map_slot {
	struct ar_str key;
	void *value;
	uint64_t hash;
};

struct ar_map {
	struct ar_map_slot *slots;
	size_t room; /* power of two, or 0 */
	size_t count;
};

AR_BEGIN_DECLS

void *ar_map_get(const struct ar_map *m, struct ar_str key);
void ar_map_put(struct ar_map *m, struct ar_str key, void *value); /* replaces key and value */
void *ar_map_del(struct ar_map *m, struct ar_str key); /* the value that was there, or NULL */
void ar_map_fini(struct ar_map *m);

/* Walks all entries: start with *cursor = 0; NULL at the end. Deleting during a walk is not allowed. */
void *ar_map_next(const struct ar_map *m, size_t *cursor);

AR_END_DECLS

#endif
