/* A terminal for tests: libvterm, with the lines that scrolled off its top. Its text is what a person would
 * see, one row per line, trailing blanks left out. */
#ifndef AR_TEST_FAKE_TERMINAL_H
#define AR_TEST_FAKE_TERMINAL_H

#include "buf.h"

#include <vterm.h>

struct fake_terminal {
	VTerm *vt;
	VTermScreen *screen;
	int rows, cols;
	struct ar_buf scrolled; /* rows that left the screen */
	struct ar_buf scrolled_styles; /* of these, a letter for each column */
};

static void fake_add_cell(struct ar_buf *row, const VTermScreenCell *cell)
{
	size_t n = 0;

	for (; n < VTERM_MAX_CHARS_PER_CELL && cell->chars[n]; n++) {
		uint32_t c = cell->chars[n];

		if (c == (uint32_t)-1) /* the second half of a wide one */
			return;
		if (c < 0x80)
			ar_buf_addc(row, (char)c);
		else if (c < 0x800)
			ar_buf_addf(row, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
		else if (c < 0x10000)
			ar_buf_addf(row, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f));
		else
			ar_buf_addf(row, "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 0x3f),
				    0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f));
	}
	if (!n)
		ar_buf_addc(row, ' ');
}

/* The style of a cell as a letter; upper case is bold. Blink is what a test may feed for dim, which this
 * libvterm does not know. */
static char fake_style(const VTermScreenCell *cell)
{
	static const char colours[] = "krgybmcw";
	char letter = ' ';

	if (VTERM_COLOR_IS_INDEXED(&cell->fg) && !VTERM_COLOR_IS_DEFAULT_FG(&cell->fg))
		letter = colours[cell->fg.indexed.idx % 8];
	else if (cell->attrs.blink)
		letter = 'd';
	else if (cell->attrs.reverse)
		letter = 'v';
	else if (cell->attrs.italic)
		letter = 'i';
	else if (cell->attrs.underline)
		letter = 'u';
	else if (cell->attrs.bold)
		letter = 'x';
	return (char)(cell->attrs.bold && letter != ' ' ? letter - 'a' + 'A' : letter);
}

static void fake_end_row(struct ar_buf *text)
{
	while (text->len && text->p[text->len - 1] == ' ')
		text->len--;
	ar_buf_addc(text, '\n');
}

static int fake_pushline(int cols, const VTermScreenCell *cells, void *user)
{
	struct fake_terminal *t = user;

	for (int i = 0; i < cols; i++)
		fake_add_cell(&t->scrolled, &cells[i]);
	for (int i = 0; i < cols; i++)
		ar_buf_addc(&t->scrolled_styles, fake_style(&cells[i]));
	fake_end_row(&t->scrolled);
	fake_end_row(&t->scrolled_styles);
	return 1;
}

static inline void fake_terminal_init(struct fake_terminal *t, int rows, int cols)
{
	static const VTermScreenCallbacks callbacks = { .sb_pushline = fake_pushline };

	*t = (struct fake_terminal){ .vt = vterm_new(rows, cols), .rows = rows, .cols = cols };
	vterm_set_utf8(t->vt, 1);
	t->screen = vterm_obtain_screen(t->vt);
	vterm_screen_set_callbacks(t->screen, &callbacks, t);
	vterm_screen_enable_altscreen(t->screen, 1);
	vterm_screen_reset(t->screen, 1);
}

static inline void fake_terminal_feed(struct fake_terminal *t, struct ar_buf *bytes)
{
	vterm_input_write(t->vt, bytes->p ? bytes->p : "", bytes->len);
	ar_buf_clear(bytes);
}

/* The rows of the screen, and the style of each column. */
static inline void fake_terminal_rows(struct fake_terminal *t, struct ar_buf *text, struct ar_buf *styles)
{
	VTermScreenCell cell;

	for (int row = 0; row < t->rows; row++) {
		for (int col = 0; col < t->cols; col++) {
			vterm_screen_get_cell(t->screen, (VTermPos){ row, col }, &cell);
			fake_add_cell(text, &cell);
			ar_buf_addc(styles, fake_style(&cell));
		}
		fake_end_row(text);
		fake_end_row(styles);
	}
}

/* What scrolled off and what is on the screen, without empty rows at its end. */
static inline void fake_terminal_text(struct fake_terminal *t, struct ar_buf *to)
{
	struct ar_buf styles = { 0 };

	ar_buf_adds(to, ar_buf_str(&t->scrolled));
	fake_terminal_rows(t, to, &styles);
	while (to->len > 1 && to->p[to->len - 2] == '\n')
		to->len--;
	ar_buf_fini(&styles);
}

static inline VTermScreenCell fake_terminal_cell(struct fake_terminal *t, int row, int col)
{
	VTermScreenCell cell;

	vterm_screen_get_cell(t->screen, (VTermPos){ row, col }, &cell);
	return cell;
}

static inline VTermPos fake_terminal_cursor(struct fake_terminal *t)
{
	VTermPos at;

	vterm_state_get_cursorpos(vterm_obtain_state(t->vt), &at);
	return at;
}

static inline void fake_terminal_fini(struct fake_terminal *t)
{
	vterm_free(t->vt);
	ar_buf_fini(&t->scrolled);
	ar_buf_fini(&t->scrolled_styles);
}

#endif
