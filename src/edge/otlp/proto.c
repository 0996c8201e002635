/* See proto.h. */
#include "proto.h"
#include "status.h"

#include <string.h>

#define LENGTH_BYTES 4
#define LENGTH_MAX ((size_t)1 << (7 * LENGTH_BYTES))

static char *put_tag(char *at, unsigned field, enum ar_proto_wire wire)
{
	return ar_proto_put_varint(at, field << 3 | wire);
}

static void add_tag(struct ar_buf *b, unsigned field, enum ar_proto_wire wire)
{
	char head[AR_PROTO_VARINT_MAX];

	ar_buf_add(b, head, (size_t)(put_tag(head, field, wire) - head));
}

static void add_little(struct ar_buf *b, uint64_t value, size_t len)
{
	char bytes[sizeof(value)];

	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(value >> (8 * i));
	ar_buf_add(b, bytes, len);
}

void ar_proto_uint(struct ar_buf *b, unsigned field, uint64_t value)
{
	char head[AR_PROTO_HEAD_MAX];

	ar_buf_add(b, head,
		   (size_t)(ar_proto_put_varint(put_tag(head, field, AR_PROTO_VARINT), value) - head));
}

void ar_proto_fixed64(struct ar_buf *b, unsigned field, uint64_t value)
{
	add_tag(b, field, AR_PROTO_64);
	add_little(b, value, 8);
}

void ar_proto_fixed32(struct ar_buf *b, unsigned field, uint32_t value)
{
	add_tag(b, field, AR_PROTO_32);
	add_little(b, value, 4);
}

void ar_proto_double(struct ar_buf *b, unsigned field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	ar_proto_fixed64(b, field, bits);
}

void ar_proto_head(struct ar_buf *b, unsigned field, size_t len)
{
	char head[AR_PROTO_HEAD_MAX];

	ar_buf_add(b, head, (size_t)(ar_proto_put_head(head, field, len) - head));
}

void ar_proto_text(struct ar_buf *b, unsigned field, struct ar_str text)
{
	char *at = ar_buf_room(b, AR_PROTO_HEAD_MAX + text.len);

	if (at)
		b->len += (size_t)(ar_proto_put_text(at, field, text) - at);
}

void ar_proto_bytes(struct ar_buf *b, unsigned field, const void *bytes, size_t len)
{
	ar_proto_text(b, field, (struct ar_str){ bytes, len });
}

static bool read_varint(struct ar_str *at, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; shift < 64 && at->len > 0; shift += 7) {
		uint8_t byte = (uint8_t)at->p[0];

		*at = (struct ar_str){ at->p + 1, at->len - 1 };
		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

bool ar_proto_next(struct ar_str *at, struct ar_proto_field *ret)
{
	uint64_t tag, len;

	*ret = (struct ar_proto_field){ .bytes = AR_STR_NONE };
	if (!read_varint(at, &tag))
		return false;
	ret->number = tag >> 3;
	if ((tag & 7) == AR_PROTO_VARINT)
		return read_varint(at, &ret->value);
	if ((tag & 7) == AR_PROTO_BYTES) {
		if (!read_varint(at, &len) || len > at->len)
			return false;
		ret->bytes = (struct ar_str){ at->p, (size_t)len };
	} else {
		len = (tag & 7) == AR_PROTO_64 ? 8 : 4;
		if (((tag & 7) != AR_PROTO_64 && (tag & 7) != AR_PROTO_32) || len > at->len)
			return false;
		ret->bytes = (struct ar_str){ at->p, 0 };
	}
	*at = (struct ar_str){ at->p + len, at->len - (size_t)len };
	return true;
}

size_t ar_proto_varint_len(uint64_t value)
{
	size_t len = 1;

	for (; value >= 0x80; value >>= 7)
		len++;
	return len;
}

size_t ar_proto_open(struct ar_buf *b, unsigned field)
{
	add_tag(b, field, AR_PROTO_BYTES);
	ar_buf_add(b, "\0\0\0\0", LENGTH_BYTES);
	return b->len;
}

void ar_proto_close(struct ar_buf *b, size_t mark)
{
	size_t len = b->len - mark;

	AR_ASSERT(len < LENGTH_MAX);
	for (size_t i = 0; i < LENGTH_BYTES; i++) {
		b->p[mark - LENGTH_BYTES + i] = (char)((len & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
		len >>= 7;
	}
}
