/* Checkpoints of the workspaces that are made below a folder (workspace/folders.h). Loop thread. */
#ifndef AR_HOST_WORKSPACE_CHECKPOINT_OPEN_H
#define AR_HOST_WORKSPACE_CHECKPOINT_OPEN_H

#include "checkpoints.h"

/* dir: of all workspaces; outlives it. */
struct ar_checkpoints *ar_host_checkpoints_new(uv_loop_t *loop, struct ar_sandbox *sandbox,
					       struct ar_str dir);

#endif
