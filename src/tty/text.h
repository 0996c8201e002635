/* Styled text: UTF-8 in which a style is one byte that no harmless text can hold. Foreign text enters
 * through ar_text_add and its kin only, so a style (and with it an escape sequence) is always ours.
 * Lines carry no newline. Stateless. */
#ifndef AR_TTY_TEXT_H
#define AR_TTY_TEXT_H

#include "buf.h"

/* Each adds to those before it, a colour replaces the colour; AR_STYLE_PLAIN ends all. */
enum ar_style {
	AR_STYLE_PLAIN,
	AR_STYLE_DIM,
	AR_STYLE_BOLD,
	AR_STYLE_GREEN,
	AR_STYLE_YELLOW,
	AR_STYLE_RED,
	AR_STYLE_CYAN,
	AR_STYLE_MAGENTA,
	AR_STYLE_ITALIC,
	AR_STYLE_UNDERLINE,
	AR_STYLE_REVERSE,
	AR_STYLES,
};

void ar_text_style(struct ar_buf *to, enum ar_style style);

/* The SGR sequence of a style, for output that is not styled text. */
const char *ar_text_sgr(enum ar_style style);

/* Foreign text inside a line; line breaks and tabs become spaces. */
void ar_text_add(struct ar_buf *to, struct ar_str foreign);

/* The same of a line of code: tabs become the spaces they stand for. */
void ar_text_add_code(struct ar_buf *to, struct ar_str foreign);

/* Foreign text in one style. */
void ar_text_add_styled(struct ar_buf *to, enum ar_style style, struct ar_str foreign);

/* Columns on a terminal. Never less than any terminal takes for it. */
int ar_text_width(struct ar_str text);

/* Bytes of the first character with all that combines with it, and its columns. Of a style: 1 and 0. */
size_t ar_text_next(struct ar_str text, int *ret_width);

/* Longest beginning that fits into the columns. */
struct ar_str ar_text_prefix(struct ar_str text, int cols);

/* The line in at most `cols` columns: three dots at its end, or in the middle of a path, say that it is
 * cut. */
void ar_text_cut(struct ar_buf *to, struct ar_str text, int cols);
void ar_text_cut_path(struct ar_buf *to, struct ar_str text, int cols);

/* The line in rows of at most `cols` columns, each ended by a newline, broken at blanks where there are
 * some. Rows after the first begin with `indent` blanks; every row begins with the styles that hold
 * there. */
void ar_text_wrap(struct ar_buf *to, struct ar_str line, int cols, int indent);

/* The line as bytes for a terminal: with SGR sequences for its styles, none of them left on at its end;
 * without colours as text alone. */
void ar_text_paint(struct ar_buf *to, struct ar_str line, bool has_colour);

#endif
