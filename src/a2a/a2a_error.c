/* See a2a_error.h. Pure functions, any thread. */
#include "a2a_error.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
	int rpc, http;
	const char *status; /* of google.rpc */
	const char *reason; /* of ErrorInfo; NULL: it is no error of A2A's own */
} rows[AR_A2A_CODE_COUNT] = {
	[AR_A2A_TASK_NOT_FOUND] = { -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND" },
	[AR_A2A_TASK_NOT_CANCELABLE] = { -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE" },
	[AR_A2A_PUSH_NOT_SUPPORTED] = { -32003, 400, "FAILED_PRECONDITION",
					"PUSH_NOTIFICATION_NOT_SUPPORTED" },
	[AR_A2A_UNSUPPORTED_OPERATION] = { -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION" },
	[AR_A2A_CONTENT_TYPE] = { -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED" },
	[AR_A2A_NO_EXTENDED_CARD] = { -32007, 400, "FAILED_PRECONDITION",
				      "EXTENDED_AGENT_CARD_NOT_CONFIGURED" },
	[AR_A2A_EXTENSION_REQUIRED] = { -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED" },
	[AR_A2A_VERSION] = { -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED" },
	[AR_A2A_PARSE] = { -32700, 400, "INVALID_ARGUMENT", NULL },
	[AR_A2A_INVALID_REQUEST] = { -32600, 400, "INVALID_ARGUMENT", NULL },
	[AR_A2A_METHOD_NOT_FOUND] = { -32601, 404, "NOT_FOUND", NULL },
	[AR_A2A_INVALID_PARAMS] = { -32602, 400, "INVALID_ARGUMENT", NULL },
	[AR_A2A_NOT_ALLOWED] = { -32603, 403, "PERMISSION_DENIED", NULL },
	[AR_A2A_BUSY] = { -32603, 503, "UNAVAILABLE", NULL },
	[AR_A2A_INTERNAL] = { -32603, 500, "INTERNAL", NULL },
};

bool ar_a2a_fail(struct ar_a2a_failure *f, enum ar_a2a_code code, const char *field, const char *fmt, ...)
{
	va_list ap;

	f->code = code;
	snprintf(f->field, sizeof f->field, "%s", field ? field : "");
	va_start(ap, fmt);
	vsnprintf(f->why, sizeof f->why, fmt, ap);
	va_end(ap);
	return false;
}

int ar_a2a_http(enum ar_a2a_code code)
{
	return rows[code].http;
}

static void write_info(struct ar_jw *w, const struct ar_a2a_failure *f)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "@type", AR_STR("type.googleapis.com/google.rpc.ErrorInfo"));
	ar_jw_mstr(w, "reason", ar_str_from(rows[f->code].reason));
	ar_jw_mstr(w, "domain", AR_STR("a2a-protocol.org"));
	ar_jw_close(w);
}

static void write_bad_request(struct ar_jw *w, const struct ar_a2a_failure *f)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "@type", AR_STR("type.googleapis.com/google.rpc.BadRequest"));
	ar_jw_key(w, "fieldViolations");
	ar_jw_open_array(w);
	ar_jw_open(w);
	ar_jw_mstr(w, "field", ar_str_from(f->field));
	ar_jw_mstr(w, "description", ar_str_from(f->why));
	ar_jw_close(w);
	ar_jw_close_array(w);
	ar_jw_close(w);
}

static void write_details(struct ar_jw *w, const char *name, const struct ar_a2a_failure *f)
{
	if (!rows[f->code].reason && !f->field[0])
		return;
	ar_jw_key(w, name);
	ar_jw_open_array(w);
	if (rows[f->code].reason)
		write_info(w, f);
	if (f->field[0])
		write_bad_request(w, f);
	ar_jw_close_array(w);
}

void ar_a2a_write_rpc_error(struct ar_buf *out, struct ar_str id, const struct ar_a2a_failure *f)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jsonrpc", AR_STR("2.0"));
	ar_jw_mraw(&w, "id", ar_str_absent(id) ? AR_STR("null") : id);
	ar_jw_key(&w, "error");
	ar_jw_open(&w);
	ar_jw_mint(&w, "code", rows[f->code].rpc);
	ar_jw_mstr(&w, "message", ar_str_from(f->why));
	write_details(&w, "data", f);
	ar_jw_close(&w);
	ar_jw_close(&w);
}

void ar_a2a_write_rest_error(struct ar_buf *out, const struct ar_a2a_failure *f)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_key(&w, "error");
	ar_jw_open(&w);
	ar_jw_mint(&w, "code", rows[f->code].http);
	ar_jw_mstr(&w, "status", ar_str_from(rows[f->code].status));
	ar_jw_mstr(&w, "message", ar_str_from(f->why));
	write_details(&w, "details", f);
	ar_jw_close(&w);
	ar_jw_close(&w);
}
