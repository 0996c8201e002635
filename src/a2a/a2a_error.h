/* The errors of A2A 1.0, as both bindings write them: the code of JSON-RPC, the HTTP status, and the details
 * that a program reads (ErrorInfo, BadRequest). Pure functions over their arguments. */
#ifndef AR_A2A_ERROR_H
#define AR_A2A_ERROR_H

#include "json.h"

enum ar_a2a_code {
	AR_A2A_FINE,
	AR_A2A_TASK_NOT_FOUND,
	AR_A2A_TASK_NOT_CANCELABLE,
	AR_A2A_PUSH_NOT_SUPPORTED,
	AR_A2A_UNSUPPORTED_OPERATION,
	AR_A2A_CONTENT_TYPE,
	AR_A2A_NO_EXTENDED_CARD,
	AR_A2A_EXTENSION_REQUIRED,
	AR_A2A_VERSION,
	AR_A2A_PARSE, /* no JSON */
	AR_A2A_INVALID_REQUEST, /* JSON, but no JSON-RPC request */
	AR_A2A_METHOD_NOT_FOUND,
	AR_A2A_INVALID_PARAMS,
	AR_A2A_NOT_ALLOWED, /* the caller has no right to it */
	AR_A2A_BUSY, /* limits, or no room: repeat later */
	AR_A2A_INTERNAL,
	AR_A2A_CODE_COUNT,
};

#define AR_A2A_WHY 320

/* A zeroed one is none. */
struct ar_a2a_failure {
	enum ar_a2a_code code;
	char why[AR_A2A_WHY];
	char field[64]; /* of AR_A2A_INVALID_PARAMS: what is wrong; empty: not one member */
};

/* Returns false, so that a check can end with it. `field` may be NULL. */
bool ar_a2a_fail(struct ar_a2a_failure *f, enum ar_a2a_code code, const char *field, const char *fmt, ...)
	AR_PRINTF(4, 5);

/* The HTTP status of the binding HTTP+JSON. */
int ar_a2a_http(enum ar_a2a_code code);

/* {"jsonrpc","id","error"}; id is JSON text, absent: null. */
void ar_a2a_write_rpc_error(struct ar_buf *out, struct ar_str id, const struct ar_a2a_failure *f);

/* {"error":{"code","status","message","details"}} */
void ar_a2a_write_rest_error(struct ar_buf *out, const struct ar_a2a_failure *f);

#endif
