/* "Did you mean ...": the known word that a misspelt one was most likely meant to be. Pure. */
#ifndef AR_BASE_TEXT_SUGGEST_H
#define AR_BASE_TEXT_SUGGEST_H

#include "str.h"

AR_BEGIN_DECLS

/* The best candidate so far. Zero is a valid start. */
struct ar_suggestion {
	const char *word; /* NULL: none is near enough */
	unsigned distance;
};

/* Keeps `candidate` when it is nearer to `word` than what was kept: at most one edit (a character inserted,
 * left out, replaced, or two neighbours swapped) for each three characters of the longer one, letter case
 * counting as no edit. */
void ar_suggest(struct ar_suggestion *best, struct ar_str word, const char *candidate);

AR_END_DECLS

#endif
