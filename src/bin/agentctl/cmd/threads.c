/* `steer`, `fork` and `rollback`: what becomes of the conversation of a thread. */
#include "checkpoint/checkpoint.h"
#include "resolve.h"
#include "submit.h"

/* The thread that `word` ends; without a word the one that works, or the first. Absent when there is
 * none. */
static struct ar_json find_thread(struct ar_json session, const char *word)
{
	struct ar_json found = { 0 };

	for (struct ar_json_iter t = ar_json_iter(ar_json_get(session, "threads")); ar_json_next(&t);) {
		bool is_active = !ar_str_absent(ar_api_str(t.value, "activeTurnId"));

		if (word ? ar_str_ends(ar_api_str(t.value, "threadId"), ar_str_from(word)) : is_active)
			return t.value;
		if (!word && ar_json_type(found) != AR_JSON_OBJECT)
			found = t.value;
	}
	return found;
}

/* A thread that is named may be that of a child agent that has ended. */
static enum ar_exit read_with(struct ar_ctl *c, const struct ar_ctl_args *a, const char *thread,
			      struct ar_api_reply *ret)
{
	return thread ? ar_resolve_read_all(c, a->words[0], ret) : ar_resolve_read(c, a->words[0], ret);
}

/* Sends what `body` holds, closed, and shows the answer: as JSON, or the member `shown`
 * and `words` after it. */
static enum ar_exit send(struct ar_ctl *c, const char *command, struct ar_buf *body, const char *shown,
			 const char *words)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(c, command, ar_ctl_take_buf(c, body), &reply);

	if (exit == AR_EXIT_OK && c->is_json) {
		ar_api_print(c, &reply);
	} else if (exit == AR_EXIT_OK) {
		ar_out_line(&c->out, ar_api_str(reply.doc, shown));
		ar_out_printf(&c->out, "  %s\n", words);
	}
	ar_api_fini(&reply);
	return exit;
}

static enum ar_exit no_thread(struct ar_ctl *c, const char *word)
{
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl show SESSION lists the threads"),
			       "the session has no thread '%s'", word ? word : "");
}

/* ---- steer ---- */

enum { STEER_THREAD };

static enum ar_exit steer_with(struct ar_ctl *c, const struct ar_ctl_args *a, struct ar_json session,
			       struct ar_str text)
{
	struct ar_json t = find_thread(session, a->values[STEER_THREAD]);
	struct ar_str turn = ar_api_str(t, "activeTurnId");
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	if (ar_json_type(t) != AR_JSON_OBJECT)
		return no_thread(c, a->values[STEER_THREAD]);
	if (ar_str_absent(turn))
		return ar_ctl_complain(c, AR_EXIT_FAILED,
				       AR_STR("agentctl submit SESSION TEXT starts a turn"),
				       "no turn is running");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_api_str(session, "sessionId"));
	ar_jw_mstr(&w, "threadId", ar_api_str(t, "threadId"));
	ar_jw_mstr(&w, "turnId", turn);
	ar_submit_add_input(&w, text);
	ar_jw_close(&w);
	return send(c, "steer_turn", &body, "appliedAtStep", "added to the running turn");
}

static enum ar_exit steer(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_api_reply session;
	struct ar_buf text;
	enum ar_exit exit = ar_ctl_read_text(c, a->words + 1, a->count - 1, &text);

	if (exit == AR_EXIT_OK) {
		exit = ar_resolve_read(c, a->words[0], &session);
		if (exit == AR_EXIT_OK)
			exit = steer_with(c, a, session.doc, ar_buf_str(&text));
		ar_api_fini(&session);
	}
	ar_buf_fini(&text);
	return exit;
}

/* ---- fork ---- */

enum { FORK_TURN, FORK_THREAD };

static enum ar_exit fork_thread(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply session;
	struct ar_json t;
	enum ar_exit exit = read_with(c, a, a->values[FORK_THREAD], &session);

	if (exit == AR_EXIT_OK) {
		t = find_thread(session.doc, a->values[FORK_THREAD]);
		ar_jw_open(&w);
		ar_jw_mstr(&w, "sessionId", ar_api_str(session.doc, "sessionId"));
		ar_jw_mstr(&w, "threadId", ar_api_str(t, "threadId"));
		ar_jw_mstr(&w, "turnId", ar_str_from(a->values[FORK_TURN]));
		ar_jw_close(&w);
		exit = ar_json_type(t) == AR_JSON_OBJECT
			       ? send(c, "fork_thread", &body, "threadId", "branches off")
			       : no_thread(c, a->values[FORK_THREAD]);
	}
	ar_buf_fini(&body);
	ar_api_fini(&session);
	return exit;
}

/* ---- rollback ---- */

enum { ROLLBACK_TURN, ROLLBACK_SEQUENCE, ROLLBACK_THREAD, ROLLBACK_REASON, ROLLBACK_FILES };

static void print_removed(struct ar_ctl *c, const struct ar_api_reply *r)
{
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(r->doc, "removedTurnIds"));
	     ar_json_next(&it);) {
		struct ar_str id = AR_STR_NONE;

		ar_json_str(it.value, &id);
		ar_out_line(&c->out, id);
		ar_out_printf(&c->out, "  removed\n");
	}
}

/* The files as they were before the first of the removed turns that has a checkpoint. */
static enum ar_exit restore_files(struct ar_ctl *c, struct ar_str session, struct ar_json removed)
{
	for (struct ar_json_iter it = ar_json_iter(removed); ar_json_next(&it);) {
		struct ar_str turn = AR_STR_NONE, found;

		ar_json_str(it.value, &turn);
		found = ar_checkpoint_of_turn(c, session, turn);
		if (!ar_str_absent(found))
			return ar_checkpoint_restore(c, session, found, "agentctl rollback --files");
	}
	ar_ctl_note(c, "no turn that was removed has a checkpoint; the files stay as they are");
	return AR_EXIT_OK;
}

static enum ar_exit send_rollback(struct ar_ctl *c, struct ar_buf *body, struct ar_str session,
				  bool with_files)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(c, "rollback_thread", ar_ctl_take_buf(c, body), &reply);

	if (exit == AR_EXIT_OK && c->is_json)
		ar_api_print(c, &reply);
	else if (exit == AR_EXIT_OK)
		print_removed(c, &reply);
	if (exit == AR_EXIT_OK && with_files)
		exit = restore_files(c, session, ar_json_get(reply.doc, "removedTurnIds"));
	ar_api_fini(&reply);
	return exit;
}

static enum ar_exit roll_back(struct ar_ctl *c, const struct ar_ctl_args *a, struct ar_json session,
			      struct ar_json thread)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_api_str(session, "sessionId"));
	ar_jw_mstr(&w, "threadId", ar_api_str(thread, "threadId"));
	ar_jw_key(&w, "target");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "turnId", ar_str_from(a->values[ROLLBACK_TURN]));
	if (a->values[ROLLBACK_SEQUENCE])
		ar_jw_mraw(&w, "sequence", ar_str_from(a->values[ROLLBACK_SEQUENCE]));
	ar_jw_close(&w);
	ar_jw_mstr(&w, "reason", ar_str_from(a->values[ROLLBACK_REASON]));
	ar_jw_close(&w);
	return send_rollback(c, &body, ar_api_str(session, "sessionId"), a->values[ROLLBACK_FILES]);
}

static enum ar_exit rollback(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_api_reply session;
	struct ar_json t;
	enum ar_exit exit;
	uint64_t sequence;

	if (!a->values[ROLLBACK_TURN] == !a->values[ROLLBACK_SEQUENCE])
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl show SESSION lists the turns"),
				       "rollback needs --turn or --sequence");
	if (a->values[ROLLBACK_SEQUENCE] &&
	    !ar_str_to_u64(ar_str_from(a->values[ROLLBACK_SEQUENCE]), &sequence))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl tail SESSION shows the sequences"),
				       "'%s' is not a sequence", a->values[ROLLBACK_SEQUENCE]);
	exit = read_with(c, a, a->values[ROLLBACK_THREAD], &session);
	if (exit == AR_EXIT_OK) {
		t = find_thread(session.doc, a->values[ROLLBACK_THREAD]);
		exit = ar_json_type(t) == AR_JSON_OBJECT ? roll_back(c, a, session.doc, t)
							 : no_thread(c, a->values[ROLLBACK_THREAD]);
	}
	ar_api_fini(&session);
	return exit;
}

/* ---- rows ---- */

const struct ar_ctl_command ar_cmd_rollback = {
	.name = "rollback",
	.synopsis = "SESSION --turn TURN",
	.summary = "roll a thread back to an earlier turn",
	.text = "Removes the turns after TURN from the conversation and lists them. The log keeps them; a "
		"model no longer\n"
		"gets them. Nothing may be running. With --files the files of the workspace become as they "
		"were before "
		"the\n"
		"first removed turn that changed some; the state before is kept as a checkpoint.",
	.examples = "agentctl rollback last --turn turn_01j9xk_2 --files\n"
		    "agentctl rollback last --sequence 0 --reason \"from the beginning\"",
	.min = 1,
	.max = 1,
	.options = { [ROLLBACK_TURN] = { "turn", "TURN", "the last turn to keep" },
		     [ROLLBACK_SEQUENCE] = { "sequence", "N",
					     "remove the turns that started after this fact" },
		     [ROLLBACK_THREAD] = { "thread", "THREAD", "in this thread (the active one)" },
		     [ROLLBACK_REASON] = { "reason", "TEXT", "reason to record" },
		     [ROLLBACK_FILES] = { "files", NULL, "restore the files too" } },
	.run = rollback,
};

const struct ar_ctl_command ar_cmd_steer = {
	.name = "steer",
	.synopsis = "SESSION TEXT...",
	.summary = "add input to the running turn",
	.text = "Adds TEXT (or standard input for a single -) to the running turn; its next model request "
		"contains it. Fails\n"
		"if nothing is running.",
	.examples = "agentctl steer last \"and keep it short\"",
	.min = 2,
	.max = -1,
	.options = { [STEER_THREAD] = { "thread", "THREAD", "this thread, if several have a running turn" } },
	.run = steer,
};

const struct ar_ctl_command ar_cmd_fork = {
	.name = "fork",
	.synopsis = "SESSION",
	.summary = "create a thread that continues from an earlier turn",
	.text = "Creates a thread with the conversation of another one up to a turn, and prints its id. Both "
		"can continue\n"
		"independently; submit --thread submits to the branch.",
	.examples = "agentctl fork last\n"
		    "agentctl fork last --turn turn_01j9xk_2",
	.min = 1,
	.max = 1,
	.options = { [FORK_TURN] = { "turn", "TURN", "the last turn to keep (the newest that has ended)" },
		     [FORK_THREAD] = { "thread", "THREAD", "branch from this thread (the active one)" } },
	.run = fork_thread,
};
