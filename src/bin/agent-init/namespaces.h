/* The namespaces that a plan asks for, and the ids in a user namespace. */
#ifndef AR_INIT_NAMESPACES_H
#define AR_INIT_NAMESPACES_H

#include "init.h"

/* Which are made; sets in->namespaces. */
void ar_namespaces_choose(struct ar_init *in);

/* Starts the process that lives in them, in the v2 cgroup of the plan from its first moment. Returns 0 in it,
 * its pid in the caller, -1 with errno. With no namespaces to make it starts none and returns 0. */
pid_t ar_namespaces_enter(struct ar_init *in);

/* Inside: gives the one id of a user namespace its name. */
int ar_namespaces_map(struct ar_init *in);

/* Inside, while the starter's /proc is there: our pid as the starter sees it. */
int ar_namespaces_check(struct ar_init *in);

#endif
