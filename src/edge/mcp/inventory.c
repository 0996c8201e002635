/* See inventory.h. Loop thread only. */
#include "inventory.h"

#include "mem.h"
#include "text/json_depth.h"
#include "tool_name.h"

#include <stdio.h>
#include <string.h>

#define REMOTE_NAME_MAX 256

struct ar_mcp_inventory *ar_mcp_inventory_new(void)
{
	struct ar_mcp_inventory *v = ar_new0(sizeof(*v));

	v->refs = 1;
	return v;
}

struct ar_mcp_inventory *ar_mcp_inventory_ref(struct ar_mcp_inventory *v)
{
	v->refs++;
	return v;
}

void ar_mcp_inventory_unref(struct ar_mcp_inventory *v)
{
	if (!v || --v->refs > 0)
		return;
	ar_free(v->tools);
	ar_free(v->remotes);
	ar_arena_fini(&v->arena);
	ar_free(v);
}

ptrdiff_t ar_mcp_inventory_find(const struct ar_mcp_inventory *v, struct ar_str name)
{
	for (size_t i = 0; v && i < v->count; i++) {
		if (ar_str_eq(v->tools[i].name, name))
			return (ptrdiff_t)i;
	}
	return -1;
}

static void leave_out(struct ar_mcp_inventory *v, struct ar_str name, const char *why)
{
	if (v->left_out++ > 0)
		return;
	snprintf(v->why, sizeof(v->why), "tool '%.*s' is not offered: %s",
		 AR_STR_ARG(ar_str_utf8_prefix(name, 64)), why);
}

static bool is_allowed(const struct ar_mcp_reading *how, struct ar_str name)
{
	if (!how->allowed)
		return true;
	for (size_t i = 0; how->allowed[i]; i++) {
		if (ar_str_is(name, how->allowed[i]))
			return true;
	}
	return false;
}

static bool is_known(const struct ar_mcp_inventory *v, struct ar_str remote)
{
	for (size_t i = 0; i < v->count; i++) {
		if (ar_str_eq(v->remotes[i].name, remote))
			return true;
	}
	return false;
}

static bool hint(struct ar_json annotations, const char *name, bool otherwise)
{
	ar_json_bool(ar_json_get(annotations, name), &otherwise);
	return otherwise;
}

/* Without hints that are believed, a tool is what the protocol assumes: it writes, it destroys, and it
 * reaches into the world. */
static void set_flags(struct ar_tool *t, struct ar_json annotations, bool is_trusted)
{
	if (!is_trusted)
		annotations = (struct ar_json){ 0 };
	t->is_read_only = hint(annotations, "readOnlyHint", false);
	t->is_concurrency_safe = t->is_read_only;
	t->is_destructive = !t->is_read_only && hint(annotations, "destructiveHint", true);
	t->is_assumed = !is_trusted;
	t->is_idempotent = t->is_read_only || hint(annotations, "idempotentHint", false);
	t->capabilities = AR_TOOL_CUSTOM | (t->is_read_only ? AR_TOOL_READ : AR_TOOL_READ | AR_TOOL_WRITE);
	if (hint(annotations, "openWorldHint", true))
		t->capabilities |= AR_TOOL_NETWORK;
}

static struct ar_str text_of(struct ar_mcp_inventory *v, struct ar_json value, size_t max)
{
	struct ar_str s = AR_STR_NONE;

	if (!ar_json_str(value, &s))
		return AR_STR_NONE;
	return ar_arena_str(&v->arena, ar_str_utf8_prefix(s, max));
}

static struct ar_str print(struct ar_mcp_inventory *v, struct ar_json value)
{
	struct ar_buf text = { .cap = AR_TOOL_SCHEMA_MAX };
	struct ar_str ret = AR_STR_NONE;

	ar_json_print(value, &text);
	if (!text.failed)
		ret = ar_arena_str(&v->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
	return ret;
}

static void add_slot(struct ar_mcp_inventory *v, const struct ar_tool *t, const struct ar_mcp_remote *r)
{
	if ((v->count & (v->count - 1)) == 0) {
		size_t room = v->count ? v->count * 2 : 1;

		v->tools = ar_grow(v->tools, room, sizeof(*v->tools));
		v->remotes = ar_grow(v->remotes, room, sizeof(*v->remotes));
	}
	v->tools[v->count] = *t;
	v->remotes[v->count++] = *r;
}

/* NULL when the tool can be offered, else why not. */
static const char *read_schema(struct ar_mcp_inventory *v, const struct ar_mcp_reading *how,
			       struct ar_json tool, struct ar_tool *t, struct ar_mcp_remote *r)
{
	struct ar_json schema = ar_json_get(tool, "inputSchema");
	struct ar_error err = { 0 };

	struct ar_str tasks = AR_STR("");

	ar_json_str(ar_json_get(ar_json_get(tool, "execution"), "taskSupport"), &tasks);
	if (ar_str_is(tasks, "required"))
		return "it can only be called as a task of the protocol";
	if (ar_json_type(schema) != AR_JSON_OBJECT)
		return "it has no schema of its arguments";
	if (ar_json_is_deeper(tool, AR_JSON_LEVELS))
		return "its description nests too deep";
	t->schema = print(v, schema);
	if (ar_str_absent(t->schema))
		return "the schema of its arguments is too large";
	if (ar_json_type(ar_json_get(tool, "annotations")) != AR_JSON_NONE) {
		t->annotations = print(v, ar_json_get(tool, "annotations"));
		if (ar_str_absent(t->annotations))
			return "its annotations are too large";
	}
	if (how->sends_headers && ar_mcp_params_read(&v->arena, schema, &r->params, &err) != AR_OK)
		return ar_arena_fmt(&v->arena, "%s", err.msg).p;
	return NULL;
}

static void add_tool(struct ar_mcp_inventory *v, const struct ar_mcp_reading *how, struct ar_json tool)
{
	struct ar_json annotations = ar_json_get(tool, "annotations");
	struct ar_str name = AR_STR("");
	struct ar_mcp_remote r = { 0 };
	struct ar_tool t = { .owner = AR_TOOL_MCP,
			     .is_of_workspace = how->is_of_workspace,
			     .works_in_folder = how->is_of_workspace };
	const char *why;

	ar_json_str(ar_json_get(tool, "name"), &name);
	if (name.len == 0 || name.len > REMOTE_NAME_MAX || is_known(v, name)) {
		leave_out(v, name,
			  name.len == 0 || name.len > REMOTE_NAME_MAX ? "its name is empty or too long"
								      : "another tool has the same name");
		return;
	}
	if (!is_allowed(how, name))
		return;
	why = read_schema(v, how, tool, &t, &r);
	if (why) {
		leave_out(v, name, why);
		return;
	}
	r.name = ar_arena_str(&v->arena, name);
	t.name = ar_mcp_tool_name(&v->arena, how->server, name, false);
	if (ar_mcp_inventory_find(v, t.name) >= 0)
		t.name = ar_mcp_tool_name(&v->arena, how->server, name, true);
	t.origin = ar_arena_str(&v->arena, ar_str_absent(how->origin) ? how->server : how->origin);
	t.description = text_of(v, ar_json_get(tool, "description"), AR_TOOL_DESCRIPTION_MAX);
	if (ar_str_absent(t.description))
		t.description = AR_STR("");
	t.title = text_of(v, ar_json_get(tool, "title"), 256);
	if (ar_str_absent(t.title))
		t.title = text_of(v, ar_json_get(annotations, "title"), 256);
	set_flags(&t, annotations, how->trusted);
	t.capabilities |= how->is_browser ? AR_TOOL_BROWSER : 0;
	add_slot(v, &t, &r);
}

enum ar_status ar_mcp_inventory_add(struct ar_mcp_inventory *v, const struct ar_mcp_reading *how,
				    struct ar_json result, struct ar_error *err)
{
	struct ar_json tools = ar_json_get(result, "tools");

	if (ar_json_type(tools) != AR_JSON_ARRAY)
		return ar_fail(err, AR_E_INVALID, "its answer to tools/list has no list of tools");
	for (struct ar_json_iter it = ar_json_iter(tools); ar_json_next(&it);) {
		if (v->count + v->left_out >= AR_MCP_TOOLS_MAX)
			return ar_fail(err, AR_E_LIMIT,
				       "it has more than %d tools; allow fewer of them by name",
				       AR_MCP_TOOLS_MAX);
		add_tool(v, how, it.value);
	}
	return AR_OK;
}

static bool is_same_tool(const struct ar_tool *a, const struct ar_tool *b)
{
	return ar_str_eq(a->name, b->name) && ar_str_eq(a->description, b->description) &&
	       ar_str_eq(a->schema, b->schema) && ar_str_eq(a->title, b->title) &&
	       ar_str_eq(a->annotations, b->annotations) && a->capabilities == b->capabilities &&
	       a->is_read_only == b->is_read_only && a->is_destructive == b->is_destructive &&
	       a->is_idempotent == b->is_idempotent;
}

bool ar_mcp_inventory_is_same(const struct ar_mcp_inventory *a, const struct ar_mcp_inventory *b)
{
	if (!a || !b || a->count != b->count || a->left_out != b->left_out)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!is_same_tool(&a->tools[i], &b->tools[i]) ||
		    !ar_str_eq(a->remotes[i].name, b->remotes[i].name))
			return false;
	}
	return true;
}
