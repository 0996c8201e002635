/* What a model is told of this host. */
#ifndef AR_HOST_OPS_SYSTEM_H
#define AR_HOST_OPS_SYSTEM_H

#include "session.h"

/* The kinds of system and processor; nothing that identifies the host. Texts in the arena. */
void ar_system_describe(struct ar_arena *a, struct ar_policy *p);

#endif
