/* A conversation on the terminal: one session, one thread of it, the lines that are typed and the events
 * that come. The parts: chat.c lives it, typed.c reads lines, cards.c and notices.c show events, tally.c
 * counts, question.c and form.c answer what is asked, slash.c has the commands, thread.c those about the
 * thread, recap.c shows where a session stands. One thread of execution for all. */
#ifndef AR_CTL_CHAT_H
#define AR_CTL_CHAT_H

#include "calls.h"
#include "follow.h"
#include "shown.h"
#include "workspace/workspace.h"

#define AR_CHAT_QUESTIONS 16 /* that wait at once; the others are in `agentctl inbox` */
#define AR_CHAT_CURRENCY 9

/* What was used, of a turn or of all. */
struct ar_chat_tally {
	int64_t input, output, cached, tools, ms;
	double amount;
	char currency[AR_CHAT_CURRENCY];
	bool is_priced, is_unknown; /* some of it has a price; some has none */
	int turns;
};

struct ar_chat_question {
	struct ar_str id, type, prompt, decisions, schema; /* the last two are JSON */
	struct ar_str impact;
	struct ar_str tool, input, reason, profile; /* of the call, its arguments are stored; may be absent */
	struct ar_str ref; /* of the whole question, when prompt leaves out a part; absent: it does not */
	struct ar_str digest; /* of the whole question, once it was shown; absent: not needed, or not shown */
	ar_usec expires;
	bool is_destructive;
	bool is_told; /* shown */
};

/* The answer to a form as far as it is given. */
struct ar_chat_form {
	struct ar_json_parser *parser; /* of the schema; NULL = no form is being filled in */
	struct ar_json fields; /* its properties; absent = the answer is one JSON object */
	struct ar_json schema;
	size_t next; /* field that is asked for */
	struct ar_buf answer;
};

struct ar_term;

struct ar_chat {
	struct ar_ctl *ctl;
	struct ar_term *term; /* that it is drawn on; NULL: lines */
	struct ar_out *side; /* everything but the model's words */
	bool is_interactive; /* somebody types; otherwise a line is a turn, one after the other */
	bool fails_on_question; /* with nobody who types */
	struct ar_str session, thread; /* absent: not begun */
	struct ar_str workspace; /* of new sessions; absent: the server's own folder */
	struct ar_str isolation; /* of the same; absent: as the workspace says */
	struct ar_str model, mode; /* for the next turns; absent: the daemon's */
	struct ar_ctl_follow follow;
	struct ar_shown shown;

	/* bytes of standard input that make no whole line yet, or lines that have to wait */
	struct ar_buf typed;
	bool is_at_end; /* of standard input */
	bool is_prompted; /* the prompt stands */

	struct ar_buf running; /* turn that runs, or that is waited for; empty = none */
	struct ar_buf last; /* the newest turn */
	struct ar_buf own; /* ids of turns from here that were not seen as facts yet, one per line */
	struct ar_buf shown_model; /* that was shown last */
	int64_t waiting; /* turns in the queue */
	bool is_interrupted; /* the running turn was asked to stop */
	ar_usec interrupt_at; /* a Ctrl-C with nothing to stop, monotonic; 0 = none */

	struct ar_chat_tally turn, all;
	struct ar_calls calls;
	struct ar_chat_question questions[AR_CHAT_QUESTIONS]; /* in the order they came */
	size_t question_count;
	struct ar_chat_form form;

	bool is_over, is_elsewhere; /* leave; leave this session for a new one, or for `next` */
	struct ar_str next; /* id of a session; absent: none */
	enum ar_exit exit;
};

struct ar_chat_options {
	const char *session; /* word for one, or NULL */
	struct ar_workspace_choice workspace; /* of new sessions, or whose newest is continued */
	const char *model, *mode;
	bool fails_on_question; /* where nobody types: a question ends the conversation */
	bool is_plain; /* lines, even on a terminal that could be drawn on */
	bool picks; /* the session is chosen from a list, on a terminal that is drawn on */
};

/* The whole conversation, to its exit. */
AR_MUST_USE enum ar_exit ar_chat_run(struct ar_ctl *c, const struct ar_chat_options *o);

/* ---- chat.c ---- */

/* Sends the text as a turn. */
void ar_chat_submit(struct ar_chat *t, struct ar_str text);

/* Stops the running turn; says so when there is none. */
void ar_chat_interrupt(struct ar_chat *t);
void ar_chat_leave(struct ar_chat *t, enum ar_exit exit);

/* Goes on in that session. */
void ar_chat_switch(struct ar_chat *t, struct ar_str session);

/* Ctrl-C: stops the turn; twice with nothing to stop leaves. */
void ar_chat_on_interrupt(struct ar_chat *t);

/* ---- typed.c ---- */

/* Reads what standard input has. */
void ar_chat_read(struct ar_chat *t);

/* Takes what was read: lines become turns, answers or commands, as far as their time has come. */
void ar_chat_read_lines(struct ar_chat *t);

/* A whole line of the person: a turn, an answer or a command. */
void ar_chat_line(struct ar_chat *t, struct ar_str line);

/* Shows the prompt that is due, once. */
void ar_chat_prompt(struct ar_chat *t);

/* ---- cards.c ---- */

/* Shows an event and keeps what follows from it. */
void ar_chat_show(struct ar_chat *t, const struct ar_ctl_event *e);

/* Begins and ends a line beside the model's words; false = nothing is to be shown. */
bool ar_chat_begin(struct ar_chat *t, enum ar_style style);
void ar_chat_end(struct ar_chat *t);

/* A dim line in our own words. */
void ar_chat_printf(struct ar_chat *t, const char *fmt, ...) AR_PRINTF(2, 3);

/* ---- notices.c ---- */

/* One dim line for events that are worth one; others are passed over. */
void ar_chat_notice(struct ar_chat *t, const struct ar_ctl_event *e);

/* ---- recap.c ---- */

/* The last turn of a thread of get_session: what was asked and the beginning of the answer. */
void ar_chat_recap(struct ar_chat *t, struct ar_json thread);

/* ---- tally.c ---- */

void ar_chat_tally_cost(struct ar_chat_tally *y, struct ar_json payload); /* of cost.recorded */
void ar_chat_tally_add(struct ar_chat_tally *all, const struct ar_chat_tally *one);
void ar_chat_tally_print(struct ar_out *o, const struct ar_chat_tally *y);

/* ---- question.c ---- */

/* From the payload of action.required or a record of list_actions. */
void ar_chat_add_question(struct ar_chat *t, struct ar_str id, struct ar_json what);
void ar_chat_settled(struct ar_chat *t, const struct ar_ctl_event *e); /* action.resolved */

/* Shows the question that is next, with what may be typed; and takes the line that answers it. */
void ar_chat_question_prompt(struct ar_chat *t);
void ar_chat_question_answer(struct ar_chat *t, struct ar_str line);

/* All that it asks, however long, and the proof that it was read. */
void ar_chat_read_whole(struct ar_chat *t, struct ar_chat_question *q);

/* Answers the question that is next. `payload` is JSON, or absent. True when it is settled by that. */
bool ar_chat_respond(struct ar_chat *t, struct ar_str decision, struct ar_str payload);

/* ---- form.c ---- */

void ar_chat_form_prompt(struct ar_chat *t, const struct ar_chat_question *q);
void ar_chat_form_input(struct ar_chat *t, struct ar_str line);
void ar_chat_form_drop(struct ar_chat *t);

/* ---- slash.c ---- */

/* False: there is no such command. */
bool ar_chat_command(struct ar_chat *t, struct ar_str line);
/* The commands one by one; false: there are no more. */
struct ar_chat_command_words {
	const char *name, *doc;
};
bool ar_chat_command_at(size_t i, struct ar_chat_command_words *ret);
void ar_chat_explain(struct ar_chat *t, struct ar_str id);

/* ---- thread.c: commands about the thread ---- */

void ar_chat_queue(struct ar_chat *t, struct ar_str word);
void ar_chat_compact(struct ar_chat *t, struct ar_str word);
void ar_chat_fork(struct ar_chat *t, struct ar_str word);
void ar_chat_rollback(struct ar_chat *t, struct ar_str word);
void ar_chat_undo(struct ar_chat *t, struct ar_str word); /* the files of the last turn */
void ar_chat_diff(struct ar_chat *t, struct ar_str word); /* what it changed in them */
void ar_chat_steer(struct ar_chat *t, struct ar_str text);

/* Gives the text to the running turn; takes a turn out of the queue. False: it was refused, which has
 * been said. */
bool ar_chat_steer_text(struct ar_chat *t, struct ar_str text);
bool ar_chat_unqueue(struct ar_chat *t, struct ar_str turn);

#endif
