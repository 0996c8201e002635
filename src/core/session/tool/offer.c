/* Which tools a turn has. The runtime's own come from its inventory; options.tools of the turn may name the ones that are wanted (an empty list: none)
 * and describe more, which the client runs itself. Pure. */
#include "tool/calls.h"
#include "decide.h"
#include "schema.h"

#define CLIENT_TOOLS_MAX 128

static struct ar_json tools_of(struct ar_decision *d, struct ar_str options)
{
	struct ar_json v;

	if (ar_str_absent(options) || ar_json_parse(d->json, options, &v, NULL) != AR_OK)
		return (struct ar_json){ 0 };
	return ar_json_get(v, "tools");
}

static struct ar_str text_member(struct ar_decision *d, struct ar_json v, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(v, name), &text);
	return ar_arena_str(d->arena, text);
}

static bool flag(struct ar_json v, const char *name)
{
	bool is_set = false;

	ar_json_bool(ar_json_get(v, name), &is_set);
	return is_set;
}

/* ---- what a caller may say ---- */

static enum ar_status check_one(struct ar_json tool, struct ar_error *err)
{
	struct ar_str name = AR_STR_NONE;
	struct ar_json schema = ar_json_get(tool, "inputSchema");

	if (ar_json_str(tool, &name))
		return AR_OK;
	if (!ar_json_str(ar_json_get(tool, "name"), &name) || !ar_tool_is_name(name))
		return ar_refuse(
			err, AR_ERR_INVALID_INPUT,
			"options.tools: a name of 1 to %d letters, digits, _ or - is needed for each tool",
			AR_TOOL_NAME_MAX);
	if (ar_json_type(schema) != AR_JSON_OBJECT)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "options.tools: %.*s needs an inputSchema, the JSON Schema of its arguments",
				 AR_STR_ARG(name));
	return AR_OK;
}

/* The parser holds one text at a time: schemas are read when the list is no longer needed. */
static enum ar_status check_schemas(struct ar_decision *d, struct ar_str options, struct ar_error *err)
{
	const struct ar_turn turn = { .options = options };
	struct ar_offers o = ar_offers_of(d, &turn);

	for (size_t i = 0; i < o.count; i++) {
		struct ar_schema *schema = NULL;
		struct ar_error why = { 0 };

		if (o.at[i]->owner != AR_TOOL_CLIENT)
			continue;
		if (ar_schema_compile(o.at[i]->schema, d->json, &d->schema_steps, &schema, &why) != AR_OK)
			return ar_refuse(err, AR_ERR_INVALID_INPUT, "options.tools: inputSchema of %.*s: %s",
					 AR_STR_ARG(o.at[i]->name), why.msg);
		ar_schema_free(schema);
	}
	return AR_OK;
}

enum ar_status ar_offers_check(struct ar_decision *d, struct ar_str options, struct ar_error *err)
{
	struct ar_json tools = tools_of(d, options);
	enum ar_json_type type = ar_json_type(tools);

	if (type == AR_JSON_NONE)
		return AR_OK;
	if (type != AR_JSON_ARRAY || ar_json_len(tools) > CLIENT_TOOLS_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "options.tools is a list of at most %d names and tools", CLIENT_TOOLS_MAX);
	for (struct ar_json_iter it = ar_json_iter(tools); ar_json_next(&it);) {
		if (check_one(it.value, err) != AR_OK)
			return AR_E_REFUSED;
	}
	return check_schemas(d, options, err);
}

/* ---- what there is ---- */

const struct ar_tool *ar_offers_find(const struct ar_offers *o, struct ar_str name)
{
	for (size_t i = 0; i < o->count; i++) {
		if (ar_str_eq(o->at[i]->name, name))
			return o->at[i];
	}
	return NULL;
}

static struct ar_tool *client_tool(struct ar_decision *d, struct ar_json v)
{
	struct ar_tool *tool = ar_arena_alloc(d->arena, sizeof(*tool));
	struct ar_buf schema = { 0 };

	ar_json_print(ar_json_get(v, "inputSchema"), &schema);
	*tool = (struct ar_tool){ .name = text_member(d, v, "name"),
				  .description = text_member(d, v, "description"),
				  .schema = ar_arena_str(d->arena, ar_buf_str(&schema)),
				  .owner = AR_TOOL_CLIENT,
				  .capabilities = AR_TOOL_CUSTOM,
				  .is_read_only = flag(v, "isReadOnly"),
				  .is_concurrency_safe =
					  flag(v, "isReadOnly") || flag(v, "isConcurrencySafe"),
				  .is_destructive = flag(v, "isDestructive"),
				  .is_idempotent = flag(v, "isIdempotent") };
	ar_buf_fini(&schema);
	return tool;
}

static bool is_wanted(struct ar_json tools, struct ar_str name)
{
	for (struct ar_json_iter it = ar_json_iter(tools); ar_json_next(&it);) {
		struct ar_str word;

		if (ar_json_str(it.value, &word) && ar_str_eq(word, name))
			return true;
	}
	return false;
}

/* Names restrict; descriptions alone add to everything. */
static bool restricts(struct ar_json tools)
{
	if (ar_json_type(tools) != AR_JSON_ARRAY)
		return false;
	for (struct ar_json_iter it = ar_json_iter(tools); ar_json_next(&it);) {
		if (ar_json_type(it.value) == AR_JSON_STR)
			return true;
	}
	return ar_json_len(tools) == 0;
}

struct ar_offers ar_offers_of(struct ar_decision *d, const struct ar_turn *turn)
{
	static const struct ar_inventory nothing;
	const struct ar_inventory *all = d->input->policy->inventory;
	const struct ar_inventory *inv = all && ar_decide_is_admitted(d) ? all : &nothing;
	struct ar_json tools = tools_of(d, turn->options);
	struct ar_offers o = {
		ar_arena_alloc(d->arena, (inv->count + ar_json_len(tools) + 1) * sizeof(*o.at)), 0
	};
	bool is_restricted = restricts(tools);

	for (size_t i = 0; i < inv->count; i++) {
		if (!is_restricted || is_wanted(tools, inv->tools[i]->name))
			o.at[o.count++] = inv->tools[i];
	}
	for (struct ar_json_iter it = ar_json_iter(tools); ar_json_next(&it);) {
		struct ar_tool *tool;

		if (ar_json_type(it.value) != AR_JSON_OBJECT)
			continue;
		tool = client_tool(d, it.value);
		if (!ar_offers_find(&o, tool->name))
			o.at[o.count++] = tool;
	}
	return o;
}

/* An effect is carried out when its facts are durable: the inventory may be another by then. */
const struct ar_tool *const *ar_offers_keep(struct ar_decision *d, const struct ar_offers *o)
{
	struct ar_tool *tools = ar_arena_alloc(d->arena, (o->count + 1) * sizeof(*tools));
	const struct ar_tool **list = ar_arena_alloc(d->arena, (o->count + 1) * sizeof(*list));

	for (size_t i = 0; i < o->count; i++) {
		tools[i] = *o->at[i];
		tools[i].name = ar_arena_str(d->arena, tools[i].name);
		tools[i].description = ar_arena_str(d->arena, tools[i].description);
		tools[i].schema = ar_arena_str(d->arena, tools[i].schema);
		tools[i].annotations = AR_STR_NONE;
		list[i] = &tools[i];
	}
	return list;
}

/* ---- telling it ---- */

/* The word for each, judged as a call without arguments would be: rules about arguments, and hooks, speak when there is a call. */
static struct ar_str *policy_words(struct ar_decision *d, const struct ar_turn *turn,
				   const struct ar_offers *o)
{
	static const char *const words[] = { [AR_ALLOW] = "allowed",
					     [AR_ASK] = "ask",
					     [AR_DENY] = "denied",
					     [AR_SANDBOXED] = "sandboxed",
					     [AR_UNAVAILABLE] = "unavailable" };
	struct ar_str *list = ar_arena_alloc(d->arena, (o->count + 1) * sizeof(*list));

	for (size_t i = 0; i < o->count; i++) {
		struct ar_act act = { .tool = o->at[i], .name = o->at[i]->name, .args = AR_STR("{}") };

		list[i] = ar_str_from(words[ar_permission_judge(d, turn, &act).verdict]);
	}
	return list;
}

static void render_offers(struct ar_jw *w, const struct ar_offers *o, const struct ar_str *words)
{
	ar_jw_open_array(w);
	for (size_t i = 0; i < o->count; i++)
		ar_tool_render(w, o->at[i], words[i]);
	ar_jw_close_array(w);
}

void ar_session_render_tools(const struct ar_session *s, const struct ar_policy *policy,
			     const struct ar_turn *turn, struct ar_arena *arena, struct ar_jw *w)
{
	struct ar_input in = { .policy = policy };
	/* Nothing is emitted, so nothing of the session changes. */
	struct ar_decision d = {
		.arena = arena, .session = (struct ar_session *)(uintptr_t)s, .input = &in, .json = s->json
	};
	struct ar_offers o = ar_offers_of(&d, turn);

	render_offers(w, &o, policy_words(&d, turn, &o));
	ar_buf_fini(&d.scratch);
}

struct ar_invocation ar_call_as_offered(const struct ar_invocation *call, const struct ar_offers *offers)
{
	const struct ar_tool *tool = ar_offers_find(offers, call->name);
	struct ar_invocation shown = *call;

	if (!tool)
		return shown;
	shown.is_read_only = tool->is_read_only;
	shown.is_parallel = tool->is_concurrency_safe;
	shown.is_destructive = tool->is_destructive;
	shown.is_client = tool->owner == AR_TOOL_CLIENT;
	return shown;
}

/* It is no call: it has a step of its own and the reserved id catalog_<stepId>. */
void ar_decide_say_offers(struct ar_decision *d, const struct ar_turn *turn, const struct ar_offers *o)
{
	struct ar_ids ids = ar_ids_turn(d, turn);
	struct ar_str *words = policy_words(d, turn, o); /* first: judging writes JSON too */
	struct ar_jw j = ar_decide_json(d);
	struct ar_str ref;

	render_offers(&j, o, words);
	ref = ar_decide_content(d, ar_decide_json_end(d));
	ids.at[AR_SCOPE_STEP] = ar_decide_mint(d, "step", &d->counters.step);
	ids.at[AR_SCOPE_TOOL_CALL] =
		ar_arena_fmt(d->arena, "catalog_%.*s", AR_STR_ARG(ids.at[AR_SCOPE_STEP]));
	ar_decide_emit(d, AR_EV_TOOL_CATALOG_RESOLVED, &ids,
		       &(struct ar_ev_tool_catalog_resolved){ .catalog_ref = ref,
							      .kind = AR_STR("catalog") });
}
