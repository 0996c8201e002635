/* See screen.h. The region is found again by going up from the cursor, so everything rests on knowing
 * how many rows are above it. After a resize that is what the terminal made of them: the column that it
 * reports tells whether it broke long rows. In doubt fewer rows are assumed: then an old live row may
 * stay above, but a line of history is never erased. */
#include "screen.h"

#include <string.h>

#define SYNC_BEGIN "\033[?2026h"
#define SYNC_END "\033[?2026l"
#define ERASE_BELOW "\033[J"
#define HISTORY_BYTES 2048 /* in one frame, and the rest of a line */
#define ASK_POSITION "\033[6n"

void ar_tty_print(struct ar_tty_screen *s, struct ar_str line, int indent)
{
	ar_text_wrap(&s->history, line, s->cols - 1, indent);
}

void ar_tty_print_whole(struct ar_tty_screen *s, struct ar_str line)
{
	ar_buf_adds(&s->history, line);
	ar_buf_addc(&s->history, '\n');
}

/* ---- the region ---- */

static int count_rows(struct ar_str rows)
{
	int count = 0;

	for (size_t i = 0; i < rows.len; i++)
		count += rows.p[i] == '\n';
	return count;
}

static struct ar_str drop_rows(struct ar_str rows, int count)
{
	struct ar_str row;

	for (int i = 0; i < count; i++)
		rows = ar_str_split(rows, '\n', &row);
	return rows;
}

void ar_tty_live(struct ar_tty_screen *s, struct ar_str rows, int caret_row, int caret_col)
{
	int most = s->rows - 1 < AR_SCREEN_LIVE ? s->rows - 1 : AR_SCREEN_LIVE;
	int over = count_rows(rows) - (most > 1 ? most : 1);
	struct ar_buf wanted = { 0 };
	struct ar_str row;

	if (over > 0) {
		rows = drop_rows(rows, over);
		caret_row = caret_row > over ? caret_row - over : 0;
	}
	while (rows.len) {
		rows = ar_str_split(rows, '\n', &row);
		ar_text_cut(&wanted, row, s->cols - 1);
		ar_buf_addc(&wanted, '\n');
	}
	caret_col = caret_col < s->cols - 1 ? caret_col : s->cols - 1;
	if (!ar_str_eq(ar_buf_str(&wanted), ar_buf_str(&s->drawn)) || caret_row != s->drawn_row ||
	    caret_col != s->drawn_col)
		s->is_stale = true;
	ar_buf_fini(&s->live);
	s->live = wanted;
	s->caret_row = caret_row;
	s->caret_col = caret_col;
}

bool ar_tty_is_due(const struct ar_tty_screen *s)
{
	return s->is_stale || s->history.len;
}

ar_usec ar_tty_frame_time(const struct ar_tty_screen *s)
{
	return s->frame_at + AR_SCREEN_FRAME_USEC;
}

/* ---- frames ---- */

/* The cursor to the first live row, and nothing from there on. */
static void erase_live(struct ar_tty_screen *s, struct ar_buf *to)
{
	ar_buf_addc(to, '\r');
	if (s->drawn_row > 0)
		ar_buf_addf(to, "\033[%dA", s->drawn_row);
	ar_buf_addz(to, ERASE_BELOW);
}

/* At least one line, and about `most` bytes; the others are for the next frames. */
static void add_history(struct ar_tty_screen *s, struct ar_buf *to, size_t most)
{
	struct ar_str all = ar_buf_str(&s->history), rest = all, row;
	size_t begin = to->len;

	while (rest.len && to->len - begin < most) {
		rest = ar_str_split(rest, '\n', &row);
		ar_text_paint(to, row, s->has_colour);
		ar_buf_addz(to, "\r\n");
	}
	ar_buf_eat(&s->history, all.len - rest.len);
}

/* A slow line must not be filled for seconds, and much history must not take for ever. */
static size_t history_share(const struct ar_tty_screen *s)
{
	size_t part = s->history.len / 16;

	return part > HISTORY_BYTES ? part : HISTORY_BYTES;
}

/* No line end after the last row: at the bottom it would scroll. */
static void add_live(struct ar_tty_screen *s, struct ar_buf *to)
{
	struct ar_str rest = ar_buf_str(&s->live), row;
	int last = count_rows(rest) - 1;

	while (rest.len) {
		rest = ar_str_split(rest, '\n', &row);
		ar_text_paint(to, row, s->has_colour);
		if (rest.len)
			ar_buf_addz(to, "\r\n");
	}
	ar_buf_addc(to, '\r');
	if (last > s->caret_row)
		ar_buf_addf(to, "\033[%dA", last - s->caret_row);
	if (s->caret_col > 0)
		ar_buf_addf(to, "\033[%dC", s->caret_col);
}

void ar_tty_frame(struct ar_tty_screen *s, ar_usec now, struct ar_buf *to)
{
	if (s->is_moved || !ar_tty_is_due(s))
		return;
	ar_buf_addz(to, SYNC_BEGIN);
	erase_live(s, to);
	add_history(s, to, history_share(s));
	add_live(s, to);
	ar_buf_addz(to, SYNC_END);
	ar_buf_clear(&s->drawn);
	ar_buf_adds(&s->drawn, ar_buf_str(&s->live));
	s->drawn_row = s->caret_row;
	s->drawn_col = s->caret_col;
	s->is_stale = false;
	s->frame_at = now;
}

void ar_tty_leave(struct ar_tty_screen *s, struct ar_buf *to)
{
	erase_live(s, to);
	add_history(s, to, SIZE_MAX);
	ar_buf_clear(&s->drawn);
	s->drawn_row = s->drawn_col = 0;
	s->is_stale = true;
	s->is_moved = false;
}

/* ---- another size ---- */

void ar_tty_resize(struct ar_tty_screen *s, int cols, int rows, struct ar_buf *to)
{
	s->cols = cols;
	s->rows = rows;
	s->is_stale = true;
	ar_buf_addz(to, ASK_POSITION);
	s->is_moved = true;
}

/* What the column says about a cursor that stood in drawn_col. */
static void learn_reflow(struct ar_tty_screen *s, int col)
{
	if (col < 0 || s->drawn_col < s->cols)
		return;
	s->reflow = col == s->drawn_col % s->cols && col != s->cols - 1 ? AR_REFLOW_YES : AR_REFLOW_NO;
}

void ar_tty_resized(struct ar_tty_screen *s, int col)
{
	struct ar_str rest = ar_buf_str(&s->drawn), row;
	int above = 0;

	if (!s->is_moved)
		return;
	s->is_moved = false;
	learn_reflow(s, col);
	if (s->reflow != AR_REFLOW_YES)
		return;
	for (int i = 0; i < s->drawn_row && rest.len; i++) {
		int width;

		rest = ar_str_split(rest, '\n', &row);
		width = ar_text_width(row);
		above += width > s->cols ? (width + s->cols - 1) / s->cols : 1;
	}
	s->drawn_row = above + s->drawn_col / s->cols;
}

void ar_tty_fini(struct ar_tty_screen *s)
{
	ar_buf_fini(&s->history);
	ar_buf_fini(&s->live);
	ar_buf_fini(&s->drawn);
}
