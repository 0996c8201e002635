/* Splits what a server writes into lines, one message each. Pure. */
#ifndef AR_MCP_LINE_READER_H
#define AR_MCP_LINE_READER_H

#include "buf.h"
#include "status.h"

struct ar_mcp_lines {
	bool (*on_line)(void *owner,
			struct ar_str line); /* not empty; valid during the call. False stops the feed. */
	void *owner;
	struct ar_buf rest; /* the unfinished line; its cap is that of a line */
};

AR_BEGIN_DECLS

/* AR_E_LIMIT when a line passes the cap: the stream is of no use afterwards. AR_E_CANCELED when on_line said
 * stop. */
AR_MUST_USE enum ar_status ar_mcp_lines_feed(struct ar_mcp_lines *r, struct ar_str bytes);

AR_END_DECLS

#endif
