/* A server's program as a child of ours: its own process group, its three standard streams, and an end that
 * leaves nothing behind. Watching the descriptors is left to the owner. Loop thread only. */
#ifndef AR_MCP_CHILD_H
#define AR_MCP_CHILD_H

#include "mcp.h"

#include <sys/types.h>

struct ar_mcp_child {
	pid_t pid; /* also the id of its group */
	int exit_fd; /* readable when it has ended */
	int in, out, err; /* our ends; the owner takes and closes them */
	pid_t guard;
	int guard_fd;
};

AR_BEGIN_DECLS

/* On success the child runs and ar_mcp_child_end is due. */
AR_MUST_USE enum ar_status ar_mcp_child_start(const struct ar_mcp_options *o, struct ar_mcp_child *ret,
					      struct ar_error *err);

/* To every process of its group; the group stays ours until ar_mcp_child_end. */
void ar_mcp_child_signal(const struct ar_mcp_child *c, int signum);

/* Kills what is left of the group, waits for the child (it must have ended or been killed) and dismisses the
 * guard. Returns the status as waitpid has it. Does not touch in, out and err. */
int ar_mcp_child_end(struct ar_mcp_child *c);

AR_END_DECLS

#endif
