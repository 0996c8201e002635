/* Facts of a pack whose ids join nothing: no fact before them, nor they themselves, introduced the id
 * (catalog/scopes.cat). */
#ifndef AR_CTL_PACK_UNJOINED_H
#define AR_CTL_PACK_UNJOINED_H

#include "pack/check.h"

/* Of a pack that was checked. Names the first facts that have such an id, or lack one that their type has, on
 * standard error. `ret_judged`: which ids were judged. */
AR_MUST_USE enum ar_exit ar_pack_unjoined(struct ar_ctl *c, const char *path,
					  const struct ar_pack_checked *pack,
					  enum ar_pack_extent *ret_judged);

#endif
