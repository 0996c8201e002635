/* The difference of two texts as a unified diff, for readers and for `patch`. Time and memory are bounded:
 * texts that differ in many places get one large hunk. */
#ifndef AR_FILES_DIFF_H
#define AR_FILES_DIFF_H

#include "arena.h"
#include "buf.h"

struct ar_diff {
	struct ar_str path; /* for the two head lines */
	bool existed, exists; /* before and after; a file that is not there is /dev/null */
	struct ar_str before, after; /* UTF-8 */
};

/* False, and nothing written: they have too many lines, or do not differ. */
bool ar_diff_write(const struct ar_diff *d, struct ar_buf *out);

#endif
