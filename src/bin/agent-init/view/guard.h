/* Paths inside a writable workspace that stay as they are. */
#ifndef AR_INIT_GUARD_H
#define AR_INIT_GUARD_H

#include "init.h"

/* Inside the view: each protected path of the plan becomes a read-only mount, each folder on the way to it a
 * mount of its own, so that no rename takes them away. A link is followed and its target guarded, when that
 * is in the workspace; one that leads to a writable place elsewhere is refused. */
int ar_guard_paths(struct ar_init *in);

#endif
