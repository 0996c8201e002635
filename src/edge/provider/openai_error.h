/* What a refusal of an OpenAI-compatible server means: status codes and error objects to category, sentence and
 * whether trying again can help. Pure; strings of the result live in the arena given. */
#ifndef AR_PROVIDER_OPENAI_ERROR_H
#define AR_PROVIDER_OPENAI_ERROR_H

#include "arena.h"
#include "json.h"
#include "provider.h"

#define AR_OPENAI_EXCERPT 4096 /* bytes of a peer's text that a message may carry */

AR_BEGIN_DECLS

/* An answer with an HTTP status that is no success: sets outcome, category, message, retryable and http. The body may
 * be anything. */
void ar_openai_reject(struct ar_arena *a, struct ar_json_parser *json, int http, struct ar_str body,
		      struct ar_model_result *r);

/* An error object (or text) inside an answer that began well: sets outcome, category, message and retryable. */
void ar_openai_fail(struct ar_arena *a, struct ar_json error, struct ar_model_result *r);

/* How long the peer asks to wait, from `retry-after-ms` (first choice) and `retry-after` (seconds or HTTP date).
 * 0 when neither says anything of use; at most one day. */
int64_t ar_openai_retry_after(struct ar_str in_ms, struct ar_str after, ar_usec wall_now);

/* The text without the secret, cut to AR_OPENAI_EXCERPT bytes. A secret shorter than six bytes is none. */
struct ar_str ar_openai_mask(struct ar_arena *a, struct ar_str text, struct ar_str secret);

AR_END_DECLS

#endif
