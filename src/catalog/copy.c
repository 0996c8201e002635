/* Copies of structs with the objects and lists inside them. A decision copies each payload
 * before it applies it, so this is on the path of every fact; a struct that has none of these is
 * one memcpy. */
#include "codec.h"

#include <string.h>

struct copy {
	struct ar_arena *arena;
	enum ar_struct_copy how;
};

static void copy_members(const struct copy *c, const struct ar_struct_desc *d, char *s);

static void copy_text(const struct copy *c, char *at)
{
	struct ar_str *s = (struct ar_str *)(void *)at;

	if (c->how == AR_COPY_TEXT)
		*s = ar_arena_str(c->arena, *s);
}

/* A list that is filled in is empty: what it points at is never read. */
static void *copy_array(const struct copy *c, const struct ar_field_desc *f, struct ar_items *items,
			size_t size)
{
	void *at;

	if (!items->at && (c->how != AR_COPY_FILL || !f->required || f->nullable))
		return NULL;
	at = ar_arena_alloc(c->arena, (items->count ? items->count : 1) * size);
	if (items->count > 0)
		memcpy(at, items->at, items->count * size);
	items->at = at;
	return at;
}

static void copy_texts(const struct copy *c, const struct ar_field_desc *f, char *member)
{
	struct ar_items items;
	char *at;

	memcpy(&items, member, sizeof(items));
	at = copy_array(c, f, &items, sizeof(struct ar_str));
	for (size_t i = 0; at && i < items.count; i++)
		copy_text(c, at + i * sizeof(struct ar_str));
	memcpy(member, &items, sizeof(items));
}

static void copy_shapes(const struct copy *c, const struct ar_field_desc *f, char *member)
{
	struct ar_items items;
	char *at;

	memcpy(&items, member, sizeof(items));
	at = copy_array(c, f, &items, f->of->size);
	for (size_t i = 0; at && i < items.count; i++)
		copy_members(c, f->of, at + i * f->of->size);
	memcpy(member, &items, sizeof(items));
}

static void copy_shape(const struct copy *c, const struct ar_field_desc *f, char *member)
{
	struct ar_items items = { .count = 1 };
	char *at;

	memcpy(&items.at, member, sizeof(items.at));
	if (!items.at)
		items.count = 0;
	at = copy_array(c, f, &items, f->of->size);
	if (at)
		copy_members(c, f->of, at);
	memcpy(member, &items.at, sizeof(items.at));
}

static void copy_member(const struct copy *c, const struct ar_field_desc *f, char *member)
{
	if (f->kind == AR_F_TEXTS)
		copy_texts(c, f, member);
	else if (f->of && f->kind == AR_F_ARRAY)
		copy_shapes(c, f, member);
	else if (f->of)
		copy_shape(c, f, member);
	else if (f->kind == AR_F_STRING || f->kind == AR_F_REF || f->kind == AR_F_OBJECT ||
		 f->kind == AR_F_ARRAY || f->kind == AR_F_JSON)
		copy_text(c, member);
}

static void copy_members(const struct copy *c, const struct ar_struct_desc *d, char *s)
{
	for (size_t i = 0; i < d->count; i++)
		copy_member(c, &d->fields[i], s + d->fields[i].offset);
	if (d->extra)
		copy_text(c, s + d->extra);
	if (d->text)
		copy_text(c, s + d->text);
}

void *ar_struct_copy(const struct ar_struct_desc *d, const void *s, enum ar_struct_copy how,
		     struct ar_arena *a)
{
	const struct copy c = { a, how };
	void *made = ar_arena_room(a, d->size);

	memcpy(made, s, d->size);
	copy_members(&c, d, made);
	return made;
}

void ar_list_copy(const struct ar_struct_desc *d, const void *list, enum ar_struct_copy how,
		  struct ar_arena *a, void *ret_list)
{
	const struct copy c = { a, how };
	const struct ar_field_desc f = { .kind = AR_F_ARRAY, .of = d };

	memcpy(ret_list, list, sizeof(struct ar_items));
	copy_shapes(&c, &f, ret_list);
}

void ar_shapes_add(const struct ar_struct_desc *d, void *list, const void *more, size_t max,
		   struct ar_arena *a)
{
	const struct copy c = { a, AR_COPY_TEXT };
	struct ar_items old, add;
	char *at;

	memcpy(&old, list, sizeof(old));
	memcpy(&add, more, sizeof(add));
	if (!add.at)
		return;
	at = ar_arena_alloc(a, (old.count + add.count + 1) * d->size); /* an empty list is not absent */
	if (old.count > 0)
		memcpy(at, old.at, old.count * d->size);
	memcpy(at + old.count * d->size, add.at, add.count * d->size);
	for (size_t i = old.count; i < old.count + add.count; i++)
		copy_members(&c, d, at + i * d->size);
	old.count += add.count;
	if (old.count > max) {
		at += (old.count - max) * d->size;
		old.count = max;
	}
	old.at = at;
	memcpy(list, &old, sizeof(old));
}
