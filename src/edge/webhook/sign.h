/* Signatures of requests between systems: HMAC-SHA256 as Standard Webhooks puts it into headers, and as
 * GitHub does. Ids of deliveries, and the pause between attempts. Pure functions, any thread. */
#ifndef AR_WEBHOOK_SIGN_H
#define AR_WEBHOOK_SIGN_H

#include "arena.h"
#include "buf.h"
#include "str.h"

#define AR_WEBHOOK_PAUSE_MAX_MS (3600 * 1000)

AR_BEGIN_DECLS

/* The key in a secret: the bytes behind whsec_, which are base64, or the text itself. False: what is behind
 * whsec_ is no base64, or the key has fewer than 16 bytes. */
bool ar_webhook_key(struct ar_str secret, struct ar_arena *a, struct ar_str *ret_key);

/* `v1,` and the base64 of the HMAC over `id.timestamp.body`; the time in seconds since 1970. */
struct ar_str ar_webhook_signature(struct ar_str key, struct ar_str id, int64_t timestamp, struct ar_str body,
				   struct ar_arena *a);

/* Whether a list of such signatures, with blanks between, has the right one. Compares in constant time. */
bool ar_webhook_is_signed(struct ar_str key, struct ar_str id, int64_t timestamp, struct ar_str body,
			  struct ar_str signatures);

/* The same for `sha256=` and the hex digits of the HMAC over the body (X-Hub-Signature-256). */
bool ar_webhook_is_signed_hex(struct ar_str key, struct ar_str body, struct ar_str signature);

/* The id of one event for one webhook: always the same. */
struct ar_str ar_webhook_delivery_id(struct ar_str webhook, struct ar_str event_id, struct ar_arena *a);

/* Milliseconds until the next attempt after so many: backoff_ms doubled by each, at most an hour, plus or
 * minus up to a quarter by `random`. */
int64_t ar_webhook_pause_ms(int64_t backoff_ms, unsigned attempts, uint32_t random);

AR_END_DECLS

#endif
