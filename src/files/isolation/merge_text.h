/* Three versions of one text merged line by line. */
#ifndef AR_FILES_ISOLATION_MERGE_TEXT_H
#define AR_FILES_ISOLATION_MERGE_TEXT_H

#include "checkpoint/objects.h"

struct ar_merge_texts {
	struct ar_str base, session, workspace; /* objects in hex */
};

enum ar_merge_outcome {
	AR_MERGE_CLEAN = 1,
	AR_MERGE_CONFLICT, /* the same lines changed on both sides, or it is no text */
	AR_MERGE_FAILED, /* with the failure in the work */
};

enum ar_merge_outcome ar_merge_text(struct ar_store *s, struct ar_objects *objects,
				    const struct ar_merge_texts *t, struct ar_buf *ret);

#endif
