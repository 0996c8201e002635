/* Just enough JSON for a helper without libraries: members of one object are found in its text, strings stay
 * escaped as they came, so that they can be put into another object as they are. Owns no memory. */
#ifndef AR_SHIM_JSON_H
#define AR_SHIM_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ar_piece {
	const char *p;
	size_t len;
};

/* The value of a member of the object `text`: of a string what is between the quotes, of anything else its
 * text. False: not there, or not JSON so far. */
bool ar_json_member(struct ar_piece text, const char *name, struct ar_piece *ret);

/* The next string of an array's text; *at begins as 0. False: no more. */
bool ar_json_next_string(struct ar_piece array, size_t *at, struct ar_piece *ret);

/* A member as a number without sign; `otherwise` when it is none. */
uint64_t ar_json_number(struct ar_piece text, const char *name, uint64_t otherwise);

bool ar_piece_is(struct ar_piece piece, const char *word);

#endif
