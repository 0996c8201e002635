/* Writes protocol buffers: tags, varints, fixed fields, and messages whose length is known only at their end.
 * Reads the little that comes back. Pure functions, any thread. */
#ifndef AR_OTLP_PROTO_H
#define AR_OTLP_PROTO_H

#include "buf.h"

#include <string.h>

AR_BEGIN_DECLS

void ar_proto_uint(struct ar_buf *b, unsigned field, uint64_t value);
void ar_proto_fixed64(struct ar_buf *b, unsigned field, uint64_t value);
void ar_proto_fixed32(struct ar_buf *b, unsigned field, uint32_t value);
void ar_proto_double(struct ar_buf *b, unsigned field, double value);
void ar_proto_bytes(struct ar_buf *b, unsigned field, const void *bytes, size_t len);

void ar_proto_text(struct ar_buf *b, unsigned field, struct ar_str text); /* UTF-8 */
size_t ar_proto_varint_len(uint64_t value); /* bytes that it takes */

/* The beginning of a message, or of other bytes, of that length. */
void ar_proto_head(struct ar_buf *b, unsigned field, size_t len);

/* A message, begun and ended; the mark is where it began. Its length takes as many bytes as any that this
 * program writes needs (under 256 MiB), which readers accept. */
size_t ar_proto_open(struct ar_buf *b, unsigned field);
void ar_proto_close(struct ar_buf *b, size_t mark);

enum ar_proto_wire {
	AR_PROTO_VARINT = 0,
	AR_PROTO_64 = 1,
	AR_PROTO_BYTES = 2,
	AR_PROTO_32 = 5,
};

#define AR_PROTO_VARINT_MAX ((size_t)10) /* bytes of 64 bits, seven in each */
#define AR_PROTO_HEAD_MAX (2 * AR_PROTO_VARINT_MAX)

/* Into memory that has the room; these return the byte behind what they wrote. */
static inline char *ar_proto_put_varint(char *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (char)(value | 0x80);
	*at++ = (char)value;
	return at;
}

/* The beginning of a message, or of other bytes, of that length: at most AR_PROTO_HEAD_MAX bytes. */
static inline char *ar_proto_put_head(char *at, unsigned field, size_t len)
{
	return ar_proto_put_varint(ar_proto_put_varint(at, field << 3 | AR_PROTO_BYTES), len);
}

static inline char *ar_proto_put_text(char *at, unsigned field, struct ar_str text)
{
	at = ar_proto_put_head(at, field, text.len);
	if (text.len)
		memcpy(at, text.p, text.len);
	return at + text.len;
}

struct ar_proto_field {
	uint64_t number; /* of the field */
	uint64_t value; /* of a varint */
	struct ar_str bytes; /* of a text or message; absent: it is none */
};

/* The next field of a message that others wrote. False: there is none, or it is damaged. */
bool ar_proto_next(struct ar_str *at, struct ar_proto_field *ret);

AR_END_DECLS

#endif
