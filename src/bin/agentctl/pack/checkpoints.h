/* Stored logs against checkpoints that agentd signed and sent elsewhere (evidence.checkpoint_file). */
#ifndef AR_CTL_PACK_CHECKPOINTS_H
#define AR_CTL_PACK_CHECKPOINTS_H

#include "pack/check.h"

/* Of one session, or of all that the file names (absent). What differs is printed: the first fact that is not
 * the one that was there, or the range that it is in. Exit 0: each log begins as each checkpoint says. */
AR_MUST_USE enum ar_exit ar_checkpoints_verify(struct ar_ctl *c, const char *file, const char *key,
					       struct ar_str session);

/* Of the facts of a pack that was checked; needs no daemon. Checkpoints of facts that it does not have say
 * nothing about it. */
AR_MUST_USE enum ar_exit ar_checkpoints_verify_pack(struct ar_ctl *c, const char *file, const char *key,
						    const char *path, const struct ar_pack_checked *pack);

#endif
