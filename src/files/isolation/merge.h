/* What a session changed in its folder, brought into the folder of the workspace: a three-way merge, file by
 * file. It is planned as a tree of the store first; only then a file is written. */
#ifndef AR_FILES_ISOLATION_MERGE_H
#define AR_FILES_ISOLATION_MERGE_H

#include "checkpoint/restore.h"

enum ar_merge_choice {
	AR_MERGE_ASK, /* conflicts are listed, and nothing is written */
	AR_MERGE_SESSION, /* the session's version is taken */
	AR_MERGE_WORKSPACE, /* the workspace's stays, and the session's is settled by that */
	AR_MERGE_LEAVE_OUT, /* the workspace's stays, and the session's is a change still to be merged */
};

struct ar_merge {
	int session, workspace; /* folders */
	const char *base; /* tree, in hex */
	const char *apply; /* id of the merge; NULL: none */
	enum ar_merge_choice choice;
	struct ar_json paths; /* only these, and what is below them; no array: all */
	struct ar_json protected_paths; /* never these */
};

struct ar_merged {
	struct ar_restored done; /* `before`: the state of the workspace before; with is_begun */
	struct ar_hash base; /* what the next merge begins with; with is_begun */
	struct ar_str
		conflicts; /* JSON array of paths, at most AR_DIFFERENCES_SHOWN; absent: there are none */
	int64_t conflict_count;
	int64_t left_out; /* protected paths */
};

/* False with the failure in the work. A merge that could not write all takes back what it wrote. */
bool ar_merge_run(struct ar_store *s, const struct ar_merge *m, struct ar_merged *ret);

/* plan.c: the tree that the workspace is to have, and what stands in the way. */
struct ar_merge_plan {
	struct ar_hash tree;
	bool *is_settled; /* by index of what the session changed: part of the next base */
	const struct ar_difference **conflicts;
	size_t conflict_count, conflict_room;
	int64_t left_out, unsettled;
};

/* `mine` and `theirs`: from the base to the session and to the workspace. False with the failure in the work.
 * fini() follows in any case. */
bool ar_merge_plan_make(struct ar_store *s, const struct ar_merge *m, const struct ar_saved *now,
			const struct ar_differences *mine, const struct ar_differences *theirs,
			struct ar_merge_plan *ret);
void ar_merge_plan_fini(struct ar_merge_plan *p);

#endif
