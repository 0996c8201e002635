/* See edit.h: the text itself, and pastes that are folded in it. Pastes are dropped together when the
 * text has been entered: their numbers stay as long as somebody may see them. */
#include "edit.h"

#include <string.h>

/* ---- characters ---- */

size_t ar_edit_after(const struct ar_edit *e, size_t at)
{
	struct ar_str rest = ar_str_sub(ar_buf_str(&e->text), at, e->text.len);
	int width;

	if (!rest.len)
		return at;
	if (rest.p[0] == AR_EDIT_MARK)
		return at + 2;
	return at + (rest.p[0] == '\n' ? 1 : ar_text_next(rest, &width));
}

/* A character is found from the beginning of its line: what combines is read forwards. */
size_t ar_edit_before(const struct ar_edit *e, size_t at)
{
	size_t from = at, next;

	if (at == 0)
		return 0;
	if (e->text.p[at - 1] == '\n')
		return at - 1;
	while (from > 0 && e->text.p[from - 1] != '\n')
		from--;
	while ((next = ar_edit_after(e, from)) < at)
		from = next;
	return from;
}

/* ---- changing ---- */

static size_t whole_len(const struct ar_edit *e)
{
	size_t len = e->text.len;

	for (size_t i = 0; i < e->paste_count; i++)
		len += e->pastes[i].len;
	return len;
}

static void insert_bytes(struct ar_edit *e, struct ar_str bytes)
{
	struct ar_buf after = { 0 };

	if (whole_len(e) + bytes.len > AR_EDIT_MAX)
		return;
	ar_buf_adds(&after, ar_str_sub(ar_buf_str(&e->text), e->caret, e->text.len));
	e->text.len = e->caret;
	ar_buf_adds(&e->text, bytes);
	e->caret = e->text.len;
	ar_buf_adds(&e->text, ar_buf_str(&after));
	ar_buf_fini(&after);
}

/* Newlines and tabs stay; what is no UTF-8 is left out, since no turn may have it. */
static void add_clean(struct ar_buf *to, struct ar_str text)
{
	for (size_t at = 0; at < text.len;) {
		size_t len = ar_str_utf8_len(ar_str_sub(text, at, 4));
		unsigned char c = (unsigned char)text.p[at];

		if (len && ((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t'))
			ar_buf_add(to, text.p + at, len);
		at += len ? len : 1;
	}
}

void ar_edit_insert(struct ar_edit *e, struct ar_str text)
{
	struct ar_buf clean = { 0 };

	add_clean(&clean, text);
	insert_bytes(e, ar_buf_str(&clean));
	ar_buf_fini(&clean);
}

static size_t count_lines(struct ar_str text)
{
	size_t lines = 1;

	for (size_t i = 0; i + 1 < text.len; i++)
		lines += text.p[i] == '\n';
	return lines;
}

void ar_edit_paste(struct ar_edit *e, struct ar_str text)
{
	struct ar_buf *paste = &e->pastes[e->paste_count < AR_EDIT_PASTES ? e->paste_count : 0];
	char mark[2] = { AR_EDIT_MARK, (char)('0' + e->paste_count) };

	if ((count_lines(text) <= AR_EDIT_FOLD_LINES && text.len <= AR_EDIT_FOLD_BYTES) ||
	    e->paste_count == AR_EDIT_PASTES || whole_len(e) + text.len > AR_EDIT_MAX) {
		ar_edit_insert(e, text);
		return;
	}
	ar_buf_clear(paste);
	add_clean(paste, text);
	e->paste_count++;
	insert_bytes(e, (struct ar_str){ mark, sizeof(mark) });
}

void ar_edit_remove(struct ar_edit *e, size_t from, size_t to, bool is_kept)
{
	e->caret = from;
	if (from == to)
		return; /* there may be no text at all */
	if (is_kept) {
		ar_buf_clear(&e->killed);
		ar_buf_add(&e->killed, e->text.p + from, to - from);
	}
	memmove(e->text.p + from, e->text.p + to, e->text.len - to);
	e->text.len -= to - from;
}

void ar_edit_set(struct ar_edit *e, struct ar_str text)
{
	ar_buf_clear(&e->text);
	e->caret = 0;
	e->paste_count = 0;
	ar_edit_insert(e, text);
}

bool ar_edit_is_empty(const struct ar_edit *e)
{
	return e->text.len == 0;
}

void ar_edit_text(const struct ar_edit *e, struct ar_buf *to)
{
	for (size_t i = 0; i < e->text.len; i++) {
		if (e->text.p[i] == AR_EDIT_MARK)
			ar_buf_adds(to, ar_buf_str(&e->pastes[e->text.p[++i] - '0']));
		else
			ar_buf_addc(to, e->text.p[i]);
	}
}

/* ---- showing ---- */

static void add_shown(const struct ar_edit *e, size_t at, size_t next, struct ar_buf *to)
{
	const struct ar_buf *paste;

	if (e->text.p[at] != AR_EDIT_MARK) {
		ar_text_add(to, ar_str_sub(ar_buf_str(&e->text), at, next - at));
		return;
	}
	paste = &e->pastes[e->text.p[at + 1] - '0'];
	ar_text_style(to, AR_STYLE_CYAN);
	ar_buf_addf(to, "[Pasted text #%d, %zu lines]", e->text.p[at + 1] - '0' + 1,
		    count_lines(ar_buf_str(paste)));
	ar_text_style(to, AR_STYLE_PLAIN);
}

struct layout {
	struct ar_buf rows, row;
	int cols, count; /* rows that are ended */
	int caret_row, caret_col;
};

static void end_row(struct layout *l)
{
	ar_buf_adds(&l->rows, ar_buf_str(&l->row));
	ar_buf_addc(&l->rows, '\n');
	ar_buf_clear(&l->row);
	l->count++;
}

static void put_caret(struct layout *l)
{
	l->caret_row = l->count;
	l->caret_col = ar_text_width(ar_buf_str(&l->row));
}

static void lay_out(const struct ar_edit *e, struct layout *l)
{
	struct ar_buf piece = { 0 };

	for (size_t at = 0, next; at < e->text.len; at = next) {
		next = ar_edit_after(e, at);
		ar_buf_clear(&piece);
		if (e->text.p[at] != '\n')
			add_shown(e, at, next, &piece);
		if (ar_text_width(ar_buf_str(&l->row)) + ar_text_width(ar_buf_str(&piece)) > l->cols)
			end_row(l);
		if (at == e->caret)
			put_caret(l);
		ar_buf_adds(&l->row, ar_buf_str(&piece));
		if (e->text.p[at] == '\n')
			end_row(l);
	}
	if (e->caret >= e->text.len)
		put_caret(l);
	end_row(l);
	ar_buf_fini(&piece);
}

/* The rows around the caret, the prompt before the first of all. */
void ar_edit_show(const struct ar_edit *e, int cols, struct ar_edit_view *ret)
{
	struct layout l = { .cols = cols - 3 > 4 ? cols - 3 : 4 };
	struct ar_str rest, row;
	int first;

	lay_out(e, &l);
	first = l.caret_row - AR_EDIT_ROWS + 1;
	first = first > 0 ? first : 0;
	rest = ar_buf_str(&l.rows);
	*ret = (struct ar_edit_view){ .caret_row = l.caret_row - first, .caret_col = l.caret_col + 2 };
	for (int i = 0; i < l.count; i++) {
		rest = ar_str_split(rest, '\n', &row);
		if (i < first || i >= first + AR_EDIT_ROWS)
			continue;
		ar_text_style(&ret->rows, AR_STYLE_BOLD);
		ar_buf_addz(&ret->rows, i == 0 ? "› " : "  ");
		ar_text_style(&ret->rows, AR_STYLE_PLAIN);
		ar_buf_adds(&ret->rows, row);
		ar_buf_addc(&ret->rows, '\n');
	}
	ar_buf_fini(&l.rows);
	ar_buf_fini(&l.row);
}
