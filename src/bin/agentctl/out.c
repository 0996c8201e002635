/* See out.h. Streams are stdio's; the caller flushes. One thread. */
#include "out.h"
#include "text/harmless.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	struct ar_buf mark = { 0 };

	if (!o->sink) {
		if (o->has_colour)
			fputs(ar_text_sgr(style), o->file);
		return;
	}
	ar_text_style(&mark, style);
	o->sink(o->arg, ar_buf_str(&mark));
	ar_buf_fini(&mark);
}

static void write_bytes(struct ar_out *o, struct ar_str text)
{
	if (ar_str_empty(text))
		return;
	if (o->sink)
		o->sink(o->arg, text);
	else
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

static void write_harmless(struct ar_out *o, struct ar_str text, enum ar_harmless form)
{
	struct ar_buf harmless = { 0 };

	ar_harmless_add(&harmless, text, form);
	write_bytes(o, ar_buf_str(&harmless));
	ar_buf_fini(&harmless);
}

void ar_out_text(struct ar_out *o, struct ar_str text)
{
	if (o->is_tty)
		write_harmless(o, text, AR_HARMLESS_TEXT);
	else
		write_bytes(o, text);
}

void ar_out_json(struct ar_out *o, struct ar_str text)
{
	if (o->is_tty)
		write_harmless(o, text, AR_HARMLESS_JSON);
	else
		write_bytes(o, text);
}

void ar_out_line(struct ar_out *o, struct ar_str text)
{
	write_harmless(o, text, AR_HARMLESS_LINE);
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

void ar_out_age_text(ar_usec then, ar_usec now, char out[AR_OUT_AGE])
{
	static const struct {
		int64_t seconds;
		const char *unit;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	int64_t age = (now - then) / 1000000;

	snprintf(out, AR_OUT_AGE, "now");
	for (size_t i = AR_ARRAY_LEN(units); i-- > 0 && age >= units[i].seconds;)
		snprintf(out, AR_OUT_AGE, "%lld %s ago", (long long)(age / units[i].seconds), units[i].unit);
}

void ar_out_age(struct ar_out *o, ar_usec then, ar_usec now, int width)
{
	char text[AR_OUT_AGE];

	ar_out_age_text(then, now, text);
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
