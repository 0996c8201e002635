/* The hunks of one file put into its text. */
#ifndef AR_FILES_SPLICE_H
#define AR_FILES_SPLICE_H

#include "patch/patch.h"

#define AR_SPLICE_BYTES_MAX ((size_t)8 << 20)
#define AR_SPLICE_STEPS_MAX ((size_t)50000000) /* lines compared */

struct ar_splice {
	struct ar_arena *arena;
	const struct ar_patch *patch;
	struct ar_str text; /* before */
	struct ar_str result; /* after, in the arena */
	size_t moved; /* hunks that stood at another line than they said */
	struct ar_str wrong; /* of a refusal: the hunk, and what stands in its place */
};

/* AR_E_NOT_FOUND: the lines of a hunk do not stand in the text; AR_E_LIMIT: it is too large or too costly. */
AR_MUST_USE enum ar_status ar_splice(struct ar_splice *s, const struct ar_patch_file *f);

#endif
