/* Which tools a turn has. The runtime's own come from its inventory; options.tools of the turn
 * may name the ones that are wanted (an empty list: none) and describe more, which the client
 * runs itself. Pure. */
#include "tool/calls.h"
#include "decide.h"
#include "definition/definition.h"
#include "schema.h"
#include "subagent/subagents.h"

#define CLIENT_TOOLS_MAX 128

/* It selects one of the runtime's own. */
static bool is_name(const struct ar_shape_offered_tool *tool)
{
	return !ar_str_absent(tool->text_);
}

/* ---- what a caller may say ---- */

static enum ar_status check_schema(struct ar_decision *d, const struct ar_shape_offered_tool *tool,
				   struct ar_error *err)
{
	struct ar_schema *schema = NULL;
	struct ar_error why = { 0 };

	if (ar_schema_compile(tool->input_schema, d->json, &d->schema_steps, &schema, &why) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "options.tools: inputSchema of %.*s: %s",
				 AR_STR_ARG(tool->name), why.msg);
	ar_schema_free(schema);
	return AR_OK;
}

enum ar_status ar_offers_check(struct ar_decision *d, const struct ar_shape_turn_options *options,
			       struct ar_error *err)
{
	const struct ar_shape_offered_tool_list *tools = &options->tools;

	if (tools->count > CLIENT_TOOLS_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "options.tools is a list of at most %d names and tools", CLIENT_TOOLS_MAX);
	for (size_t i = 0; i < tools->count; i++) {
		if (is_name(&tools->at[i]))
			continue;
		if (!ar_tool_is_name(tools->at[i].name))
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "options.tools: a name of 1 to %d letters, digits, _ or - is needed "
					 "for each tool",
					 AR_TOOL_NAME_MAX);
		if (check_schema(d, &tools->at[i], err) != AR_OK)
			return AR_E_REFUSED;
	}
	return AR_OK;
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

static struct ar_tool *client_tool(struct ar_decision *d, const struct ar_shape_offered_tool *t)
{
	struct ar_tool *tool = ar_arena_alloc(d->arena, sizeof(*tool));

	*tool = (struct ar_tool){ .name = t->name,
				  .description = t->description,
				  .schema = t->input_schema,
				  .owner = AR_TOOL_CLIENT,
				  .capabilities = AR_TOOL_CUSTOM,
				  .is_read_only = t->is_read_only.v,
				  .is_concurrency_safe = t->is_read_only.v || t->is_concurrency_safe.v,
				  .is_destructive = t->is_destructive.v,
				  .is_idempotent = t->is_idempotent.v };
	return tool;
}

/* Names restrict; descriptions alone add to everything. */
static bool restricts(const struct ar_shape_offered_tool_list *tools)
{
	for (size_t i = 0; i < tools->count; i++) {
		if (is_name(&tools->at[i]))
			return true;
	}
	return tools->at && tools->count == 0;
}

static bool is_wanted(const struct ar_shape_offered_tool_list *tools, struct ar_str name)
{
	for (size_t i = 0; i < tools->count; i++) {
		if (is_name(&tools->at[i]) && ar_str_eq(tools->at[i].text_, name))
			return true;
	}
	return false;
}

const struct ar_tool *ar_offers_skill_tool(const struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_shape_offered_tool_list *tools = &ar_turn_options(turn)->tools;
	const struct ar_tool *tool = ar_session_skill_tool(d->session, d->input->policy);

	return tool && (!restricts(tools) || is_wanted(tools, tool->name)) ? tool : NULL;
}

struct ar_offers ar_offers_of(struct ar_decision *d, const struct ar_turn *turn)
{
	static const struct ar_inventory nothing;
	const struct ar_inventory *all = d->input->policy->inventory;
	const struct ar_inventory *inv = all ? all : &nothing;
	const struct ar_shape_offered_tool_list *tools = &ar_turn_options(turn)->tools;
	struct ar_offers o = { ar_arena_alloc(d->arena, (inv->count + tools->count + 2) * sizeof(*o.at)), 0 };
	const struct ar_tool *skills = ar_offers_skill_tool(d, turn), *plan = ar_offers_plan_tool(d, turn);
	bool is_restricted = restricts(tools);

	if (plan && is_restricted && !is_wanted(tools, plan->name))
		plan = NULL;
	if (plan)
		o.at[o.count++] = plan;
	if (skills)
		o.at[o.count++] = skills;
	for (size_t i = 0; i < inv->count; i++) {
		if (ar_decide_may_use(d, inv->tools[i]) &&
		    (!is_restricted || is_wanted(tools, inv->tools[i]->name)) &&
		    !(skills && ar_str_eq(skills->name, inv->tools[i]->name)) &&
		    !(ar_turn_plans(turn) && ar_str_is(inv->tools[i]->name, AR_PROPOSE_PLAN)))
			o.at[o.count++] = ar_subagent_describe(d, inv->tools[i]);
	}
	for (size_t i = 0; i < tools->count; i++) {
		if (!is_name(&tools->at[i]) && !ar_offers_find(&o, tools->at[i].name))
			o.at[o.count++] = client_tool(d, &tools->at[i]);
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

/* The word for each, judged as a call without arguments would be: rules about arguments, and
 * hooks, speak when there is a call. */
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
