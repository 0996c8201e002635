/* The cgroups of a plan: one folder per hierarchy, made by the author of the plan. */
#ifndef AR_INIT_CGROUP_H
#define AR_INIT_CGROUP_H

#include "init.h"

/* The folder in the unified hierarchy, open, for clone3; -2: the plan has none; -1 with errno. */
int ar_cgroup_open_unified(struct ar_init *in);

/* Before the clone: how the two processes talk about the others. */
int ar_cgroup_prepare(struct ar_init *in);

/* Outside: puts the process inside into the others, and says so. */
void ar_cgroup_add(struct ar_init *in, pid_t inside);

/* Inside: waits for that (joins all, when nothing was cloned), then hides where they are. */
int ar_cgroup_join(struct ar_init *in);

#endif
