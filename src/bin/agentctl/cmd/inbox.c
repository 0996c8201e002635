/* `agentctl inbox`: what waits for a person, over all sessions. Rendering of list_actions as a table; the
 * page for a terminal is in inbox/, answers by command are in answer.c. */
#include "clock.h"
#include "inbox/inbox.h"
#include "resolve.h"
#include "term/term.h"

#include <string.h>

#define LIMIT_DEFAULT 50
#define LIMIT_MAX 200
#define TITLE_MAX 60
#define AGE_WIDTH 10
#define STATE_WIDTH 20
#define TOOL_WIDTH 20

enum { INBOX_SESSION, INBOX_ALL, INBOX_LIMIT, INBOX_PLAIN };

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->wall(clock);
}

static void print_state(struct ar_ctl *c, struct ar_json action)
{
	struct ar_str decision = ar_api_str(action, "decision"),
		      source = ar_api_str(action, "decisionSource");
	char left[AR_OUT_LEFT];

	if (ar_str_absent(decision))
		ar_out_left(ar_api_time(action, "expiresAt"), now(), left);
	ar_out_column(&c->out,
		      ar_str_absent(decision) ? ar_str_from(left)
					      : ar_arena_fmt(&c->arena, "%.*s (%.*s)", AR_STR_ARG(decision),
							     AR_STR_ARG(source)),
		      STATE_WIDTH);
}

/* How many people have approved and seen it, and to whom it was passed on. */
static void print_notice(struct ar_ctl *c, struct ar_json action)
{
	struct ar_json escalation = ar_json_get(action, "escalation");
	struct ar_str approvals = ar_question_approvals(c, action);
	size_t seen = ar_json_len(ar_json_get(action, "seenBy"));

	if (!ar_str_absent(approvals)) {
		ar_out_printf(&c->out, "  ");
		ar_out_line(&c->out, approvals);
	}
	if (seen > 0)
		ar_out_printf(&c->out, "  seen by %zu", seen);
	if (!ar_str_is(ar_api_str(escalation, "state"), "escalated"))
		return;
	ar_out_printf(&c->out, "  escalated to ");
	ar_out_line(&c->out, ar_str_utf8_prefix(ar_api_str(escalation, "audience"), TITLE_MAX));
}

static void print_row(struct ar_ctl *c, struct ar_json action)
{
	struct ar_str tool = ar_api_str(action, "toolName"), session = ar_api_str(action, "sessionTitle");
	bool is_destructive = false;

	ar_json_bool(ar_json_get(action, "destructive"), &is_destructive);
	ar_out_line(&c->out, ar_api_str(action, "actionId"));
	ar_out_printf(&c->out, "  ");
	ar_out_style(&c->out, AR_STYLE_DIM);
	ar_out_age(&c->out, ar_api_time(action, "createdAt"), now(), AGE_WIDTH);
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	ar_out_printf(&c->out, "  ");
	print_state(c, action);
	ar_out_column(&c->out, ar_str_absent(tool) ? ar_api_str(action, "actionType") : tool, TOOL_WIDTH);
	ar_out_style(&c->out, is_destructive ? AR_STYLE_RED : AR_STYLE_PLAIN);
	ar_out_line(&c->out, ar_api_str(action, "title"));
	ar_out_style(&c->out, AR_STYLE_DIM);
	if (!ar_str_empty(session)) {
		ar_out_printf(&c->out, "  [");
		ar_out_line(&c->out, ar_str_utf8_prefix(session, TITLE_MAX));
		ar_out_printf(&c->out, "]");
	}
	print_notice(c, action);
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	ar_out_printf(&c->out, "\n");
}

static void print_table(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json actions = ar_json_get(r->doc, "actions");

	if (ar_json_len(actions) == 0) {
		ar_ctl_note(c, "nothing waits for an answer");
		return;
	}
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-35s  %-*s  %-*s  %-*s  %s\n", "ACTION", AGE_WIDTH, "ASKED", STATE_WIDTH,
		      "STATE", TOOL_WIDTH, "TOOL", "WHAT [SESSION]");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(actions); ar_json_next(&it);)
		print_row(c, it.value);
	if (!ar_str_absent(ar_api_str(r->doc, "nextCursor")))
		ar_ctl_note(c, "there are more; --limit shows up to %d, --session those of one session",
			    LIMIT_MAX);
}

/* Everything that one question asks, on standard output. */
static enum ar_exit show(struct ar_ctl *c, const char *word)
{
	struct ar_question q;
	struct ar_str text, digest;
	enum ar_exit exit = ar_question_find(c, word, &q);

	if (exit == AR_EXIT_OK && ar_str_absent(q.decisions))
		exit = ar_ctl_complain(c, AR_EXIT_FAILED,
				       ar_arena_fmt(&c->arena, "agentctl explain %.*s", AR_STR_ARG(q.id)),
				       "%.*s does not wait for an answer", AR_STR_ARG(q.id));
	if (exit == AR_EXIT_OK)
		exit = ar_question_read(c, &q, &text, &digest);
	if (exit != AR_EXIT_OK)
		return exit;
	ar_out_line(&c->out, q.id);
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, q.decisions);
	ar_out_printf(&c->out, "\n");
	ar_out_line(&c->out, text);
	ar_out_printf(&c->out, "\n");
	if (!ar_str_absent(q.approvals)) {
		ar_out_line(&c->out, q.approvals);
		ar_out_printf(&c->out, "\n");
	}
	return AR_EXIT_OK;
}

static enum ar_exit list(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	uint64_t limit = LIMIT_DEFAULT;
	const char *number = a->values[INBOX_LIMIT];
	struct ar_str session = AR_STR_NONE;
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	enum ar_exit exit = AR_EXIT_OK;

	if (number && (!ar_str_to_u64(ar_str_from(number), &limit) || limit == 0 || limit > LIMIT_MAX))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "--limit must be a number from 1 to %d",
				       LIMIT_MAX);
	if (a->values[INBOX_SESSION])
		exit = ar_resolve_session(c, a->values[INBOX_SESSION], &session);
	if (exit != AR_EXIT_OK)
		return exit;
	if (!a->values[INBOX_ALL] && !a->values[INBOX_PLAIN] && ar_term_is_possible(c))
		return ar_inbox_run(c, &(struct ar_inbox_options){ session, (int64_t)limit });
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "status", a->values[INBOX_ALL] ? AR_STR("all") : AR_STR("pending"));
	ar_jw_mint(&w, "limit", (int64_t)limit);
	ar_jw_close(&w);
	return ar_api_show(c, "list_actions", &body, print_table);
}

static enum ar_exit inbox(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	if (a->count == 0)
		return list(c, a);
	if (a->count == 2 && strcmp(a->words[0], "show") == 0)
		return show(c, a->words[1]);
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl inbox --help"),
			       "inbox has only the arguments: show ACTION");
}

const struct ar_ctl_command ar_cmd_inbox = {
	.name = "inbox",
	.synopsis = "[show ACTION]",
	.summary = "list the questions of all sessions that wait for an answer",
	.text = "On a terminal a page that is updated every second: the list, and below it the chosen "
		"question. The arrows\n"
		"choose; y answers yes once, n no, r no with a reason, a number another decision; e "
		"explains, v "
		"shows all of\n"
		"it, o opens the session, q exits. A question is not answered within half a second of its "
		"appearance; one\n"
		"that does not fit on the page is shown whole before a yes. A form is answered in its "
		"session, "
		"or with\n"
		"`agentctl answer`.\n"
		"With --plain, --all or without a terminal: one line per action, oldest first: id, waiting "
		"since, time\n"
		"left, the tool or kind of "
		"question, the question,\n"
		"and the title of the session. A call that cannot be undone is red.\n"
		"`agentctl approve`, `deny` and `answer` answer one. A question that is too long for its "
		"line shows how\n"
		"many bytes are left out; `agentctl inbox show ACTION` prints all of it.",
	.max = 2,
	.examples = "agentctl inbox\n"
		    "agentctl inbox --plain\n"
		    "agentctl inbox show cx_3\n"
		    "agentctl inbox --session last --all\n"
		    "agentctl inbox --json | jq -r '.actions[].actionId'",
	.options = { { "session", "SESSION", "only this session: an id, part of one, or last" },
		     { "all", NULL, "also answered ones" },
		     { "limit", "N", "number of actions, at most 200 (50)" },
		     { "plain", NULL, "print the list and exit, on a terminal too" } },
	.run = inbox,
};
