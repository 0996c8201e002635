/* What the end of a request means for the call: pure tables over how the transfer ended, the status, and the
 * type of the body. */
#ifndef AR_TOOL_HTTP_ANSWER_H
#define AR_TOOL_HTTP_ANSWER_H

#include "json.h"
#include "tool.h"
#include "transfer.h"

struct ar_http_end {
	const struct ar_tool *tool;
	enum ar_transfer_end end;
	const char *why; /* libcurl's sentence */
	bool is_sent; /* the request left */
	int status;
	struct ar_str type; /* Content-Type; absent: none */
	struct ar_str retry_after; /* absent: none */
	struct ar_str body;
};

AR_BEGIN_DECLS

/* What the arena and the parser hold lives as long as they do. */
struct ar_tool_result ar_http_result(const struct ar_http_end *e, struct ar_json_parser *p,
				     struct ar_arena *a);

AR_END_DECLS

#endif
