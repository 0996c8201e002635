/* Bytes of others as text for a model: contents as valid UTF-8, and names of files in a form that a model can
 * give back. */
#ifndef AR_FILES_SHOWN_H
#define AR_FILES_SHOWN_H

#include "arena.h"
#include "buf.h"

/* Appends s with U+FFFD in place of every byte that is not UTF-8. */
void ar_shown_add_text(struct ar_buf *out, struct ar_str s);

/* Appends a path; one with control characters, quotes at its ends or bytes that are not UTF-8 is written as
 * "a\n\xff": in quotes, with \\ \" \n \t \r and \xHH. */
void ar_shown_add_path(struct ar_buf *out, struct ar_str path);
struct ar_str ar_shown_path(struct ar_arena *a, struct ar_str path); /* the same, for a message */

/* The path that is meant by what ar_shown_add_path wrote; what is not in that form is returned as it is. */
struct ar_str ar_shown_read_path(struct ar_arena *a, struct ar_str shown);

#endif
