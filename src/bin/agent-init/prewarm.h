/* Plans, and a process that was made before it had one of its own. A prewarmed sandbox is used once or not at
 * all: no command ever finds anything of another. */
#ifndef AR_INIT_PREWARM_H
#define AR_INIT_PREWARM_H

#include "init.h"

/* Reads the plan that a descriptor holds into in->plan. 0, or -1 with errno. */
int ar_prewarm_read_plan(struct ar_init *in, int fd);

/* Of a prewarmed sandbox: waits for the plan with the command in it, which must ask for exactly the boundary
 * that was made. Nothing for any other. False: nobody wants it, or the plan was another, which was said. */
bool ar_prewarm_wait(struct ar_init *in);

#endif
