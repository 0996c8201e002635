/* The seccomp program of the plan. */
#ifndef AR_INIT_FILTER_H
#define AR_INIT_FILTER_H

#include "init.h"

/* Installs it on this thread and all that follow; in->fds[AR_INIT_FD_NOTIFY] when the plan wants its
 * listener. */
int ar_filter_install(struct ar_init *in);

#endif
