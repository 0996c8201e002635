/* See output.h. */
#include "output.h"
#include "mem.h"

#include <string.h>

static struct ar_output_segment *add_segment(struct ar_output *o, uint8_t kind, uint32_t index)
{
	struct ar_output_segment *s;
	uint64_t offset = 0;

	for (size_t i = 0; i < o->count; i++) {
		if (o->segments[i].kind == kind && o->segments[i].index == index)
			offset = o->segments[i].offset + o->segments[i].len;
	}
	if (o->count == o->room) {
		o->room = o->room ? o->room * 2 : 4;
		o->segments = ar_grow(o->segments, o->room, sizeof(*o->segments));
	}
	s = &o->segments[o->count++];
	*s = (struct ar_output_segment){ .kind = kind, .index = index, .pos = o->pos, .offset = offset };
	return s;
}

void ar_output_add(struct ar_output *o, uint8_t kind, uint32_t index, struct ar_str bytes)
{
	struct ar_output_segment *s = o->count ? &o->segments[o->count - 1] : NULL;

	if (bytes.len == 0)
		return;
	if (!s || s->kind != kind || s->index != index)
		s = add_segment(o, kind, index);
	ar_buf_adds(&o->bytes, bytes);
	s->len += bytes.len;
	o->pos += bytes.len;
}

void ar_output_add_stored(struct ar_output *o, uint8_t kind, uint32_t index, uint64_t len,
			  struct ar_str bytes)
{
	struct ar_output_segment *s = add_segment(o, kind, index);

	s->len = len;
	s->bytes = bytes.len == len ? bytes : AR_STR_NONE;
	o->pos += len;
}

static struct ar_str segment_bytes(const struct ar_output *o, const struct ar_output_segment *s)
{
	if (o->bytes.len == 0)
		return s->bytes;
	return ar_str_sub(ar_buf_str(&o->bytes), s->pos, s->len);
}

/* The bytes of a segment from `pos` on; absent: they are not to be had, as far as *len reaches. */
static struct ar_str bytes_from(const struct ar_output *o, const struct ar_output_segment *s, uint64_t pos,
				uint64_t *len)
{
	struct ar_str bytes;

	if (pos < o->dropped) {
		*len = o->dropped - pos;
		return AR_STR_NONE;
	}
	if (o->dropped > 0)
		return ar_str_sub(ar_buf_str(&o->bytes), pos - o->dropped, *len);
	bytes = segment_bytes(o, s);
	return ar_str_absent(bytes) ? AR_STR_NONE : ar_str_sub(bytes, pos - s->pos, *len);
}

bool ar_output_piece_at(const struct ar_output *o, uint64_t pos, size_t max, struct ar_output_piece *ret)
{
	for (size_t i = 0; i < o->count; i++) {
		const struct ar_output_segment *s = &o->segments[i];
		struct ar_str rest;

		if (pos >= s->pos + s->len)
			continue;
		*ret = (struct ar_output_piece){ .segment = s,
						 .pos = pos,
						 .offset = s->offset + (pos - s->pos),
						 .len = s->pos + s->len - pos };
		rest = bytes_from(o, s, pos, &ret->len);
		if (ar_str_absent(rest))
			return true;
		ret->bytes = ar_str_utf8_prefix(rest, max);
		if (ret->bytes.len == 0)
			ret->bytes = ar_str_sub(rest, 0, 1);
		ret->len = ret->bytes.len;
		return true;
	}
	return false;
}

void ar_output_forget(struct ar_output *o, size_t keep)
{
	size_t excess = o->bytes.len > keep ? o->bytes.len - keep : 0;

	while (excess > 0 && excess < o->bytes.len && ((unsigned char)o->bytes.p[excess] & 0xC0) == 0x80)
		excess++;
	memmove(o->bytes.p, o->bytes.p + excess, o->bytes.len - excess);
	o->bytes.len -= excess;
	o->dropped += excess;
}

void ar_output_skip(struct ar_output *o, uint8_t kind, uint64_t len)
{
	struct ar_output_segment *s = o->count ? &o->segments[0] : add_segment(o, kind, 0);

	s->len += len;
	o->pos += len;
	o->bytes.len = 0;
	o->dropped = o->pos;
}

void ar_output_collect(const struct ar_output *o, uint8_t kind, uint32_t index, struct ar_buf *out)
{
	for (size_t i = 0; i < o->count; i++) {
		if (o->segments[i].kind == kind && o->segments[i].index == index)
			ar_buf_adds(out, segment_bytes(o, &o->segments[i]));
	}
}

void ar_output_fini(struct ar_output *o)
{
	ar_buf_fini(&o->bytes);
	ar_free(o->segments);
	*o = (struct ar_output){ 0 };
}
