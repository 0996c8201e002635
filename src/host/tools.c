/* See tools.h. */
#include "tools.h"

#include "agent_tools.h"
#include "sandbox_open.h"
#include "exec_tools.h"
#include "hash.h"
#include "http_tools.h"
#include "log.h"
#include "mcp_tools.h"
#include "secrets.h"
#include "tool_files.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One name for the folder, whatever the process's own folder is and becomes. */
static enum ar_status find_workspace(const char *setting, struct ar_arena *a, struct ar_str *ret,
				     struct ar_error *err)
{
	char path[PATH_MAX];
	struct stat st;

	if (!*setting)
		return AR_OK;
	if (!realpath(setting, path) || stat(path, &st) != 0)
		return ar_fail(err, AR_E_INVALID, "tools.workspace '%.100s' cannot be opened: %s", setting,
			       strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return ar_fail(err, AR_E_INVALID,
			       "tools.workspace '%.100s' is not a directory; name one, or leave it empty",
			       setting);
	*ret = ar_arena_str(a, ar_str_from(path));
	return AR_OK;
}

/* A server's own words may be among them. */
static void log_trouble(struct ar_tools *t)
{
	const char *trouble = ar_toolbox_trouble(t->box);
	uint64_t hash = trouble ? ar_hash_key(ar_str_from(trouble)) : 0;
	struct ar_arena arena = { 0 };

	if (hash == t->shown_trouble)
		return;
	t->shown_trouble = hash;
	if (trouble)
		ar_log_line(t->log, "warning", "tools are missing",
			    ar_secrets_mask(t->redactor, trouble, &arena).p);
	else
		ar_log_line(t->log, "info", "all tools are available", NULL);
	ar_arena_fini(&arena);
}

/* Decisions look into the inventory at any time: it is made anew before the next one. */
static void refresh(void *arg)
{
	struct ar_tools *t = arg;

	t->policy->inventory = ar_toolbox_inventory(t->box);
	log_trouble(t);
}

bool ar_tools_are_ready(const struct ar_tools *t)
{
	return !t->policy || !t->policy->inventory || t->policy->inventory->is_ready;
}

/* What works in a folder runs behind a boundary, so both come together. Both are there for sessions with
 * workspaces of their own, too; what stands in the way then stops nobody else. A server without either starts
 * without the tests of the sandbox. */
static enum ar_status open_folder_tools(struct ar_tools *t, const struct ar_config *c, struct ar_error *err)
{
	struct ar_tool_files_options options = { .max_result_bytes = c->tools.max_result_bytes };

	if (ar_str_absent(t->policy->workspace) && !*c->workspaces.dir)
		return AR_OK;
	if (ar_host_sandbox_open(c, &t->sandbox, err) != AR_OK) {
		if (!ar_str_absent(t->policy->workspace))
			return err->status;
		ar_log_line(t->log, "warning", "workspaces have no tools", err->msg);
		return AR_OK;
	}
	t->policy->sandbox = ar_sandbox_host_of(t->sandbox);
	t->files = ar_tool_files_new(t->loop, t->sandbox, &options);
	return AR_OK;
}

static enum ar_status open_peers(struct ar_tools *t, const struct ar_config *c, struct ar_error *err)
{
	return ar_delegates_open(&(struct ar_host_peers_options){ .loop = t->loop,
								  .config = c,
								  .log = t->log,
								  .metrics = t->metrics },
				 &t->delegates, err);
}

enum ar_status ar_tools_open(uv_loop_t *loop, const struct ar_config *c, struct ar_policy *policy,
			     struct ar_arena *a, struct ar_tools *ret, struct ar_error *err)
{
	ret->loop = loop;
	ret->policy = policy;
	if (find_workspace(c->tools.workspace, a, &policy->workspace, err) != AR_OK ||
	    ar_mcp_tools_check(c, err) != AR_OK || ar_http_tools_open(loop, c, &ret->http, err) != AR_OK ||
	    open_peers(ret, c, err) != AR_OK)
		return err->status;
	return open_folder_tools(ret, c, err);
}

void ar_tools_offer(struct ar_tools *ret, const struct ar_config *c, struct ar_tool_source *files)
{
	ret->box = ar_toolbox_new();
	if (ret->http)
		ar_toolbox_add(ret->box, ret->http);
	ret->http = NULL;
	if (ret->delegates)
		ar_toolbox_add(ret->box, ar_delegates_source(ret->delegates));
	if (ret->files) {
		ar_toolbox_add(ret->box, files);
		ar_toolbox_add(ret->box,
			       ar_exec_tools_new(ret->loop, &(struct ar_exec_options){
								    .timeout_ms = c->process.timeout_ms,
								    .max_ms = c->process.max_ms }));
	}
	if (c->subagents.tools)
		ar_toolbox_add(ret->box, ar_agent_tools_new());
	ar_mcp_tools_add(ret->loop, c, ret->policy->workspace, ret->box, &ret->open_servers);
	ar_toolbox_on_change(ret->box, refresh, ret);
	refresh(ret);
}

void ar_tools_close(struct ar_tools *t)
{
	if (t->policy)
		t->policy->inventory = NULL;
	if (t->http)
		t->http->v->close(t->http);
	ar_toolbox_close(t->box);
	t->box = NULL;
	ar_delegates_close(t->delegates);
	if (t->files)
		t->files->v->close(t->files);
	t->files = NULL;
	while (t->open_servers > 0)
		uv_run(t->loop, UV_RUN_ONCE);
}

void ar_tools_free(struct ar_tools *t)
{
	ar_delegates_free(t->delegates);
	t->delegates = NULL;
	ar_sandbox_close(t->sandbox);
	t->sandbox = NULL;
}
