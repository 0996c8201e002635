/* Agent definitions of the settings and of a trusted workspace, as children are made from them. Their words
 * grant nothing: what the parent could not ask for is left out. Pure. */
#include "definition/definition.h"
#include "subagent/subagents.h"

#define LIST_MAX 2048 /* bytes of definitions in the description of the tool */

enum ar_status ar_subagent_find_definition(struct ar_decision *d, struct ar_str name,
					   struct ar_agent_definition *ret, struct ar_error *err)
{
	if (ar_session_agent(d->session, d->input->policy, name, ret))
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_INPUT, "there is no agent definition '%.*s' here",
			 AR_STR_ARG(ar_str_utf8_prefix(name, 64)));
}

const struct ar_tool *ar_subagent_describe(struct ar_decision *d, const struct ar_tool *tool)
{
	const struct ar_agent_definition *agents;
	struct ar_buf text = { .cap = LIST_MAX };
	struct ar_tool *own;
	size_t count;

	if (tool->owner != AR_TOOL_SUBAGENT || !ar_str_is(tool->name, AR_SPAWN_AGENT))
		return tool;
	count = ar_session_agents(d->session, d->input->policy, d->arena, &agents);
	if (count == 0)
		return tool;
	ar_buf_adds(&text, tool->description);
	ar_buf_addz(&text, " Definitions that `agent` may name:");
	for (size_t i = 0; i < count; i++) {
		struct ar_str line = ar_arena_fmt(d->arena, "\n- %.*s: %.*s", AR_STR_ARG(agents[i].name),
						  AR_STR_ARG(agents[i].description));

		if (text.len + line.len < LIST_MAX)
			ar_buf_adds(&text, line);
	}
	own = ar_arena_alloc(d->arena, sizeof(*own));
	*own = *tool;
	own->description = ar_arena_str(d->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
	return own;
}
