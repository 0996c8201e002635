/* `approve`, `deny` and `answer`: one action is settled through respond_action. Which word says yes or
 * no is the action's to offer; the daemon decides whether an answer counts, and says who was first. */
#include "question.h"
#include "respond.h"

#include <string.h>

/* ---- what the action offers ---- */

/* The first of the words that the action offers; the daemon has the word on one that
 * does not wait (any more). */
static enum ar_exit choose(struct ar_ctl *c, const struct ar_question *q, const char *const *words,
			   struct ar_str *ret)
{
	*ret = ar_str_from(words[0]);
	if (ar_str_absent(q->decisions))
		return AR_EXIT_OK;
	*ret = ar_respond_pick(q->decisions, words);
	if (!ar_str_absent(*ret))
		return AR_EXIT_OK;
	return ar_ctl_complain(c, AR_EXIT_USAGE,
			       ar_arena_fmt(&c->arena, "agentctl answer %.*s --decision WORD",
					    AR_STR_ARG(q->id)),
			       "this action offers %.*s", AR_STR_ARG(ar_str_utf8_prefix(q->decisions, 200)));
}

/* ---- the answer ---- */

static void print_settled(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "actionId"));
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(r->doc, "decision"));
	if (ar_api_int(r->doc, "approvalsNeeded") > 0)
		ar_out_printf(&c->out, "  %lld of %lld approvals", (long long)ar_api_int(r->doc, "approvals"),
			      (long long)ar_api_int(r->doc, "approvalsNeeded"));
	ar_out_printf(&c->out, "\n");
}

/* What the daemon sent only in part is shown whole first, unless the answer is a no. `payload`
 * is a JSON object, or absent. */
static enum ar_exit respond(struct ar_ctl *c, const struct ar_question *q, struct ar_str decision,
			    struct ar_str payload)
{
	struct ar_respond r = { .action = q->id, .decision = decision, .payload = payload };
	struct ar_buf body = { 0 };
	enum ar_exit exit = AR_EXIT_OK;

	if (!ar_str_absent(q->ref) && !ar_respond_is_no(decision))
		exit = ar_question_confirm(c, q, &r.digest);
	if (exit != AR_EXIT_OK)
		return exit;
	ar_respond_body(&r, &body);
	return ar_api_show(c, "respond_action", &body, print_settled);
}

/* {"scope","reason"} of those that are given; absent without. */
static struct ar_str reach(struct ar_ctl *c, const char *scope, const char *reason)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	if (!scope && !reason)
		return AR_STR_NONE;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "scope", ar_str_from(scope));
	ar_jw_mstr(&w, "reason", ar_str_from(reason));
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &text);
}

static enum ar_exit settle(struct ar_ctl *c, const char *word, const char *const *words,
			   struct ar_str payload)
{
	struct ar_question q;
	struct ar_str decision;
	enum ar_exit exit = ar_question_find(c, word, &q);

	if (exit == AR_EXIT_OK)
		exit = choose(c, &q, words, &decision);
	return exit == AR_EXIT_OK ? respond(c, &q, decision, payload) : exit;
}

/* ---- approve, deny ---- */

enum { APPROVE_SCOPE, APPROVE_REASON };

static enum ar_exit approve(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *scope = a->values[APPROVE_SCOPE];

	if (scope && strcmp(scope, "once") != 0 && strcmp(scope, "session") != 0)
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("for more than a session add a rule to permission_rules"),
				       "--scope must be once or session");
	return settle(c, a->words[0], ar_respond_yes, reach(c, scope, a->values[APPROVE_REASON]));
}

enum { DENY_REASON };

static enum ar_exit deny(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return settle(c, a->words[0], ar_respond_no, reach(c, NULL, a->values[DENY_REASON]));
}

/* ---- answer ---- */

enum { ANSWER_DECISION };

static enum ar_exit check_object(struct ar_ctl *c, struct ar_str text)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_error err = { 0 };
	struct ar_json v;
	bool is_object = ar_json_parse(parser, text, &v, &err) == AR_OK && ar_json_type(v) == AR_JSON_OBJECT;

	ar_json_parser_free(parser);
	if (is_object)
		return AR_EXIT_OK;
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("quote it for the shell: '{\"name\":\"value\"}'"),
			       "the answer is not a JSON object%s%s", err.msg[0] ? ": " : "", err.msg);
}

static enum ar_exit answer_with(struct ar_ctl *c, const struct ar_ctl_args *a, struct ar_str payload)
{
	struct ar_question q;
	enum ar_exit exit;

	if (!a->values[ANSWER_DECISION])
		return settle(c, a->words[0], ar_respond_here, payload);
	exit = ar_question_find(c, a->words[0], &q);
	return exit == AR_EXIT_OK ? respond(c, &q, ar_str_from(a->values[ANSWER_DECISION]), payload) : exit;
}

static enum ar_exit answer(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf payload = { 0 };
	enum ar_exit exit = AR_EXIT_OK;

	if (a->count == 1 && !a->values[ANSWER_DECISION])
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl answer --help"),
				       "answer needs a JSON object, --decision, or both");
	if (a->count == 1)
		return answer_with(c, a, AR_STR_NONE);
	exit = ar_ctl_read_text(c, a->words + 1, 1, &payload);
	if (exit == AR_EXIT_OK)
		exit = check_object(c, ar_buf_str(&payload));
	if (exit == AR_EXIT_OK)
		exit = answer_with(c, a, ar_buf_str(&payload));
	ar_buf_fini(&payload);
	return exit;
}

const struct ar_ctl_command ar_cmd_approve = {
	.name = "approve",
	.synopsis = "ACTION",
	.summary = "approve an action",
	.text = "ACTION is an id of `agentctl inbox`, or the beginning or end of one. The first answer "
		"counts; if someone\n"
		"answered before you, the command prints who, what and when. A question that is too long for "
		"one line is\n"
		"shown whole first; on a terminal in pages, and you confirm it. If a rule needs several "
		"people, your approval\n"
		"counts once, together with theirs (pending until then), and not if you gave the work.",
	.examples = "agentctl approve action_01m0fd2e7wp4z9k3s5b8t6v1cx_3\n"
		    "agentctl approve cx_3 --scope session --reason \"reads only\"",
	.min = 1,
	.max = 1,
	.options = { { "scope", "once|session", "only this call (once), or this tool for the session" },
		     { "reason", "TEXT", "reason to record" } },
	.run = approve,
};

const struct ar_ctl_command ar_cmd_deny = {
	.name = "deny",
	.synopsis = "ACTION",
	.summary = "deny an action",
	.text = "ACTION is an id of `agentctl inbox`, or the beginning or end of one. The model gets the "
		"refusal and\n"
		"continues without it.",
	.examples = "agentctl deny cx_3\n"
		    "agentctl deny cx_3 --reason \"use the staging database\"",
	.min = 1,
	.max = 1,
	.options = { { "reason", "TEXT", "reason to record" } },
	.run = deny,
};

const struct ar_ctl_command ar_cmd_answer = {
	.name = "answer",
	.synopsis = "ACTION [JSON]",
	.summary = "answer an action with content, or with one of its decisions",
	.text = "JSON is the object that the question requires; - reads it from standard input. --decision "
		"answers with\n"
		"another decision than accept, with or without JSON; `agentctl inbox --json` lists the "
		"decisions.",
	.examples = "agentctl answer cx_4 '{\"environment\":\"staging\"}'\n"
		    "agentctl answer cx_5 --decision retry",
	.min = 1,
	.max = 2,
	.options = { { "decision", "WORD", "one of the decisions of the action" } },
	.run = answer,
};
