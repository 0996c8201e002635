/* The inline renderer: lines of history that are written exactly once and never touched again, and below
 * them a small live region that is drawn over itself. It stays on the main screen: the terminal scrolls,
 * reflows and selects as for any program. A frame is one piece of bytes for one write, with CR, LF, CUU,
 * CUF, ED, SGR and the marks of a synchronised update, nothing else. Does no I/O and has no clock.
 * Owner: the caller's thread. */
#ifndef AR_TTY_SCREEN_H
#define AR_TTY_SCREEN_H

#include "text.h"

#define AR_SCREEN_LIVE 64 /* most rows of the live region, whatever the terminal has */
#define AR_SCREEN_FRAME_USEC 50000 /* between two frames: at most 20 in a second */

enum ar_reflow {
	AR_REFLOW_UNKNOWN,
	AR_REFLOW_NO, /* rows that become too long are cut by the terminal */
	AR_REFLOW_YES, /* they are broken into several */
};

/* Zeroed, then cols, rows and has_colour. */
struct ar_tty_screen {
	int cols, rows;
	bool has_colour;
	enum ar_reflow reflow; /* what is known of this terminal */

	/* The rest is private. */
	struct ar_buf history; /* rows to be written, each ended by a newline */
	struct ar_buf live; /* rows that are wanted, likewise */
	struct ar_buf drawn; /* rows that stand there */
	int caret_row, caret_col; /* wanted */
	int drawn_row, drawn_col; /* of the terminal's cursor, from the first live row */
	bool is_stale; /* the live region differs from what stands there */
	bool is_moved; /* the size has changed: where the region begins is not known */
	ar_usec frame_at; /* of the last frame */
};

/* A line of history; rows after its first are indented. */
void ar_tty_print(struct ar_tty_screen *s, struct ar_str line, int indent);

/* The same, but a long line is left to the terminal to break: what is copied from it is whole. */
void ar_tty_print_whole(struct ar_tty_screen *s, struct ar_str line);

/* The live region from now on: rows ended by newlines, each cut to the width; and where the cursor is. Rows
 * over the terminal's height are left out at the top. */
void ar_tty_live(struct ar_tty_screen *s, struct ar_str rows, int caret_row, int caret_col);

/* Whether there is something to draw. */
bool ar_tty_is_due(const struct ar_tty_screen *s);

/* When the next frame may come; for those that have something to draw. */
ar_usec ar_tty_frame_time(const struct ar_tty_screen *s);

/* Adds the bytes of a frame to `to`. Nothing while a resize waits for the position of the cursor. */
void ar_tty_frame(struct ar_tty_screen *s, ar_usec now, struct ar_buf *to);

/* The terminal has another size. Adds the question for the cursor's position; frames wait for its answer. */
void ar_tty_resize(struct ar_tty_screen *s, int cols, int rows, struct ar_buf *to);

/* The answer: the cursor's column from 0; -1 = none came. */
void ar_tty_resized(struct ar_tty_screen *s, int col);

/* Adds what removes the live region, history first: the terminal is left as after a printed line. */
void ar_tty_leave(struct ar_tty_screen *s, struct ar_buf *to);

void ar_tty_fini(struct ar_tty_screen *s);

#endif
