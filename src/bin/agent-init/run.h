/* From the barrier to the last descendant. */
#ifndef AR_INIT_RUN_H
#define AR_INIT_RUN_H

#include "init.h"

/* Says READY, waits for GO, runs the command, reaps until nobody is left. Returns the exit status of
 * agent-init. */
int ar_run(struct ar_init *in);

#endif
