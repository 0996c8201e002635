/* Small vectors of pointers in an arena: what a session is made of. Nothing is freed: the arena is. */
#ifndef AR_SESSION_VEC_H
#define AR_SESSION_VEC_H

#include "arena.h"

struct ar_vec {
	void **at;
	size_t count, room;
};

void ar_vec_push(struct ar_arena *a, struct ar_vec *v, void *item);
void ar_vec_insert(struct ar_arena *a, struct ar_vec *v, size_t index, void *item);
void ar_vec_remove(struct ar_vec *v, size_t index);
struct ar_vec ar_vec_copy(
	struct ar_arena *a,
	const struct ar_vec *v); /* the same items; for loops whose facts change the vector */
bool ar_vec_find(const struct ar_vec *v, const void *item, size_t *ret_index);

/* The last item whose member at that offset, a struct ar_str, is the text; NULL: none. */
void *ar_vec_last_with(const struct ar_vec *v, size_t member, struct ar_str text);

#endif
