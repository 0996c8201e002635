/* `submit`, `interrupt`, `queue` and `resume`: acting on the turns of a session without watching them. */
#include "resolve.h"

#include <string.h>

/* ---- submit ---- */

enum { SUBMIT_QUEUE, SUBMIT_REJECT, SUBMIT_INTERRUPT, SUBMIT_ROLLBACK, SUBMIT_TURN_ID, SUBMIT_THREAD };

static const char *const busy_words[] = {
	[SUBMIT_QUEUE] = "queue",
	[SUBMIT_REJECT] = "reject",
	[SUBMIT_INTERRUPT] = "interrupt",
	[SUBMIT_ROLLBACK] = "rollback",
};

static void print_receipt(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "turnId"));
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(r->doc, "status"));
	if (ar_api_int(r->doc, "position"))
		ar_out_printf(&c->out, " at place %lld", (long long)ar_api_int(r->doc, "position"));
	ar_out_printf(&c->out, "\n");
}

static enum ar_exit submit_text(struct ar_ctl *c, const struct ar_ctl_args *a, struct ar_str text)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_str session;
	enum ar_exit exit = ar_resolve_session(c, a->words[0], &session);

	if (exit != AR_EXIT_OK)
		return exit;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "threadId", ar_str_from(a->values[SUBMIT_THREAD]));
	ar_jw_mstr(&w, "text", text);
	ar_jw_mstr(&w, "turnId", ar_str_from(a->values[SUBMIT_TURN_ID]));
	for (size_t i = 0; i < AR_ARRAY_LEN(busy_words); i++) {
		if (a->values[i])
			ar_jw_mstr(&w, "busyPolicy", ar_str_from(busy_words[i]));
	}
	ar_jw_mstr(&w, "source", AR_STR("agentctl"));
	ar_jw_close(&w);
	return ar_api_show(c, "submit_turn", &body, print_receipt);
}

static enum ar_exit submit(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf text;
	enum ar_exit exit;
	unsigned policies = 0;

	for (size_t i = 0; i < AR_ARRAY_LEN(busy_words); i++)
		policies += a->values[i] != NULL;
	if (policies > 1)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE,
				       "--queue, --reject, --interrupt and --rollback exclude each other");
	exit = ar_ctl_read_text(c, a->words + 1, a->count - 1, &text);
	if (exit == AR_EXIT_OK)
		exit = submit_text(c, a, ar_buf_str(&text));
	ar_buf_fini(&text);
	return exit;
}

/* ---- interrupt ---- */

enum { INTERRUPT_TURN, INTERRUPT_CLEAR, INTERRUPT_REASON };

static void print_interrupted(struct ar_ctl *c, const struct ar_api_reply *r)
{
	if (!ar_str_is(ar_api_str(r->doc, "result"), "accepted")) {
		ar_ctl_note(c, "nothing was running");
		return;
	}
	ar_out_line(&c->out, ar_api_str(r->doc, "turnId"));
	ar_out_printf(&c->out, "  interrupted\n");
}

static enum ar_exit interrupt(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *reason =
		a->values[INTERRUPT_REASON] ? a->values[INTERRUPT_REASON] : "interrupted with agentctl";
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_str session;
	enum ar_exit exit = ar_resolve_session(c, a->words[0], &session);

	if (exit != AR_EXIT_OK)
		return exit;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "turnId", ar_str_from(a->values[INTERRUPT_TURN]));
	ar_jw_mstr(&w, "reason", ar_str_from(reason));
	if (a->values[INTERRUPT_CLEAR])
		ar_jw_mstr(&w, "queuePolicy", AR_STR("clear"));
	ar_jw_close(&w);
	return ar_api_show(c, "interrupt_turn", &body, print_interrupted);
}

/* ---- queue ---- */

static void print_queue(struct ar_ctl *c, struct ar_json session)
{
	for (struct ar_json_iter t = ar_json_iter(ar_json_get(session, "threads")); ar_json_next(&t);) {
		for (struct ar_json_iter q = ar_json_iter(ar_json_get(t.value, "queuedTurns"));
		     ar_json_next(&q);) {
			ar_out_printf(&c->out, "%3lld  ", (long long)ar_api_int(q.value, "position"));
			ar_out_line(&c->out, ar_api_str(q.value, "turnId"));
			ar_out_printf(&c->out, "  ");
			ar_out_line(&c->out, ar_api_str(q.value, "inputPreview"));
			ar_out_printf(&c->out, "\n");
		}
	}
}

/* The queues of all threads as one JSON object: {"threads":[{"threadId":..,"queue":{..}}]}. */
static void print_queue_json(struct ar_ctl *c, struct ar_json session)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_key(&w, "threads");
	ar_jw_open_array(&w);
	for (struct ar_json_iter t = ar_json_iter(ar_json_get(session, "threads")); ar_json_next(&t);) {
		ar_jw_open(&w);
		ar_jw_mstr(&w, "threadId", ar_api_str(t.value, "threadId"));
		ar_jw_key(&w, "queue");
		ar_json_print(ar_json_get(t.value, "queue"), &text);
		w.comma = true;
		ar_jw_close(&w);
	}
	ar_jw_close_array(&w);
	ar_jw_close(&w);
	ar_buf_addc(&text, '\n');
	ar_out_text(&c->out, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* The waiting turn that `word` ends; the word itself when there is none, so that the
 * server says what is wrong. */
static struct ar_str find_waiting(struct ar_json session, const char *word)
{
	struct ar_str wanted = ar_str_from(word), found = AR_STR_NONE;

	for (struct ar_json_iter t = ar_json_iter(ar_json_get(session, "threads")); ar_json_next(&t);) {
		for (struct ar_json_iter q = ar_json_iter(ar_json_get(t.value, "queuedTurns"));
		     ar_json_next(&q);) {
			struct ar_str id = ar_api_str(q.value, "turnId");

			if (!ar_str_ends(id, wanted))
				continue;
			if (!ar_str_absent(found))
				return wanted;
			found = id;
		}
	}
	return ar_str_absent(found) ? wanted : found;
}

static void print_order(struct ar_ctl *c, const struct ar_api_reply *r)
{
	int place = 0;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(r->doc, "order")); ar_json_next(&it);) {
		struct ar_str id = AR_STR_NONE;

		ar_json_str(it.value, &id);
		ar_out_printf(&c->out, "%3d  ", ++place);
		ar_out_line(&c->out, id);
		ar_out_printf(&c->out, "\n");
	}
}

static enum ar_exit change_queue(struct ar_ctl *c, const char *command, struct ar_json session,
				 const char *word)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_api_str(session, "sessionId"));
	ar_jw_mstr(&w, "turnId", find_waiting(session, word));
	ar_jw_close(&w);
	return ar_api_show(c, command, &body, print_order);
}

static const struct {
	const char *word;
	const char *command; /* NULL: only shows */
} queue_actions[] = {
	{ "list", NULL },
	{ "promote", "promote_queued_turn" },
	{ "remove", "remove_queued_turn" },
};

static enum ar_exit act_on_queue(struct ar_ctl *c, const struct ar_ctl_args *a, const char *command)
{
	struct ar_api_reply session;
	enum ar_exit exit = ar_resolve_read(c, a->words[0], &session);

	if (exit == AR_EXIT_OK && command)
		exit = change_queue(c, command, session.doc, a->words[2]);
	else if (exit == AR_EXIT_OK && c->is_json)
		print_queue_json(c, session.doc);
	else if (exit == AR_EXIT_OK)
		print_queue(c, session.doc);
	ar_api_fini(&session);
	return exit;
}

static enum ar_exit queue(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *word = a->count > 1 ? a->words[1] : "list";

	for (size_t i = 0; i < AR_ARRAY_LEN(queue_actions); i++) {
		const char *command = queue_actions[i].command;

		if (strcmp(word, queue_actions[i].word) != 0)
			continue;
		if (command && a->count < 3)
			return ar_ctl_complain(c, AR_EXIT_USAGE,
					       AR_STR("agentctl queue SESSION lists the turns"),
					       "queue %s needs a TURN", word);
		return act_on_queue(c, a, command);
	}
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("use list, promote or remove"), "queue has no '%s'",
			       word);
}

/* ---- resume ---- */

enum { RESUME_ALL_BLOCKED };

static enum ar_exit resume_thread(struct ar_ctl *c, struct ar_str session, struct ar_str thread)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;
	enum ar_exit exit;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "threadId", thread);
	ar_jw_close(&w);
	exit = ar_api_call(c, "resume_thread", ar_ctl_take_buf(c, &body), &reply);
	if (exit == AR_EXIT_OK && c->is_json)
		ar_api_print(c, &reply);
	else if (exit == AR_EXIT_OK) {
		ar_out_line(&c->out, thread);
		ar_out_printf(&c->out, "  ");
		ar_out_line(&c->out, ar_api_str(reply.doc, "result"));
		ar_out_printf(&c->out, "\n");
	}
	ar_api_fini(&reply);
	return exit;
}

static enum ar_exit answer_resume(struct ar_ctl *c, struct ar_json action)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;
	enum ar_exit exit;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "actionId", ar_api_str(action, "actionId"));
	ar_jw_mstr(&w, "decision", AR_STR("resume"));
	ar_jw_close(&w);
	exit = ar_api_call(c, "respond_action", ar_ctl_take_buf(c, &body), &reply);
	if (exit == AR_EXIT_OK && c->is_json) {
		ar_api_print(c, &reply);
	} else if (exit == AR_EXIT_OK) {
		ar_out_line(&c->out, ar_api_str(action, "sessionId"));
		ar_out_printf(&c->out, "  resumed\n");
	}
	ar_api_fini(&reply);
	return exit;
}

/* One page of the inbox; *cursor is where the next one begins, absent at the end. */
static enum ar_exit resume_page(struct ar_ctl *c, struct ar_str *cursor, size_t *count)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply page;
	enum ar_exit exit;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "status", AR_STR("pending"));
	ar_jw_mstr(&w, "cursor", *cursor);
	ar_jw_close(&w);
	exit = ar_api_call(c, "list_actions", ar_ctl_take_buf(c, &body), &page);
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(page.doc, "actions"));
	     exit == AR_EXIT_OK && ar_json_next(&it);) {
		if (!ar_str_is(ar_api_str(it.value, "actionType"), "recovery"))
			continue;
		exit = answer_resume(c, it.value);
		++*count;
	}
	*cursor = ar_arena_str(&c->arena, ar_api_str(page.doc, "nextCursor"));
	ar_api_fini(&page);
	return exit;
}

static enum ar_exit resume_all_blocked(struct ar_ctl *c)
{
	struct ar_str cursor = AR_STR_NONE;
	enum ar_exit exit;
	size_t count = 0;

	do
		exit = resume_page(c, &cursor, &count);
	while (exit == AR_EXIT_OK && !ar_str_empty(cursor));
	if (exit == AR_EXIT_OK && count == 0)
		ar_ctl_note(c, "nothing is blocked");
	return exit;
}

static enum ar_exit resume(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_api_reply session;
	enum ar_exit exit;

	if (a->values[RESUME_ALL_BLOCKED] && a->count == 0)
		return resume_all_blocked(c);
	if (a->values[RESUME_ALL_BLOCKED] || a->count == 0)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl resume --help"),
				       "resume needs a SESSION, or --all-blocked");
	exit = ar_resolve_read(c, a->words[0], &session);
	for (struct ar_json_iter t = ar_json_iter(ar_json_get(session.doc, "threads"));
	     exit == AR_EXIT_OK && ar_json_next(&t);)
		exit = resume_thread(c, ar_api_str(session.doc, "sessionId"),
				     ar_api_str(t.value, "threadId"));
	ar_api_fini(&session);
	return exit;
}

/* ---- rows ---- */

const struct ar_ctl_command ar_cmd_submit = {
	.name = "submit",
	.synopsis = "SESSION TEXT...",
	.summary = "submit a turn and return with the receipt",
	.text = "Submits TEXT (or standard input for a single -) to a session and prints the id of the turn "
		"and whether it\n"
		"runs or is queued. A repeat with the same --turn-id and text gets the first receipt.",
	.examples = "agentctl submit last \"Now in German\"\n"
		    "agentctl submit last --reject \"Only if you are idle\"\n"
		    "agentctl submit last --interrupt \"Stop. Do this instead\"",
	.min = 2,
	.max = -1,
	.options = { [SUBMIT_QUEUE] = { "queue", NULL, "queue it behind a running turn" },
		     [SUBMIT_REJECT] = { "reject", NULL, "fail if a turn is running" },
		     [SUBMIT_INTERRUPT] = { "interrupt", NULL, "interrupt the running turn and run next" },
		     [SUBMIT_ROLLBACK] = { "rollback", NULL, "also roll that turn back" },
		     [SUBMIT_TURN_ID] = { "turn-id", "ID", "the id for the turn; makes a repeat safe" },
		     [SUBMIT_THREAD] = { "thread", "THREAD", "to this thread instead of the first" } },
	.run = submit,
};

const struct ar_ctl_command ar_cmd_interrupt = {
	.name = "interrupt",
	.synopsis = "SESSION",
	.summary = "stop the running turn; its output is kept",
	.text = "Stops the running turn of a session. Queued turns stay and continue, unless --clear-queue "
		"removes them.",
	.examples = "agentctl interrupt last\n"
		    "agentctl interrupt last --clear-queue --reason \"wrong question\"",
	.min = 1,
	.max = 1,
	.options = { [INTERRUPT_TURN] = { "turn", "TURN", "this turn, if several threads have one" },
		     [INTERRUPT_CLEAR] = { "clear-queue", NULL, "also remove the queued turns" },
		     [INTERRUPT_REASON] = { "reason", "TEXT", "reason to record" } },
	.run = interrupt,
};

const struct ar_ctl_command ar_cmd_queue = {
	.name = "queue",
	.synopsis = "SESSION [list | promote TURN | remove TURN]",
	.summary = "list, promote or remove queued turns",
	.text = "Lists the queued turns of a session, moves one to the front, or removes one. TURN is an id "
		"or the end of one.",
	.examples = "agentctl queue last\n"
		    "agentctl queue last promote _3\n"
		    "agentctl queue last remove _3",
	.min = 1,
	.max = 3,
	.run = queue,
};

const struct ar_ctl_command ar_cmd_resume = {
	.name = "resume",
	.synopsis = "SESSION | --all-blocked",
	.summary = "resume work after a crash or a cleared blocker",
	.text = "Resumes the threads of a session that wait after a crash or a cleared blocker, and prints "
		"the result for\n"
		"each. A running thread is not changed. --all-blocked answers \"resume\" to every question "
		"of the inbox about\n"
		"a turn that was blocked because the runtime died too often while it worked on it.",
	.examples = "agentctl resume last\n"
		    "agentctl resume --all-blocked",
	.max = 1,
	.options = { [RESUME_ALL_BLOCKED] = { "all-blocked", NULL, "every blocked turn of all sessions" } },
	.run = resume,
};
