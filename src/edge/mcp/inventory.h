/* What a server offers, as the port shows it: built from the pages of tools/list, then immutable and shared
 * by the source and its open calls. Loop thread only. */
#ifndef AR_MCP_INVENTORY_H
#define AR_MCP_INVENTORY_H

#include "mcp.h"
#include "param_headers.h"

#define AR_MCP_TOOLS_MAX 1000

/* What the port does not show of a tool; same index. */
struct ar_mcp_remote {
	struct ar_str name; /* as the server has it */
	struct ar_mcp_params params;
};

struct ar_mcp_inventory {
	struct ar_arena arena;
	struct ar_tool *tools;
	struct ar_mcp_remote *remotes;
	size_t count;
	size_t refs;
	size_t left_out; /* tools of the server that are not offered */
	char why[256]; /* of the first one left out */
};

/* How one server's tools are read. */
struct ar_mcp_reading {
	struct ar_str server, origin;
	const char *const *allowed; /* NULL: all */
	bool is_browser; /* they work in a browser */
	bool trusted; /* annotations are believed */
	bool sends_headers; /* marks in the schemas count */
	bool is_of_workspace; /* the workspace itself brings it */
};

AR_BEGIN_DECLS

struct ar_mcp_inventory *ar_mcp_inventory_new(void);
struct ar_mcp_inventory *ar_mcp_inventory_ref(struct ar_mcp_inventory *v);
void ar_mcp_inventory_unref(struct ar_mcp_inventory *v); /* NULL is fine */

/* Adds the tools of one result of tools/list. What cannot be offered is left out and counted. AR_E_INVALID
 * when the result has no list, AR_E_LIMIT over AR_MCP_TOOLS_MAX. */
AR_MUST_USE enum ar_status ar_mcp_inventory_add(struct ar_mcp_inventory *v, const struct ar_mcp_reading *how,
						struct ar_json result, struct ar_error *err);

/* Index of the tool with this name for models; -1: none. */
ptrdiff_t ar_mcp_inventory_find(const struct ar_mcp_inventory *v, struct ar_str name);

/* Whether nobody could see a difference. */
bool ar_mcp_inventory_is_same(const struct ar_mcp_inventory *a, const struct ar_mcp_inventory *b);

AR_END_DECLS

#endif
