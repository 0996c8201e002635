/* What a server with workspaces has: their folders, what their files bring, and checkpoints of them. */
#include "checkpoints.h"
#include "host_priv.h"
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

enum ar_status ar_host_workspaces_open(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	if (ar_host_folders_open(r->loop, c, &r->arena, &r->folders, err) != AR_OK)
		return err->status;
	if (ar_str_absent(r->folders.dir))
		return AR_OK;
	ar_host_inspector_open(r->loop, c->context.instructions, r->redactor, &r->inspector);
	r->policy.inspects_workspaces = true;
	if (!r->tools.sandbox || c->workspaces.checkpoints <= 0)
		return AR_OK;
	r->checkpoints = ar_checkpoints_new(r->loop, r->tools.sandbox,
					    &(struct ar_checkpoints_options){ .dir = r->folders.dir,
									      .name_folders = name_folders });
	r->policy.checkpoints = c->workspaces.checkpoints;
	return AR_OK;
}
