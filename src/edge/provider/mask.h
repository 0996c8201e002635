/* Keeps a secret out of text that a peer wrote: servers echo keys in their errors. Pure. */
#ifndef AR_PROVIDER_MASK_H
#define AR_PROVIDER_MASK_H

#include "arena.h"

#define AR_MASK_EXCERPT 4096 /* bytes of a peer's text that may be kept */

AR_BEGIN_DECLS

/* The text without the secret, cut to AR_MASK_EXCERPT bytes; absent stays absent. A secret shorter than six
 * bytes is none. */
struct ar_str ar_mask(struct ar_arena *a, struct ar_str text, struct ar_str secret);

AR_END_DECLS

#endif
