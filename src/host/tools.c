/* See tools.h. */
#include "tools.h"

#include "http_tools.h"
#include "local_tools.h"
#include "log.h"
#include "mcp.h"

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
			       "tools.workspace '%.100s' is no folder; name one, or leave it empty", setting);
	*ret = ar_arena_str(a, ar_str_from(path));
	return AR_OK;
}

/* Ended by NULL; NULL for an empty one. */
static const char *const *list_of(const struct ar_config_strings *strings, struct ar_arena *a)
{
	const char **list = ar_arena_alloc(a, (strings->count + 1) * sizeof(*list));

	for (size_t i = 0; i < strings->count; i++)
		list[i] = strings->v[i];
	return strings->count > 0 ? list : NULL;
}

static const char *unless_empty(const char *text)
{
	return *text ? text : NULL;
}

static enum ar_status check_server(const struct ar_config_mcp_servers *m, struct ar_error *err)
{
	if (!*m->command == !*m->url)
		return ar_fail(err, AR_E_INVALID,
			       "mcp_servers: '%.60s' needs a command or a url, and not both", m->name);
	return AR_OK;
}

static struct ar_tool_source *open_server(uv_loop_t *loop, const struct ar_config_mcp_servers *m,
					  struct ar_arena *a)
{
	static const enum ar_mcp_scope scopes[] = {
		[AR_CONFIG_MCP_SERVERS_SCOPE_SHARED] = AR_MCP_SHARED,
		[AR_CONFIG_MCP_SERVERS_SCOPE_SESSION] = AR_MCP_PER_SESSION,
	};
	static const enum ar_mcp_era eras[] = {
		[AR_CONFIG_MCP_SERVERS_ERA_AUTO] = AR_MCP_AUTO,
		[AR_CONFIG_MCP_SERVERS_ERA_LEGACY] = AR_MCP_LEGACY,
		[AR_CONFIG_MCP_SERVERS_ERA_MODERN] = AR_MCP_MODERN,
	};

	return ar_mcp_source_new(loop, &(struct ar_mcp_options){
					       .name = m->name,
					       .command = unless_empty(m->command),
					       .args = list_of(&m->args, a),
					       .env = list_of(&m->env, a),
					       .url = unless_empty(m->url),
					       .headers = list_of(&m->headers, a),
					       .tools = list_of(&m->tools, a),
					       .scope = scopes[m->scope],
					       .era = eras[m->era],
					       .trust_annotations = m->trust_annotations,
					       .connect_timeout_ms = (uint32_t)m->connect_timeout_ms,
					       .call_timeout_ms = (uint32_t)m->call_timeout_ms });
}

/* Decisions look into the inventory at any time: it is made anew before the next one. */
static void refresh(void *arg)
{
	struct ar_tools *t = arg;
	const char *trouble = ar_toolbox_trouble(t->box);

	t->policy->inventory = ar_toolbox_inventory(t->box);
	if (trouble)
		ar_log_line("warning", "some tools are missing", trouble);
}

enum ar_status ar_tools_open(uv_loop_t *loop, const struct ar_config *c, struct ar_policy *policy,
			     struct ar_arena *a, struct ar_tools *ret, struct ar_error *err)
{
	struct ar_tool_source *http;

	for (size_t i = 0; i < c->mcp_servers_count; i++) {
		if (check_server(&c->mcp_servers[i], err) != AR_OK)
			return err->status;
	}
	if (find_workspace(c->tools.workspace, a, &ret->workspace, err) != AR_OK ||
	    ar_http_tools_open(loop, c, &http, err) != AR_OK)
		return err->status;
	ret->policy = policy;
	ret->box = ar_toolbox_new();
	if (!ar_str_absent(ret->workspace))
		ar_toolbox_add(ret->box,
			       ar_local_tools_new(loop,
						  &(struct ar_local_options){
							  .max_result_bytes =
								  (uint32_t)c->tools.max_result_bytes }));
	if (http)
		ar_toolbox_add(ret->box, http);
	for (size_t i = 0; i < c->mcp_servers_count; i++)
		ar_toolbox_add(ret->box, open_server(loop, &c->mcp_servers[i], a));
	ar_toolbox_on_change(ret->box, refresh, ret);
	refresh(ret);
	return AR_OK;
}

void ar_tools_close(struct ar_tools *t)
{
	if (t->policy)
		t->policy->inventory = NULL;
	ar_toolbox_close(t->box);
	t->box = NULL;
}
