/* What people see. Text from elsewhere (a model, a title, an error of a peer) may hold terminal escapes; it
 * goes through ar_out_text or ar_out_line, never through printf. */
#ifndef AR_CTL_OUT_H
#define AR_CTL_OUT_H

#include "text.h"

#include <stdio.h>

struct ar_out {
	FILE *file;
	/* Instead of the file: takes styled text (text.h), newlines included. NULL: the file. */
	void (*sink)(void *arg, struct ar_str text);
	void *arg;
	bool is_tty;
	bool has_colour;
	bool is_midline; /* something stands on the current line */
};

/* Colours only on a terminal that takes them, and not with NO_COLOR. */
void ar_out_init(struct ar_out *o, FILE *file);

/* Switches the style of what follows; nothing without colours. */
void ar_out_style(struct ar_out *o, enum ar_style style);

void ar_out_printf(struct ar_out *o, const char *fmt, ...) AR_PRINTF(2, 3); /* our own words only */

/* Foreign text as it is; on a terminal controls other than newline and tab, and characters that nobody sees
 * (zero width, direction marks), are written as \u{202E}. */
void ar_out_text(struct ar_out *o, struct ar_str text);

/* The same of a JSON text: it stays one. */
void ar_out_json(struct ar_out *o, struct ar_str text);

/* Foreign text inside a line: line breaks and tabs become spaces, the rest is as on a terminal, on any
 * output. */
void ar_out_line(struct ar_out *o, struct ar_str text);

/* Ends the current line, if there is something on it. */
void ar_out_break(struct ar_out *o);

/* Foreign text as a column of a table, two spaces behind it; three dots at its end say that it is cut. */
void ar_out_column(struct ar_out *o, struct ar_str text, int width);

/* A label and foreign text on a line of their own; nothing if the text is absent. */
void ar_out_member(struct ar_out *o, const char *label, struct ar_str text);

/* "now", "12 s ago", "3 h ago" ... */
#define AR_OUT_AGE 32
void ar_out_age_text(ar_usec then, ar_usec now, char out[AR_OUT_AGE]);

/* The same, filled with spaces to `width`. */
void ar_out_age(struct ar_out *o, ar_usec then, ar_usec now, int width);

/* "12 s left", "3 h left", "time is up", or "waits" without an end (expires 0). Rounded down, so that nobody
 * believes to have more. */
#define AR_OUT_LEFT 40
void ar_out_left(ar_usec expires, ar_usec now, char out[AR_OUT_LEFT]);

#endif
