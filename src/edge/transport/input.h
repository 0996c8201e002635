/* The JSON input of a command when it does not come as the body: from path, query string and
 * Last-Event-ID. */
#ifndef AR_TRANSPORT_INPUT_H
#define AR_TRANSPORT_INPUT_H

#include "json.h"
#include "router.h"

/* Decodes %XX (and, in a query, '+') into out; false on a broken escape or on bytes that are not UTF-8. */
bool ar_percent_decode(struct ar_str text, bool is_query, struct ar_buf *out);

/* Writes one JSON object of the path parameters and the query, typed as the command's input members are. A
 * present `after` replaces the query's `after` and `fromSequence`. Refuses with invalid_input, naming the
 * parameter. */
AR_MUST_USE enum ar_status ar_input_from_target(const struct ar_http_route *r, struct ar_str query,
						struct ar_str after, struct ar_buf *out,
						struct ar_error *err);

/* Copies the JSON object `body` with the value of an Idempotency-Key header as its
 * idempotencyKey. Refuses with invalid_input when the body has another one or the value is no
 * text, and with invalid_json. */
AR_MUST_USE enum ar_status ar_input_with_key(struct ar_json_parser *parser, struct ar_str body,
					     struct ar_str key, struct ar_buf *out, struct ar_error *err);

/* Copies the JSON object `body` with `after` as the only member that says where to start. Refuses with
 * invalid_json. */
AR_MUST_USE enum ar_status ar_input_with_after(struct ar_json_parser *parser, struct ar_str body,
					       struct ar_str after, struct ar_buf *out, struct ar_error *err);

#endif
