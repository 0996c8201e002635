/* A page on the other screen of the terminal, for lists that are used by keys (top, inbox): rows in, keys
 * out. What stood on the terminal comes back at the end. What the rest of agentctl prints meanwhile is kept
 * as a note, in one line. One thread. */
#ifndef AR_CTL_PANE_H
#define AR_CTL_PANE_H

#include "ctl.h"
#include "keys.h"

struct ar_pane {
	struct ar_ctl *ctl;
	int cols, rows; /* that can be used */
	struct ar_buf note; /* styled text without line ends */

	/* The rest is private. */
	struct ar_out out, err; /* of agentctl, as they were */
	struct ar_keys keys;
	struct ar_buf drawn; /* the page that stands there */
	ar_usec key_at; /* of the last byte, monotonic */
	int signal_fd;
};

enum ar_pane_event {
	AR_PANE_TIME, /* it is over */
	AR_PANE_KEY,
	AR_PANE_SIZE, /* the terminal has another size, or comes back from another program */
	AR_PANE_END, /* Ctrl-C, Ctrl-D, or the terminal is gone */
};

/* Takes the terminal; for one that ar_term_is_possible() says yes of. */
void ar_pane_begin(struct ar_pane *p, struct ar_ctl *c);
void ar_pane_end(struct ar_pane *p);

/* The terminal as it was before, for questions in lines and other programs; and back. Keys that were
 * pressed before and not read are dropped by both. */
void ar_pane_release(struct ar_pane *p);
void ar_pane_seize(struct ar_pane *p);

/* Shows styled rows, each ended by a newline and cut to the width; those over the height are left out. The
 * cursor stands at the caret; row -1: it is hidden. Writes nothing if that is what stands there. */
struct ar_pane_caret {
	int row, col;
};
void ar_pane_draw(struct ar_pane *p, struct ar_str rows, struct ar_pane_caret caret);

/* Until the time, monotonic. Ctrl-Z suspends. */
enum ar_pane_event ar_pane_wait(struct ar_pane *p, ar_usec until, struct ar_key *ret);

/* Our own words as the note. */
void ar_pane_say(struct ar_pane *p, enum ar_style style, const char *fmt, ...) AR_PRINTF(3, 4);

/* A conversation in that session, until it is left. */
void ar_pane_chat(struct ar_pane *p, struct ar_str session);

/* The line "Enter comes back", and the wait for it; for a terminal that was released. */
void ar_pane_wait_enter(struct ar_pane *p);

#endif
