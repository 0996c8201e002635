/* What a server with workspaces has: their folders, what their files bring, and checkpoints of them. */
#include "host_priv.h"
#include "workspace/checkpoint_open.h"

enum ar_status ar_host_workspaces_check(const struct ar_config *c, struct ar_error *err)
{
	bool is_limited = c->workspaces.bytes > 0;

	for (size_t i = 0; i < c->tenants_count; i++)
		is_limited |= c->tenants[i].workspace_bytes > 0;
	if (!is_limited || c->workspaces.checkpoints > 0)
		return AR_OK;
	return ar_fail(
		err, AR_E_INVALID,
		"the space of workspaces (workspaces.bytes, workspace_bytes of tenants) is measured with "
		"checkpoints; set workspaces.checkpoints to 1 or more");
}

enum ar_status ar_host_workspaces_open(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	if (ar_host_workspaces_check(c, err) != AR_OK ||
	    ar_host_folders_open(r->loop, c, &r->arena, &r->folders, err) != AR_OK)
		return err->status;
	if (ar_str_absent(r->folders.dir))
		return AR_OK;
	ar_host_inspector_open(r->loop, c->context.instructions, r->redactor, &r->inspector);
	r->policy.inspects_workspaces = true;
	if (!r->tools.sandbox || c->workspaces.checkpoints <= 0)
		return AR_OK;
	r->checkpoints = ar_host_checkpoints_new(r->loop, r->tools.sandbox, r->folders.dir);
	r->policy.checkpoints = c->workspaces.checkpoints;
	r->removal = (struct ar_host_removal){ .folders = &r->folders, .port = r->checkpoints };
	return AR_OK;
}
