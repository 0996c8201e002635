/* See mcp_tools.h. */
#include "mcp_tools.h"

#include "arena.h"
#include "mcp.h"

#include <strings.h>

static const enum ar_mcp_scope scope_of[] = {
	[AR_CONFIG_MCP_SERVERS_SCOPE_SHARED] = AR_MCP_SHARED,
	[AR_CONFIG_MCP_SERVERS_SCOPE_SESSION] = AR_MCP_PER_SESSION,
};

static const enum ar_mcp_era era_of[] = {
	[AR_CONFIG_MCP_SERVERS_ERA_AUTO] = AR_MCP_AUTO,
	[AR_CONFIG_MCP_SERVERS_ERA_LEGACY] = AR_MCP_LEGACY,
	[AR_CONFIG_MCP_SERVERS_ERA_MODERN] = AR_MCP_MODERN,
};

static const char *unless_empty(const char *text)
{
	return text && *text ? text : NULL;
}

static bool is_http(const char *url)
{
	return strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
}

enum ar_status ar_mcp_tools_check(const struct ar_config *c, struct ar_error *err)
{
	for (size_t i = 0; i < c->mcp_servers_count; i++) {
		const struct ar_config_mcp_servers *s = &c->mcp_servers[i];
		const char *url = unless_empty(s->url);

		if (!unless_empty(s->command) == !url)
			return ar_fail(
				err, AR_E_INVALID,
				"mcp_servers[%zu] (%s): it needs a command or a url, and only one of them", i,
				s->name);
		if (url && !is_http(url))
			return ar_fail(err, AR_E_INVALID,
				       "mcp_servers[%zu] (%s): its url must begin with http:// or https://",
				       i, s->name);
	}
	return AR_OK;
}

/* As a list that ends with NULL; NULL when nothing is named. */
static const char *const *words(struct ar_arena *a, const struct ar_config_strings *from)
{
	const char **list;

	if (from->count == 0)
		return NULL;
	list = ar_arena_alloc(a, (from->count + 1) * sizeof(*list));
	for (size_t i = 0; i < from->count; i++)
		list[i] = from->v[i];
	return list;
}

static void on_gone(void *open)
{
	(*(size_t *)open)--;
}

static struct ar_tool_source *open_server(uv_loop_t *loop, const struct ar_config_mcp_servers *s,
					  struct ar_str workspace, size_t *open)
{
	struct ar_arena arena = { 0 };
	struct ar_mcp_options o = {
		.name = s->name,
		.command = unless_empty(s->command),
		.args = words(&arena, &s->args),
		.env = s->env.v,
		.workdir = s->start_in_workspace && !ar_str_absent(workspace) ? workspace.p : "/",
		.url = unless_empty(s->url),
		.headers = s->headers.v,
		.tools = words(&arena, &s->tools),
		.scope = scope_of[s->scope],
		.era = era_of[s->era],
		.is_browser = s->browser,
		.trust_annotations = s->trust_annotations,
		.connect_timeout_ms = (uint32_t)s->connect_timeout_ms,
		.call_timeout_ms = (uint32_t)s->call_timeout_ms,
		.on_gone = on_gone,
		.arg = open,
	};
	struct ar_tool_source *source = ar_mcp_source_new(loop, &o);

	ar_arena_fini(&arena);
	return source;
}

void ar_mcp_tools_add(uv_loop_t *loop, const struct ar_config *c, struct ar_str workspace,
		      struct ar_toolbox *box, size_t *open)
{
	for (size_t i = 0; i < c->mcp_servers_count; i++) {
		(*open)++;
		ar_toolbox_add(box, open_server(loop, &c->mcp_servers[i], workspace, open));
	}
}
