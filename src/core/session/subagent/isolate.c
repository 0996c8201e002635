/* What a child shares with its parent, and what its turns may do: never more than the turn that spawns it.
 * Role and nickname are not looked at. What cannot be had is refused, never replaced by less. Pure. */
#include "definition/definition.h"
#include "limits/route.h"
#include "subagent/subagents.h"
#include "workspace/work_folder.h"

#define WORD_MAX 64 /* of a caller's own, in our sentence */

static enum ar_status unsupported(struct ar_error *err, const char *member, struct ar_str word,
				  const char *known)
{
	return ar_refuse(err, AR_ERR_ISOLATION_UNSUPPORTED,
			 "isolation.%s '%.*s' is not supported here; use %s", member,
			 AR_STR_ARG(ar_str_utf8_prefix(word, WORD_MAX)), known);
}

/* One of the rules that have a single value so far. */
static enum ar_status check_fixed(struct ar_str asked, const char *member, const char *only,
				  struct ar_str *ret, struct ar_error *err)
{
	*ret = ar_str_from(only);
	return ar_str_absent(asked) || ar_str_is(asked, only) ? AR_OK : unsupported(err, member, asked, only);
}

/* ---- tools ---- */

struct choice {
	struct ar_decision *d;
	struct ar_offers offers; /* of the parent */
	bool is_read_only, is_without_files;
	bool has_own_folder; /* servers of the workspace work in the parent's */
	struct ar_str names; /* separated by commas; absent: all */
	struct ar_texts defined; /* by its definition; no `at`: all */
};

static struct ar_str next_name(struct ar_str *rest)
{
	struct ar_str name;

	*rest = ar_str_split(*rest, ',', &name);
	while (name.len > 0 && name.p[0] == ' ')
		name = ar_str_sub(name, 1, SIZE_MAX);
	while (name.len > 0 && name.p[name.len - 1] == ' ')
		name.len--;
	return name;
}

static bool is_named(struct ar_str names, struct ar_str tool)
{
	if (ar_str_absent(names))
		return true;
	while (!ar_str_empty(names)) {
		if (ar_str_eq(next_name(&names), tool))
			return true;
	}
	return false;
}

static enum ar_status check_names(const struct choice *c, struct ar_error *err)
{
	struct ar_str rest = c->names;

	while (!ar_str_absent(rest) && !ar_str_empty(rest)) {
		struct ar_str name = next_name(&rest);

		if (!ar_offers_find(&c->offers, name))
			return unsupported(err, "tool", name,
					   "inherit, read_only, none or names of tools of the parent");
	}
	return AR_OK;
}

/* Tools that the client runs stay with the turn that brought them. */
static bool is_given(const struct choice *c, const struct ar_tool *tool)
{
	return tool->owner != AR_TOOL_CLIENT && (!c->is_read_only || tool->is_read_only) &&
	       (!c->is_without_files || !tool->works_in_folder) &&
	       (!c->has_own_folder || !tool->is_of_workspace) && is_named(c->names, tool->name) &&
	       (!c->defined.at || ar_texts_have(c->defined, tool->name));
}

static struct ar_shape_offered_tool_list list_tools(const struct choice *c)
{
	struct ar_shape_offered_tool *at = ar_arena_alloc(c->d->arena, (c->offers.count + 1) * sizeof(*at));
	size_t n = 0;

	for (size_t i = 0; i < c->offers.count; i++) {
		if (is_given(c, c->offers.at[i]))
			at[n++] = (struct ar_shape_offered_tool){ .text_ = c->offers.at[i]->name };
	}
	return (struct ar_shape_offered_tool_list){ at, n };
}

static enum ar_status choose_tools(struct ar_decision *d, const struct ar_spawn *asked,
				   const struct ar_agent_definition *def, struct ar_spawn_plan *ret,
				   struct ar_error *err)
{
	struct choice c = { .d = d,
			    .offers = ar_offers_of(d, asked->turn),
			    .is_without_files = ar_str_is(ret->isolation.workspace, "none"),
			    .has_own_folder = ar_str_is(ret->isolation.worktree, "own"),
			    .names = AR_STR_NONE,
			    .defined = def->tools };
	struct ar_str word = ret->isolation.tool;

	c.is_read_only = ar_str_is(word, "read_only");
	if (ar_str_is(word, "none"))
		c.names = AR_STR("");
	else if (!ar_str_is(word, "inherit") && !c.is_read_only)
		c.names = word;
	if (check_names(&c, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_str_is(word, "inherit") && !c.is_without_files && !c.has_own_folder && !c.defined.at &&
	    !ar_turn_options(asked->turn)->tools.at)
		return AR_OK; /* all, also those that come later */
	ret->options.tools = list_tools(&c);
	return AR_OK;
}

/* ---- permission ---- */

/* What a definition says counts where it is tighter. */
static struct ar_str defined_mode(const struct ar_agent_definition *def, enum ar_permission_mode parent)
{
	enum ar_permission_mode mode = ar_str_empty(def->mode) ? 0 : ar_mode_find(def->mode);

	return mode && ar_mode_looseness(mode) <= ar_mode_looseness(parent) ? def->mode : AR_STR_NONE;
}

/* Only tighter than what counts for the parent. */
static enum ar_status choose_mode(struct ar_decision *d, const struct ar_spawn *asked,
				  const struct ar_agent_definition *def, struct ar_spawn_plan *ret,
				  struct ar_error *err)
{
	enum ar_permission_mode parent = ar_mode_find(ar_str_from(ar_permission_mode_of(d, asked->turn)));
	struct ar_str word = asked->isolation ? asked->isolation->permission : AR_STR_NONE;
	enum ar_permission_mode mode;

	ret->isolation.permission = AR_STR("inherit");
	if (ar_str_absent(word) || ar_str_is(word, "inherit"))
		word = defined_mode(def, parent);
	if (ar_str_is(ret->isolation.tool, "read_only") &&
	    (ar_str_absent(word) || ar_str_is(word, "inherit")))
		word = AR_STR("plan"); /* a tool that turns out to write is denied, too */
	if (ar_str_absent(word) || ar_str_is(word, "inherit"))
		return AR_OK;
	mode = ar_mode_find(word);
	if (!mode)
		return unsupported(err, "permission", word, "inherit or a permission mode");
	if (ar_mode_looseness(mode) > ar_mode_looseness(parent))
		return ar_refuse(err, AR_ERR_ISOLATION_UNSUPPORTED,
				 "isolation.permission %s is looser than %s, which counts for the parent: it "
				 "may only be tightened",
				 ar_mode_name(mode), ar_mode_name(parent));
	ret->isolation.permission = ar_str_from(ar_mode_name(mode));
	ret->options.mode = (int)mode;
	return AR_OK;
}

/* ---- workspace ---- */

static enum ar_status choose_workspace(const struct ar_shape_isolation *asked, struct ar_spawn_plan *ret,
				       struct ar_error *err)
{
	struct ar_str word = ar_str_absent(asked->workspace) ? AR_STR("shared") : asked->workspace;

	ret->isolation.workspace = word;
	if (ar_str_is(word, "read_only"))
		ret->options.sandbox = AR_TURN_OPTIONS_SANDBOX_READ_ONLY;
	else if (!ar_str_is(word, "shared") && !ar_str_is(word, "none"))
		return unsupported(err, "workspace", word, "shared, read_only or none");
	return AR_OK;
}

/* What stands in the way of a folder of its own; absent: nothing. */
static struct ar_str no_folder(const struct ar_decision *d, const struct ar_spawn_plan *plan)
{
	const struct ar_session *s = d->session;
	const struct ar_work_folder around = ar_work_folder_in(s, plan->asked->thread->id);

	if (ar_str_is(plan->isolation.workspace, "none"))
		return AR_STR("isolation.workspace is none");
	if (!s->bound)
		return AR_STR("the session has no workspace (workspaceId of create_session)");
	if (!ar_str_absent(ar_session_worker(s)))
		return AR_STR("the files of the workspace are on a worker");
	if (ar_work_folder_is_own(&around) && around.bound->isolation != AR_WORKSPACE_ISOLATION_WORKTREE)
		return AR_STR("the folder of the parent is a copy without a repository (isolation of the "
			      "session)");
	if (d->input->policy->checkpoints <= 0 || ar_str_empty(d->input->policy->folders))
		return AR_STR("this server has no folders for agents; it needs workspaces.dir, a sandbox, "
			      "and workspaces.checkpoints above 0");
	return AR_STR_NONE;
}

/* A definition keeps its children apart, also where the parent asks for less. */
static enum ar_status choose_worktree(struct ar_decision *d, const struct ar_shape_isolation *asked,
				      const struct ar_agent_definition *def, struct ar_spawn_plan *ret,
				      struct ar_error *err)
{
	bool is_kept_apart = ar_str_is(def->isolation, AR_DEFINITION_WORKTREE);
	struct ar_str word = ar_str_absent(asked->worktree) ? AR_STR("shared") : asked->worktree, fault;

	if (is_kept_apart && ar_str_is(word, "shared"))
		word = AR_STR("own");
	ret->isolation.worktree = word;
	if (ar_str_is(word, "shared"))
		return AR_OK;
	if (!ar_str_is(word, "own"))
		return unsupported(err, "worktree", word, "shared or own");
	fault = no_folder(d, ret);
	ret->has_folder = ar_str_absent(fault);
	return ret->has_folder ? AR_OK
			       : ar_refuse(err, AR_ERR_ISOLATION_UNSUPPORTED,
					   "isolation.worktree 'own' cannot be had: %.*s", AR_STR_ARG(fault));
}

/* ---- model ---- */

/* Files name models of other installations: one that is not configured here is not asked for, also where a
 * server would be asked for any name. */
static bool has_model(const struct ar_decision *d, const struct ar_agent_definition *def, bool is_bound)
{
	const struct ar_policy *policy = d->input->policy;

	for (size_t i = 0; i < policy->model_count && !is_bound && !ar_str_empty(def->model); i++) {
		if (ar_str_eq(policy->models[i].name, def->model))
			return true;
	}
	return false;
}

static enum ar_status choose_model(const struct ar_decision *d, const struct ar_spawn *asked,
				   const struct ar_agent_definition *def, struct ar_spawn_plan *ret,
				   struct ar_error *err)
{
	static const struct ar_shape_model_policy by_default = { .inherit = AR_OPT_BOOL(true) };
	const struct ar_shape_model_policy *wanted = asked->model ? asked->model : &by_default;
	const struct ar_shape_subagent_record *parent = ar_session_subagent_in(d->session, asked->thread->id);
	bool is_bound = parent && parent->model_policy && parent->model_policy->inherit.v;
	const struct ar_shape_model_policy defined = { .model = def->model };
	struct ar_str inherited = ar_turn_options(asked->turn)->model;
	bool is_other;

	if (!asked->model && has_model(d, def, is_bound))
		wanted = &defined;
	is_other = !ar_str_absent(wanted->model) && !ar_str_eq(wanted->model, inherited);

	if (is_other && (is_bound || wanted->inherit.v))
		return ar_refuse(err, AR_ERR_POLICY_DENIED,
				 "model '%.*s' is not that of the parent, and the model policy of the %s "
				 "is inherit",
				 AR_STR_ARG(ar_str_utf8_prefix(wanted->model, WORD_MAX)),
				 is_bound ? "parent" : "child");
	ret->model.inherit = AR_OPT_BOOL(!is_other);
	ret->model.model = is_other ? wanted->model : inherited;
	ret->options.model = ret->model.model;
	return AR_OK;
}

/* ---- together ---- */

/* What belongs to one answer of the parent is not handed on. */
static struct ar_shape_turn_options inherited_options(const struct ar_spawn *asked)
{
	struct ar_shape_turn_options options = *ar_turn_options(asked->turn);

	options.tools = (struct ar_shape_offered_tool_list){ 0 };
	options.output_schema = AR_STR_NONE;
	options.stop = AR_STR_NONE;
	options.purpose = 0;
	if (asked->budget)
		options.budget = asked->budget;
	return options;
}

enum ar_status ar_subagent_isolate(struct ar_decision *d, const struct ar_spawn *asked,
				   struct ar_spawn_plan *ret, struct ar_error *err)
{
	static const struct ar_shape_isolation nothing;
	const struct ar_shape_isolation *in = asked->isolation ? asked->isolation : &nothing;
	struct ar_agent_definition def = { 0 };

	if (!ar_str_empty(asked->definition)) {
		if (ar_subagent_find_definition(d, asked->definition, &def, err) != AR_OK)
			return AR_E_REFUSED;
		ret->instructions = ar_str_absent(def.ref) ? def.text : AR_STR_NONE;
		ret->instructions_ref = ar_str_absent(def.ref) ? ar_decide_ref(d, def.text) : def.ref;
		ret->instructions_bytes = ar_str_absent(def.ref) ? (int64_t)def.text.len : def.bytes;
	}
	ret->options = inherited_options(asked);
	ret->isolation.tool = ar_str_absent(in->tool) ? AR_STR("inherit") : in->tool;
	if (check_fixed(in->prompt, "prompt", "own", &ret->isolation.prompt, err) != AR_OK ||
	    check_fixed(in->memory, "memory", "own", &ret->isolation.memory, err) != AR_OK ||
	    choose_workspace(in, ret, err) != AR_OK || choose_worktree(d, in, &def, ret, err) != AR_OK ||
	    choose_tools(d, asked, &def, ret, err) != AR_OK ||
	    choose_mode(d, asked, &def, ret, err) != AR_OK || choose_model(d, asked, &def, ret, err) != AR_OK)
		return AR_E_REFUSED;
	return AR_OK;
}

struct ar_str ar_subagent_denies(struct ar_decision *d, const struct ar_turn *turn, struct ar_str tool)
{
	const struct ar_shape_subagent_record *r = ar_session_subagent_in(d->session, turn->thread);
	const struct ar_inventory *all = d->input->policy->inventory;

	if (!r || !r->isolation || !all || !ar_inventory_find(all, tool))
		return AR_STR_NONE;
	return ar_arena_fmt(d->arena,
			    "subagent %.*s may not use '%.*s': its isolation is tool=%.*s, workspace=%.*s",
			    AR_STR_ARG(r->subagent_id), AR_STR_ARG(ar_str_utf8_prefix(tool, WORD_MAX)),
			    AR_STR_ARG(ar_str_utf8_prefix(r->isolation->tool, WORD_MAX)),
			    AR_STR_ARG(r->isolation->workspace));
}
