/* See harmless.h. */
#include "text/harmless.h"

/* What a terminal obeys or does not show: controls, and characters that turn, join or hide others (Unicode's
 * Cf, separators of lines, fillers, tags). */
static const struct {
	uint32_t first, last;
} unseen[] = {
	{ 0x0, 0x1f },	      { 0x7f, 0x9f },	    { 0xad, 0xad },	  { 0x34f, 0x34f },
	{ 0x600, 0x605 },     { 0x61c, 0x61c },	    { 0x6dd, 0x6dd },	  { 0x70f, 0x70f },
	{ 0x890, 0x891 },     { 0x8e2, 0x8e2 },	    { 0x115f, 0x1160 },	  { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x2028, 0x202e },	  { 0x2060, 0x206f },
	{ 0x3164, 0x3164 },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },	  { 0xfff0, 0xfffb },
	{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

bool ar_harmless_is_unseen(uint32_t c)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(unseen); i++) {
		if (c >= unseen[i].first && c <= unseen[i].last)
			return true;
	}
	return false;
}

uint32_t ar_harmless_decode(const char *p, size_t len)
{
	uint32_t c = (unsigned char)p[0];

	if (len == 1)
		return c;
	c &= 0xffu >> (len + 1);
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

static void add_escape(struct ar_buf *to, uint32_t c, enum ar_harmless form)
{
	if (form != AR_HARMLESS_JSON)
		ar_buf_addf(to, "\\u{%X}", (unsigned)c);
	else if (c > 0xffff)
		ar_buf_addf(to, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
			    (unsigned)(0xdc00 + (c & 0x3ff)));
	else
		ar_buf_addf(to, "\\u%04x", (unsigned)c);
}

void ar_harmless_add(struct ar_buf *to, struct ar_str s, enum ar_harmless form)
{
	for (size_t at = 0; at < s.len;) {
		size_t len = ar_str_utf8_len(ar_str_sub(s, at, 4));
		bool is_space = s.p[at] == '\n' || s.p[at] == '\t';

		if (is_space)
			ar_buf_addc(to, form == AR_HARMLESS_LINE ? ' ' : s.p[at]);
		else if (len == 0)
			ar_buf_addz(to, "\xef\xbf\xbd");
		else if (ar_harmless_is_unseen(ar_harmless_decode(s.p + at, len)))
			add_escape(to, ar_harmless_decode(s.p + at, len), form);
		else
			ar_buf_add(to, s.p + at, len);
		at += len ? len : 1;
	}
}
