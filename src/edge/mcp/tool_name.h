/* The name under which a model knows a server's tool. Pure. */
#ifndef AR_MCP_TOOL_NAME_H
#define AR_MCP_TOOL_NAME_H

#include "arena.h"

AR_BEGIN_DECLS

/* `<server>_<tool>` in [A-Za-z0-9_-], at most AR_TOOL_NAME_MAX long. Other characters become '_'; with
 * `marked`, and whenever it had to be cut, it ends in eight characters that depend on both full names, so
 * that two tools do not meet in one name. */
struct ar_str ar_mcp_tool_name(struct ar_arena *a, struct ar_str server, struct ar_str tool, bool marked);

AR_END_DECLS

#endif
