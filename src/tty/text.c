/* See text.h. A style is a byte from STYLE_FIRST on: a control character, so harmless text has none. */
#include "text.h"
#include "text/harmless.h"

#include <string.h>
#include <utf8proc.h>

#define STYLE_FIRST 0x0e
#define TAB 8
#define DOTS "…"
#define VARIATION_EMOJI 0xfe0f

_Static_assert(STYLE_FIRST + AR_STYLES <= 0x1b, "a style is never ESC");

#define COLOURS \
	(1u << AR_STYLE_GREEN | 1u << AR_STYLE_YELLOW | 1u << AR_STYLE_RED | 1u << AR_STYLE_CYAN | \
	 1u << AR_STYLE_MAGENTA)

static const char *const sequences[AR_STYLES] = {
	[AR_STYLE_PLAIN] = "\033[0m",	  [AR_STYLE_DIM] = "\033[2m",	   [AR_STYLE_BOLD] = "\033[1m",
	[AR_STYLE_GREEN] = "\033[32m",	  [AR_STYLE_YELLOW] = "\033[33m",  [AR_STYLE_RED] = "\033[31m",
	[AR_STYLE_CYAN] = "\033[36m",	  [AR_STYLE_MAGENTA] = "\033[35m", [AR_STYLE_ITALIC] = "\033[3m",
	[AR_STYLE_UNDERLINE] = "\033[4m", [AR_STYLE_REVERSE] = "\033[7m",
};

/* ---- styles ---- */

const char *ar_text_sgr(enum ar_style style)
{
	return sequences[style];
}

void ar_text_style(struct ar_buf *to, enum ar_style style)
{
	ar_buf_addc(to, (char)(STYLE_FIRST + style));
}

static bool is_style(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= STYLE_FIRST && u < STYLE_FIRST + AR_STYLES;
}

/* The styles that hold after this byte, as bits. */
static unsigned after_style(unsigned on, char c)
{
	unsigned bit = 1u << ((unsigned char)c - STYLE_FIRST);

	if (bit == 1u << AR_STYLE_PLAIN)
		return 0;
	return (bit & COLOURS ? on & ~COLOURS : on) | bit;
}

static void add_styles(struct ar_buf *to, unsigned on)
{
	for (unsigned i = 1; i < AR_STYLES; i++) {
		if (on & 1u << i)
			ar_text_style(to, (enum ar_style)i);
	}
}

/* ---- adding ---- */

void ar_text_add(struct ar_buf *to, struct ar_str foreign)
{
	ar_harmless_add(to, foreign, AR_HARMLESS_LINE);
}

void ar_text_add_code(struct ar_buf *to, struct ar_str foreign)
{
	size_t begin = to->len;

	while (foreign.len) {
		const char *tab = memchr(foreign.p, '\t', foreign.len);
		size_t len = tab ? (size_t)(tab - foreign.p) : foreign.len;

		ar_text_add(to, ar_str_sub(foreign, 0, len));
		foreign = ar_str_sub(foreign, tab ? len + 1 : len, foreign.len);
		if (!tab)
			return;
		do
			ar_buf_addc(to, ' ');
		while (ar_text_width(ar_str_sub(ar_buf_str(to), begin, to->len)) % TAB);
	}
}

void ar_text_add_styled(struct ar_buf *to, enum ar_style style, struct ar_str foreign)
{
	ar_text_style(to, style);
	ar_text_add(to, foreign);
	ar_text_style(to, AR_STYLE_PLAIN);
}

/* ---- width ---- */

/* A character of one byte that combines with nothing of one byte, or the end. */
static bool is_simple(struct ar_str text, size_t at)
{
	return at == text.len ? at > 0 : at < text.len && text.p[at] >= ' ' && text.p[at] < 0x7f;
}

/* A terminal that counts characters one by one takes the sum; one that joins them takes less. */
size_t ar_text_next(struct ar_str text, int *ret_width)
{
	size_t at = 0, len;
	uint32_t before = 0, c;
	utf8proc_int32_t state = 0;

	*ret_width = 0;
	if (text.len && is_style(text.p[0]))
		return 1;
	if (is_simple(text, 0) && is_simple(text, 1)) { /* nearly all text; the rest is for what combines */
		*ret_width = 1;
		return 1;
	}
	while (at < text.len) {
		len = ar_str_utf8_len(ar_str_sub(text, at, 4));
		if (!len || is_style(text.p[at]))
			break;
		c = ar_harmless_decode(text.p + at, len);
		if (at &&
		    utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)c, &state))
			break;
		if (c == VARIATION_EMOJI && *ret_width == 1)
			(*ret_width)++;
		else
			*ret_width += utf8proc_charwidth((utf8proc_int32_t)c);
		before = c;
		at += len;
	}
	return at || !text.len ? at : 1;
}

int ar_text_width(struct ar_str text)
{
	int cols = 0, width;

	for (size_t at = 0; at < text.len; cols += width)
		at += ar_text_next(ar_str_sub(text, at, text.len), &width);
	return cols;
}

struct ar_str ar_text_prefix(struct ar_str text, int cols)
{
	size_t at = 0;
	int used = 0, width;

	while (at < text.len) {
		size_t len = ar_text_next(ar_str_sub(text, at, text.len), &width);

		if (used + width > cols)
			break;
		used += width;
		at += len;
	}
	return ar_str_sub(text, 0, at);
}

/* Longest end that fits. */
static struct ar_str suffix(struct ar_str text, int cols)
{
	int over = ar_text_width(text) - cols, width;

	while (over > 0 && text.len) {
		text = ar_str_sub(text, ar_text_next(text, &width), text.len);
		over -= width;
	}
	return text;
}

void ar_text_cut(struct ar_buf *to, struct ar_str text, int cols)
{
	if (ar_text_width(text) <= cols) {
		ar_buf_adds(to, text);
		return;
	}
	ar_buf_adds(to, ar_text_prefix(text, cols - 1));
	ar_text_style(to, AR_STYLE_PLAIN);
	if (cols > 0)
		ar_buf_addz(to, DOTS);
}

void ar_text_cut_path(struct ar_buf *to, struct ar_str text, int cols)
{
	if (cols < 8 || ar_text_width(text) <= cols) {
		ar_text_cut(to, text, cols);
		return;
	}
	ar_buf_adds(to, ar_text_prefix(text, (cols - 1) / 3));
	ar_buf_addz(to, DOTS);
	ar_buf_adds(to, suffix(text, cols - 1 - (cols - 1) / 3));
}

/* ---- wrapping ---- */

struct row {
	size_t len; /* bytes of the row */
	size_t skip; /* bytes to the next one, blanks at the break left out */
};

/* How much of the text is one row: to the last blank that fits, or as much as fits. */
static struct row next_row(struct ar_str text, int cols)
{
	size_t at = 0, blank = 0, rest;
	bool is_begun = false; /* blanks at the beginning are an indent, not a place to break */
	int used = 0, width;

	while (at < text.len) {
		size_t len = ar_text_next(ar_str_sub(text, at, text.len), &width);

		if (used + width > cols)
			break;
		if (text.p[at] == ' ' && is_begun)
			blank = at;
		is_begun |= text.p[at] != ' ' && width > 0;
		used += width;
		at += len;
	}
	if (at == text.len)
		return (struct row){ at, at };
	if (at == 0) /* one character is wider than the terminal */
		at = ar_text_next(text, &width);
	if (text.p[at] == ' ')
		blank = at;
	if (!blank)
		return (struct row){ at, at };
	rest = blank;
	while (rest < text.len && text.p[rest] == ' ')
		rest++;
	return (struct row){ blank, rest };
}

void ar_text_wrap(struct ar_buf *to, struct ar_str line, int cols, int indent)
{
	unsigned on = 0;
	bool is_first = true;

	indent = indent < cols / 2 ? indent : cols / 2;
	do {
		struct row row = next_row(line, is_first ? cols : cols - indent);

		for (int i = 0; i < indent && !is_first; i++)
			ar_buf_addc(to, ' ');
		add_styles(to, on);
		ar_buf_adds(to, ar_str_sub(line, 0, row.len));
		ar_buf_addc(to, '\n');
		for (size_t i = 0; i < row.skip; i++) {
			if (is_style(line.p[i]))
				on = after_style(on, line.p[i]);
		}
		line = ar_str_sub(line, row.skip, line.len);
		is_first = false;
	} while (line.len);
}

/* ---- painting ---- */

void ar_text_paint(struct ar_buf *to, struct ar_str line, bool has_colour)
{
	unsigned on = 0;

	for (size_t i = 0; i < line.len; i++) {
		if (!is_style(line.p[i])) {
			ar_buf_addc(to, line.p[i]);
			continue;
		}
		on = after_style(on, line.p[i]);
		if (has_colour)
			ar_buf_addz(to, sequences[(unsigned char)line.p[i] - STYLE_FIRST]);
	}
	if (on && has_colour)
		ar_buf_addz(to, sequences[AR_STYLE_PLAIN]);
}
