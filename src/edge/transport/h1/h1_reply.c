/* The text in front of a reply's body. Nothing is to be sniffed, and hardly anything to be kept. Pure. */
#include "h1/h1_conn.h"

#include <string.h>

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 304, "Not Modified" },
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

/* A head that is being written. */
struct head {
	char *p;
	size_t len, room;
};

/* Our own headers are short and those of a request bounded: running out of room is a bug. */
static void add(struct head *h, struct ar_str text)
{
	AR_ASSERT(text.len <= h->room - h->len);
	if (text.len)
		memcpy(h->p + h->len, text.p, text.len);
	h->len += text.len;
}

static void add_number(struct head *h, size_t v)
{
	char text[20];
	size_t at = sizeof text;

	do
		text[--at] = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	add(h, (struct ar_str){ text + at, sizeof text - at });
}

static void add_headers(const struct ar_reply *r, struct head *h)
{
	for (size_t i = 0; i < r->header_count; i++) {
		add(h, ar_str_from(r->headers[i].name));
		add(h, AR_STR(": "));
		add(h, r->headers[i].value);
		add(h, AR_STR("\r\n"));
	}
}

#define STATUS_200 "HTTP/1.1 200 OK\r\n"

#define NOT_MODIFIED 304 /* says nothing of the content that it does not have */

/* Nearly every answer begins with the same bytes. */
static void add_status(const struct ar_reply *r, struct head *h)
{
	if (r->status == 200 && !r->type) {
		add(h, AR_STR(STATUS_200 "Content-Type: application/json\r\nContent-Length: "));
		return;
	}
	add(h, AR_STR("HTTP/1.1 "));
	add_number(h, (size_t)r->status);
	add(h, AR_STR(" "));
	add(h, ar_str_from(reason_of(r->status)));
	if (r->status == NOT_MODIFIED)
		return;
	add(h, AR_STR("\r\nContent-Type: "));
	add(h, r->type ? ar_str_from(r->type) : AR_STR("application/json"));
	add(h, AR_STR("\r\nContent-Length: "));
}

size_t ar_h1_reply_format(const struct ar_reply *r, bool is_close, char *head, size_t room)
{
	struct head h = { head, 0, room };

	add_status(r, &h);
	if (r->status != NOT_MODIFIED)
		add_number(&h, r->body.len);
	add(&h, AR_STR("\r\nCache-Control: "));
	add(&h, r->cache ? ar_str_from(r->cache) : AR_STR("no-store"));
	add(&h, AR_STR("\r\nX-Content-Type-Options: nosniff\r\n"));
	add_headers(r, &h);
	add(&h, is_close ? AR_STR("Connection: close\r\n\r\n") : AR_STR("\r\n"));
	return h.len;
}

size_t ar_h1_stream_format(const struct ar_reply *r, char *head, size_t room)
{
	struct head h = { head, 0, room };

	add(&h, AR_STR(STATUS_200 "Content-Type: text/event-stream\r\n"
				  "Cache-Control: no-store\r\n"
				  "X-Accel-Buffering: no\r\n"
				  "X-Content-Type-Options: nosniff\r\n"));
	add_headers(r, &h);
	add(&h, AR_STR("Connection: close\r\n\r\n"));
	return h.len;
}
