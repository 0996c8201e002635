/* The document that a handler of a hook is given: the pieces that the decision wrote, with the contents
 * they name put in and masked once more. Owner: the loop thread. */
#ifndef AR_ENGINE_HOOK_DOCUMENT_H
#define AR_ENGINE_HOOK_DOCUMENT_H

#include "buf.h"
#include "json.h"
#include "session.h"

struct ar_redactor;

/* `contents` are those of the parts that have a ref, in order. */
void ar_hook_compose(const struct ar_hook_part *parts, size_t count, const struct ar_str *contents,
		     const struct ar_redactor *redactor, struct ar_json_parser *json, struct ar_buf *out);

#endif
