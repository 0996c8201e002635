/* See out.h. Streams are stdio's; the caller flushes. One thread. */
#include "out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const escapes[] = {
	[AR_STYLE_PLAIN] = "\033[0m",  [AR_STYLE_DIM] = "\033[2m",     [AR_STYLE_BOLD] = "\033[1m",
	[AR_STYLE_GREEN] = "\033[32m", [AR_STYLE_YELLOW] = "\033[33m", [AR_STYLE_RED] = "\033[31m",
};

static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no && *no) && term && strcmp(term, "dumb") != 0;
}

void ar_out_init(struct ar_out *o, FILE *file)
{
	*o = (struct ar_out){ .file = file, .is_tty = isatty(fileno(file)) };
	o->has_colour = o->is_tty && wants_colour();
}

void ar_out_style(struct ar_out *o, enum ar_style style)
{
	if (o->has_colour)
		fputs(escapes[style], o->file);
}

static void write_bytes(struct ar_out *o, struct ar_str text)
{
	if (ar_str_empty(text))
		return;
	fwrite(text.p, 1, text.len, o->file);
	o->is_midline = text.p[text.len - 1] != '\n';
}

void ar_out_printf(struct ar_out *o, const char *fmt, ...)
{
	struct ar_buf line = { 0 };
	va_list ap;
	char small[512];
	int len;

	va_start(ap, fmt);
	len = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	if ((size_t)len < sizeof(small)) {
		write_bytes(o, (struct ar_str){ small, (size_t)len });
		return;
	}
	va_start(ap, fmt);
	vsnprintf(ar_buf_room(&line, (size_t)len + 1), (size_t)len + 1, fmt, ap);
	va_end(ap);
	line.len = (size_t)len;
	write_bytes(o, ar_buf_str(&line));
	ar_buf_fini(&line);
}

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

static bool is_unseen(uint32_t c)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(unseen); i++) {
		if (c >= unseen[i].first && c <= unseen[i].last)
			return true;
	}
	return false;
}

/* The character that a well-formed sequence of `len` bytes stands for. */
static uint32_t decoded(const char *p, size_t len)
{
	uint32_t c = (unsigned char)p[0];

	if (len == 1)
		return c;
	c &= 0xffu >> (len + 1);
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

enum form {
	FORM_TEXT, /* newlines and tabs stay */
	FORM_LINE, /* they become spaces */
	FORM_JSON, /* and escapes are those of JSON */
};

static void add_escape(struct ar_buf *to, uint32_t c, enum form form)
{
	if (form != FORM_JSON)
		ar_buf_addf(to, "\\u{%X}", (unsigned)c);
	else if (c > 0xffff)
		ar_buf_addf(to, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
			    (unsigned)(0xdc00 + (c & 0x3ff)));
	else
		ar_buf_addf(to, "\\u%04x", (unsigned)c);
}

/* Copies text with what nobody would see written as \u{...}; what is no UTF-8 is replaced. */
static void add_harmless(struct ar_buf *to, struct ar_str s, enum form form)
{
	for (size_t at = 0; at < s.len;) {
		size_t len = ar_str_utf8_len(ar_str_sub(s, at, 4));
		bool is_space = s.p[at] == '\n' || s.p[at] == '\t';

		if (is_space)
			ar_buf_addc(to, form == FORM_LINE ? ' ' : s.p[at]);
		else if (len == 0)
			ar_buf_addz(to, "\xef\xbf\xbd");
		else if (is_unseen(decoded(s.p + at, len)))
			add_escape(to, decoded(s.p + at, len), form);
		else
			ar_buf_add(to, s.p + at, len);
		at += len ? len : 1;
	}
}

static void write_harmless(struct ar_out *o, struct ar_str text, enum form form)
{
	struct ar_buf harmless = { 0 };

	add_harmless(&harmless, text, form);
	write_bytes(o, ar_buf_str(&harmless));
	ar_buf_fini(&harmless);
}

void ar_out_text(struct ar_out *o, struct ar_str text)
{
	if (o->is_tty)
		write_harmless(o, text, FORM_TEXT);
	else
		write_bytes(o, text);
}

void ar_out_json(struct ar_out *o, struct ar_str text)
{
	if (o->is_tty)
		write_harmless(o, text, FORM_JSON);
	else
		write_bytes(o, text);
}

void ar_out_line(struct ar_out *o, struct ar_str text)
{
	write_harmless(o, text, FORM_LINE);
}

void ar_out_break(struct ar_out *o)
{
	if (o->is_midline)
		write_bytes(o, AR_STR("\n"));
}

#define DOTS "..."

void ar_out_column(struct ar_out *o, struct ar_str text, int width)
{
	bool is_cut = text.len > (size_t)width;
	struct ar_str shown = is_cut ? ar_str_utf8_prefix(text, (size_t)width - strlen(DOTS)) : text;
	int used = (int)shown.len + (is_cut ? (int)strlen(DOTS) : 0);

	ar_out_line(o, shown);
	ar_out_printf(o, "%s%*s", is_cut ? DOTS : "", width - used + 2, "");
}

void ar_out_member(struct ar_out *o, const char *label, struct ar_str text)
{
	if (ar_str_absent(text))
		return;
	ar_out_printf(o, "%-10s ", label);
	ar_out_line(o, text);
	ar_out_printf(o, "\n");
}

void ar_out_age(struct ar_out *o, ar_usec then, ar_usec now, int width)
{
	static const struct {
		int64_t seconds;
		const char *unit;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	int64_t age = (now - then) / 1000000;
	char text[32] = "now";

	for (size_t i = AR_ARRAY_LEN(units); i-- > 0 && age >= units[i].seconds;)
		snprintf(text, sizeof(text), "%lld %s ago", (long long)(age / units[i].seconds),
			 units[i].unit);
	ar_out_printf(o, "%-*s", width, text);
}

void ar_out_left(ar_usec expires, ar_usec now, char out[AR_OUT_LEFT])
{
	int64_t left = (expires - now) / 1000000;

	if (!expires)
		snprintf(out, AR_OUT_LEFT, "waits");
	else if (left <= 0)
		snprintf(out, AR_OUT_LEFT, "expired");
	else if (left < 120)
		snprintf(out, AR_OUT_LEFT, "%lld s left", (long long)left);
	else if (left < 7200)
		snprintf(out, AR_OUT_LEFT, "%lld min left", (long long)left / 60);
	else
		snprintf(out, AR_OUT_LEFT, "%lld h left", (long long)left / 3600);
}
