/* Writes the neutral model request as the path and JSON body of a streamGenerateContent call. Pure. */
#ifndef AR_PROVIDER_GEMINI_REQUEST_H
#define AR_PROVIDER_GEMINI_REQUEST_H

#include "json.h"
#include "provider.h"

AR_BEGIN_DECLS

/* See ar_wire.path. The model is part of it; whatever a turn names it stays one part of the path. */
void ar_gemini_path(const struct ar_model_request *r, struct ar_buf *out);

/* See ar_wire.write. */
AR_MUST_USE enum ar_status ar_gemini_write(const struct ar_model_request *r, struct ar_str version,
					   struct ar_json_parser *json, struct ar_buf *out,
					   struct ar_error *err);

AR_END_DECLS

#endif
