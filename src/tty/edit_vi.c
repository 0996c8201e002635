/* See edit.h: the keys of vi, as far as people use them in one text: motions h l w b e 0 ^ $, the operators
 * d c y with a motion or twice, x X D C S s p P u, and i a I A o O. Words end at blanks. Up, Down and what is
 * no command of vi are left to the other keys. */
#include "edit.h"

/* ---- changes ---- */

static void keep_undo(struct ar_edit *e)
{
	ar_buf_clear(&e->undone);
	ar_buf_adds(&e->undone, ar_buf_str(&e->text));
	e->undone_caret = e->caret;
}

/* As in vi the second undo takes the first one back. */
static void undo(struct ar_edit *e)
{
	struct ar_buf text = e->text;
	size_t caret = e->caret;

	e->text = e->undone;
	e->caret = e->undone_caret;
	e->undone = text;
	e->undone_caret = caret;
}

static void begin_insert(struct ar_edit *e, size_t at)
{
	keep_undo(e);
	e->caret = at;
	e->is_normal = false;
}

/* A new line below `at`, which is an end of a line, or above it. */
static void open_line(struct ar_edit *e, size_t at, bool is_above)
{
	begin_insert(e, at);
	ar_edit_insert(e, AR_STR("\n"));
	if (is_above)
		e->caret = at;
}

static void put(struct ar_edit *e, size_t at)
{
	keep_undo(e);
	e->caret = at;
	ar_edit_insert(e, ar_buf_str(&e->killed));
}

/* ---- motions ---- */

static size_t next_word(const struct ar_edit *e, size_t at)
{
	while (at < e->text.len && !ar_edit_is_blank(e, at))
		at = ar_edit_after(e, at);
	while (at < e->text.len && ar_edit_is_blank(e, at))
		at++;
	return at;
}

static size_t first_in_line(const struct ar_edit *e)
{
	size_t at = ar_edit_line_begin(e, e->caret), end = ar_edit_line_end(e, at);

	while (at < end && ar_edit_is_blank(e, at))
		at++;
	return at;
}

/* The last character of the word that ends after the caret. */
static size_t word_end(const struct ar_edit *e)
{
	return ar_edit_before(e, ar_edit_word_after(e, ar_edit_after(e, e->caret)));
}

static bool move(const struct ar_edit *e, char letter, size_t *ret)
{
	size_t begin = ar_edit_line_begin(e, e->caret), end = ar_edit_line_end(e, e->caret);

	switch (letter) {
	case 'h':
		*ret = e->caret > begin ? ar_edit_before(e, e->caret) : e->caret;
		return true;
	case 'l':
	case ' ':
		*ret = e->caret < end ? ar_edit_after(e, e->caret) : e->caret;
		return true;
	case 'w':
		*ret = next_word(e, e->caret);
		return true;
	case 'b':
		*ret = ar_edit_word_before(e, e->caret);
		return true;
	case 'e':
		*ret = word_end(e);
		return true;
	case '0':
		*ret = begin;
		return true;
	case '^':
		*ret = first_in_line(e);
		return true;
	case '$':
		*ret = end;
		return true;
	default:
		return false;
	}
}

/* ---- operators ---- */

static void operate(struct ar_edit *e, char op, size_t from, size_t to)
{
	keep_undo(e);
	if (op == 'y' && to > from) {
		ar_buf_clear(&e->killed);
		ar_buf_add(&e->killed, e->text.p + from, to - from);
		e->caret = from;
		return;
	}
	ar_edit_remove(e, from, to, true);
	e->is_normal = op != 'c';
}

/* The operator that waits, with a motion or itself; another key drops it. */
static void end_operator(struct ar_edit *e, char letter)
{
	char op = e->op;
	size_t to, begin = ar_edit_line_begin(e, e->caret), end = ar_edit_line_end(e, e->caret);

	e->op = 0;
	if (letter == op) {
		operate(e, op, begin, op == 'd' && end < e->text.len ? end + 1 : end);
		return;
	}
	if (letter == 'w' && op == 'c')
		letter = 'e'; /* as vi: the blank behind the word stays */
	if (!move(e, letter, &to))
		return;
	if (letter == 'e')
		to = ar_edit_after(e, to);
	operate(e, op, to < e->caret ? to : e->caret, to < e->caret ? e->caret : to);
}

/* ---- keys ---- */

static bool insert_command(struct ar_edit *e, char letter)
{
	size_t end = ar_edit_line_end(e, e->caret);

	switch (letter) {
	case 'i':
		begin_insert(e, e->caret);
		return true;
	case 'a':
		begin_insert(e, e->caret < end ? ar_edit_after(e, e->caret) : end);
		return true;
	case 'I':
		begin_insert(e, first_in_line(e));
		return true;
	case 'A':
		begin_insert(e, end);
		return true;
	case 'o':
		open_line(e, end, false);
		return true;
	case 'O':
		open_line(e, ar_edit_line_begin(e, e->caret), true);
		return true;
	default:
		return false;
	}
}

static void change_command(struct ar_edit *e, char letter)
{
	size_t begin = ar_edit_line_begin(e, e->caret), end = ar_edit_line_end(e, e->caret);
	size_t next = e->caret < end ? ar_edit_after(e, e->caret) : end;

	switch (letter) {
	case 'x':
		operate(e, 'd', e->caret, next);
		break;
	case 'X':
		operate(e, 'd', e->caret > begin ? ar_edit_before(e, e->caret) : begin, e->caret);
		break;
	case 's':
		operate(e, 'c', e->caret, next);
		break;
	case 'D':
		operate(e, 'd', e->caret, end);
		break;
	case 'C':
		operate(e, 'c', e->caret, end);
		break;
	case 'S':
		operate(e, 'c', begin, end);
		break;
	case 'p':
		put(e, next);
		break;
	case 'P':
		put(e, e->caret);
		break;
	case 'u':
		undo(e);
		break;
	default:
		break;
	}
}

static void normal_command(struct ar_edit *e, char letter)
{
	size_t to;

	if (e->op)
		end_operator(e, letter);
	else if (letter == 'd' || letter == 'c' || letter == 'y')
		e->op = letter;
	else if (move(e, letter, &to))
		e->caret = to;
	else if (!insert_command(e, letter))
		change_command(e, letter);
}

/* j and k are the arrows: lines, then the history. */
static bool line_key(struct ar_edit *e, char letter)
{
	struct ar_key key = { .kind = letter == 'j' ? AR_KEY_DOWN : AR_KEY_UP };

	if (e->op || (letter != 'j' && letter != 'k'))
		return false;
	(void)ar_edit_key(e, &key);
	return true;
}

bool ar_edit_vi_key(struct ar_edit *e, const struct ar_key *key)
{
	size_t at;

	if (key->kind == AR_KEY_ESC && !e->is_normal) {
		e->is_normal = true;
		if (e->caret > ar_edit_line_begin(e, e->caret))
			e->caret = ar_edit_before(e, e->caret);
		return true;
	}
	if (!e->is_normal || key->kind != AR_KEY_TEXT)
		return false;
	for (at = 0; at < key->text.len && e->is_normal; at++) {
		if (!line_key(e, key->text.p[at]))
			normal_command(e, key->text.p[at]);
	}
	ar_edit_insert(e, ar_str_sub(key->text, at, key->text.len)); /* typed after a command that inserts */
	return true;
}
