/* git, run on the workspace for its answer: nothing that a repository configures is started on purpose
 * (hooks, monitors, external diffs, text converters, pagers), and what git starts all the same is held by the
 * boundary that this program runs in. */
#ifndef AR_FILES_GIT_H
#define AR_FILES_GIT_H

#include "work.h"

/* Runs `git args...` (NULL at the end) in the workspace; false with the failure in the work: no git, no
 * repository, out of time. What it printed beyond `cap` of ret is left out (ret->failed). */
bool ar_git_run(struct ar_files_work *w, const char *const *args, struct ar_buf *ret);

/* Adds lines of what git printed, from w->args.offset on, at most w->args.limit, and how to go on. `call` is
 * what to call for more. */
void ar_git_show(struct ar_files_work *w, const struct ar_buf *printed, const char *call);

#endif
