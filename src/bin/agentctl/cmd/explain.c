/* `agentctl explain`: why something happened, as the facts tell it. Rendering of the command explain. */
#include "reasons.h"
#include "resolve.h"

static void print_reasons(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_reasons_print(&c->out, r->doc);
}

/* ---- what the model was told ---- */

static enum ar_exit print_output(struct ar_ctl *c, struct ar_str ref)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(c, "read_output", ar_resolve_body(c, "outputRef", ref), &reply);

	if (exit == AR_EXIT_OK && c->is_json)
		ar_api_print(c, &reply);
	else if (exit == AR_EXIT_OK)
		ar_out_text(&c->out, ar_api_str(reply.doc, "content"));
	ar_out_break(&c->out);
	ar_api_fini(&reply);
	return exit;
}

static enum ar_exit print_prompt(struct ar_ctl *c, struct ar_buf *body)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(c, "explain", ar_ctl_take_buf(c, body), &reply);
	struct ar_json refs = ar_json_get(reply.doc, "instructionRefs");

	if (exit == AR_EXIT_OK && ar_json_len(refs) == 0)
		ar_ctl_note(c, "its model was sent no system prompt");
	for (struct ar_json_iter it = ar_json_iter(refs); exit == AR_EXIT_OK && ar_json_next(&it);) {
		struct ar_str ref = AR_STR_NONE;

		ar_json_str(it.value, &ref);
		exit = print_output(c, ref);
	}
	ar_api_fini(&reply);
	return exit;
}

/* ---- the command ---- */

enum { EXPLAIN_SESSION, EXPLAIN_PROMPT };

static enum ar_exit explain(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "id", ar_str_from(a->words[0]));
	if (a->values[EXPLAIN_SESSION])
		ar_jw_mstr(&w, "sessionId", ar_str_from(a->values[EXPLAIN_SESSION]));
	ar_jw_close(&w);
	if (a->values[EXPLAIN_PROMPT])
		return print_prompt(c, &body);
	return ar_api_show(c, "explain", &body, print_reasons);
}

const struct ar_ctl_command ar_cmd_explain = {
	.name = "explain",
	.synopsis = "ID",
	.summary = "explain why something was allowed, asked, denied, routed, retried or stopped",
	.text = "Reads the facts about a tool call, an action, a turn, a task, a step, a thread or a "
		"session, and prints\n"
		"one sentence for each cause. The number before a line is the sequence of its fact.\n"
		"--prompt prints what the model was told before the conversation instead: the system prompt, "
		"the\n"
		"instructions of the workspace, the list of skills, and the instructions of a child agent.",
	.examples = "agentctl explain tool_01hx3tvq5sz8kq4x1d0f2m9abc_256\n"
		    "agentctl explain my-turn --session sess_01hx3tvq5sz8kq4x1d0f2m9abc\n"
		    "agentctl explain sess_01hx3tvq5sz8kq4x1d0f2m9abc --prompt",
	.options = { [EXPLAIN_SESSION] = { "session", "ID", "session of ID, if the id does not contain it" },
		     [EXPLAIN_PROMPT] = { "prompt", NULL, "print the instructions that the model has" } },
	.min = 1,
	.max = 1,
	.run = explain,
};
