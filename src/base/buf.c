/* The growing buffer. Capacity grows up to the cap; a write that does not fit is dropped whole and so is
 * every later one, so what is there is always a prefix of what was written. A buffer has one owner. */
#include "buf.h"
#include "mem.h"
#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM ((size_t)64)
#define SMALL_ROOM \
	((size_t)1024) /* below it, room grows fourfold: most texts of facts pass through these sizes */

/* Room without a cap is a size we chose: exhaustion ends the process. With a cap a peer chose it: the
 * buffer fails. */
static bool grow(struct ar_buf *b, size_t need)
{
	size_t room = b->room ? b->room : FIRST_ROOM;
	char *p;

	while (room < need)
		room = room > SIZE_MAX / 4 ? need : room * (room < SMALL_ROOM ? 4 : 2);
	if (b->cap && room > b->cap)
		room = b->cap;
	p = b->cap ? realloc(b->p, room) : ar_grow(b->p, room, 1);
	if (!p)
		return false;
	b->p = p;
	b->room = room;
	return true;
}

char *ar_buf_more_room(struct ar_buf *b, size_t len)
{
	size_t need;

	if (b->failed)
		return NULL;
	if (__builtin_add_overflow(b->len, len, &need) || (b->cap && need > b->cap) || !grow(b, need)) {
		b->failed = true;
		return NULL;
	}
	return b->p + b->len;
}

void ar_buf_add(struct ar_buf *b, const void *bytes, size_t len)
{
	char *at = len ? ar_buf_room(b, len) : NULL;

	if (!at)
		return;
	memcpy(at, bytes, len);
	b->len += len;
}

void ar_buf_adds(struct ar_buf *b, struct ar_str s)
{
	ar_buf_add(b, s.p, s.len);
}

void ar_buf_addc(struct ar_buf *b, char c)
{
	char *at = ar_buf_room(b, 1);

	if (!at)
		return;
	*at = c;
	b->len++;
}

void ar_buf_addz(struct ar_buf *b, const char *cstr)
{
	ar_buf_adds(b, ar_str_from(cstr));
}

static void add_long(struct ar_buf *b, size_t len, const char *fmt, va_list ap)
{
	char *text = ar_try_alloc(len + 1);

	if (!text) {
		b->failed = true;
		return;
	}
	vsnprintf(text, len + 1, fmt, ap);
	ar_buf_add(b, text, len);
	ar_free(text);
}

/* Not straight into the buffer: vsnprintf needs a byte for its NUL, which the cap may not leave. */
void ar_buf_addf(struct ar_buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(small, sizeof small, fmt, ap);
	AR_ASSERT(len >= 0);
	if ((size_t)len < sizeof small)
		ar_buf_add(b, small, (size_t)len);
	else
		add_long(b, (size_t)len, fmt, again);
	va_end(again);
	va_end(ap);
}

void ar_buf_eat(struct ar_buf *b, size_t len)
{
	AR_ASSERT(len <= b->len);
	b->len -= len;
	if (b->len && len)
		memmove(b->p, b->p + len, b->len);
}

void ar_buf_clear(struct ar_buf *b)
{
	b->len = 0;
	b->failed = false;
}

void ar_buf_fini(struct ar_buf *b)
{
	free(b->p);
	*b = (struct ar_buf){ .cap = b->cap };
}
