/* What one process may use, and that it is the first to go when memory is short. */
#ifndef AR_INIT_RLIMITS_H
#define AR_INIT_RLIMITS_H

#include "init.h"

/* Resource limits of the plan; those of processes and memory only when no cgroup bounds them. */
int ar_rlimits_set(struct ar_init *in);

/* Ties the processes to an audit session of their own, where the kernel has such a thing and lets us; notes
 * its number. */
int ar_rlimits_mark(struct ar_init *in);

#endif
