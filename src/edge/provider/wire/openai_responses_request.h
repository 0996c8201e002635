/* Writes the neutral model request as the JSON body of POST /responses. Pure. */
#ifndef AR_PROVIDER_OPENAI_RESPONSES_REQUEST_H
#define AR_PROVIDER_OPENAI_RESPONSES_REQUEST_H

#include "json.h"
#include "provider.h"

AR_BEGIN_DECLS

/* See ar_wire.write. */
AR_MUST_USE enum ar_status ar_openai_responses_write(const struct ar_model_request *r, struct ar_str version,
						     struct ar_json_parser *json, struct ar_buf *out,
						     struct ar_error *err);

AR_END_DECLS

#endif
