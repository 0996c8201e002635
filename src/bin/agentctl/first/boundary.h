/* What commands may do in this place, and when a person is asked. One thread. */
#ifndef AR_CTL_BOUNDARY_H
#define AR_CTL_BOUNDARY_H

#include "ctl.h"

/* Prints whether the sandbox profile of the daemon is enforced on this machine, which is tested now, and the
 * permission mode that it has, with what follows from both, as far as it is known. Nothing where the daemon
 * is not the user's own: its sandbox cannot be tested from here. */
void ar_boundary_print(struct ar_ctl *c);

#endif
