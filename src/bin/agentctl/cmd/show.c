/* `agentctl sessions` and `agentctl show`: what is there. Rendering of list_sessions,
 * get_session and read_output. */
#include "clock.h"
#include "resolve.h"

#define ANSWER_MAX (1024 * 1024) /* bytes of one answer that are shown */
#define TITLE_MAX 100
#define AGE_WIDTH 10

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->wall(clock);
}

/* ---- sessions ---- */

static void print_row(struct ar_ctl *c, struct ar_json s)
{
	struct ar_str status = ar_api_str(s, "status");

	ar_out_line(&c->out, ar_api_str(s, "sessionId"));
	ar_out_printf(&c->out, "  %-8.*s %5lld  ", AR_STR_ARG(status), (long long)ar_api_int(s, "turns"));
	ar_out_style(&c->out, AR_STYLE_DIM);
	ar_out_age(&c->out, ar_api_time(s, "updatedAt"), now(), AGE_WIDTH);
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_str_utf8_prefix(ar_api_str(s, "title"), TITLE_MAX));
	ar_out_printf(&c->out, "\n");
}

static void print_table(struct ar_ctl *c, struct ar_json doc, bool is_archive)
{
	struct ar_json sessions = ar_json_get(doc, "sessions");

	if (ar_json_len(sessions) == 0) {
		ar_ctl_note(c, is_archive ? "no session is archived"
					  : "there is no session yet; agentctl run \"...\" creates one");
		return;
	}
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-31s  %-8s %5s  %-*s  %s\n", "SESSION", "STATUS", "TURNS", AGE_WIDTH,
		      "UPDATED", "TITLE");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(sessions); ar_json_next(&it);)
		print_row(c, it.value);
	if (!ar_str_absent(ar_api_str(doc, "nextCursor")))
		ar_ctl_note(c, "there are more; --limit shows up to 1000");
}

enum { SESSIONS_LIMIT, SESSIONS_ARCHIVED };

static enum ar_exit sessions(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	uint64_t limit = 20;
	struct ar_api_reply reply;
	struct ar_buf body = { 0 };
	enum ar_exit exit;

	if (a->values[SESSIONS_LIMIT] &&
	    (!ar_str_to_u64(ar_str_from(a->values[SESSIONS_LIMIT]), &limit) || limit == 0 || limit > 1000))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE,
				       "--limit must be a number from 1 to 1000");
	ar_buf_addf(&body, "{\"limit\":%llu,\"archived\":\"%s\"}", (unsigned long long)limit,
		    a->values[SESSIONS_ARCHIVED] ? "only" : "exclude");
	exit = ar_api_call(c, "list_sessions", ar_ctl_take_buf(c, &body), &reply);
	if (exit == AR_EXIT_OK && c->is_json)
		ar_api_print(c, &reply);
	else if (exit == AR_EXIT_OK)
		print_table(c, reply.doc, a->values[SESSIONS_ARCHIVED] != NULL);
	ar_api_fini(&reply);
	return exit;
}

/* ---- show ---- */

static void print_indented(struct ar_ctl *c, const char *indent, struct ar_str text)
{
	struct ar_str line;

	while (!ar_str_empty(text)) {
		text = ar_str_split(text, '\n', &line);
		ar_out_printf(&c->out, "%s", indent);
		ar_out_line(&c->out, line);
		ar_out_printf(&c->out, "\n");
	}
}

static void print_answer(struct ar_ctl *c, struct ar_str ref)
{
	struct ar_api_reply reply;

	if (ar_str_absent(ref))
		return;
	if (ar_api_call(c, "read_output", ar_resolve_output_body(c, ref, 0, ANSWER_MAX), &reply) ==
	    AR_EXIT_OK) {
		print_indented(c, "      ", ar_api_str(reply.doc, "content"));
		if (ar_api_int(reply.doc, "sizeBytes") > ANSWER_MAX)
			ar_out_printf(&c->out, "      ... %lld bytes in all\n",
				      (long long)ar_api_int(reply.doc, "sizeBytes"));
	}
	ar_api_fini(&reply);
}

static void print_turn(struct ar_ctl *c, struct ar_json turn)
{
	struct ar_json usage = ar_json_get(turn, "usage");
	ar_usec started = ar_api_time(turn, "startedAt"), ended = ar_api_time(turn, "completedAt");

	ar_out_printf(&c->out, "\n    ");
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_line(&c->out, ar_api_str(turn, "turnId"));
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(turn, "status"));
	ar_out_printf(&c->out, "  ");
	ar_out_age(&c->out, ar_api_time(turn, "submittedAt"), now(), 0);
	if (started && ended)
		ar_out_printf(&c->out, "  took %.1f s", (double)(ended - started) / 1e6);
	ar_out_printf(&c->out, "  tokens %lld in, %lld out", (long long)ar_api_int(usage, "inputTokens"),
		      (long long)ar_api_int(usage, "outputTokens"));
	if (ar_api_int(turn, "restarts"))
		ar_out_printf(&c->out, "  restarts %lld", (long long)ar_api_int(turn, "restarts"));
	ar_out_printf(&c->out, "\n");
	print_indented(c, "    > ", ar_api_str(turn, "inputPreview"));
	print_answer(c, ar_api_str(turn, "outputRef"));
}

static void print_outcome(struct ar_ctl *c, struct ar_json outcome)
{
	struct ar_str message = ar_api_str(outcome, "message");

	if (ar_str_absent(message))
		return;
	ar_out_printf(&c->out, "    last turn ");
	ar_out_line(&c->out, ar_api_str(outcome, "status"));
	ar_out_printf(&c->out, ": ");
	ar_out_line(&c->out, message);
	ar_out_printf(&c->out, "\n");
}

static void print_thread(struct ar_ctl *c, struct ar_json thread)
{
	struct ar_str detail = ar_api_str(thread, "statusDetail");

	ar_out_printf(&c->out, "\n  ");
	ar_out_line(&c->out, ar_api_str(thread, "threadId"));
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(thread, "status"));
	if (detail.len)
		ar_out_printf(&c->out, " (%.*s)", AR_STR_ARG(detail));
	ar_out_printf(&c->out, "\n");
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(thread, "turns")); ar_json_next(&it);)
		print_turn(c, it.value);
	print_outcome(c, ar_json_get(thread, "lastOutcome"));
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(thread, "queuedTurns")); ar_json_next(&it);) {
		ar_out_printf(&c->out, "    waits at %lld  ", (long long)ar_api_int(it.value, "position"));
		ar_out_line(&c->out, ar_api_str(it.value, "turnId"));
		ar_out_printf(&c->out, "  ");
		ar_out_line(&c->out, ar_api_str(it.value, "inputPreview"));
		ar_out_printf(&c->out, "\n");
	}
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(thread, "incidents")); ar_json_next(&it);) {
		ar_out_printf(&c->out, "    incident ");
		ar_out_line(&c->out, ar_api_str(it.value, "code"));
		ar_out_printf(&c->out, ": ");
		ar_out_line(&c->out, ar_api_str(it.value, "message"));
		ar_out_printf(&c->out, "\n");
	}
}

static void print_session(struct ar_ctl *c, struct ar_json s)
{
	struct ar_json summary = ar_json_get(s, "threadSummary");
	int64_t left_out;

	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_line(&c->out, ar_api_str(s, "sessionId"));
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(s, "status"));
	ar_out_printf(&c->out, "  updated ");
	ar_out_age(&c->out, ar_api_time(s, "updatedAt"), now(), 0);
	ar_out_printf(&c->out, "  events %lld\n", (long long)ar_api_int(s, "asOfSequence"));
	print_indented(c, "", ar_api_str(s, "title"));
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(s, "threads")); ar_json_next(&it);)
		print_thread(c, it.value);
	left_out = ar_api_int(summary, "count") - ar_api_int(summary, "shown");
	if (left_out > 0)
		ar_out_printf(&c->out, "\n  %lld threads of agents that have ended: agentctl agent list\n",
			      (long long)left_out);
}

static enum ar_exit show(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_resolve_read(c, a->words[0], &reply);

	if (exit == AR_EXIT_OK && c->is_json)
		ar_api_print(c, &reply);
	else if (exit == AR_EXIT_OK)
		print_session(c, reply.doc);
	ar_api_fini(&reply);
	return exit;
}

const struct ar_ctl_command ar_cmd_sessions = {
	.name = "sessions",
	.synopsis = "",
	.summary = "list sessions, latest change first",
	.text = "One line per session: id, status, number of turns, last change, title.",
	.examples = "agentctl sessions --limit 5\n"
		    "agentctl sessions --archived\n"
		    "agentctl sessions --json | jq -r '.sessions[].sessionId'",
	.options = { [SESSIONS_LIMIT] = { "limit", "N", "number of sessions, at most 1000 (20)" },
		     [SESSIONS_ARCHIVED] = { "archived", NULL, "those that agentctl archive put away" } },
	.run = sessions,
};

const struct ar_ctl_command ar_cmd_show = {
	.name = "show",
	.synopsis = "SESSION",
	.summary = "show a session with its turns and answers",
	.text = "Prints the threads of a session, their turns with input, answer and token usage, the queued "
		"turns and\n"
		"the errors. SESSION is an id, the beginning or end of one, or last.",
	.examples = "agentctl show last\n"
		    "agentctl show last --json | jq .threads[0].turns",
	.min = 1,
	.max = 1,
	.run = show,
};
