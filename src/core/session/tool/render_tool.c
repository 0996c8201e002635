/* Tools as JSON: what their sources say of them, nothing added. Whether one may be used is the
 * caller's word. Any thread. */
#include "session.h"

/* By the place of the bit in enum ar_tool_capability. */
static const char *const capability_words[] = {
	"read", "write", "filesystem", "network", "shell", "browser", "artifact", "custom",
};

static const char *const owner_words[] = {
	[AR_TOOL_LOCAL] = "local",
	[AR_TOOL_MCP] = "mcp_server",
	[AR_TOOL_CONNECTOR] = "hosted_connector",
	[AR_TOOL_CLIENT] = "client",
	[AR_TOOL_SUBAGENT] = "subagent",
};

struct ar_str ar_tool_owner_word(const struct ar_tool *t)
{
	return ar_str_from(owner_words[t->owner]);
}

static void render_capabilities(struct ar_jw *w, uint32_t capabilities)
{
	ar_jw_key(w, "capabilities");
	ar_jw_open_array(w);
	for (size_t i = 0; i < AR_ARRAY_LEN(capability_words); i++) {
		if (capabilities & ((uint32_t)1 << i))
			ar_jw_str(w, ar_str_from(capability_words[i]));
	}
	ar_jw_close_array(w);
}

static void render_metadata(struct ar_jw *w, const struct ar_tool *t)
{
	if (ar_str_absent(t->origin) && ar_str_absent(t->title))
		return;
	ar_jw_key(w, "metadata");
	ar_jw_open(w);
	ar_jw_mstr(w, "origin", t->origin);
	ar_jw_mstr(w, "title", t->title);
	ar_jw_close(w);
}

void ar_tool_render(struct ar_jw *w, const struct ar_tool *t, struct ar_str policy)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "toolName", t->name);
	ar_jw_mstr(w, "description", ar_str_absent(t->description) ? AR_STR("") : t->description);
	ar_jw_mraw(w, "inputSchema", ar_str_absent(t->schema) ? AR_STR("{\"type\":\"object\"}") : t->schema);
	render_capabilities(w, t->capabilities);
	ar_jw_mstr(w, "policy", policy);
	ar_jw_mstr(w, "runtimeOwner", ar_tool_owner_word(t));
	render_metadata(w, t);
	ar_jw_mbool(w, "isReadOnly", t->is_read_only);
	ar_jw_mbool(w, "isConcurrencySafe", t->is_concurrency_safe);
	ar_jw_mbool(w, "isDestructive", t->is_destructive);
	ar_jw_mstr(w, "interruptBehavior", t->blocks_interrupt ? AR_STR("block") : AR_STR("cancel"));
	ar_jw_close(w);
}
