/* The servers port: MCP servers that trusted workspaces name, each in the sandbox in the folder of its
 * workspace (edge/mcp_contained), its tools in the toolbox for the sessions there. Sessions in one folder
 * share them. They end when no turn has needed them for a while, and when the file that names them changes.
 * Loop thread. */
#ifndef AR_HOST_WORKSPACE_SERVER_HOST_H
#define AR_HOST_WORKSPACE_SERVER_HOST_H

#include "boundary.h"
#include "config.h"
#include "list.h"
#include "process_host.h"
#include "redact.h"
#include "workspace/servers.h"
#include "toolbox.h"

#include <uv.h>

struct ar_host_servers {
	struct ar_servers port;
	uv_loop_t *loop; /* NULL: not open */
	uv_timer_t timer; /* runs while something runs or is waited for */
	const struct ar_config *config; /* borrowed, as all below */
	struct ar_toolbox *box;
	struct ar_sandbox *sandbox;
	struct ar_host_processes *processes; /* whose proxy serves sandboxes with a network */
	const struct ar_redactor *redactor;
	/* Whether a turn works in the workspace; set before the first start */
	bool (*has_turns)(void *arg, struct ar_str workspace);
	void *arg;
	struct ar_list groups; /* struct group */
	struct ar_list ending; /* the same: something is left of a server */
	struct ar_list waiting; /* struct waiting */
	size_t open; /* servers of which something is left, a process above all */
	uint64_t count; /* that were ever started */
};

/* Everything but `port`, `timer` and the lists is set. */
void ar_host_servers_open(struct ar_host_servers *h);

/* Ends all of them, while the toolbox is there. Fine for what was never opened, as the next one. */
void ar_host_servers_end(struct ar_host_servers *h);

/* After the toolbox was closed, some of whose sources are freed by the loop: runs it until nothing is left
 * of the servers; it has to run on for the timer. */
void ar_host_servers_close(struct ar_host_servers *h);

#endif
