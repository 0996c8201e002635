/* Folders of workspaces: says whether a folder that a caller names may be one, and makes those that nobody
 * names, below workspaces.dir. Opens a root itself and nothing in it: what is in it runs and is read behind a
 * boundary only. File systems are asked on another thread; everything else is the loop thread's. */
#ifndef AR_HOST_WORKSPACE_FOLDERS_H
#define AR_HOST_WORKSPACE_FOLDERS_H

#include "arena.h"
#include "config.h"
#include "control.h"
#include "ids.h"
#include "roots.h"

#include <uv.h>

struct ar_host_folders {
	uv_loop_t *loop; /* NULL: not open */
	struct ar_roots guarded; /* what no workspace may show */
	struct ar_sandbox_ids ids; /* with dir: who the folders that are made belong to */
	struct ar_str dir; /* with links followed; absent: none are made */
	int dir_fd; /* with dir */
	size_t pending; /* requests that a thread has */
};

/* AR_E_INVALID: workspaces.dir cannot be used; the sentence is for the operator. Texts are in the arena. */
AR_MUST_USE enum ar_status ar_host_folders_open(uv_loop_t *loop, const struct ar_config *c,
						struct ar_arena *a, struct ar_host_folders *ret,
						struct ar_error *err);

void ar_host_folders_find(void *folders, struct ar_folder_request *r); /* an ar_control_folder_fn */

/* Runs the loop until no request is left. Fine for what was never opened. */
void ar_host_folders_close(struct ar_host_folders *f);

/* open.c: settings of workspaces that cannot be meant together, with a sentence that names them. */
AR_MUST_USE enum ar_status ar_host_workspaces_check(const struct ar_config *c, struct ar_error *err);

#endif
