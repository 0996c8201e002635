/* Checkpoints of workspaces (port/checkpoint.h) by agent-files in the sandbox.
 *
 * Everything is called on the loop thread. A restore that could not do all is AR_E_IO with a message that
 * names the paths; its id and its list of changes are set then. close() calls on_done of what runs at once,
 * is not called from there, and the loop must run on for the processes to be waited for. */
#ifndef AR_EDGE_CHECKPOINTS_H
#define AR_EDGE_CHECKPOINTS_H

#include "boundary.h"
#include "checkpoint.h"

#include <uv.h>

#define AR_CHECKPOINTS_NAME_MAX 64

struct ar_checkpoints_options {
	struct ar_str dir; /* of all workspaces: real path, of this process alone */
	/* The names of the folders of a tenant and of a workspace below it; false: there are none. */
	bool (*name_folders)(struct ar_str tenant, struct ar_str workspace_id,
			     char ret_tenant[AR_CHECKPOINTS_NAME_MAX],
			     char ret_workspace[AR_CHECKPOINTS_NAME_MAX]);
};

AR_BEGIN_DECLS

/* The sandbox outlives it and all its processes. */
struct ar_checkpoints *ar_checkpoints_new(uv_loop_t *loop, struct ar_sandbox *sandbox,
					  const struct ar_checkpoints_options *o);

AR_END_DECLS

#endif
