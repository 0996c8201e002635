/* What is sent for one call of a tool: the address with the arguments in it, the headers, the body. Pure but
 * for curl_slist. */
#ifndef AR_TOOL_HTTP_REQUEST_H
#define AR_TOOL_HTTP_REQUEST_H

#include "json.h"
#include "tool.h"

#include <curl/curl.h>

/* A tool as it was declared, checked. */
struct ar_http_plan {
	const char *method;
	const char *url; /* with {members} */
	const char *const *headers;
	size_t header_count;
	bool sends_body;
};

AR_BEGIN_DECLS

/* Whether this can be asked for at all: scheme, host, no member before the end of the host, no control
 * characters in a header. */
AR_MUST_USE enum ar_status ar_http_plan_check(const struct ar_http_plan *p, struct ar_error *err);

/* The host of an address without user, password and port; empty when it has none. */
struct ar_str ar_http_host(struct ar_str url);

/* The address of a call. AR_E_INVALID: an argument that the address needs is not there, or would change where
 * it leads. The caller frees with ar_free. */
AR_MUST_USE enum ar_status ar_http_url(const struct ar_http_plan *p, struct ar_json args, char **ret,
				       struct ar_error *err);

/* Its headers: the declared ones, the ids of the call, and what is missing of the usual ones. The caller
 * frees with curl_slist_free_all. */
struct curl_slist *ar_http_headers(const struct ar_http_plan *p, const struct ar_tool_call *call);

AR_END_DECLS

#endif
