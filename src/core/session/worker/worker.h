/* Workers: the log of each is one of its own, under a reserved key (tenant.h), as that of a workspace is. A
 * session of a workspace that a worker has sees the worker through its input; what it saw is a fact, and
 * calls wait while it is not connected. Pure. */
#ifndef AR_SESSION_WORKER_WORKER_H
#define AR_SESSION_WORKER_WORKER_H

#include "session.h"

#define AR_WORKER_LABELS_MAX 32
#define AR_WORKER_LABEL_NAME_MAX 63 /* bytes */
#define AR_WORKER_LABEL_MAX 256 /* bytes of its value */

/* Also of one of another tenant: both answers are the same. */
#define AR_NO_WORKER "there is no such worker"

#endif
