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

/* C0, DEL and the C1 range, which UTF-8 spells C2 80 .. C2 9F. */
static bool is_control(struct ar_str s, size_t at, size_t len)
{
	unsigned char c = (unsigned char)s.p[at];

	if (len == 1)
		return c < 0x20 || c == 0x7f;
	return len == 2 && c == 0xc2 && (unsigned char)s.p[at + 1] < 0xa0;
}

/* Copies text with what a terminal would obey, and what is no UTF-8, replaced. */
static void add_harmless(struct ar_buf *to, struct ar_str s, bool is_line)
{
	for (size_t at = 0; at < s.len;) {
		size_t len = ar_str_utf8_len(ar_str_sub(s, at, 4));
		bool is_space = s.p[at] == '\n' || s.p[at] == '\t';

		if (is_space)
			ar_buf_addc(to, is_line ? ' ' : s.p[at]);
		else if (len == 0 || is_control(s, at, len))
			ar_buf_addz(to, "\xef\xbf\xbd");
		else
			ar_buf_add(to, s.p + at, len);
		at += len ? len : 1;
	}
}

void ar_out_text(struct ar_out *o, struct ar_str text)
{
	struct ar_buf harmless = { 0 };

	if (!o->is_tty) {
		write_bytes(o, text);
		return;
	}
	add_harmless(&harmless, text, false);
	write_bytes(o, ar_buf_str(&harmless));
	ar_buf_fini(&harmless);
}

void ar_out_line(struct ar_out *o, struct ar_str text)
{
	struct ar_buf harmless = { 0 };

	add_harmless(&harmless, text, true);
	write_bytes(o, ar_buf_str(&harmless));
	ar_buf_fini(&harmless);
}

void ar_out_break(struct ar_out *o)
{
	if (o->is_midline)
		write_bytes(o, AR_STR("\n"));
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
		snprintf(out, AR_OUT_LEFT, "time is up");
	else if (left < 120)
		snprintf(out, AR_OUT_LEFT, "%lld s left", (long long)left);
	else if (left < 7200)
		snprintf(out, AR_OUT_LEFT, "%lld min left", (long long)left / 60);
	else
		snprintf(out, AR_OUT_LEFT, "%lld h left", (long long)left / 3600);
}
