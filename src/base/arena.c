/* Bump allocation in a chain of blocks, the newest at the head. An arena has one owner and no lock. */
#include "arena.h"
#include "mem.h"
#include "status.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#define ALIGN ((size_t)16)
#define FIRST_BLOCK ((size_t)4096)
/* Blocks double up to here; only a larger allocation gets a larger block. Arenas live long in sessions:
 * what is left of the newest block is what each of them wastes, and blocks of one moderate size are
 * taken up again by the next arena instead of leaving holes in the heap. */
#define USUAL_BLOCK ((size_t)16384)

struct ar_arena_block {
	alignas(16) struct ar_arena_block *older;
	size_t room;
	alignas(16) char bytes[];
};

static void push_block(struct ar_arena *a, size_t need)
{
	size_t room = a->head ? a->head->room * 2 : FIRST_BLOCK;
	struct ar_arena_block *block;

	if (room > USUAL_BLOCK)
		room = USUAL_BLOCK;
	if (room < need)
		room = need;
	block = ar_grow(NULL, 1, sizeof *block + room);
	block->older = a->head;
	block->room = room;
	a->head = block;
	a->used = 0;
}

void *ar_arena_room(struct ar_arena *a, size_t size)
{
	size_t need;
	void *p;

	AR_ASSERT(size <= SIZE_MAX / 2);
	need = (size + ALIGN - 1) & ~(ALIGN - 1);
	if (!a->head || a->head->room - a->used < need)
		push_block(a, need);
	p = a->head->bytes + a->used;
	a->used += need;
	a->total += need;
	return p;
}

void *ar_arena_alloc(struct ar_arena *a, size_t size)
{
	return memset(ar_arena_room(a, size), 0, size);
}

struct ar_str ar_arena_str(struct ar_arena *a, struct ar_str s)
{
	char *copy;

	if (ar_str_absent(s))
		return s;
	copy = ar_arena_room(a, s.len + 1);
	memcpy(copy, s.p, s.len);
	copy[s.len] = '\0';
	return (struct ar_str){ copy, s.len };
}

struct ar_texts ar_arena_texts(struct ar_arena *a, struct ar_texts texts)
{
	struct ar_str *copy;

	if (!texts.at)
		return texts;
	copy = ar_arena_room(a, (texts.count + 1) * sizeof(*copy)); /* an empty list is not absent */
	for (size_t i = 0; i < texts.count; i++)
		copy[i] = ar_arena_str(a, texts.at[i]);
	return (struct ar_texts){ copy, texts.count };
}

struct ar_texts ar_arena_texts_add(struct ar_arena *a, struct ar_texts texts, struct ar_str text)
{
	struct ar_str *longer = ar_arena_room(a, (texts.count + 1) * sizeof(*longer));

	if (texts.count > 0)
		memcpy(longer, texts.at, texts.count * sizeof(*longer));
	longer[texts.count] = text;
	return (struct ar_texts){ longer, texts.count + 1 };
}

struct ar_str ar_arena_join(struct ar_arena *a, const struct ar_str *parts, size_t count)
{
	size_t len = 0;
	char *text, *at;

	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	at = text = ar_arena_room(a, len + 1);
	for (size_t i = 0; i < count; i++) {
		if (parts[i].len)
			memcpy(at, parts[i].p, parts[i].len);
		at += parts[i].len;
	}
	*at = '\0';
	return (struct ar_str){ text, len };
}

struct ar_str ar_arena_fmt(struct ar_arena *a, const char *fmt, ...)
{
	struct ar_str s;
	va_list ap;

	va_start(ap, fmt);
	s = ar_arena_vfmt(a, fmt, ap);
	va_end(ap);
	return s;
}

/* Most texts fit the small buffer, so that formatting twice is the exception. */
struct ar_str ar_arena_vfmt(struct ar_arena *a, const char *fmt, va_list ap)
{
	char small[256], *text;
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(small, sizeof small, fmt, ap);
	AR_ASSERT(len >= 0);
	text = ar_arena_room(a, (size_t)len + 1);
	if ((size_t)len < sizeof small)
		memcpy(text, small, (size_t)len + 1);
	else
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	return (struct ar_str){ text, (size_t)len };
}

static void pop_block(struct ar_arena *a)
{
	struct ar_arena_block *block = a->head;

	a->head = block->older;
	ar_free(block);
}

/* "3412" as "3,412". */
static struct ar_str grouped(struct ar_arena *a, size_t n)
{
	if (n < 1000)
		return ar_arena_fmt(a, "%zu", n);
	return ar_arena_fmt(a, "%.*s,%03zu", AR_STR_ARG(grouped(a, n / 1000)), n % 1000);
}

struct ar_str ar_arena_excerpt(struct ar_arena *a, struct ar_str text, size_t max)
{
	struct ar_str head = ar_str_utf8_prefix(text, max / 2);
	size_t from = text.len > max / 2 ? text.len - max / 2 : 0;

	if (text.len <= max)
		return text;
	while (from < text.len && ((unsigned char)text.p[from] & 0xC0) == 0x80)
		from++;
	return ar_arena_fmt(a, "%.*s[... %.*s bytes not shown ...]%.*s", AR_STR_ARG(head),
			    AR_STR_ARG(grouped(a, from - head.len)),
			    AR_STR_ARG(ar_str_sub(text, from, text.len)));
}

void ar_arena_reset(struct ar_arena *a)
{
	while (a->head && (a->head->older || a->head->room > USUAL_BLOCK))
		pop_block(a);
	a->used = 0;
	a->total = 0;
}

void ar_arena_fini(struct ar_arena *a)
{
	while (a->head)
		pop_block(a);
	*a = (struct ar_arena){ 0 };
}
