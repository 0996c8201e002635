/* JSON Canonicalization Scheme (RFC 8785): the one text of a JSON value that is signed. Members are sorted by
 * the UTF-16 code units of their names, numbers are as ECMAScript prints a double, strings have the fewest
 * escapes. Pure, any thread. */
#ifndef AR_A2A_JCS_H
#define AR_A2A_JCS_H

#include "json.h"

/* The arena is for the order of members. A value of the reader can always be written. */
void ar_jcs(struct ar_json v, struct ar_arena *a, struct ar_buf *out);

/* A finite double as ECMAScript prints it; no NUL. */
#define AR_JCS_NUM_TEXT 40
size_t ar_jcs_num_text(double v, char out[AR_JCS_NUM_TEXT]);

#endif
