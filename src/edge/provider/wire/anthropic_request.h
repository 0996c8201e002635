/* Writes the neutral model request as the JSON body of POST /v1/messages. Pure. */
#ifndef AR_PROVIDER_ANTHROPIC_REQUEST_H
#define AR_PROVIDER_ANTHROPIC_REQUEST_H

#include "json.h"
#include "provider.h"

AR_BEGIN_DECLS

/* See ar_wire.write. Versions from 2026-10-21 on take no sampling options, and system messages where they
 * were said. */
AR_MUST_USE enum ar_status ar_anthropic_write(const struct ar_model_request *r, struct ar_str version,
					      struct ar_json_parser *json, struct ar_buf *out,
					      struct ar_error *err);

AR_END_DECLS

#endif
