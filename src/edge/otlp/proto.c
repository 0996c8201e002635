/* See proto.h. */
#include "proto.h"
#include "status.h"

#include <string.h>

#define LENGTH_BYTES 4
#define LENGTH_MAX ((size_t)1 << (7 * LENGTH_BYTES))

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static void add_varint(struct ar_buf *b, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		ar_buf_addc(b, (char)(value | 0x80));
	ar_buf_addc(b, (char)value);
}

static void add_tag(struct ar_buf *b, unsigned field, enum wire wire)
{
	add_varint(b, field << 3 | wire);
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
	add_tag(b, field, WIRE_VARINT);
	add_varint(b, value);
}

void ar_proto_fixed64(struct ar_buf *b, unsigned field, uint64_t value)
{
	add_tag(b, field, WIRE_64);
	add_little(b, value, 8);
}

void ar_proto_fixed32(struct ar_buf *b, unsigned field, uint32_t value)
{
	add_tag(b, field, WIRE_32);
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
	add_tag(b, field, WIRE_BYTES);
	add_varint(b, len);
}

void ar_proto_bytes(struct ar_buf *b, unsigned field, const void *bytes, size_t len)
{
	ar_proto_head(b, field, len);
	if (len)
		ar_buf_add(b, bytes, len);
}

void ar_proto_text(struct ar_buf *b, unsigned field, struct ar_str text)
{
	ar_proto_bytes(b, field, text.p, text.len);
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
	add_tag(b, field, WIRE_BYTES);
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
