/* A user namespace as a table of two ids: what a mount needs to show its owner's files as the command's
 * own. */
#ifndef AR_INIT_IDMAP_H
#define AR_INIT_IDMAP_H

#include "init.h"

/* In the process that has the starter's pids: in->idmap for the workspace, when its owner is not who the
 * command will be. Nothing is ever mapped from root: a file that the command makes would be root's on the
 * disk. */
int ar_idmap_open(struct ar_init *in);

#endif
