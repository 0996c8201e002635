/* See agent_tools.h. Owner: the loop thread. */
#include "agent_tools.h"
#include "mem.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)
#define TOOL(n, d, s) \
	{ \
		.name = AR_STR(n), .description = AR_STR(d), .schema = AR_STR(s), .owner = AR_TOOL_SUBAGENT, \
		.capabilities = AR_TOOL_CUSTOM, .is_read_only = true, .is_concurrency_safe = true, \
		.limit_ms = DAY_MS \
	}

/* What an agent does is judged call by call, so that handing work on needs no approval of its own. */
static const struct ar_tool tools[] = {
	TOOL("close_agent", "Ends an agent that you spawned, with everything that it runs.",
	     "{\"type\":\"object\",\"properties\":{\"agent\":{\"type\":\"string\",\"description\":\"Its "
	     "id.\"}},"
	     "\"required\":[\"agent\"],\"additionalProperties\":false}"),
	TOOL("send_input",
	     "Gives more input to an agent that you spawned. Waits for its answer unless background is true.",
	     "{\"type\":\"object\",\"properties\":{\"agent\":{\"type\":\"string\",\"description\":\"Its "
	     "id.\"},"
	     "\"text\":{\"type\":\"string\",\"maxLength\":16384},\"background\":{\"type\":\"boolean\"}},"
	     "\"required\":[\"agent\",\"text\"],\"additionalProperties\":false}"),
	TOOL("spawn_agent",
	     "Hands a piece of work to an agent of its own, with a conversation of its own. It sees only the "
	     "objective, so say everything that it needs to know. Waits for its result unless background is "
	     "true; several calls in one answer work side by side.",
	     "{\"type\":\"object\",\"properties\":{"
	     "\"objective\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":16384},"
	     "\"agent\":{\"type\":\"string\",\"maxLength\":128,\"description\":\"Name of an agent "
	     "definition.\"},"
	     "\"role\":{\"type\":\"string\",\"maxLength\":128},\"nickname\":{\"type\":\"string\","
	     "\"maxLength\":128},"
	     "\"tools\":{\"type\":\"string\",\"description\":\"inherit, read_only, none, or names of tools "
	     "separated by commas.\"},"
	     "\"workspace\":{\"enum\":[\"shared\",\"read_only\",\"none\"]},"
	     "\"worktree\":{\"enum\":[\"shared\",\"own\"],\"description\":\"own: a copy of the files with a "
	     "git branch of its own; a person merges what it changed.\"},"
	     "\"max_tokens\":{\"type\":\"integer\",\"minimum\":1},\"max_tool_calls\":{\"type\":\"integer\","
	     "\"minimum\":1},"
	     "\"background\":{\"type\":\"boolean\"}},\"required\":[\"objective\"],\"additionalProperties\":"
	     "false}"),
	TOOL("wait_agents",
	     "Waits until all of some agents that you spawned have ended, or the first of them, and brings "
	     "their results.",
	     "{\"type\":\"object\",\"properties\":{\"agents\":{\"type\":\"array\",\"items\":{\"type\":"
	     "\"string\"},"
	     "\"minItems\":1,\"maxItems\":100},\"mode\":{\"enum\":[\"any\",\"all\"]},\"timeout_ms\":{"
	     "\"type\":"
	     "\"integer\",\"minimum\":0}},\"required\":[\"agents\"],\"additionalProperties\":false}"),
};

static void start(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *c AR_UNUSED)
{
	AR_ASSERT(false); /* the engine gives the call to the session */
}

static void cancel(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *c AR_UNUSED)
{
}

static void answer(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *c AR_UNUSED,
		   const struct ar_tool_answer *a AR_UNUSED)
{
}

static void close_source(struct ar_tool_source *s)
{
	ar_free(s);
}

struct ar_tool_source *ar_agent_tools_new(void)
{
	static const struct ar_tool_source_vtable vtable = {
		.start = start, .cancel = cancel, .answer = answer, .close = close_source
	};
	struct ar_tool_source *s = ar_new0(sizeof(*s));

	*s = (struct ar_tool_source){ .v = &vtable,
				      .name = "agents",
				      .tools = tools,
				      .tool_count = AR_ARRAY_LEN(tools),
				      .is_ready = true };
	return s;
}
