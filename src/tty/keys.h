/* Keys from the bytes that a terminal in raw mode sends: text, the keys of a line editor, pastes, and
 * the answers of the terminal. A paste is recognised by its brackets, or by coming at once with line
 * ends inside. Sequences that are not known are dropped. Owner: the caller's thread. */
#ifndef AR_TTY_KEYS_H
#define AR_TTY_KEYS_H

#include "buf.h"

#define AR_KEYS_PASTE_MAX ((size_t)1024 * 1024) /* the rest of a longer one is dropped */

enum ar_key_kind {
	AR_KEY_NONE,
	AR_KEY_TEXT, /* .text */
	AR_KEY_PASTE, /* .text; line ends are newlines */
	AR_KEY_CTRL, /* .letter, 'a' to 'z' */
	AR_KEY_ALT, /* .letter */
	AR_KEY_ENTER,
	AR_KEY_NEWLINE, /* a line end inside the text: Ctrl-J, Alt-Enter, Shift-Enter where it is sent */
	AR_KEY_TAB,
	AR_KEY_BACKTAB,
	AR_KEY_ESC,
	AR_KEY_BACKSPACE,
	AR_KEY_DELETE,
	AR_KEY_UP,
	AR_KEY_DOWN,
	AR_KEY_LEFT,
	AR_KEY_RIGHT,
	AR_KEY_HOME,
	AR_KEY_END,
	AR_KEY_WORD_LEFT,
	AR_KEY_WORD_RIGHT,
	AR_KEY_POSITION, /* .value: the cursor's column, from 0 */
	AR_KEY_FOCUS, /* .value: 1 = the terminal has the focus, 0 = not any more */
};

struct ar_key {
	enum ar_key_kind kind;
	char letter;
	int value;
	struct ar_str text; /* until the next call */
};

/* Zeroed. */
struct ar_keys {
	struct ar_buf bytes; /* not understood yet */
	struct ar_buf paste;
	struct ar_buf text; /* of the key that was given last */
	bool is_bracketed; /* inside a paste that says where it ends */
	bool is_burst; /* inside one that does not */
	bool is_after_cr; /* the last byte of the paste so far: a newline after it is the same line end */
};

/* What one read gave. */
void ar_keys_feed(struct ar_keys *k, struct ar_str bytes);

/* The next key; false: there is none yet. is_idle: nothing has come for a while, so that an ESC alone is
 * a key and a paste without an end has ended. */
bool ar_keys_next(struct ar_keys *k, bool is_idle, struct ar_key *ret);

/* Whether something is left that is_idle would decide. */
bool ar_keys_wait(const struct ar_keys *k);

void ar_keys_fini(struct ar_keys *k);

#endif
