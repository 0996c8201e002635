/* A growing byte buffer with a cap. Over the cap it keeps what it had and sets `failed`, which the
 * writer checks once at the end instead of after every byte. */
#ifndef AR_BASE_BUF_H
#define AR_BASE_BUF_H

#include "str.h"

struct ar_buf {
	char *p;
	size_t len;
	size_t room; /* allocated bytes */
	size_t cap; /* 0 = no cap of its own (sizes that we choose) */
	bool failed;
};

AR_BEGIN_DECLS

void ar_buf_add(struct ar_buf *b, const void *bytes, size_t len);
void ar_buf_adds(struct ar_buf *b, struct ar_str s);
void ar_buf_addc(struct ar_buf *b, char c);
void ar_buf_addz(struct ar_buf *b, const char *cstr);
void ar_buf_addf(struct ar_buf *b, const char *fmt, ...) AR_PRINTF(2, 3);

/* Makes room where there is not enough. For ar_buf_room. */
char *ar_buf_more_room(struct ar_buf *b, size_t len);

/* Room for `len` more bytes at the returned address (then add to b->len); NULL over the cap. Nearly always
 * there is some; a buffer that failed keeps its `failed` until it is cleared, and gives none. */
static inline char *ar_buf_room(struct ar_buf *b, size_t len)
{
	if (b->p && len <= b->room - b->len && !b->failed)
		return b->p + b->len;
	return ar_buf_more_room(b, len);
}

/* Drops the first `len` bytes. */
void ar_buf_eat(struct ar_buf *b, size_t len);
void ar_buf_clear(struct ar_buf *b); /* keeps the memory */
void ar_buf_fini(struct ar_buf *b);

static inline struct ar_str ar_buf_str(const struct ar_buf *b)
{
	return (struct ar_str){ b->p ? b->p : "", b->len };
}

AR_END_DECLS

#endif
