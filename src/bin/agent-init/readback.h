/* What is in force, as the kernel says it: the text of READY. */
#ifndef AR_INIT_READBACK_H
#define AR_INIT_READBACK_H

#include "init.h"
#include "message.h"

/* -1 with errno: the kernel does not say what the plan asked for, or it does not fit a message. */
int ar_readback(struct ar_init *in, struct ar_message *ret);

#endif
