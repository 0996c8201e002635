/* `agentctl run`: one turn from its text to its end. Submits, then follows the session and shows what
 * belongs to the turn. The text on standard output is exact: a piece that comes again after the stream
 * was joined anew is cut to what is new. */
#include "calls.h"
#include "daemon.h"
#include "follow.h"
#include "model.h"
#include "question.h"
#include "resolve.h"
#include "shown.h"
#include "submit.h"
#include "workspace/workspace.h"

#define GRACE 10000000 /* microseconds from the interrupt of --timeout until we leave */
#define INTERRUPT_MS 10000L

enum {
	OPT_SESSION,
	OPT_THREAD,
	OPT_CONTINUE,
	OPT_MODEL,
	OPT_MODE,
	OPT_SANDBOX,
	OPT_TIMEOUT,
	OPT_ON_QUESTION,
	OPT_NO_WAIT,
	OPT_REASONING,
	OPT_MODEL_WAIT,
	OPT_WORKSPACE,
	OPT_NO_WORKSPACE,
	OPT_TRUST,
	OPT_ISOLATION
};

struct turn {
	struct ar_ctl *ctl;
	struct ar_ctl_follow *follow;
	struct ar_str session, id;
	struct ar_str workspace; /* of a session that the turn makes; absent: the server's own folder */
	struct ar_shown shown;
	struct ar_calls calls;
	bool shows_reasoning;
	bool fails_on_question;
	const char *timeout; /* as given; NULL = none */
	ar_usec deadline; /* monotonic; 0 = none */
	bool is_late;
	int interrupts;
	enum ar_exit exit;
};

/* ---- output ---- */

static bool on_request(struct turn *t, const struct ar_ctl_event *e)
{
	ar_shown_request(&t->shown, e->doc);
	return true;
}

static bool on_text(struct turn *t, const struct ar_ctl_event *e)
{
	ar_shown_text(&t->shown, &t->ctl->out, e->doc);
	return true;
}

static bool on_reasoning(struct turn *t, const struct ar_ctl_event *e)
{
	if (t->shows_reasoning)
		ar_shown_reasoning(&t->shown, &t->ctl->out, e->doc);
	return true;
}

/* ---- what happens to the turn ---- */

static bool on_status(struct turn *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_str title = ar_api_str(payload, "title"), detail = ar_api_str(payload, "detail");

	if (ar_str_is(ar_api_str(payload, "phase"), "action_approved"))
		ar_ctl_note(t->ctl, "%.*s: %.*s", AR_STR_ARG(title), AR_STR_ARG(detail));
	if (ar_str_is(ar_api_str(payload, "phase"), "retrying"))
		ar_ctl_note(t->ctl, "%.*s%s%.*s%s", AR_STR_ARG(title), detail.len ? ": " : "",
			    AR_STR_ARG(detail), t->shown.text ? "; the answer starts again" : "");
	return true;
}

static bool on_retrying(struct turn *t, const struct ar_ctl_event *e AR_UNUSED)
{
	ar_ctl_note(t->ctl, "the daemon was restarted and resumes the turn%s",
		    t->shown.text ? "; the answer starts again" : "");
	return true;
}

static struct ar_str how_to_follow(struct turn *t)
{
	return ar_arena_fmt(&t->ctl->arena, "agentctl tail %.*s --after %.*s", AR_STR_ARG(t->session),
			    AR_STR_ARG(ar_buf_str(&t->follow->cursor)));
}

/* The question stays open: it can be answered later, by anybody who may. */
static bool leave_question(struct turn *t, struct ar_str id, struct ar_str prompt)
{
	t->exit = ar_ctl_complain(
		t->ctl, AR_EXIT_QUESTION,
		ar_arena_fmt(&t->ctl->arena,
			     "agentctl approve %.*s (or: deny, answer), then: %s; `run --on-question=wait` "
			     "waits for the answer",
			     AR_STR_ARG(id), how_to_follow(t).p),
		"the turn waits for a decision on %.*s: %.*s", AR_STR_ARG(id), AR_STR_ARG(prompt));
	return false;
}

/* The turn goes on when somebody has answered, here in another terminal or elsewhere. */
static bool on_question(struct turn *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_str prompt = ar_api_str(payload, "prompt");
	struct ar_str id = ar_api_str(e->doc, "actionId");

	ar_out_break(&t->ctl->out);
	if (!ar_str_absent(ar_api_str(payload, "promptRef")))
		ar_ctl_note(t->ctl,
			    "the next question is shortened; see all of it with: agentctl inbox show %.*s",
			    AR_STR_ARG(id));
	if (t->fails_on_question)
		return leave_question(t, id, prompt);
	ar_ctl_note(t->ctl, "waits for a decision: %.*s", AR_STR_ARG(prompt));
	ar_ctl_note(t->ctl, "answer with: agentctl approve %.*s, or deny; agentctl chat asks here",
		    AR_STR_ARG(id));
	return true;
}

static bool on_call(struct turn *t, const struct ar_ctl_event *e)
{
	ar_calls_begin(&t->calls, t->ctl, e->doc);
	return true;
}

static bool on_failed_call(struct turn *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_str advice = ar_api_str(payload, "recoveryAdvice");

	ar_ctl_note(t->ctl, "%.*s %.*s (%.*s): %.*s", AR_STR_ARG(ar_calls_name(&t->calls, e->doc)),
		    AR_STR_ARG(ar_api_str(payload, "status")),
		    AR_STR_ARG(ar_api_str(payload, "errorCategory")),
		    AR_STR_ARG(ar_calls_error(t->ctl, payload)));
	if (!ar_str_empty(advice))
		ar_ctl_note(t->ctl, "its advice: %.*s", AR_STR_ARG(advice));
	return true;
}

/* A turn that is blocked otherwise does not end by itself, and one that waits for a key does not either. */
static bool on_thread(struct turn *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_str status = ar_api_str(payload, "status");
	bool is_waiting = ar_str_starts(ar_api_str(payload, "statusDetail"), AR_STR("waiting_")) &&
			  !ar_str_is(ar_api_str(payload, "reason"), "no_candidate");

	if ((!ar_str_is(status, "blocked") && !ar_str_is(status, "stale")) || is_waiting)
		return true;
	t->exit =
		ar_ctl_complain(t->ctl, AR_EXIT_FAILED,
				ar_arena_fmt(&t->ctl->arena, "agentctl resume %.*s", AR_STR_ARG(t->session)),
				"the turn is %.*s: %.*s", AR_STR_ARG(status),
				AR_STR_ARG(ar_api_str(payload, "reason")));
	return false;
}

static bool on_completed(struct turn *t, const struct ar_ctl_event *e AR_UNUSED)
{
	ar_out_break(&t->ctl->out);
	t->exit = AR_EXIT_OK;
	return false;
}

static bool on_failed(struct turn *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_json error = ar_json_get(payload, "error");
	bool is_cancelled = ar_str_is(ar_api_str(payload, "status"), "cancelled");

	ar_out_break(&t->ctl->out);
	if (is_cancelled && t->is_late) {
		t->exit = ar_ctl_complain(t->ctl, AR_EXIT_TIMEOUT, AR_STR_NONE,
					  "the turn did not end within %s and was cancelled", t->timeout);
		return false;
	}
	t->exit = ar_ctl_complain(t->ctl, is_cancelled ? AR_EXIT_INTERRUPTED : AR_EXIT_FAILED,
				  is_cancelled ? AR_STR_NONE : ar_api_str(error, "recoveryAdvice"),
				  "%s: %.*s", is_cancelled ? "the turn was cancelled" : "the turn failed",
				  AR_STR_ARG(ar_api_str(error, "message")));
	return false;
}

static const struct {
	const char *type;
	bool (*take)(struct turn *t, const struct ar_ctl_event *e);
} takers[] = {
	{ "model.requested", on_request },   { "model.delta", on_text },
	{ "reasoning.delta", on_reasoning }, { "run.status", on_status },
	{ "task.retrying", on_retrying },    { "action.required", on_question },
	{ "thread.updated", on_thread },     { "turn.completed", on_completed },
	{ "turn.failed", on_failed },	     { "tool.started", on_call },
	{ "tool.failed", on_failed_call },
};

static void print_json(struct ar_ctl *c, struct ar_str json)
{
	ar_out_json(&c->out, json);
	ar_out_printf(&c->out, "\n");
}

static bool on_event(void *arg, const struct ar_ctl_event *e)
{
	struct turn *t = arg;

	if (!ar_str_eq(ar_api_str(e->doc, "turnId"), t->id))
		return true;
	if (t->ctl->is_json)
		print_json(t->ctl, e->json);
	for (size_t i = 0; i < AR_ARRAY_LEN(takers); i++) {
		if (ar_str_is(e->type, takers[i].type) && !(t->ctl->is_json && e->is_frame))
			return takers[i].take(t, e);
	}
	return true;
}

/* ---- Ctrl-C ---- */

static struct ar_str scope_body(struct turn *t)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", t->session);
	ar_jw_mstr(&w, "turnId", t->id);
	ar_jw_mstr(&w, "reason", AR_STR("interrupted from the terminal"));
	ar_jw_close(&w);
	return ar_ctl_take_buf(t->ctl, &text);
}

/* A turn that still waits in the queue is not running: it is taken out. */
static void interrupt(struct turn *t)
{
	struct ar_api_reply reply;
	bool is_waiting;

	is_waiting = ar_api_call_within(t->ctl, "interrupt_turn", scope_body(t), INTERRUPT_MS, &reply) ==
			     AR_EXIT_OK &&
		     ar_str_is(ar_api_str(reply.doc, "result"), "no_op");
	ar_api_fini(&reply);
	if (!is_waiting)
		return;
	if (ar_api_try(t->ctl, "remove_queued_turn", scope_body(t), &reply, NULL) != AR_OK)
		ar_ctl_note(t->ctl, "the waiting turn could not be removed");
	ar_api_fini(&reply);
}

static bool on_interrupt(void *arg)
{
	struct turn *t = arg;

	if (t->interrupts++ == 0) {
		ar_ctl_note(t->ctl, "interrupting; press Ctrl-C again to exit without waiting");
		interrupt(t);
		return true;
	}
	t->exit = ar_ctl_complain(t->ctl, AR_EXIT_INTERRUPTED, how_to_follow(t),
				  "stopped waiting before the end of the turn");
	return false;
}

/* ---- --timeout ---- */

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

/* Interrupts the turn at its deadline and waits for its end, but not for ever. */
static bool watch_deadline(void *arg, int *ret_fd)
{
	struct turn *t = arg;

	*ret_fd = -1;
	if (!t->deadline || now() < t->deadline)
		return true;
	if (t->is_late) {
		t->exit = ar_ctl_complain(t->ctl, AR_EXIT_TIMEOUT, how_to_follow(t),
					  "the turn did not end within %s, nor after it was interrupted",
					  t->timeout);
		return false;
	}
	t->is_late = true;
	t->deadline = now() + GRACE;
	interrupt(t);
	return true;
}

/* ---- submitting ---- */

static void print_receipt(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "sessionId"));
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(r->doc, "turnId"));
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(r->doc, "status"));
	ar_out_printf(&c->out, "\n");
}

static enum ar_exit submit(struct turn *t, const struct ar_ctl_args *a, struct ar_str text)
{
	struct ar_submit what = { .session = t->session,
				  .workspace = t->workspace,
				  .isolation = ar_str_from(a->values[OPT_ISOLATION]),
				  .thread = ar_str_from(a->values[OPT_THREAD]),
				  .text = text,
				  .model = ar_str_from(a->values[OPT_MODEL]),
				  .mode = ar_str_from(a->values[OPT_MODE]),
				  .sandbox = ar_str_from(a->values[OPT_SANDBOX]) };
	struct ar_api_reply reply;
	enum ar_exit exit = ar_submit_turn(t->ctl, &what, &reply);

	ar_ctl_hold_interrupts(t->ctl); /* now there is something to interrupt */
	t->session = ar_arena_str(&t->ctl->arena, ar_api_str(reply.doc, "sessionId"));
	t->id = ar_arena_str(&t->ctl->arena, ar_api_str(reply.doc, "turnId"));
	if (exit == AR_EXIT_OK && a->values[OPT_NO_WAIT])
		(t->ctl->is_json ? ar_api_print : print_receipt)(t->ctl, &reply);
	else if (ar_str_is(ar_api_str(reply.doc, "status"), "queued"))
		ar_ctl_note(t->ctl, "the thread is busy; the turn waits at place %lld",
			    (long long)ar_api_int(reply.doc, "position"));
	ar_api_fini(&reply);
	return exit;
}

/* From where to follow: the head of the session before the turn exists, so that even a turn
 * that fails at once is seen. */
static enum ar_exit find_start(struct turn *t, const char *word)
{
	struct ar_api_reply reply;
	enum ar_exit exit;

	if (!word) {
		ar_buf_addc(&t->follow->cursor, '0');
		return AR_EXIT_OK;
	}
	exit = ar_resolve_read(t->ctl, word, &reply);
	if (exit == AR_EXIT_OK) {
		t->session = ar_arena_str(&t->ctl->arena, ar_api_str(reply.doc, "sessionId"));
		ar_buf_addf(&t->follow->cursor, "%lld", (long long)ar_api_int(reply.doc, "asOfSequence"));
	}
	ar_api_fini(&reply);
	return exit;
}

static struct ar_workspace_choice choice_of(const struct ar_ctl_args *a)
{
	return (struct ar_workspace_choice){ .word = a->values[OPT_WORKSPACE],
					     .is_off = a->values[OPT_NO_WORKSPACE],
					     .is_continued = a->values[OPT_CONTINUE],
					     .trusts = a->values[OPT_TRUST],
					     .isolation = a->values[OPT_ISOLATION] };
}

/* Where the turn goes: to a session that is there, or to a new one in the workspace. */
static enum ar_exit find_session(struct turn *t, const struct ar_ctl_args *a)
{
	const struct ar_workspace_choice choice = choice_of(a);
	struct ar_str newest = AR_STR_NONE;
	struct ar_workspace w;
	enum ar_exit exit;

	if (a->values[OPT_SESSION])
		return find_start(t, a->values[OPT_SESSION]);
	exit = ar_workspace_choose(t->ctl, &choice, &w);
	t->workspace = w.id;
	if (exit == AR_EXIT_OK && choice.is_continued)
		exit = ar_workspace_newest(t->ctl, &choice, &w, &newest);
	return exit == AR_EXIT_OK ? find_start(t, newest.p) : exit;
}

static enum ar_exit carry_out(struct turn *t, const struct ar_ctl_args *a, struct ar_str text)
{
	enum ar_exit exit = a->values[OPT_MODEL_WAIT] ? ar_model_wait(t->ctl) : AR_EXIT_OK;

	if (exit == AR_EXIT_OK)
		exit = ar_daemon_ensure(t->ctl);
	if (exit == AR_EXIT_OK)
		ar_daemon_compare(t->ctl);
	if (exit == AR_EXIT_OK)
		exit = find_session(t, a);
	if (exit == AR_EXIT_OK)
		exit = submit(t, a, text);
	if (exit != AR_EXIT_OK || a->values[OPT_NO_WAIT])
		return exit;
	t->follow->session = t->session;
	exit = ar_ctl_follow_run(t->follow);
	return exit == AR_EXIT_OK || exit == AR_EXIT_INTERRUPTED ? t->exit : exit;
}

/* ---- options ---- */

static const int exclusive[][2] = { { OPT_CONTINUE, OPT_SESSION },
				    { OPT_NO_WAIT, OPT_TIMEOUT },
				    { OPT_NO_WAIT, OPT_ON_QUESTION } };

static enum ar_exit check_options(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const struct ar_workspace_choice choice = choice_of(a);

	for (size_t i = 0; i < AR_ARRAY_LEN(exclusive); i++) {
		if (a->values[exclusive[i][0]] && a->values[exclusive[i][1]])
			return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("leave one of them out"),
					       "--%s and --%s exclude each other",
					       ar_cmd_run.options[exclusive[i][0]].name,
					       ar_cmd_run.options[exclusive[i][1]].name);
	}
	return ar_workspace_check(c, &choice, a->values[OPT_SESSION]);
}

static enum ar_exit read_timeout(struct turn *t)
{
	ar_usec span;

	if (!t->timeout)
		return AR_EXIT_OK;
	if (!ar_ctl_parse_span(ar_str_from(t->timeout), &span) || span <= 0)
		return ar_ctl_complain(t->ctl, AR_EXIT_USAGE, AR_STR("write it as 90s, 10m or 2h"),
				       "--timeout '%s' is not a duration", t->timeout);
	t->deadline = now() + span;
	return AR_EXIT_OK;
}

static enum ar_exit run(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_ctl_follow follow = {
		.ctl = c, .event = on_event, .interrupted = on_interrupt, .rest = watch_deadline
	};
	struct turn t = { .ctl = c,
			  .follow = &follow,
			  .timeout = a->values[OPT_TIMEOUT],
			  .shows_reasoning = a->values[OPT_REASONING] || c->out.is_tty };
	struct ar_buf text = { 0 };
	enum ar_exit exit = check_options(c, a);

	follow.arg = &t;
	if (exit == AR_EXIT_OK)
		exit = ar_question_policy(c, a->values[OPT_ON_QUESTION], &t.fails_on_question);
	if (exit == AR_EXIT_OK)
		exit = read_timeout(&t);
	if (exit == AR_EXIT_OK)
		exit = ar_ctl_read_text(c, a->words, a->count, &text);
	if (exit == AR_EXIT_OK)
		exit = carry_out(&t, a, ar_buf_str(&text));
	ar_buf_fini(&text);
	ar_shown_fini(&t.shown);
	ar_ctl_follow_fini(&follow);
	return exit;
}

const struct ar_ctl_command ar_cmd_run = {
	.name = "run",
	.synopsis = "TEXT...",
	.summary = "submit a turn, stream the answer, exit with its outcome",
	.text = "Starts the daemon if none runs, submits TEXT as a turn of a new session in the current "
		"folder, streams\n"
		"the answer, and exits with 0 if the turn completed, 1 if it failed, 130 if it was "
		"cancelled. A TEXT of\n"
		"a single - is read from standard input. A dropped connection resumes from the last event "
		"received.\n"
		"If a model call is retried after part of an answer, the new answer begins on a new line.\n"
		"Ctrl-C interrupts the turn; a second Ctrl-C exits without waiting for its end.\n"
		"If the turn asks a question, run waits for the answer if standard error is a terminal. "
		"Otherwise it\n"
		"exits with 4 and names the question, which stays open; --on-question chooses. --timeout "
		"interrupts the\n"
		"turn after that time and exits with 124.\n"
		"The session works in the workspace of the current folder, which is created if needed; "
		"--workspace names\n"
		"another. A folder that cannot be one (a home, a folder of the system) is not used, and a "
		"note says so.\n"
		"What a folder brings for the agent (AGENTS.md) is used once the folder is trusted: a "
		"terminal "
		"lists it and\n"
		"asks, --trust trusts it without a question.",
	.examples = "agentctl run \"Say hello in five words.\"\n"
		    "git diff | agentctl run -\n"
		    "agentctl run --continue \"And in French?\"\n"
		    "cd ~/project && agentctl run \"Why does the build fail?\"\n"
		    "agentctl run --mode plan \"How would you split this module?\"\n"
		    "agentctl run --timeout 10m --on-question=fail \"Run the tests.\"\n"
		    "agentctl run --json \"Count to three\" | jq -r .type",
	.min = 1,
	.max = -1,
	.options = { [OPT_SESSION] = { "session", "SESSION", "submit to this session" },
		     [OPT_THREAD] = { "thread", "THREAD", "submit to this thread of the session" },
		     [OPT_CONTINUE] = { "continue", NULL, "submit to the newest session of the workspace" },
		     [OPT_MODEL] = { "model", "NAME", "model of the turn" },
		     [OPT_MODE] = { "mode", "MODE", "permission mode of the turn, such as plan" },
		     [OPT_SANDBOX] = { "sandbox", "PROFILE", "sandbox of the turn, such as read_only" },
		     [OPT_TIMEOUT] = { "timeout", "TIME", "interrupt the turn after 90s, 10m, 2h" },
		     [OPT_ON_QUESTION] = { "on-question", "WHAT",
					   "fail or wait (wait on a terminal, else fail)" },
		     [OPT_NO_WAIT] = { "no-wait", NULL, "print the ids of the turn and exit" },
		     [OPT_REASONING] = { "reasoning", NULL,
					 "show the model's reasoning (default on a terminal)" },
		     [OPT_MODEL_WAIT] = { "model-wait", NULL,
					  "first wait up to a minute for the model server" },
		     [OPT_WORKSPACE] = { "workspace", "WORKSPACE",
					 "work in this folder or workspace (the current folder)" },
		     [OPT_NO_WORKSPACE] = { "no-workspace", NULL, "work in the daemon's own folder, if any" },
		     [OPT_TRUST] = { "trust", NULL, "trust what the folder brings, without a question" },
		     [OPT_ISOLATION] = { "isolation", "KIND",
					 "what a new session shares with the workspace: shared, copy, empty, "
					 "worktree, overlay" } },
	.run = run,
};
