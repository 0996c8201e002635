/* Arguments of a tool that also travel as HTTP headers, because the tool's schema says so ("x-mcp-header",
 * revision 2026-07-28). Pure. */
#ifndef AR_MCP_PARAM_HEADERS_H
#define AR_MCP_PARAM_HEADERS_H

#include "arena.h"
#include "json.h"

#define AR_MCP_PARAM_DEPTH 8

struct ar_mcp_param {
	struct ar_str header; /* without "Mcp-Param-" */
	struct ar_str path[AR_MCP_PARAM_DEPTH]; /* names from the arguments to the value */
	size_t depth;
};

struct ar_mcp_params {
	struct ar_mcp_param *list;
	size_t count;
};

AR_BEGIN_DECLS

/* Reads the marks of a schema into memory of the arena. AR_E_INVALID when one is not as the protocol wants
 * it: then the tool must not be offered. */
AR_MUST_USE enum ar_status ar_mcp_params_read(struct ar_arena *a, struct ar_json schema,
					      struct ar_mcp_params *ret, struct ar_error *err);

/* Adds a line "Mcp-Param-<header>: <value>\n" for each argument that is there and not null. */
void ar_mcp_params_write(const struct ar_mcp_params *params, struct ar_json args, struct ar_buf *out);

/* A value as HTTP can carry it: plain when it is visible ASCII, else in the protocol's base64 wrapping. */
void ar_mcp_header_value(struct ar_str value, struct ar_buf *out);

AR_END_DECLS

#endif
