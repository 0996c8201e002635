/* See checkpoint_open.h. */
#include "workspace/checkpoint_open.h"

#include "tenant.h"

#include <stdio.h>

/* The same folders that workspace/folders.c makes. */
static bool name_folders(struct ar_str tenant, struct ar_str workspace_id,
			 char ret_tenant[AR_CHECKPOINTS_NAME_MAX],
			 char ret_workspace[AR_CHECKPOINTS_NAME_MAX])
{
	struct ar_str key = ar_workspace_key_in(workspace_id);
	char home[AR_SESSION_KEY_LEN];

	if (ar_str_absent(key))
		return false;
	ar_tenant_home(tenant, home);
	snprintf(ret_tenant, AR_CHECKPOINTS_NAME_MAX, "%.*s", AR_SESSION_KEY_LEN, home);
	snprintf(ret_workspace, AR_CHECKPOINTS_NAME_MAX, "%.*s", AR_STR_ARG(key));
	return true;
}

struct ar_checkpoints *ar_host_checkpoints_new(uv_loop_t *loop, struct ar_sandbox *sandbox, struct ar_str dir)
{
	return ar_checkpoints_new(loop, sandbox,
				  &(struct ar_checkpoints_options){ .dir = dir,
								    .name_folders = name_folders });
}
