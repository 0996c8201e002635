/* See definition.h. */
#include "definition/definition.h"
#include "state.h"

#define LISTED_MAX 48 /* skills that the model is told of */
#define LISTED_BYTES_MAX 16384 /* of their lines */

/* ---- which there are ---- */

static bool is_for(const struct ar_session *s, const struct ar_policy *policy,
		   const struct ar_definition_entry *e, enum ar_inspect_kind kind)
{
	return e->of.kind == kind &&
	       ar_session_is_among(s, policy, &e->audience, !ar_session_is_apart(s, policy));
}

/* Whether an entry of the settings before this one has the name. */
static bool is_hidden(const struct ar_session *s, const struct ar_policy *policy, size_t before,
		      enum ar_inspect_kind kind, struct ar_str name)
{
	for (size_t i = 0; i < before; i++) {
		if (ar_str_eq(policy->definitions[i].of.name, name) &&
		    is_for(s, policy, &policy->definitions[i], kind))
			return true;
	}
	return false;
}

static bool is_entry(const struct ar_session *s, const struct ar_policy *policy, size_t i,
		     enum ar_inspect_kind kind)
{
	const struct ar_definition_entry *e = &policy->definitions[i];

	return is_for(s, policy, e, kind) && !is_hidden(s, policy, i, kind, e->of.name);
}

size_t ar_session_skills(const struct ar_session *s, const struct ar_policy *policy, struct ar_arena *a,
			 const struct ar_skill **ret)
{
	struct ar_skill *list =
		ar_arena_alloc(a, (policy->definition_count + s->skills.count + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < policy->definition_count; i++) {
		const struct ar_definition *of = &policy->definitions[i].of;

		if (is_entry(s, policy, i, AR_INSPECT_SKILL))
			list[n++] = (struct ar_skill){ .name = of->name,
						       .description = of->description,
						       .text = of->text,
						       .bytes = (int64_t)of->text.len };
	}
	for (size_t i = 0; i < s->skills.count; i++) {
		const struct ar_shape_workspace_skill *k = &s->skills.at[i];

		if (!is_hidden(s, policy, policy->definition_count, AR_INSPECT_SKILL, k->name))
			list[n++] = (struct ar_skill){ .name = k->name,
						       .description = k->description,
						       .ref = k->ref,
						       .bytes = k->bytes };
	}
	*ret = list;
	return n;
}

size_t ar_session_agents(const struct ar_session *s, const struct ar_policy *policy, struct ar_arena *a,
			 const struct ar_agent_definition **ret)
{
	struct ar_agent_definition *list =
		ar_arena_alloc(a, (policy->definition_count + s->agents.count + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < policy->definition_count; i++) {
		const struct ar_definition *of = &policy->definitions[i].of;

		if (is_entry(s, policy, i, AR_INSPECT_AGENT))
			list[n++] = (struct ar_agent_definition){ .name = of->name,
								  .description = of->description,
								  .tools = of->tools,
								  .model = of->model,
								  .mode = of->mode,
								  .isolation = of->isolation,
								  .text = of->text,
								  .bytes = (int64_t)of->text.len };
	}
	for (size_t i = 0; i < s->agents.count; i++) {
		const struct ar_shape_workspace_agent *g = &s->agents.at[i];

		if (!is_hidden(s, policy, policy->definition_count, AR_INSPECT_AGENT, g->name))
			list[n++] = (struct ar_agent_definition){ .name = g->name,
								  .description = g->description,
								  .tools = g->tools,
								  .model = g->model,
								  .mode = g->mode,
								  .isolation = g->isolation,
								  .ref = g->ref,
								  .bytes = g->bytes };
	}
	*ret = list;
	return n;
}

bool ar_session_skill(const struct ar_session *s, const struct ar_policy *policy, struct ar_str name,
		      struct ar_skill *ret)
{
	struct ar_arena a = { 0 };
	const struct ar_skill *list;
	size_t count = ar_session_skills(s, policy, &a, &list), i = 0;

	while (i < count && !ar_str_eq(list[i].name, name))
		i++;
	if (i < count)
		*ret = list[i];
	ar_arena_fini(&a);
	return i < count;
}

bool ar_session_agent(const struct ar_session *s, const struct ar_policy *policy, struct ar_str name,
		      struct ar_agent_definition *ret)
{
	struct ar_arena a = { 0 };
	const struct ar_agent_definition *list;
	size_t count = ar_session_agents(s, policy, &a, &list), i = 0;

	while (i < count && !ar_str_eq(list[i].name, name))
		i++;
	if (i < count)
		*ret = list[i];
	ar_arena_fini(&a);
	return i < count;
}

/* ---- what the model gets of skills ---- */

static bool has_skills(const struct ar_session *s, const struct ar_policy *policy)
{
	for (size_t i = 0; i < policy->definition_count; i++) {
		if (is_for(s, policy, &policy->definitions[i], AR_INSPECT_SKILL))
			return true;
	}
	return s->skills.count > 0;
}

const struct ar_tool *ar_session_skill_tool(const struct ar_session *s, const struct ar_policy *policy)
{
	static const struct ar_tool tool = {
		.name = AR_STR(AR_READ_SKILL),
		.title = AR_STR("Read a skill"),
		.description = AR_STR("Returns the instructions of a skill. Call it with the name of a skill "
				      "whose description fits the task, before working on the task."),
		.schema = AR_STR("{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\","
				 "\"description\":\"Name of the skill.\"}},\"required\":[\"name\"],"
				 "\"additionalProperties\":false}"),
		.owner = AR_TOOL_LOCAL,
		.capabilities = AR_TOOL_READ,
		.is_read_only = true,
		.is_concurrency_safe = true,
		.is_idempotent = true,
	};

	return has_skills(s, policy) ? &tool : NULL;
}

struct ar_str ar_skills_text(const struct ar_session *s, const struct ar_policy *policy, struct ar_arena *a,
			     int64_t *ret_left_out)
{
	const struct ar_skill *list;
	size_t count = ar_session_skills(s, policy, a, &list), i = 0;
	struct ar_buf text = { 0 };
	struct ar_str kept;

	*ret_left_out = 0;
	if (count == 0)
		return AR_STR_NONE;
	ar_buf_adds(&text,
		    AR_STR("Skills are instructions for particular tasks. Before you work on a task "
			   "that fits a description, call " AR_READ_SKILL " with the name of the skill.\n"));
	for (; i < count && i < LISTED_MAX && text.len < LISTED_BYTES_MAX; i++)
		ar_buf_addf(&text, "- %.*s: %.*s\n", AR_STR_ARG(list[i].name),
			    AR_STR_ARG(list[i].description));
	*ret_left_out = (int64_t)(count - i);
	if (i < count)
		ar_buf_addf(&text, "(%zu more skills are not listed here.)\n", count - i);
	kept = ar_arena_str(a, ar_buf_str(&text));
	ar_buf_fini(&text);
	return kept;
}
