/* Splits bytes into lines, one message each: `\n` or `\r\n` ends one, empty ones are left out. Single-owner,
 * no I/O. */
#ifndef AR_TRANSPORT_RPC_LINES_H
#define AR_TRANSPORT_RPC_LINES_H

#include "buf.h"

struct ar_lines;

struct ar_lines_vtable {
	void (*line)(struct ar_lines *l, struct ar_str text); /* borrowed until it returns */
	void (*too_long)(struct ar_lines *l); /* once for a line over the cap, at its end; it was dropped */
	bool (*takes_more)(struct ar_lines *l); /* asked before each line */
};

struct ar_lines {
	const struct ar_lines_vtable *v;
	size_t cap; /* bytes of a line */
	struct ar_buf rest; /* of a line that is not complete */
	bool is_skipping; /* the line passed the cap */
};

/* Returns how many bytes were taken: fewer than all when takes_more() said no. */
AR_MUST_USE size_t ar_lines_feed(struct ar_lines *l, struct ar_str bytes);

/* The input is over: an unfinished line counts as one. */
void ar_lines_finish(struct ar_lines *l);
void ar_lines_fini(struct ar_lines *l);

#endif
