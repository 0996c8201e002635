/* See term.h: what the keys mean. A menu comes first, then a question, then the conversation, then the
 * editor. */
#include "image/image.h"
#include "term/term.h"

#include <string.h>

#define TWICE_USEC 1000000 /* two Esc within this take back */
#define ECHO_LINES 12 /* of a text that was entered */
#define DROP_MIN 8 /* bytes that came at once and may be a path */

/* ---- modes ---- */

/* The daemon's own comes first; a looser one than the host's is refused by the daemon, in its words. */
static void next_mode(struct ar_term *t)
{
	static const char *const modes[] = { NULL, "plan", "untrusted", "on_request" };
	struct ar_chat *chat = t->chat;
	size_t i = 0;

	while (i < AR_ARRAY_LEN(modes) && !ar_str_eq(chat->mode, ar_str_from(modes[i])))
		i++;
	chat->mode = ar_str_from(modes[(i + 1) % AR_ARRAY_LEN(modes)]);
}

/* ---- texts that wait ---- */

void ar_term_queue(struct ar_term *t, struct ar_str turn, struct ar_str text)
{
	struct ar_term_queued *q;

	if (t->queued_count == AR_TERM_QUEUED)
		return;
	q = &t->queued[t->queued_count++];
	ar_buf_clear(&q->turn);
	ar_buf_clear(&q->text);
	ar_buf_adds(&q->turn, turn);
	ar_buf_adds(&q->text, text);
}

static void drop_queued(struct ar_term *t, size_t at)
{
	struct ar_term_queued gone = t->queued[at];

	t->queued_count--;
	memmove(&t->queued[at], &t->queued[at + 1], (t->queued_count - at) * sizeof(gone));
	t->queued[t->queued_count] = gone;
}

static void echo_text(struct ar_term *t, struct ar_str text)
{
	struct ar_str rest = text, line;
	int more = 0;

	ar_term_print(t, AR_STR(""), 0);
	for (int i = 0; rest.len || i == 0; i++) {
		struct ar_buf styled = { 0 };

		rest = ar_str_split(rest, '\n', &line);
		ar_text_style(&styled, AR_STYLE_BOLD);
		ar_buf_addz(&styled, i ? "  " : "› ");
		ar_text_add_code(&styled, line);
		if (i < ECHO_LINES)
			ar_term_print(t, ar_buf_str(&styled), 2);
		more += i >= ECHO_LINES;
		ar_buf_fini(&styled);
	}
	if (more)
		ar_term_printf(t, AR_STYLE_DIM, "  … %d lines more", more);
}

/* A text that waited is said where its turn begins. */
void ar_term_turn_began(struct ar_term *t, struct ar_str turn)
{
	t->turn_at = ar_term_now();
	for (size_t i = 0; i < t->queued_count; i++) {
		if (!ar_str_eq(ar_buf_str(&t->queued[i].turn), turn))
			continue;
		echo_text(t, ar_buf_str(&t->queued[i].text));
		drop_queued(t, i);
		return;
	}
}

static bool take_back(struct ar_term *t)
{
	struct ar_term_queued *q = t->queued_count ? &t->queued[t->queued_count - 1] : NULL;

	if (!q || !ar_edit_is_empty(&t->edit))
		return false;
	if (ar_chat_unqueue(t->chat, ar_buf_str(&q->turn))) {
		ar_edit_set(&t->edit, ar_buf_str(&q->text));
		drop_queued(t, t->queued_count - 1);
	}
	return true;
}

/* ---- entering ---- */

static bool is_blank(struct ar_str text)
{
	return ar_str_empty(ar_str_trim(text, " \t\n"));
}

static void enter(struct ar_term *t)
{
	struct ar_buf text = { 0 };
	struct ar_str line;
	bool waits = t->chat->running.len || t->queued_count;

	ar_edit_enter(&t->edit, &text);
	line = ar_str_trim(ar_buf_str(&text), "\n");
	if (is_blank(line) && !t->chat->question_count) {
		ar_buf_fini(&text);
		return;
	}
	if (!t->chat->question_count) /* an answer may be a secret */
		ar_history_add(t->chat->ctl, line);
	if (!waits || line.p[0] == '/' || line.p[0] == '!')
		echo_text(t, line);
	if (line.len > 1 && line.p[0] == '!')
		ar_term_run(t, ar_str_sub(line, 1, line.len));
	else
		ar_chat_line(t->chat, line);
	ar_buf_fini(&text);
}

/* A backslash before Enter makes a new line, where no other key can. */
static void on_enter(struct ar_term *t)
{
	struct ar_edit *e = &t->edit;

	if (e->is_searching) {
		e->is_searching = false;
		return;
	}
	if (e->caret && e->text.p[e->caret - 1] == '\\') {
		ar_edit_remove(e, e->caret - 1, e->caret, false);
		ar_edit_insert(e, AR_STR("\n"));
		return;
	}
	enter(t);
}

static void steer(struct ar_term *t)
{
	struct ar_buf text = { 0 };

	if (!t->chat->running.len || ar_edit_is_empty(&t->edit))
		return;
	ar_edit_enter(&t->edit, &text);
	ar_history_add(t->chat->ctl, ar_buf_str(&text));
	if (ar_chat_steer_text(t->chat, ar_buf_str(&text))) {
		echo_text(t, ar_buf_str(&text));
		ar_term_printf(t, AR_STYLE_DIM, "  given to the running turn");
	} else {
		ar_edit_set(&t->edit, ar_buf_str(&text));
	}
	ar_buf_fini(&text);
}

/* ---- taking back ---- */

static void rewind_turn(struct ar_term *t, char what)
{
	struct ar_edit *e = &t->edit;
	struct ar_buf last = { 0 };

	t->is_rewinding = false;
	if (what == '2' || what == '3')
		ar_chat_undo(t->chat, AR_STR(""));
	if (what == '1' || what == '3') {
		ar_chat_rollback(t->chat, AR_STR(""));
		if (e->history_count)
			ar_buf_adds(&last, ar_buf_str(&e->history[e->history_count - 1]));
		ar_edit_set(e, ar_buf_str(&last));
	}
	ar_buf_fini(&last);
}

static bool rewind_key(struct ar_term *t, const struct ar_key *key)
{
	if (!t->is_rewinding)
		return false;
	t->is_rewinding = false;
	if (key->kind == AR_KEY_TEXT && key->text.len == 1 && strchr("123", key->text.p[0])) {
		rewind_turn(t, key->text.p[0]);
		return true;
	}
	return key->kind == AR_KEY_ESC;
}

static void on_escape(struct ar_term *t)
{
	struct ar_chat *chat = t->chat;
	ar_usec now = ar_term_now(), before = t->esc_at;

	t->esc_at = 0;
	if (chat->running.len) {
		if (!chat->is_interrupted)
			ar_chat_interrupt(chat);
		return;
	}
	if (!ar_edit_is_empty(&t->edit) || ar_str_absent(chat->session))
		return;
	t->is_rewinding = before && now - before < TWICE_USEC;
	t->esc_at = now;
}

/* ---- keys ---- */

static bool control_key(struct ar_term *t, char letter)
{
	switch (letter) {
	case 'c':
		if (ar_edit_is_empty(&t->edit))
			ar_chat_on_interrupt(t->chat);
		ar_edit_set(&t->edit, AR_STR(""));
		return true;
	case 'd':
		if (!ar_edit_is_empty(&t->edit))
			return false;
		ar_chat_leave(t->chat, AR_EXIT_OK);
		return true;
	case 'g':
		ar_term_edit(t);
		return true;
	case 'l':
		t->screen.is_stale = true;
		return true;
	case 'z':
		ar_term_suspend(t);
		return true;
	default:
		return false;
	}
}

static void on_position(struct ar_term *t, int col)
{
	t->asked_at = 0;
	if (!t->resize_at) /* otherwise the size is another one by now, and is asked about again */
		ar_tty_resized(&t->screen, col);
}

static bool own_key(struct ar_term *t, const struct ar_key *key)
{
	switch (key->kind) {
	case AR_KEY_ENTER:
		on_enter(t);
		return true;
	case AR_KEY_BACKTAB:
		next_mode(t);
		return true;
	case AR_KEY_TAB:
		steer(t);
		return true;
	case AR_KEY_ESC:
		if (t->edit.is_searching || (t->edit.is_vi && !t->edit.is_normal))
			return false;
		on_escape(t);
		return true;
	case AR_KEY_UP:
		return take_back(t);
	case AR_KEY_CTRL:
		return !t->edit.is_searching && control_key(t, key->letter);
	default:
		return false;
	}
}

/* The path of an image that came at once, as of a file that is dropped on the terminal. */
static bool drop_image(struct ar_term *t, const struct ar_key *key)
{
	struct ar_buf name = { 0 };
	bool is_image =
		(key->kind == AR_KEY_PASTE || (key->kind == AR_KEY_TEXT && key->text.len >= DROP_MIN)) &&
		ar_image_is_dropped(key->text, &name);

	if (is_image)
		ar_edit_insert(&t->edit, ar_buf_str(&name));
	ar_buf_fini(&name);
	return is_image;
}

static void on_key(struct ar_term *t, const struct ar_key *key)
{
	if (key->kind == AR_KEY_POSITION) {
		on_position(t, key->value);
		return;
	}
	if (key->kind == AR_KEY_FOCUS) {
		t->is_away = !key->value;
		return;
	}
	if (!rewind_key(t, key) && !ar_term_pick_key(t, key) && !ar_term_menu_key(t, key) &&
	    !ar_term_ask_key(t, key) && !own_key(t, key) && !drop_image(t, key))
		(void)ar_edit_key(&t->edit, key);
	ar_term_menu_update(t);
}

void ar_term_keys(struct ar_term *t, bool is_idle)
{
	struct ar_key key;

	while (!t->chat->is_over && !t->chat->is_elsewhere && ar_keys_next(&t->keys, is_idle, &key))
		on_key(t, &key);
}

void ar_term_show_keys(struct ar_term *t)
{
	static const char *const rows[][2] = {
		{ "Enter", "submit; while a turn runs the text waits behind it" },
		{ "Ctrl-J, Alt-Enter, \\ Enter", "a new line" },
		{ "Tab", "complete; while a turn runs: give the text to it at once" },
		{ "Up", "with nothing typed: take back what waits, else the texts before" },
		{ "Ctrl-R", "search in the texts before" },
		{ "Esc", "interrupt the turn; twice with nothing typed: take the last turn back" },
		{ "Shift-Tab", "next permission mode" },
		{ "@ / !", "a file, a command of the conversation, a command of your own shell" },
		{ "Ctrl-G", "write the text in your editor" },
		{ "Ctrl-C, Ctrl-D, Ctrl-Z", "clear or interrupt (twice leaves), leave, suspend" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		ar_term_printf(t, AR_STYLE_PLAIN, "  %-26s %s", rows[i][0], rows[i][1]);
	ar_term_printf(t, AR_STYLE_DIM, "  %s",
		       t->edit.is_vi ? "keys of vi; /keys emacs changes that" : "/keys vi: the keys of vi");
}

bool ar_term_set_keys(struct ar_term *t, struct ar_str name)
{
	bool is_vi = ar_str_eq(name, AR_STR("vi"));

	if (!is_vi && !ar_str_eq(name, AR_STR("emacs")))
		return false;
	t->edit.is_vi = is_vi;
	t->edit.is_normal = false;
	ar_term_printf(t, AR_STYLE_DIM, "keys of %s; AGENTCTL_KEYS=%s keeps that", is_vi ? "vi" : "emacs",
		       is_vi ? "vi" : "emacs");
	return true;
}
