/* Writes the neutral model request as the JSON body of POST /chat/completions. Pure. */
#ifndef AR_PROVIDER_OPENAI_REQUEST_H
#define AR_PROVIDER_OPENAI_REQUEST_H

#include "json.h"
#include "provider.h"

AR_BEGIN_DECLS

/* Appends the body to `out`. AR_E_INVALID when the options are no JSON object or the parts of a message no JSON array. */
AR_MUST_USE enum ar_status ar_openai_request_write(const struct ar_model_request *r,
						   struct ar_json_parser *json, struct ar_buf *out,
						   struct ar_error *err);

AR_END_DECLS

#endif
