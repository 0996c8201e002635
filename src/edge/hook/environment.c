/* See environment.h. Loop thread only: nobody else changes the environment. */
#include "environment.h"

#include "json.h"

#include <stdlib.h>

static const struct {
	const char *name, *otherwise; /* otherwise: NULL leaves it out */
} inherited[] = {
	{ "PATH", "/usr/local/bin:/usr/bin:/bin" },
	{ "HOME", NULL },
	{ "LANG", NULL },
	{ "TZ", NULL },
};

static const struct {
	const char *member, *variable;
} ids[] = {
	{ "hookPoint", "AGENTRUNTIME_HOOK_POINT" },	{ "sessionId", "AGENTRUNTIME_SESSION_ID" },
	{ "threadId", "AGENTRUNTIME_THREAD_ID" },	{ "turnId", "AGENTRUNTIME_TURN_ID" },
	{ "toolCallId", "AGENTRUNTIME_TOOL_CALL_ID" },	{ "actionId", "AGENTRUNTIME_ACTION_ID" },
	{ "workspaceId", "AGENTRUNTIME_WORKSPACE_ID" },
};

static size_t add(char **list, size_t count, struct ar_arena *a, const char *name, struct ar_str value)
{
	list[count] = (char *)(uintptr_t)ar_arena_fmt(a, "%s=%.*s", name, AR_STR_ARG(value)).p;
	return count + 1;
}

char **ar_hook_environment(const struct ar_hook_run *r, struct ar_json_parser *parser, struct ar_arena *a)
{
	char **list = ar_arena_alloc(a, (AR_ARRAY_LEN(inherited) + AR_ARRAY_LEN(ids) + 3) * sizeof(*list));
	struct ar_json input = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < AR_ARRAY_LEN(inherited); i++) {
		const char *value = getenv(inherited[i].name);

		value = value ? value : inherited[i].otherwise;
		if (value)
			count = add(list, count, a, inherited[i].name, ar_str_from(value));
	}
	count = add(list, count, a, "AGENTRUNTIME_HOOK", r->handler->name);
	if (!ar_str_absent(r->trace_parent))
		count = add(list, count, a, "TRACEPARENT", r->trace_parent);
	if (ar_json_parse(parser, r->input, &input, NULL) != AR_OK)
		return list;
	for (size_t i = 0; i < AR_ARRAY_LEN(ids); i++) {
		struct ar_str value;

		if (ar_json_str(ar_json_get(input, ids[i].member), &value))
			count = add(list, count, a, ids[i].variable, value);
	}
	return list;
}
