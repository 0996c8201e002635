/* See edit.h: keys, the history and the search in it. The keys are those of readline, as far as people use
 * them. */
#include "edit.h"

#include <string.h>

/* ---- moving ---- */

size_t ar_edit_line_begin(const struct ar_edit *e, size_t at)
{
	while (at > 0 && e->text.p[at - 1] != '\n')
		at--;
	return at;
}

size_t ar_edit_line_end(const struct ar_edit *e, size_t at)
{
	while (at < e->text.len && e->text.p[at] != '\n')
		at++;
	return at;
}

bool ar_edit_is_blank(const struct ar_edit *e, size_t at)
{
	return e->text.p[at] == ' ' || e->text.p[at] == '\n' || e->text.p[at] == '\t';
}

size_t ar_edit_word_before(const struct ar_edit *e, size_t at)
{
	while (at > 0 && ar_edit_is_blank(e, at - 1))
		at--;
	while (at > 0 && !ar_edit_is_blank(e, at - 1))
		at = ar_edit_before(e, at);
	return at;
}

size_t ar_edit_word_after(const struct ar_edit *e, size_t at)
{
	while (at < e->text.len && ar_edit_is_blank(e, at))
		at++;
	while (at < e->text.len && !ar_edit_is_blank(e, at))
		at = ar_edit_after(e, at);
	return at;
}

/* As many characters into another line as the caret is in its own. */
static size_t at_same_place(const struct ar_edit *e, size_t line)
{
	size_t at = ar_edit_line_begin(e, e->caret), end = ar_edit_line_end(e, line);

	for (; at < e->caret && line < end; at = ar_edit_after(e, at))
		line = ar_edit_after(e, line);
	return line;
}

/* ---- history ---- */

static void show_history(struct ar_edit *e, size_t at)
{
	if (e->history_at == e->history_count) {
		ar_buf_clear(&e->draft);
		ar_edit_text(e, &e->draft);
	}
	e->history_at = at;
	ar_edit_set(e, at == e->history_count ? ar_buf_str(&e->draft) : ar_buf_str(&e->history[at]));
}

void ar_edit_remember(struct ar_edit *e, struct ar_str text)
{
	struct ar_buf oldest;

	if (!text.len ||
	    (e->history_count && ar_str_eq(ar_buf_str(&e->history[e->history_count - 1]), text))) {
		e->history_at = e->history_count;
		return;
	}
	if (e->history_count == AR_EDIT_HISTORY) {
		oldest = e->history[0];
		memmove(&e->history[0], &e->history[1], (AR_EDIT_HISTORY - 1) * sizeof(e->history[0]));
		ar_buf_clear(&oldest);
		e->history[--e->history_count] = oldest;
	}
	ar_buf_adds(&e->history[e->history_count++], text);
	e->history_at = e->history_count;
}

void ar_edit_enter(struct ar_edit *e, struct ar_buf *to)
{
	size_t begin = to->len;

	ar_edit_text(e, to);
	ar_edit_remember(e, ar_str_sub(ar_buf_str(to), begin, to->len));
	ar_edit_set(e, AR_STR(""));
	e->is_searching = e->is_normal = false;
}

static bool go_up(struct ar_edit *e)
{
	size_t line = ar_edit_line_begin(e, e->caret);

	if (line > 0) {
		e->caret = at_same_place(e, ar_edit_line_begin(e, line - 1));
		return true;
	}
	if (e->history_at == 0)
		return false;
	show_history(e, e->history_at - 1);
	return true;
}

static bool go_down(struct ar_edit *e)
{
	size_t end = ar_edit_line_end(e, e->caret);

	if (end < e->text.len) {
		e->caret = at_same_place(e, end + 1);
		return true;
	}
	if (e->history_at == e->history_count)
		return false;
	show_history(e, e->history_at + 1);
	return true;
}

/* ---- search ---- */

/* The newest text before `from` that has the query in it. */
static void search_back(struct ar_edit *e, size_t from)
{
	for (size_t i = from; i-- > 0;) {
		const struct ar_buf *text = &e->history[i];

		if (text->len >= e->query.len && memmem(text->p, text->len, e->query.p, e->query.len)) {
			e->found = i;
			ar_edit_set(e, ar_buf_str(text));
			return;
		}
	}
}

static void begin_search(struct ar_edit *e)
{
	ar_buf_clear(&e->draft);
	ar_edit_text(e, &e->draft);
	ar_buf_clear(&e->query);
	e->is_searching = true;
	e->found = e->history_count;
}

/* True: the key was for the search. Every other key ends it and counts as usual. */
static bool search_key(struct ar_edit *e, const struct ar_key *key)
{
	bool is_again = key->kind == AR_KEY_CTRL && key->letter == 'r';

	if (key->kind == AR_KEY_TEXT) {
		ar_buf_adds(&e->query, key->text);
		search_back(e, e->history_count);
	} else if (key->kind == AR_KEY_BACKSPACE && e->query.len) {
		e->query.len = ar_str_utf8_prefix(ar_buf_str(&e->query), e->query.len - 1).len;
		search_back(e, e->history_count);
	} else if (is_again) {
		search_back(e, e->found);
	} else {
		e->is_searching = false;
		e->history_at = e->history_count;
		if (key->kind == AR_KEY_ESC || (key->kind == AR_KEY_CTRL && key->letter == 'g'))
			ar_edit_set(e, ar_buf_str(&e->draft));
		return key->kind == AR_KEY_ESC || key->kind == AR_KEY_CTRL;
	}
	return true;
}

/* ---- keys ---- */

static bool control_key(struct ar_edit *e, char letter)
{
	size_t to;

	switch (letter) {
	case 'a':
		e->caret = ar_edit_line_begin(e, e->caret);
		return true;
	case 'e':
		e->caret = ar_edit_line_end(e, e->caret);
		return true;
	case 'b':
		e->caret = ar_edit_before(e, e->caret);
		return true;
	case 'f':
		e->caret = ar_edit_after(e, e->caret);
		return true;
	case 'k':
		to = ar_edit_line_end(e, e->caret);
		ar_edit_remove(e, e->caret, to > e->caret || to == e->text.len ? to : to + 1, true);
		return true;
	case 'u':
		ar_edit_remove(e, ar_edit_line_begin(e, e->caret), e->caret, true);
		return true;
	case 'w':
		ar_edit_remove(e, ar_edit_word_before(e, e->caret), e->caret, true);
		return true;
	case 'y':
		ar_edit_insert(e, ar_buf_str(&e->killed));
		return true;
	case 'd':
		if (!e->text.len)
			return false;
		ar_edit_remove(e, e->caret, ar_edit_after(e, e->caret), false);
		return true;
	case 'p':
		return go_up(e);
	case 'n':
		return go_down(e);
	case 'r':
		begin_search(e);
		return true;
	default:
		return false;
	}
}

static bool alt_key(struct ar_edit *e, char letter)
{
	switch (letter) {
	case 'b':
		e->caret = ar_edit_word_before(e, e->caret);
		return true;
	case 'f':
		e->caret = ar_edit_word_after(e, e->caret);
		return true;
	case 'd':
		ar_edit_remove(e, e->caret, ar_edit_word_after(e, e->caret), true);
		return true;
	default:
		return false;
	}
}

static bool move_key(struct ar_edit *e, enum ar_key_kind kind)
{
	switch (kind) {
	case AR_KEY_LEFT:
		e->caret = ar_edit_before(e, e->caret);
		return true;
	case AR_KEY_RIGHT:
		e->caret = ar_edit_after(e, e->caret);
		return true;
	case AR_KEY_HOME:
		e->caret = ar_edit_line_begin(e, e->caret);
		return true;
	case AR_KEY_END:
		e->caret = ar_edit_line_end(e, e->caret);
		return true;
	case AR_KEY_WORD_LEFT:
		e->caret = ar_edit_word_before(e, e->caret);
		return true;
	case AR_KEY_WORD_RIGHT:
		e->caret = ar_edit_word_after(e, e->caret);
		return true;
	case AR_KEY_UP:
		return go_up(e);
	case AR_KEY_DOWN:
		return go_down(e);
	default:
		return false;
	}
}

bool ar_edit_key(struct ar_edit *e, const struct ar_key *key)
{
	if (e->is_searching && search_key(e, key))
		return true;
	if (e->is_vi && ar_edit_vi_key(e, key))
		return true;
	switch (key->kind) {
	case AR_KEY_TEXT:
		ar_edit_insert(e, key->text);
		return true;
	case AR_KEY_PASTE:
		ar_edit_paste(e, key->text);
		return true;
	case AR_KEY_NEWLINE:
		ar_edit_insert(e, AR_STR("\n"));
		return true;
	case AR_KEY_BACKSPACE:
		ar_edit_remove(e, ar_edit_before(e, e->caret), e->caret, false);
		return true;
	case AR_KEY_DELETE:
		ar_edit_remove(e, e->caret, ar_edit_after(e, e->caret), false);
		return true;
	case AR_KEY_CTRL:
		return control_key(e, key->letter);
	case AR_KEY_ALT:
		return alt_key(e, key->letter);
	default:
		return move_key(e, key->kind);
	}
}

/* ---- words ---- */

static size_t word_begin(const struct ar_edit *e)
{
	size_t at = e->caret;

	while (at > 0 && !ar_edit_is_blank(e, at - 1))
		at--;
	return at;
}

struct ar_str ar_edit_word(const struct ar_edit *e)
{
	size_t at = word_begin(e);

	return ar_str_sub(ar_buf_str(&e->text), at, e->caret - at);
}

void ar_edit_replace_word(struct ar_edit *e, struct ar_str text)
{
	ar_edit_remove(e, word_begin(e), e->caret, false);
	ar_edit_insert(e, text);
}

void ar_edit_fini(struct ar_edit *e)
{
	for (size_t i = 0; i < AR_EDIT_PASTES; i++)
		ar_buf_fini(&e->pastes[i]);
	for (size_t i = 0; i < AR_EDIT_HISTORY; i++)
		ar_buf_fini(&e->history[i]);
	ar_buf_fini(&e->text);
	ar_buf_fini(&e->killed);
	ar_buf_fini(&e->draft);
	ar_buf_fini(&e->query);
	ar_buf_fini(&e->undone);
}
