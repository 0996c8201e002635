/* See term.h: a question as a card in the history, with everything that the call is about, and its
 * choices in the live region. Keys that were meant for something else do not answer: not those within
 * half a second of its appearance, and none while a text is being typed. */
#include "term/term.h"
#include "clock.h"
#include "respond.h"

#include <string.h>
#include <time.h>

#define PAUSE_USEC 500000

static const char *const always_words[] = { "allow_session", NULL };

/* In the order that they are offered. */
static const struct {
	const char *const *words;
	const char *label;
	char key;
	bool is_grant; /* for more than this call: not offered for what cannot be undone */
} offers[] = {
	{ ar_respond_yes, "yes, once", 'y', false },
	{ always_words, "yes, always in this session", 'a', true },
	{ ar_respond_no, "no", 'n', false },
};

static struct ar_chat_question *front(struct ar_term *t)
{
	return t->chat->question_count ? &t->chat->questions[0] : NULL;
}

static bool is_form(const struct ar_chat_question *q)
{
	return ar_str_is(q->type, "structured_input");
}

/* ---- the card ---- */

static void print_rows(struct ar_term *t, struct ar_str rows)
{
	struct ar_str row;

	while (rows.len) {
		rows = ar_str_split(rows, '\n', &row);
		ar_term_print(t, row, 4);
	}
}

/* What the daemon asks, in its words, where it says more than the call does. */
static void print_prompt(struct ar_term *t, const struct ar_chat_question *q)
{
	struct ar_buf rows = { 0 };
	struct ar_str rest = q->prompt, line;

	while (rest.len) {
		rest = ar_str_split(rest, '\n', &line);
		ar_buf_addz(&rows, "  ");
		ar_text_add(&rows, line);
		ar_buf_addc(&rows, '\n');
	}
	print_rows(t, ar_buf_str(&rows));
	ar_buf_fini(&rows);
}

static void print_head(struct ar_term *t, const struct ar_chat_question *q, struct ar_str args)
{
	struct ar_buf line = { 0 };

	ar_text_style(&line, q->is_destructive ? AR_STYLE_RED : AR_STYLE_YELLOW);
	ar_text_style(&line, AR_STYLE_BOLD);
	ar_buf_addz(&line, q->is_destructive ? "? It cannot be undone: " : "? ");
	if (q->tool.len)
		ar_subject_title(&line, q->tool, args, false);
	else
		ar_buf_addz(&line, is_form(q) ? "Some values are needed" : "A decision is needed");
	ar_text_style(&line, AR_STYLE_PLAIN);
	ar_term_print(t, ar_buf_str(&line), 2);
	if (q->is_destructive && q->impact.len)
		ar_term_printf(t, AR_STYLE_RED, "  It reaches: %.*s", AR_STR_ARG(q->impact));
	if (q->reason.len)
		ar_term_printf(t, AR_STYLE_DIM, "  asked because %.*s%s%.*s", AR_STR_ARG(q->reason),
			       q->profile.len ? " · sandbox: " : "", AR_STR_ARG(q->profile));
	ar_buf_fini(&line);
}

static void read_args(struct ar_term *t, const struct ar_chat_question *q, struct ar_buf *to)
{
	struct ar_respond_whole whole;

	if (q->input.len && ar_respond_read(t->chat->ctl, q->id, q->input, &whole) == AR_EXIT_OK)
		ar_buf_adds(to, whole.text);
}

static void print_card(struct ar_term *t, struct ar_chat_question *q)
{
	struct ar_buf args = { 0 }, rows = { 0 };

	ar_chat_read_whole(t->chat, q);
	read_args(t, q, &args);
	print_head(t, q, ar_buf_str(&args));
	if (args.len)
		ar_subject_lines(&rows, q->tool, ar_buf_str(&args));
	print_rows(t, ar_buf_str(&rows));
	if (!args.len || !ar_str_absent(q->ref))
		print_prompt(t, q);
	ar_buf_fini(&args);
	ar_buf_fini(&rows);
}

/* ---- choices ---- */

static void add_choice(struct ar_term_ask *a, struct ar_str decision, const char *label, char key)
{
	if (a->count < AR_TERM_CHOICES)
		a->choices[a->count++] = (struct ar_term_choice){ decision, label, key };
}

static bool is_offered(const struct ar_term_ask *a, struct ar_str decision)
{
	for (int i = 0; i < a->count; i++) {
		if (ar_str_eq(a->choices[i].decision, decision))
			return true;
	}
	return ar_str_is(decision, "allow_session");
}

/* The usual ones first, then whatever else the question offers, by its own word. */
static void gather_choices(struct ar_term *t, const struct ar_chat_question *q)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json list = { 0 };
	struct ar_str word;

	t->ask.count = t->ask.chosen = 0;
	for (size_t i = 0; i < AR_ARRAY_LEN(offers); i++) {
		word = ar_respond_pick(q->decisions, offers[i].words);
		if (!ar_str_absent(word) && !(offers[i].is_grant && q->is_destructive))
			add_choice(&t->ask, word, offers[i].label, offers[i].key);
	}
	if (ar_json_parse(parser, q->decisions, &list, NULL) != AR_OK)
		list = (struct ar_json){ 0 };
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		if (ar_json_str(it.value, &word) && !is_offered(&t->ask, word))
			add_choice(&t->ask, ar_arena_str(&t->chat->ctl->arena, word), NULL, 0);
	}
	ar_json_parser_free(parser);
}

/* Enter alone does nothing that cannot be undone. */
static void choose_no(struct ar_term *t)
{
	for (int i = 0; i < t->ask.count; i++) {
		if (ar_respond_is_no(t->ask.choices[i].decision))
			t->ask.chosen = i;
	}
}

/* The field of a form that is asked for, in the words of the form; its last line is not ended and
 * becomes a row. */
static void show_field(struct ar_term *t, const struct ar_chat_question *q)
{
	if (t->chat->form.parser && t->ask.field_number == t->chat->form.next)
		return;
	ar_buf_clear(&t->line);
	ar_chat_form_prompt(t->chat, q);
	ar_buf_clear(&t->ask.field);
	ar_buf_adds(&t->ask.field, ar_buf_str(&t->line));
	ar_buf_clear(&t->line);
	t->chat->side->is_midline = false;
	t->ask.field_number = t->chat->form.next;
}

static void show_question(struct ar_term *t, struct ar_chat_question *q)
{
	ar_buf_clear(&t->ask.id);
	ar_buf_adds(&t->ask.id, q->id);
	q->is_told = true;
	print_card(t, q);
	gather_choices(t, q);
	if (q->is_destructive)
		choose_no(t);
	t->ask.at = ar_term_now();
	ar_term_notify(t, "needs you");
}

void ar_term_ask(struct ar_term *t)
{
	struct ar_chat_question *q = front(t);

	if (!q)
		return;
	if (!ar_str_eq(ar_buf_str(&t->ask.id), q->id))
		show_question(t, q);
	if (is_form(q))
		show_field(t, q);
}

static void add_deadline(const struct ar_chat_question *q, struct ar_buf *rows)
{
	struct ar_clock *clock = ar_clock_system();
	char left[AR_OUT_LEFT];

	ar_out_left(q->expires, clock->wall(clock), left);
	ar_buf_addf(rows, "%s · also in: agentctl inbox\n", left);
}

void ar_term_ask_rows(struct ar_term *t, struct ar_buf *rows)
{
	const struct ar_chat_question *q = front(t);

	if (is_form(q)) {
		ar_buf_addz(rows, "  ");
		ar_buf_adds(rows, ar_buf_str(&t->ask.field));
		ar_buf_addc(rows, '\n');
		return;
	}
	for (int i = 0; i < t->ask.count; i++) {
		const struct ar_term_choice *c = &t->ask.choices[i];

		if (i == t->ask.chosen)
			ar_text_style(rows, AR_STYLE_CYAN);
		ar_buf_addf(rows, "  %s %d  ", i == t->ask.chosen ? "›" : " ", i + 1);
		if (c->label)
			ar_buf_addf(rows, "%s (%c)", c->label, c->key);
		else
			ar_text_add(rows, c->decision);
		ar_text_style(rows, AR_STYLE_PLAIN);
		ar_buf_addc(rows, '\n');
	}
	ar_text_style(rows, AR_STYLE_DIM);
	ar_buf_addz(rows, "    e  why am I asked · ");
	add_deadline(q, rows);
}

/* ---- answers ---- */

static void answer(struct ar_term *t, int i)
{
	struct ar_term_choice c = t->ask.choices[i];
	char clock_text[16] = "";
	struct ar_clock *clock = ar_clock_system();
	time_t now = (time_t)(clock->wall(clock) / 1000000);
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(clock_text, sizeof(clock_text), "%H:%M", &tm);
	if (!ar_chat_respond(t->chat, c.decision, AR_STR_NONE))
		return;
	ar_buf_clear(&t->ask.id);
	if (ar_respond_is_no(c.decision))
		ar_term_printf(t, AR_STYLE_RED, "✗ You said no (%s)", clock_text);
	else
		ar_term_printf(t, AR_STYLE_GREEN, "✓ You answered: %s (%s)",
			       c.label ? c.label : ar_arena_str(&t->chat->ctl->arena, c.decision).p,
			       clock_text);
}

static bool letter_key(struct ar_term *t, char letter)
{
	if (letter == 'e') {
		ar_chat_explain(t->chat, front(t)->id);
		return true;
	}
	for (int i = 0; i < t->ask.count; i++) {
		if (letter == '1' + i || (t->ask.choices[i].key && letter == t->ask.choices[i].key)) {
			answer(t, i);
			return true;
		}
	}
	return false;
}

bool ar_term_ask_key(struct ar_term *t, const struct ar_key *key)
{
	const struct ar_chat_question *q = front(t);

	if (!q || is_form(q) || !ar_str_eq(ar_buf_str(&t->ask.id), q->id) || !ar_edit_is_empty(&t->edit))
		return false;
	if (key->kind == AR_KEY_UP || key->kind == AR_KEY_DOWN) {
		t->ask.chosen += key->kind == AR_KEY_UP ? t->ask.count - 1 : 1;
		t->ask.chosen %= t->ask.count ? t->ask.count : 1;
		return true;
	}
	if (key->kind != AR_KEY_ENTER && (key->kind != AR_KEY_TEXT || key->text.len != 1))
		return false;
	if (key->kind == AR_KEY_TEXT && key->text.p[0] == '/')
		return false;
	if (ar_term_now() - t->ask.at < PAUSE_USEC)
		return true;
	if (key->kind == AR_KEY_TEXT)
		return letter_key(t, key->text.p[0]);
	if (t->ask.count)
		answer(t, t->ask.chosen);
	return true;
}
