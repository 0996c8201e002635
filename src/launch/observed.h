/* Protected paths that did not exist when a boundary was made: nothing can be mounted on what is not there,
 * so they can be made. Here is looked whether one was, from the workspace as it was opened before anything
 * ran, link by link: what was put on the way decides nothing about where is looked, and a link on it is
 * itself what was made. */
#ifndef AR_LAUNCH_OBSERVED_H
#define AR_LAUNCH_OBSERVED_H

#include <limits.h>

struct ar_observation {
	int workspace; /* the caller's to close; -1: nothing can be looked at */
	/* That was found; several paths beside each other may have the same thing in their way */
	char last[PATH_MAX];
};

/* Opens the workspace by its absolute path, without a link on it. */
void ar_observed_open(struct ar_observation *o, const char *workspace);

/* What became of the path, relative to the workspace: "create", or "hide" where a folder on the way cannot be
 * entered any more; `path` is cut to what is there. NULL: it is missing still, or what is in its way was the
 * last found. */
const char *ar_observed_check(struct ar_observation *o, char path[PATH_MAX]);

#endif
