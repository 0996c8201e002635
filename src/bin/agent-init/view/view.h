/* What the command sees of the file system. */
#ifndef AR_INIT_VIEW_H
#define AR_INIT_VIEW_H

#include "init.h"

/* Builds the view of the plan and makes it our root; of danger only /proc is new. Nothing of the host is left
 * visible but what the plan names. */
int ar_view_build(struct ar_init *in);

/* After the last mount: the root itself is read-only from here on. */
int ar_view_close(struct ar_init *in);

#endif
