/* See context.h. */
#include "context.h"
#include "buf.h"
#include "hash.h"

#include <string.h>

#define ID_MAX 256 /* more than any id of ours, or that a caller may bring */

static size_t add(char *text, size_t at, struct ar_str part)
{
	size_t len = part.len < ID_MAX ? part.len : ID_MAX;

	if (len)
		memcpy(text + at, part.p, len);
	return at + len;
}

/* The word keeps a turn's trace and its span apart, the line ends what is in front of them. */
static void derive(struct ar_str word, struct ar_str session, struct ar_str id, uint8_t *ret, size_t size)
{
	char text[2 * ID_MAX + 16];
	size_t len = add(text, 0, word);
	struct ar_hash h;

	len = add(text, len, session);
	len = add(text, len, AR_STR("\n"));
	len = add(text, len, id);
	h = ar_hash_of((struct ar_str){ text, len });
	memcpy(ret, h.b, size);
}

void ar_trace_of(struct ar_str session, struct ar_str id, uint8_t ret[AR_TRACE_BYTES])
{
	derive(AR_STR("trace\n"), session, id, ret, AR_TRACE_BYTES);
}

void ar_span_of(struct ar_str session, struct ar_str id, uint8_t ret[AR_SPAN_BYTES])
{
	derive(AR_STR("span\n"), session, id, ret, AR_SPAN_BYTES);
}

static struct ar_str hex_of(struct ar_arena *a, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char *out = ar_arena_room(a, 2 * len + 1);

	for (size_t i = 0; i < len; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * len] = '\0';
	return (struct ar_str){ out, 2 * len };
}

struct ar_str ar_trace_text(struct ar_arena *a, struct ar_str session, struct ar_str id)
{
	uint8_t bytes[AR_TRACE_BYTES];

	if (ar_str_absent(id))
		return AR_STR_NONE;
	ar_trace_of(session, id, bytes);
	return hex_of(a, bytes, sizeof(bytes));
}

struct ar_str ar_span_text(struct ar_arena *a, struct ar_str session, struct ar_str id)
{
	uint8_t bytes[AR_SPAN_BYTES];

	if (ar_str_absent(id))
		return AR_STR_NONE;
	ar_span_of(session, id, bytes);
	return hex_of(a, bytes, sizeof(bytes));
}

struct ar_str ar_traceparent(struct ar_arena *a, struct ar_str trace, struct ar_str span)
{
	if (ar_str_absent(trace) || ar_str_absent(span))
		return AR_STR_NONE;
	return ar_arena_fmt(a, "00-%.*s-%.*s-01", AR_STR_ARG(trace), AR_STR_ARG(span));
}

/* ---- from outside ---- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; /* upper case is not valid */
}

static bool read_hex(struct ar_str text, uint8_t *ret, size_t len)
{
	uint8_t any = 0;

	for (size_t i = 0; i < len; i++) {
		int high = digit_of(text.p[2 * i]), low = digit_of(text.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
		any |= ret[i];
	}
	return any || len == 1;
}

bool ar_span_read(struct ar_str text, uint8_t ret[AR_SPAN_BYTES])
{
	return text.len == 2 * (size_t)AR_SPAN_BYTES && read_hex(text, ret, AR_SPAN_BYTES);
}

bool ar_trace_read(struct ar_str trace, struct ar_str span, struct ar_trace_context *ret)
{
	struct ar_trace_context c = { .flags = 1 };

	if (trace.len != 2 * sizeof(c.trace) || span.len != 2 * sizeof(c.span) ||
	    !read_hex(trace, c.trace, sizeof(c.trace)) || !read_hex(span, c.span, sizeof(c.span)))
		return false;
	*ret = c;
	return true;
}

bool ar_traceparent_parse(struct ar_str text, struct ar_trace_context *ret)
{
	struct ar_trace_context c;
	uint8_t version;

	if (text.len < AR_TRACEPARENT_LEN || text.p[2] != '-' || text.p[35] != '-' || text.p[52] != '-')
		return false;
	if (!read_hex(text, &version, 1) || version == 0xff)
		return false;
	if (text.len > AR_TRACEPARENT_LEN && (version == 0 || text.p[AR_TRACEPARENT_LEN] != '-'))
		return false;
	if (!read_hex(ar_str_sub(text, 3, 32), c.trace, sizeof(c.trace)) ||
	    !read_hex(ar_str_sub(text, 36, 16), c.span, sizeof(c.span)) ||
	    !read_hex(ar_str_sub(text, 53, 2), &c.flags, 1))
		return false;
	*ret = c;
	return true;
}
