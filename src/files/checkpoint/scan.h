/* Goes through a workspace for a checkpoint: every file and every link, in the order of entries.h, each
 * folder opened from its parent without following a link. */
#ifndef AR_FILES_CHECKPOINT_SCAN_H
#define AR_FILES_CHECKPOINT_SCAN_H

#include "checkpoint/entries.h"
#include "work.h"

struct ar_scan_found {
	struct ar_str path; /* from the workspace, until found() returns */
	int folder;
	const char *name; /* in the folder, NUL-terminated */
	struct stat st; /* of a regular file or a link */
};

struct ar_scan {
	struct ar_files_work *work;
	bool (*found)(void *arg, const struct ar_scan_found *f); /* false: the scan ends */
	void *arg;
	int64_t left_out; /* .git, sockets, fifos, devices, what cannot be read or is too deep */
	/* What follows is scan.c's. */
	char path[AR_TREE_ENTRY_PATH_MAX + 1];
	size_t seen;
};

/* False: found() said so, or the failure is in the work (too many names, out of time). */
bool ar_scan_run(struct ar_scan *s, int root);

bool ar_files_is_late(const struct ar_files_work *w); /* the time of the call is over */

#endif
