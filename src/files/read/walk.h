/* Everything below a folder, in one order: by name, bytes compared, a folder before what is in it. Links are
 * shown, never followed. What it may visit, and how deep, is capped; what was left out can be reported. */
#ifndef AR_FILES_WALK_H
#define AR_FILES_WALK_H

#include "work.h"

#include <sys/stat.h>

#define AR_WALK_DEPTH_MAX 100
#define AR_WALK_ENTRIES_MAX 200000

struct ar_walk_entry {
	struct ar_str path; /* from the folder, NUL-terminated, in the arena of the call */
	mode_t mode;
	int64_t size;
	int64_t changed; /* nanoseconds since 1970 */
	uint32_t depth; /* 1: in the folder itself */
	bool is_closed; /* a folder whose contents are left out because of its name */
};

struct ar_walk {
	struct ar_files_work *work;
	int folder; /* borrowed */
	uint32_t max_depth;
	bool shows_hidden; /* names that begin with a dot */
	struct ar_str named[2]; /* paths or patterns of the caller: a folder that they name is not left out */
	struct ar_walk_entry *stack; /* the next one is the last */
	size_t count, room;
	size_t visited;
	size_t unreadable; /* folders */
	bool has_begun;
	bool is_cut; /* it ended before everything was seen */
};

/* The next entry; false at the end. Fill work, folder, max_depth, shows_hidden and named before. */
bool ar_walk_next(struct ar_walk *k, struct ar_walk_entry *ret);

/* Says of folders that could not be read, when there were any. */
void ar_walk_report_unreadable(const struct ar_walk *k, struct ar_buf *out);

void ar_walk_fini(struct ar_walk *k);

#endif
