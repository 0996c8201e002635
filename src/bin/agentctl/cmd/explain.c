/* `agentctl explain`: why something happened, as the facts tell it. Rendering of the command explain. */
#include "reasons.h"

static void print_reasons(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_reasons_print(&c->out, r->doc);
}

enum { EXPLAIN_SESSION };

static enum ar_exit explain(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "id", ar_str_from(a->words[0]));
	if (a->values[EXPLAIN_SESSION])
		ar_jw_mstr(&w, "sessionId", ar_str_from(a->values[EXPLAIN_SESSION]));
	ar_jw_close(&w);
	return ar_api_show(c, "explain", &body, print_reasons);
}

const struct ar_ctl_command ar_cmd_explain = {
	.name = "explain",
	.synopsis = "ID",
	.summary = "explain why something was allowed, asked, denied, routed, retried or stopped",
	.text = "Reads the facts about a tool call, an action, a turn, a task, a step, a thread or a "
		"session, and prints\n"
		"one sentence for each cause. The number before a line is the sequence of its fact.",
	.examples = "agentctl explain tool_01hx3tvq5sz8kq4x1d0f2m9abc_256\n"
		    "agentctl explain my-turn --session sess_01hx3tvq5sz8kq4x1d0f2m9abc",
	.options = { { "session", "ID", "session of ID, if the id does not contain it" } },
	.min = 1,
	.max = 1,
	.run = explain,
};
