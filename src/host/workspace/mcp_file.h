/* The file .mcp.json of a workspace: MCP servers in the form that other programs use, too,
 * {"mcpServers":{NAME:{"command","args","env"}|{"type":"http","url"}}}. Its author may be hostile: every size
 * has a cap, and a name is one that tools may have. Pure; any thread. */
#ifndef AR_HOST_WORKSPACE_MCP_FILE_H
#define AR_HOST_WORKSPACE_MCP_FILE_H

#include "arena.h"
#include "workspace/servers.h"

/* NULL: at most AR_SERVERS_MAX servers are in `ret`, each usable or with its reason; else why the file cannot
 * be used, and there are none. ${NAME} is the value of a variable of the workspace (NAME=value in
 * `variables`; those of the daemon are not for it), ${NAME:-text} the text, if it has none. A server does not
 * get secrets: one that needs a variable with a secret (NAME alone) cannot be used. */
const char *ar_mcp_file_read(struct ar_str text, struct ar_texts variables, struct ar_arena *a,
			     struct ar_server *ret, size_t *ret_count);

#endif
