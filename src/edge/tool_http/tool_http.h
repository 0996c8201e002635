/* Services behind the tool port: each tool is one HTTP request. The runtime decides whether and how often it
 * is called; here one start is at most one request on the wire, and the end says honestly whether it left.
 * Belongs to the loop thread. */
#ifndef AR_TOOL_HTTP_H
#define AR_TOOL_HTTP_H

#include "tool.h"

#include <uv.h>

#define AR_TOOL_HTTP_ANSWER_MAX (8u << 20) /* bytes of an answer */

/* One tool. Strings are copied but for the headers; NULL and empty are the same. */
struct ar_tool_http {
	const char *name; /* [A-Za-z0-9_-]{1,64} */
	const char *description;
	const char *method; /* GET, POST, PUT, PATCH, DELETE; none: POST */
	/* http or https. {member} after the host is replaced by that argument, encoded. GET and DELETE carry
	 * the arguments that have no place in it as its query, the others send all of them as a JSON
	 * object. */
	const char *url;
	const char *schema; /* JSON Schema of the arguments; none: any object */
	const char *const *headers; /* "Name: value"; not copied: each call sends what stands there then */
	size_t header_count;
	uint32_t timeout_ms; /* of one call; 0: 30 s */
	bool is_read_only;
	bool is_destructive;
	bool is_idempotent;
	bool is_browser; /* what the service does, it does in a browser */
};

struct ar_tool_http_options {
	const char *ca_file; /* certificates to trust instead of the system's; NULL: those */
};

AR_BEGIN_DECLS

/* Never NULL and ready at once. A tool that cannot work (name, address, headers, schema) is left out, and
 * `trouble` of the source says which and why. After close() the loop must run once more for the memory of its
 * connections to go. */
struct ar_tool_source *ar_tool_http_open(uv_loop_t *loop, const struct ar_tool_http *tools, size_t count,
					 const struct ar_tool_http_options *o);

AR_END_DECLS

#endif
