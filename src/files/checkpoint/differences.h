/* What differs between two trees of the store, as git lists it. */
#ifndef AR_FILES_CHECKPOINT_DIFFERENCES_H
#define AR_FILES_CHECKPOINT_DIFFERENCES_H

#include "checkpoint/entries.h"
#include "checkpoint/store.h"

#define AR_DIFFERENCES_SHOWN 10000
#define AR_DIFFERENCES_SHOWN_BYTES ((size_t)8 << 20)

struct ar_difference {
	struct ar_str path; /* NUL-terminated */
	uint32_t was, is; /* modes; 0: not there */
	struct ar_str old_object, object; /* hex, of what was there, and of what is there afterwards */
};

struct ar_differences {
	struct ar_buf raw; /* that all points into */
	struct ar_difference *at;
	size_t count, room;
};

/* By ids; in the order of git. False with the failure in the work. fini() follows in any case. */
bool ar_differences_read(struct ar_store *s, const char *from, const char *to, struct ar_differences *ret);
void ar_differences_fini(struct ar_differences *d);

/* Their list as a JSON array of {path, change}, in the arena; *ret_is_cut: it is not complete. `is_left` may
 * be NULL: those that it has true for are not in the list. */
struct ar_str ar_differences_list(struct ar_arena *a, const struct ar_differences *d, const bool *is_left,
				  bool *ret_is_cut);

/* Of git diff-tree --raw -z; false: it is not in that form. */
bool ar_differences_parse(struct ar_differences *d);

#endif
