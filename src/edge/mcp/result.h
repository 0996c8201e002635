/* What a server answers to tools/call, as the port shows it. Pure. */
#ifndef AR_MCP_RESULT_H
#define AR_MCP_RESULT_H

#include "json.h"
#include "rpc.h"
#include "tool.h"

AR_BEGIN_DECLS

/* A complete result. Everything in *ret is in the arena. */
void ar_mcp_result_read(struct ar_arena *a, struct ar_json result, struct ar_tool_result *ret);

/* An answer that is an error of JSON-RPC: by its code the tool did not run, or may have. */
void ar_mcp_result_refused(struct ar_arena *a, const struct ar_mcp_message *m, struct ar_tool_result *ret);

/* An end without an answer. `category` is a literal; `why` is copied. */
void ar_mcp_result_end(struct ar_arena *a, enum ar_tool_outcome outcome, const char *category,
		       const char *why, struct ar_tool_result *ret);

AR_END_DECLS

#endif
