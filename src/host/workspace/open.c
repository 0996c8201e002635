/* What a server with workspaces has: their folders, what their files bring, and checkpoints of them. */
#include "host_priv.h"
#include "workspace/checkpoint_open.h"

#include <string.h>

/* Every form but none has the tenant in it: there is no folder for everybody. */
static const struct {
	const char *form;
	enum ar_default_workspace is;
} defaults[] = {
	{ "none", AR_DEFAULT_NONE },
	{ "{tenant}", AR_DEFAULT_OF_TENANT },
	{ "{tenant}/{session}", AR_DEFAULT_OF_SESSION },
};

static enum ar_status read_default(const struct ar_config *c, enum ar_default_workspace *ret,
				   struct ar_error *err)
{
	size_t i = 0;

	while (i < AR_ARRAY_LEN(defaults) && strcmp(c->workspaces.default_, defaults[i].form) != 0)
		i++;
	if (i == AR_ARRAY_LEN(defaults))
		return ar_fail(err, AR_E_INVALID,
			       "workspaces.default '%.100s' is not none, {tenant} or {tenant}/{session}",
			       c->workspaces.default_);
	if (defaults[i].is && !*c->workspaces.dir)
		return ar_fail(err, AR_E_INVALID,
			       "workspaces.default needs workspaces.dir, in which the folders are made");
	if (defaults[i].is && *c->store)
		return ar_fail(err, AR_E_INVALID,
			       "workspaces.default cannot be used with a database server (store); sessions "
			       "name a workspace there");
	*ret = defaults[i].is;
	return AR_OK;
}

enum ar_status ar_host_workspaces_check(const struct ar_config *c, struct ar_error *err)
{
	bool is_limited = c->workspaces.bytes > 0;
	enum ar_default_workspace is;

	if (read_default(c, &is, err) != AR_OK)
		return err->status;
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
	    read_default(c, &r->policy.default_workspace, err) != AR_OK ||
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
	r->policy.folders = r->folders.dir;
	r->removal = (struct ar_host_removal){ .folders = &r->folders, .port = r->checkpoints };
	return AR_OK;
}

static bool has_turns(void *arg, struct ar_str workspace)
{
	return ar_engine_has_turns_in(((struct ar_host *)arg)->engine, workspace);
}

void ar_host_open_servers(struct ar_host *r, const struct ar_config *c)
{
	if (!r->inspector.loop || !r->tools.sandbox || c->workspaces.servers <= 0)
		return;
	r->servers = (struct ar_host_servers){ .loop = r->loop,
					       .config = c,
					       .box = r->tools.box,
					       .sandbox = r->tools.sandbox,
					       .processes = &r->processes,
					       .redactor = r->redactor,
					       .has_turns = has_turns,
					       .arg = r };
	ar_host_servers_open(&r->servers);
	r->policy.starts_servers = true;
}
