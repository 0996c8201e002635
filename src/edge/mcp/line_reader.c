/* See line_reader.h. Pure. */
#include "line_reader.h"

#include <string.h>

static bool deliver_line(struct ar_mcp_lines *r, struct ar_str line)
{
	if (line.len > 0 && line.p[line.len - 1] == '\r')
		line.len--;
	return line.len == 0 || r->on_line(r->owner, line);
}

/* A line that came whole in one feed is read in place; only a split one is copied. */
static enum ar_status end_line(struct ar_mcp_lines *r, struct ar_str tail)
{
	bool go_on;

	if (r->rest.len == 0) {
		if (tail.len > r->rest.cap)
			return AR_E_LIMIT;
		return deliver_line(r, tail) ? AR_OK : AR_E_CANCELED;
	}
	ar_buf_adds(&r->rest, tail);
	if (r->rest.failed)
		return AR_E_LIMIT;
	go_on = deliver_line(r, ar_buf_str(&r->rest));
	ar_buf_clear(&r->rest);
	return go_on ? AR_OK : AR_E_CANCELED;
}

enum ar_status ar_mcp_lines_feed(struct ar_mcp_lines *r, struct ar_str bytes)
{
	while (bytes.len > 0) {
		const char *end = memchr(bytes.p, '\n', bytes.len);
		enum ar_status st;
		size_t n;

		if (!end) {
			ar_buf_adds(&r->rest, bytes);
			return r->rest.failed ? AR_E_LIMIT : AR_OK;
		}
		n = (size_t)(end - bytes.p);
		st = end_line(r, ar_str_sub(bytes, 0, n));
		if (st != AR_OK)
			return st;
		bytes = ar_str_sub(bytes, n + 1, bytes.len);
	}
	return AR_OK;
}
