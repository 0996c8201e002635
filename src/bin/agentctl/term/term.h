/* A conversation on a terminal that is drawn: the renderer of tty/ below the events of chat/. The parts:
 * term.c waits, draws and takes what the rest of agentctl prints; raw.c is the mode of the terminal;
 * live.c composes the region at the bottom; cards.c shows events, subject.c what a call is about, words.c
 * JSON in words, beside.c what goes on beside the turn; ask.c has the questions; input.c the keys; menu.c
 * completion, files.c the names for it; pick.c chooses a session, history.c keeps what was entered;
 * place.c the folder and its branch. One thread of execution. */
#ifndef AR_CTL_TERM_H
#define AR_CTL_TERM_H

#include "chat/chat.h"
#include "edit.h"
#include "markdown.h"
#include "screen.h"

#define AR_TERM_CALLS 16 /* that run at once and are remembered */
#define AR_TERM_QUEUED 16 /* texts from here that wait and can be taken back */
#define AR_TERM_BESIDE 16 /* processes, agents and tasks that are remembered */
#define AR_TERM_PICK 200 /* sessions to choose from, the newest */
#define AR_TERM_MENU 6 /* entries of a menu that are shown */
#define AR_TERM_CHOICES 9 /* of a question: one digit each */

struct ar_term_call {
	struct ar_buf id, name, args, profile; /* args is JSON */
	ar_usec at; /* monotonic */
	bool is_running, is_read;
};

/* Calls that only read, one after the other, are one line. */
struct ar_term_reads {
	struct ar_buf names; /* of files, with commas */
	int files, searches, others;
	int64_t ms;
};

/* Something that goes on by itself. */
struct ar_term_beside {
	const char *kind; /* as it is shown; NULL = the place is free */
	struct ar_buf id, name, call, status;
	bool is_shown; /* a process is once its call has ended */
};

struct ar_term_queued {
	struct ar_buf turn, text;
};

struct ar_term_menu {
	struct ar_buf items; /* name, tab, words about it, newline */
	int count, chosen;
	bool is_open;
	struct ar_buf closed_for; /* the word that it was closed at */
};

struct ar_term_session {
	struct ar_str id, title, status;
	ar_usec updated;
	int64_t turns;
};

/* A list of sessions; what is typed filters it. */
struct ar_term_pick {
	bool is_open;
	struct ar_term_session sessions[AR_TERM_PICK];
	size_t count, chosen; /* chosen: among those that match */
	struct ar_str previewed; /* session that the preview is of */
	struct ar_buf preview;
};

struct ar_term_choice {
	struct ar_str decision;
	const char *label;
	char key;
};

struct ar_term_ask {
	struct ar_buf id; /* of the question that is shown; empty = none */
	struct ar_term_choice choices[AR_TERM_CHOICES];
	int count, chosen;
	ar_usec at; /* shown, monotonic */
	struct ar_buf field; /* of a form: what is asked for */
	size_t field_number;
};

struct ar_term {
	struct ar_chat *chat;
	struct ar_out out, err; /* of agentctl, as they were */
	struct ar_tty_screen screen;
	struct ar_keys keys;
	struct ar_edit edit;
	struct ar_md md;
	struct ar_buf thought; /* the model's reasoning, until it is over */
	struct ar_buf line; /* printed by agentctl and not ended yet */
	bool is_apart; /* the last thing printed was no answer: an empty line comes before one */
	int wait_fd, timer_fd, signal_fd;
	ar_usec resize_at, key_at, turn_at, esc_at; /* monotonic; 0 = none */
	ar_usec asked_at; /* for the cursor's position */
	struct ar_term_call calls[AR_TERM_CALLS];
	struct ar_term_reads reads;
	struct ar_buf output; /* whole, of the last command */
	struct ar_term_beside beside[AR_TERM_BESIDE];
	struct ar_buf plan; /* what is being done of the last list of steps, and how many are done */
	struct ar_term_queued queued[AR_TERM_QUEUED];
	size_t queued_count;
	struct ar_term_menu menu;
	struct ar_term_ask ask;
	struct ar_term_pick pick;
	struct ar_buf folder, branch;
	struct ar_str status; /* names of the parts of the last row, in their order */
	struct ar_buf mode; /* of permission, that the last turn had */
	bool is_compacting; /* a summary of the conversation is being written */
	bool is_rewinding; /* what to take back is being asked */
	int64_t tokens, window; /* of the context; 0 = not known */
	bool is_touched; /* something may have changed since the last frame */
	bool is_away; /* the terminal has no focus */
	const char *title; /* what it says; NULL: nothing of ours */
};

/* ---- term.c ---- */

/* Whether this conversation can be drawn: a terminal on both sides that is not dumb. */
bool ar_term_is_possible(const struct ar_ctl *c);

/* Takes the terminal; everything that agentctl prints goes through it until the end. */
struct ar_term *ar_term_begin(struct ar_chat *chat);
void ar_term_end(struct ar_term *t);

/* As in follow.h: what is due, then a descriptor to wait for; and that it has something. */
bool ar_term_rest(struct ar_term *t, int *ret_fd);
void ar_term_readable(struct ar_term *t);

/* A line of history in our own words or styled text; open text of the model ends before it. */
void ar_term_print(struct ar_term *t, struct ar_str line, int indent);
void ar_term_print_whole(struct ar_term *t, struct ar_str line);
void ar_term_printf(struct ar_term *t, enum ar_style style, const char *fmt, ...) AR_PRINTF(3, 4);

/* Ends what is open: the model's text, its reasoning, a row of reads. */
void ar_term_settle(struct ar_term *t);
void ar_term_text(struct ar_term *t, struct ar_str text); /* of the model */
ar_usec ar_term_now(void);

/* The terminal as it was before, for another program; and back. */
void ar_term_release(struct ar_term *t);
void ar_term_seize(struct ar_term *t);

/* Forgets what was of a session that is left. */
void ar_term_forget(struct ar_term *t);

/* Bytes to the terminal, freed afterwards. */
void ar_term_write(struct ar_buf *bytes);

/* ---- attention.c ---- */

/* Tells a person who looks elsewhere. */
void ar_term_notify(const struct ar_term *t, const char *what);

/* The title of the window says what the conversation does. */
void ar_term_title(struct ar_term *t);

/* ---- raw.c ---- */

/* Raw mode with bracketed paste. Left on every end of the program, by whatever cause. */
void ar_raw_enter(void);
void ar_raw_enter_full(void); /* the same on the other screen of the terminal */
void ar_raw_leave(void);

/* ---- live.c ---- */

void ar_term_compose(struct ar_term *t);

/* ---- cards.c ---- */

/* True: the event is shown, and nobody else has to. */
bool ar_term_event(struct ar_term *t, const struct ar_ctl_event *e);
void ar_term_flush_reads(struct ar_term *t);
void ar_term_show_output(struct ar_term *t); /* of the last command, whole */

/* Stored content as text. False: there is none, or it is not text. */
bool ar_term_content(struct ar_term *t, struct ar_str ref, struct ar_buf *to);

/* The first lines of a text behind a bar, and how many more there are. */
void ar_term_print_first(struct ar_term *t, struct ar_str text, int most, const char *how);

/* The end of a turn that did not complete. */
void ar_term_turn_failed(struct ar_term *t, struct ar_str message, struct ar_str advice, bool is_cancelled);

/* ---- beside.c ---- */

/* True: the event was about something that goes on beside the turn. */
bool ar_term_beside_event(struct ar_term *t, const struct ar_ctl_event *e);
void ar_term_beside_called(struct ar_term *t,
			   struct ar_str call); /* the call has ended, its process has not */
void ar_term_beside_rows(struct ar_term *t, struct ar_buf *rows);
void ar_term_beside_fini(struct ar_term *t);

/* ---- words.c ---- */

/* A JSON value in one line without JSON, or of a string all its lines. Text of others, not harmless yet. */
void ar_words_value(struct ar_buf *to, struct ar_json v);

/* A text that is a JSON object in one line; another text as it is. */
void ar_words_args(struct ar_buf *to, struct ar_str text);

/* A text that is a JSON object or array, a line for each member. False: it is something else. */
bool ar_words_result(struct ar_buf *to, struct ar_str text);

/* The list of steps in JSON arguments, whatever tool has it, one by one. False: there is none. */
enum ar_words_step { AR_WORDS_OPEN, AR_WORDS_NOW, AR_WORDS_DONE, AR_WORDS_LEFT };
typedef void ar_words_step_fn(void *arg, struct ar_str name, enum ar_words_step step);
bool ar_words_each_step(struct ar_str args, ar_words_step_fn *step, void *arg);

/* The same with a styled line each. */
struct ar_words_steps {
	struct ar_buf rows, now; /* now: the step that is being done */
	int count, done;
};
bool ar_words_steps(struct ar_str args, struct ar_words_steps *ret);

/* ---- subject.c ---- */

/* What a call is about, in one line: `$ make test`, `Edited src/a.c`. */
void ar_subject_title(struct ar_buf *to, struct ar_str tool, struct ar_str args, bool is_done);

/* Whether calls of the tool only look at something, and are counted in one line. */
bool ar_subject_is_look(struct ar_str tool);

/* All that it was called with and its title does not show whole, a styled line each. */
void ar_subject_lines(struct ar_buf *to, struct ar_str tool, struct ar_str args);

/* The member of JSON arguments as text; empty when there is none. */
void ar_subject_member(struct ar_buf *to, struct ar_str args, const char *name);

/* Lines of a change, with numbers from `first` on; 0 = without. Returns lines added and removed. */
struct ar_subject_change {
	size_t added, removed;
};
struct ar_subject_change ar_subject_diff(struct ar_buf *to, struct ar_str before, struct ar_str after,
					 size_t first);

/* ---- ask.c ---- */

void ar_term_ask(struct ar_term *t); /* shows the question that is next, once */
void ar_term_ask_rows(struct ar_term *t, struct ar_buf *rows);

/* True: the key was for the question. */
bool ar_term_ask_key(struct ar_term *t, const struct ar_key *key);

/* ---- input.c ---- */

void ar_term_keys(struct ar_term *t, bool is_idle);
void ar_term_turn_began(struct ar_term *t, struct ar_str turn);
void ar_term_queue(struct ar_term *t, struct ar_str turn, struct ar_str text); /* a text from here waits */
void ar_term_show_keys(struct ar_term *t);

/* The keys of "vi" or "emacs". False: another name. */
bool ar_term_set_keys(struct ar_term *t, struct ar_str name);

/* ---- run.c ---- */

/* Runs a command of the person's own, with the terminal as it was; it is not the model's and has no
 * sandbox. */
void ar_term_run(struct ar_term *t, struct ar_str command);

/* The text through the person's editor. */
void ar_term_edit(struct ar_term *t);
void ar_term_suspend(struct ar_term *t);

/* ---- menu.c ---- */

void ar_term_menu_update(struct ar_term *t);
void ar_term_menu_rows(struct ar_term *t, struct ar_buf *rows);
bool ar_term_menu_key(struct ar_term *t, const struct ar_key *key);

/* ---- pick.c ---- */

void ar_term_pick(struct ar_term *t); /* opens the list; says so if there is nothing to choose */
void ar_term_pick_preview(struct ar_term *t); /* reads what the chosen one needs */
void ar_term_pick_rows(struct ar_term *t, struct ar_buf *rows);
bool ar_term_pick_key(struct ar_term *t, const struct ar_key *key);

/* ---- history.c: texts that were entered, in a file that only the user can read ---- */

void ar_history_load(struct ar_ctl *c, struct ar_edit *e);
void ar_history_add(struct ar_ctl *c, struct ar_str text); /* not one that begins with a blank */

/* ---- files.c ---- */

/* Names of files below the current folder that match, best first, a line each. */
void ar_files_match(struct ar_str word, size_t most, struct ar_buf *to);

/* ---- place.c ---- */

void ar_place_read(struct ar_buf *folder, struct ar_buf *branch);

#endif
