/* Text that is stored where others may read it: encrypted with AES-256-GCM, under a key that is made from a
 * secret of the settings. Pure functions but for the random nonce, any thread. */
#ifndef AR_WEBHOOK_SEAL_H
#define AR_WEBHOOK_SEAL_H

#include "arena.h"

AR_BEGIN_DECLS

/* Base64 of nonce, ciphertext and tag. `place` is authenticated with it: the same text in another place does
 * not open. */
struct ar_str ar_webhook_seal(struct ar_str key, struct ar_str place, struct ar_str text, struct ar_arena *a);

/* False: another key or place, or not what was made here. */
AR_MUST_USE bool ar_webhook_unseal(struct ar_str key, struct ar_str place, struct ar_str sealed,
				   struct ar_arena *a, struct ar_str *ret);

AR_END_DECLS

#endif
