/* The folder of a session made as the folder of its workspace is. */
#ifndef AR_FILES_ISOLATION_FILL_H
#define AR_FILES_ISOLATION_FILL_H

#include "checkpoint/save.h"

struct ar_fill {
	int origin, target; /* folders of the workspace and of the session */
	const char *origin_path, *target_path;
	bool is_empty; /* nothing is brought */
	const char *branch; /* of a repository of its own; NULL: none is made */
};

struct ar_filled {
	struct ar_hash base; /* the tree of both, which is kept */
	int64_t files, bytes, left_out;
	bool is_shared; /* all files share their blocks with the origin */
};

/* False with the failure in the work: the target is not to be used. What changes in the origin meanwhile is
 * not seen: the target is one state of it, that of `base`. */
bool ar_fill_run(struct ar_store *s, const struct ar_fill *f, struct ar_filled *ret);

/* repository.c: the repository of the target, with the history of the origin's HEAD. False with the failure
 * in the work. */
bool ar_fill_repository(struct ar_store *s, const struct ar_fill *f);

#endif
