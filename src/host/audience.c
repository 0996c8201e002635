/* See audience.h. */
#include "audience.h"

#include "peer/remote.h"
#include "tenant.h"
#include "workspace/definition.h"

#include <string.h>

/* One entry: of which list, its name, and its two members. */
struct entry {
	const char *list, *name;
	const struct ar_config_strings *tenants;
	const char *workspace;
};

/* Where it is read to. */
struct reading {
	struct ar_arena *arena;
	const char **list; /* the one that is wrong */
	struct ar_error *err;
};

static enum ar_status check_workspace(const struct entry *e, struct ar_error *err)
{
	struct ar_str text = ar_str_from(e->workspace);

	if (ar_str_empty(text) || !ar_str_absent(ar_workspace_key_in(text)) || ar_str_is_plain_path(text))
		return AR_OK;
	return ar_fail(err, AR_E_INVALID,
		       "%s: '%.64s': workspace '%.100s' is neither the id of a workspace (ws_...) nor the "
		       "absolute path of a folder without '.', '..', repeated or final '/'",
		       e->list, e->name, e->workspace);
}

static enum ar_status read_one(const struct reading *r, struct entry e, struct ar_audience *ret)
{
	struct ar_str *names = ar_arena_alloc(r->arena, (e.tenants->count + 1) * sizeof(*names));

	*r->list = e.list;
	if (check_workspace(&e, r->err) != AR_OK)
		return r->err->status;
	for (size_t i = 0; i < e.tenants->count; i++) {
		if (!*e.tenants->v[i])
			return ar_fail(r->err, AR_E_INVALID, "%s: '%.64s': a name in tenants is empty",
				       e.list, e.name);
		names[i] = ar_arena_str(r->arena, ar_str_from(e.tenants->v[i]));
	}
	*ret = (struct ar_audience){ .tenants = { names, e.tenants->count },
				     .workspace = ar_arena_str(r->arena, ar_str_from(e.workspace)) };
	return AR_OK;
}

/* Who has a peer, has the tool; each peer says again for whom it is. */
static struct ar_tool_entry peer_entry(const struct ar_config *c, struct ar_arena *a)
{
	struct ar_tool_entry e = { .name = AR_STR(AR_PEER_TOOL), .owner = AR_TOOL_CONNECTOR };
	struct ar_texts *names = &e.audience.tenants;

	for (size_t i = 0; i < c->peers_count; i++) {
		const struct ar_config_strings *of = &c->peers[i].tenants;

		if (of->count == 0)
			*names = ar_arena_texts_add(a, *names, AR_STR(AR_TENANT_LOCAL));
		for (size_t k = 0; k < of->count; k++)
			*names = ar_arena_texts_add(a, *names, ar_arena_str(a, ar_str_from(of->v[k])));
	}
	return e;
}

static enum ar_status read_tools(const struct reading *r, const struct ar_config *c, struct ar_policy *policy)
{
	size_t count = c->mcp_servers_count + c->http_tools_count, n = 0;
	struct ar_tool_entry *all = ar_arena_alloc(r->arena, (count + 2) * sizeof(*all));
	enum ar_status rc = AR_OK;

	for (size_t i = 0; rc == AR_OK && i < c->mcp_servers_count; i++, n++) {
		const struct ar_config_mcp_servers *s = &c->mcp_servers[i];

		all[n] = (struct ar_tool_entry){ .name = ar_arena_str(r->arena, ar_str_from(s->name)),
						 .owner = AR_TOOL_MCP };
		rc = read_one(r, (struct entry){ "mcp_servers", s->name, &s->tenants, s->workspace },
			      &all[n].audience);
	}
	for (size_t i = 0; rc == AR_OK && i < c->http_tools_count; i++, n++) {
		const struct ar_config_http_tools *t = &c->http_tools[i];

		all[n] = (struct ar_tool_entry){ .name = ar_arena_str(r->arena, ar_str_from(t->name)),
						 .owner = AR_TOOL_CONNECTOR };
		rc = read_one(r, (struct entry){ "http_tools", t->name, &t->tenants, t->workspace },
			      &all[n].audience);
	}
	if (rc == AR_OK && c->peers_count > 0)
		all[n++] = peer_entry(c, r->arena);
	policy->tool_entries = all;
	policy->tool_entry_count = n;
	return rc;
}

static enum ar_status read_secrets(const struct reading *r, const struct ar_config *c,
				   struct ar_policy *policy)
{
	struct ar_audience *all = ar_arena_alloc(r->arena, (c->command_secrets_count + 1) * sizeof(*all));
	struct ar_str *names = ar_arena_alloc(r->arena, (c->command_secrets_count + 1) * sizeof(*names));
	enum ar_status rc = AR_OK;

	for (size_t i = 0; rc == AR_OK && i < c->command_secrets_count; i++) {
		const struct ar_config_command_secrets *s = &c->command_secrets[i];

		names[i] = ar_arena_str(r->arena, ar_str_from(s->name));
		rc = read_one(r, (struct entry){ "command_secrets", s->name, &s->tenants, s->workspace },
			      &all[i]);
	}
	policy->secrets = all;
	policy->secret_count = c->command_secrets_count;
	policy->secret_names = (struct ar_texts){ names, c->command_secrets_count };
	return rc;
}

/* ---- skills and agents ---- */

struct directory {
	struct entry entry; /* its name is the path */
	enum ar_inspect_kind kind;
};

static enum ar_status read_directory(const struct reading *r, const struct directory *from,
				     struct ar_policy *policy, struct ar_definition_entry *all)
{
	struct ar_definition *list = ar_arena_alloc(r->arena, AR_DEFINITION_DIR_MAX * sizeof(*list));
	struct ar_audience audience;
	size_t count;

	if (read_one(r, from->entry, &audience) != AR_OK ||
	    ar_definition_dir(from->kind, from->entry.name, r->arena, list, &count, r->err) != AR_OK)
		return AR_E_INVALID;
	for (size_t i = 0; i < count; i++)
		all[policy->definition_count++] =
			(struct ar_definition_entry){ .of = list[i], .audience = audience };
	return AR_OK;
}

static enum ar_status read_definitions(const struct reading *r, const struct ar_config *c,
				       struct ar_policy *policy)
{
	size_t room = (c->skills_count + c->agents_count) * AR_DEFINITION_DIR_MAX + 1;
	struct ar_definition_entry *all = ar_arena_alloc(r->arena, room * sizeof(*all));
	enum ar_status rc = AR_OK;

	policy->definitions = all;
	policy->definition_count = 0;
	for (size_t i = 0; rc == AR_OK && i < c->skills_count; i++) {
		const struct ar_config_skills *s = &c->skills[i];
		const struct entry e = { "skills", s->dir, &s->tenants, s->workspace };

		rc = read_directory(r, &(struct directory){ e, AR_INSPECT_SKILL }, policy, all);
	}
	for (size_t i = 0; rc == AR_OK && i < c->agents_count; i++) {
		const struct ar_config_agents *g = &c->agents[i];
		const struct entry e = { "agents", g->dir, &g->tenants, g->workspace };

		rc = read_directory(r, &(struct directory){ e, AR_INSPECT_AGENT }, policy, all);
	}
	return rc;
}

enum ar_status ar_host_audiences_read(const struct ar_config *c, struct ar_arena *a,
				      struct ar_hook_rule *hooks, struct ar_policy *policy,
				      const char **ret_list, struct ar_error *err)
{
	const struct reading r = { a, ret_list, err };
	enum ar_status rc = AR_OK;

	for (size_t i = 0; rc == AR_OK && i < c->hooks_count; i++) {
		const struct ar_config_hooks *h = &c->hooks[i];

		rc = read_one(&r, (struct entry){ "hooks", h->name, &h->tenants, h->workspace },
			      &hooks[i].audience);
	}
	if (rc == AR_OK)
		rc = read_tools(&r, c, policy);
	if (rc == AR_OK)
		rc = read_definitions(&r, c, policy);
	return rc == AR_OK ? read_secrets(&r, c, policy) : rc;
}
