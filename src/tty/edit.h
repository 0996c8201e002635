/* A line editor without a terminal: a text of one or more lines with a caret, the lines that were entered
 * before, and a search in them. A long paste is one character of the text until it is entered. Keys come in,
 * rows for the live region come out. Owner: the caller's thread. */
#ifndef AR_TTY_EDIT_H
#define AR_TTY_EDIT_H

#include "keys.h"
#include "text.h"

#define AR_EDIT_PASTES 32 /* folded ones in one text; more are inserted as they are */
#define AR_EDIT_HISTORY 500 /* texts that are kept */
#define AR_EDIT_ROWS 8 /* most rows that are shown */
#define AR_EDIT_FOLD_LINES 10 /* a paste of more lines is folded */
#define AR_EDIT_FOLD_BYTES 2000 /* and one of more bytes */
#define AR_EDIT_MAX ((size_t)1024 * 1024) /* bytes of a text, folded pastes included */

/* Zeroed. */
struct ar_edit {
	struct ar_buf text;
	size_t caret; /* byte */
	struct ar_buf pastes[AR_EDIT_PASTES];
	size_t paste_count;
	struct ar_buf killed; /* by Ctrl-K, Ctrl-U or Ctrl-W, for Ctrl-Y */

	struct ar_buf history[AR_EDIT_HISTORY]; /* oldest first */
	size_t history_count;
	size_t history_at; /* the one that is shown; history_count = none */
	struct ar_buf draft; /* what stood there before */

	bool is_vi; /* the keys are those of vi; otherwise those of readline */
	bool is_normal; /* of vi: keys are commands */
	char op; /* of vi, an operator: 'd', 'c' or 'y' that waits for a motion; 0 = none */
	struct ar_buf undone; /* of vi: the text before the last change */
	size_t undone_caret;

	bool is_searching; /* Ctrl-R */
	struct ar_buf query;
	size_t found; /* history_count = none */
};

/* Does what the key means for the text. False: the key is not the editor's (Enter, Esc, Tab, Ctrl-C ...), or
 * there was nothing for it to do (Ctrl-D without text, Up in the first line without history). */
bool ar_edit_key(struct ar_edit *e, const struct ar_key *key);

void ar_edit_insert(struct ar_edit *e, struct ar_str text); /* at the caret; control characters are dropped */
void ar_edit_set(struct ar_edit *e, struct ar_str text); /* instead of all that stands there */
bool ar_edit_is_empty(const struct ar_edit *e);

/* The whole text, pastes unfolded. */
void ar_edit_text(const struct ar_edit *e, struct ar_buf *to);

/* The same, and the text becomes history and is gone from here. */
void ar_edit_enter(struct ar_edit *e, struct ar_buf *to);

/* Adds a text to the history as if it had been entered. */
void ar_edit_remember(struct ar_edit *e, struct ar_str text);

/* The word before the caret, back to a blank or a line end. */
struct ar_str ar_edit_word(const struct ar_edit *e);

/* Puts the text in the place of that word. */
void ar_edit_replace_word(struct ar_edit *e, struct ar_str text);

/* Rows of the text behind a prompt of two columns, at most AR_EDIT_ROWS around the caret, each ended by a
 * newline; and where the caret is in them. */
struct ar_edit_view {
	struct ar_buf rows;
	int caret_row, caret_col;
};
void ar_edit_show(const struct ar_edit *e, int cols, struct ar_edit_view *ret);

void ar_edit_fini(struct ar_edit *e);

/* ---- places in the text ---- */

size_t ar_edit_line_begin(const struct ar_edit *e, size_t at);
size_t ar_edit_line_end(const struct ar_edit *e, size_t at);
size_t ar_edit_word_before(const struct ar_edit *e, size_t at); /* where the word before begins */
size_t ar_edit_word_after(const struct ar_edit *e, size_t at); /* where the word after ends */
bool ar_edit_is_blank(const struct ar_edit *e, size_t at);

/* ---- edit_vi.c ---- */

/* True: the key was for vi, as ar_edit_key() says. Only with is_vi. */
bool ar_edit_vi_key(struct ar_edit *e, const struct ar_key *key);

/* ---- edit_text.c: the text and what stands for a paste in it ---- */

#define AR_EDIT_MARK '\001' /* followed by '0' + number of the paste */

/* Bytes of the character that begins at `at`, or ends there. */
size_t ar_edit_after(const struct ar_edit *e, size_t at);
size_t ar_edit_before(const struct ar_edit *e, size_t at);
void ar_edit_paste(struct ar_edit *e, struct ar_str text);
void ar_edit_remove(struct ar_edit *e, size_t from, size_t to, bool is_kept);

#endif
