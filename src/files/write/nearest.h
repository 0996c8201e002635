/* Where in a text the lines stand that somebody probably meant, and where these differ. */
#ifndef AR_FILES_NEAREST_H
#define AR_FILES_NEAREST_H

#include "arena.h"

/* A sentence or two for a model whose `wanted` lines are not in `text`. Bounded in time and length. */
struct ar_str ar_nearest(struct ar_arena *a, struct ar_str text, struct ar_str wanted);

#endif
