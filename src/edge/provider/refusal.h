/* What the refusal of a model server means: status codes and error objects of all wire formats to category,
 * sentence and whether trying again can help. Pure; strings of the result live in the arena given. */
#ifndef AR_PROVIDER_REFUSAL_H
#define AR_PROVIDER_REFUSAL_H

#include "arena.h"
#include "json.h"
#include "provider.h"

AR_BEGIN_DECLS

/* An answer with an HTTP status that is no success: sets outcome, category, message, payload, retryable,
 * http, and retry_after_ms where the body says so. The body may be anything. */
void ar_refusal_reject(struct ar_arena *a, struct ar_json_parser *json, int http, struct ar_str body,
		       struct ar_model_result *r);

/* An error object (or text) inside an answer that began well: sets outcome, category, message, payload,
 * retryable and retry_after_ms. */
void ar_refusal_fail(struct ar_arena *a, struct ar_json error, struct ar_model_result *r);

AR_END_DECLS

#endif
