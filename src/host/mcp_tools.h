/* The list `mcp_servers` of the settings as sources of tools, one each. What the settings say wrong is
 * said before the start, not at the first call. Loop thread. */
#ifndef AR_HOST_MCP_TOOLS_H
#define AR_HOST_MCP_TOOLS_H

#include "config.h"
#include "toolbox.h"

#include <uv.h>

/* Fails when an entry cannot work, with the sentence for the operator. */
AR_MUST_USE enum ar_status ar_mcp_tools_check(const struct ar_config *c, struct ar_error *err);

/* Starts or calls the servers; they find out about their tools meanwhile. Programs run in `workspace`,
 * where there is one. *open counts the servers of which something is left: after the toolbox was closed
 * the loop has to run until it is 0, or processes would be cut short. */
void ar_mcp_tools_add(uv_loop_t *loop, const struct ar_config *c, struct ar_str workspace,
		      struct ar_toolbox *box, size_t *open);

#endif
