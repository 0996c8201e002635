/* A text as lines, each with its end. Points into the text. */
#ifndef AR_FILES_LINES_H
#define AR_FILES_LINES_H

#include "arena.h"

#define AR_LINES_MAX ((size_t)1000000)

struct ar_lines {
	struct ar_str *at; /* with LF or CRLF at their ends; the last one maybe without */
	size_t count;
};

/* False: more than AR_LINES_MAX. */
bool ar_lines_split(struct ar_arena *a, struct ar_str text, struct ar_lines *ret);

/* Without its LF or CRLF. */
struct ar_str ar_line_bare(struct ar_str line);

/* Without blanks at both ends. */
struct ar_str ar_line_trimmed(struct ar_str line);

/* The number of the line, from 1, that the byte at `offset` is in. */
size_t ar_line_number(struct ar_str text, size_t offset);

#endif
