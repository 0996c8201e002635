/* See the header. */
#include "vec.h"

#include <string.h>

static void vec_grow(struct ar_arena *a, struct ar_vec *v)
{
	size_t room = v->room ? v->room * 2 : 4;
	void **at = ar_arena_alloc(a, room * sizeof(*at));

	if (v->count > 0)
		memcpy(at, v->at, v->count * sizeof(*at));
	v->at = at;
	v->room = room;
}

void ar_vec_insert(struct ar_arena *a, struct ar_vec *v, size_t index, void *item)
{
	if (v->count == v->room)
		vec_grow(a, v);
	memmove(v->at + index + 1, v->at + index, (v->count - index) * sizeof(*v->at));
	v->at[index] = item;
	v->count++;
}

void ar_vec_push(struct ar_arena *a, struct ar_vec *v, void *item)
{
	ar_vec_insert(a, v, v->count, item);
}

void ar_vec_remove(struct ar_vec *v, size_t index)
{
	memmove(v->at + index, v->at + index + 1, (v->count - index - 1) * sizeof(*v->at));
	v->count--;
}

struct ar_vec ar_vec_copy(struct ar_arena *a, const struct ar_vec *v)
{
	struct ar_vec copy = { .count = v->count, .room = v->count + 1 };

	copy.at = ar_arena_alloc(a, copy.room * sizeof(*copy.at));
	if (v->count > 0)
		memcpy(copy.at, v->at, v->count * sizeof(*copy.at));
	return copy;
}

bool ar_vec_find(const struct ar_vec *v, const void *item, size_t *ret_index)
{
	for (size_t i = 0; i < v->count; i++) {
		if (v->at[i] != item)
			continue;
		*ret_index = i;
		return true;
	}
	return false;
}

void *ar_vec_last_with(const struct ar_vec *v, size_t member, struct ar_str text)
{
	for (size_t i = v->count; i > 0; i--) {
		const char *item = v->at[i - 1];

		if (ar_str_eq(*(const struct ar_str *)(const void *)(item + member), text))
			return v->at[i - 1];
	}
	return NULL;
}
