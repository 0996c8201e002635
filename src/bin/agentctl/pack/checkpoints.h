/* Stored logs against checkpoints that agentd signed and sent elsewhere (evidence.checkpoint_file). */
#ifndef AR_CTL_PACK_CHECKPOINTS_H
#define AR_CTL_PACK_CHECKPOINTS_H

#include "pack/pack.h"

/* Of one session, or of all that the file names (absent). What differs is printed: the first fact that is not
 * the one that was there, or the range that it is in. Exit 0: each log begins as each checkpoint says. */
AR_MUST_USE enum ar_exit ar_checkpoints_verify(struct ar_ctl *c, const char *file, const char *key,
					       struct ar_str session);

#endif
