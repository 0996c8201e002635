/* The text in front of a reply's JSON. Everything is uncacheable and not to be sniffed. Pure. */
#include "conn.h"

#include <stdio.h>

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 410, "Gone" },
	{ 413, "Content Too Large" },
	{ 415, "Unsupported Media Type" },
	{ 417, "Expectation Failed" },
	{ 421, "Misdirected Request" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
};

static const char *reason_of(int status)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(reasons); i++) {
		if (reasons[i].status == status)
			return reasons[i].reason;
	}
	return "";
}

void ar_reply_format(struct ar_reply *r)
{
	int len = snprintf(r->head, sizeof r->head,
			   "HTTP/1.1 %d %s\r\n"
			   "Content-Type: application/json\r\n"
			   "Content-Length: %zu\r\n"
			   "Cache-Control: no-store\r\n"
			   "X-Content-Type-Options: nosniff\r\n"
			   "%s%s%s%s%s\r\n",
			   r->status, reason_of(r->status), r->body.len, r->allow ? "Allow: " : "",
			   r->allow ? r->allow : "", r->allow ? "\r\n" : "",
			   r->status == 503 || r->status == 429 ? "Retry-After: 1\r\n" : "",
			   r->is_close ? "Connection: close\r\n" : "");

	AR_ASSERT(len > 0 && (size_t)len < sizeof r->head);
	r->head_len = (size_t)len;
}
