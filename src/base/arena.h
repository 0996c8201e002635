/* Memory of one request or one decision: many small allocations, freed at once. Single-owner. */
#ifndef AR_BASE_ARENA_H
#define AR_BASE_ARENA_H

#include "str.h"

#include <stdarg.h>

struct ar_arena {
	struct ar_arena_block *head;
	size_t used; /* bytes in the head block */
	size_t total; /* bytes handed out since the last reset */
};

AR_BEGIN_DECLS

/* A zeroed struct is a valid empty arena. Allocations are zeroed and 16-byte aligned. */
void *ar_arena_alloc(struct ar_arena *a, size_t size);

/* The same, not zeroed: for what is written whole before it is read. */
void *ar_arena_room(struct ar_arena *a, size_t size);
struct ar_str ar_arena_str(struct ar_arena *a, struct ar_str s); /* NUL-terminated copy; absent stays so */

struct ar_texts ar_arena_texts(struct ar_arena *a, struct ar_texts texts); /* the same for a list */

/* The list and one text more; the texts stay where they are. */
struct ar_texts ar_arena_texts_add(struct ar_arena *a, struct ar_texts texts, struct ar_str text);

/* The parts one after the other, NUL-terminated: what is made too often for a format string. */
struct ar_str ar_arena_join(struct ar_arena *a, const struct ar_str *parts, size_t count);
struct ar_str ar_arena_fmt(struct ar_arena *a, const char *fmt, ...) AR_PRINTF(2, 3);
struct ar_str ar_arena_vfmt(struct ar_arena *a, const char *fmt, va_list ap);

/* Text for people in about `max` bytes: the text itself, or its beginning and its end
 * around "[... 3,412 bytes not shown ...]". */
struct ar_str ar_arena_excerpt(struct ar_arena *a, struct ar_str text, size_t max);

void ar_arena_reset(struct ar_arena *a); /* keeps the first block if it is of usual size */
void ar_arena_fini(struct ar_arena *a); /* frees all; the arena is empty and usable again */

AR_END_DECLS

#endif
