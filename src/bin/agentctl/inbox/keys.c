/* See inbox.h. A question is answered only after it stood on the page for half a second: a key that was meant
 * for the one before does nothing. Where the page has not all of it, yes shows all and asks once more. */
#include "inbox/inbox.h"
#include "reasons.h"
#include "respond.h"
#include "term/term.h"

#include <string.h>

#define EVERY_USEC 1000000 /* between two looks at the list */
#define PAUSE_USEC 500000

size_t ar_inbox_count(const struct ar_inbox *b)
{
	return ar_json_len(ar_json_get(b->list.doc, "actions"));
}

struct ar_json ar_inbox_action(const struct ar_inbox *b, size_t i)
{
	return ar_json_at(ar_json_get(b->list.doc, "actions"), i);
}

static struct ar_json chosen_action(const struct ar_inbox *b)
{
	return ar_inbox_action(b, b->at);
}

/* ---- the list ---- */

static void choose(struct ar_inbox *b, size_t at)
{
	size_t count = ar_inbox_count(b);

	b->at = at < count ? at : count ? count - 1 : 0;
	ar_buf_clear(&b->chosen);
	if (count)
		ar_buf_adds(&b->chosen, ar_api_str(chosen_action(b), "actionId"));
}

/* The same question stays chosen wherever it stands now; if it is gone, the one in its place is. */
static void choose_again(struct ar_inbox *b)
{
	for (size_t i = 0; i < ar_inbox_count(b); i++) {
		if (ar_str_eq(ar_api_str(ar_inbox_action(b, i), "actionId"), ar_buf_str(&b->chosen))) {
			b->at = i;
			return;
		}
	}
	choose(b, b->at);
}

/* What is wrong becomes the note, and the list stays as it was. */
static enum ar_exit read_list(struct ar_inbox *b)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply list;
	size_t before = b->pane.note.len;
	enum ar_exit exit;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", b->options->session);
	ar_jw_mint(&w, "limit", b->options->limit);
	ar_jw_close(&w);
	exit = ar_api_call(b->ctl, "list_actions", ar_ctl_take_buf(b->ctl, &body), &list);
	if (exit != AR_EXIT_OK) {
		ar_buf_eat(&b->pane.note, before);
		ar_api_fini(&list);
		return exit;
	}
	ar_api_fini(&b->list);
	b->list = list;
	choose_again(b);
	return exit;
}

/* ---- answers ---- */

/* Half a second from when this question, with this text, was drawn. */
static bool is_too_soon(struct ar_inbox *b)
{
	if (ar_term_now() - b->shown_at >= PAUSE_USEC)
		return false;
	ar_pane_say(&b->pane, AR_STYLE_DIM, "the question has only just appeared; press the key again");
	return true;
}

static enum ar_exit confirm(struct ar_inbox *b, const struct ar_question *q, struct ar_str *ret_digest)
{
	enum ar_exit exit;

	ar_pane_release(&b->pane);
	exit = ar_question_confirm(b->ctl, q, ret_digest);
	ar_pane_seize(&b->pane);
	if (exit != AR_EXIT_OK)
		ar_pane_say(&b->pane, AR_STYLE_DIM, "nothing was answered; the question still waits");
	return exit;
}

/* `payload` is a JSON object, or absent. */
static void answer(struct ar_inbox *b, struct ar_str decision, struct ar_str payload)
{
	struct ar_question q = { 0 };
	struct ar_respond r = { .decision = decision, .payload = payload };
	struct ar_buf body = { 0 };
	struct ar_api_reply reply;

	ar_question_of(b->ctl, chosen_action(b), &q);
	r.action = q.id;
	if (!ar_respond_is_no(decision) && (!b->is_whole || !ar_str_absent(q.ref)) &&
	    confirm(b, &q, &r.digest) != AR_EXIT_OK)
		return;
	ar_respond_body(&r, &body);
	ar_buf_clear(&b->pane.note);
	b->look_at = 0;
	if (ar_api_call(b->ctl, "respond_action", ar_ctl_take_buf(b->ctl, &body), &reply) == AR_EXIT_OK)
		ar_pane_say(&b->pane, AR_STYLE_GREEN, "answered: %.*s",
			    AR_STR_ARG(ar_api_str(reply.doc, "decision")));
	ar_api_fini(&reply);
}

static struct ar_str offered(struct ar_inbox *b, const char *const *words)
{
	struct ar_question q = { 0 };
	struct ar_str word;

	ar_question_of(b->ctl, chosen_action(b), &q);
	word = ar_respond_pick(q.decisions, words);
	if (ar_str_absent(word))
		ar_pane_say(&b->pane, AR_STYLE_DIM, "this question has no such answer; o opens its session");
	return word;
}

/* Grants and forms are not answered by a number. */
static bool is_left_out(struct ar_str word)
{
	return ar_str_is(word, "allow_session") || ar_str_is(word, "accept");
}

struct ar_str ar_inbox_decision(const struct ar_inbox *b, size_t n)
{
	struct ar_json words = ar_json_get(chosen_action(b), "decisions");
	struct ar_question q = { 0 };
	struct ar_str word, yes, no;

	ar_question_of(b->ctl, chosen_action(b), &q);
	yes = ar_respond_pick(q.decisions, ar_respond_yes);
	no = ar_respond_pick(q.decisions, ar_respond_no);
	for (struct ar_json_iter it = ar_json_iter(words); ar_json_next(&it);) {
		if (!ar_json_str(it.value, &word) || ar_str_eq(word, yes) || ar_str_eq(word, no) ||
		    is_left_out(word))
			continue;
		if (n-- == 0)
			return word;
	}
	return AR_STR_NONE;
}

/* ---- keys ---- */

static void say_yes(struct ar_inbox *b)
{
	struct ar_str word = offered(b, ar_respond_yes);

	if (!ar_str_absent(word))
		answer(b, word, AR_STR_NONE);
}

static void say_no(struct ar_inbox *b)
{
	struct ar_str word = offered(b, ar_respond_no);

	if (!ar_str_absent(word))
		answer(b, word, AR_STR_NONE);
}

static void begin_reason(struct ar_inbox *b)
{
	b->is_refusing = !ar_str_absent(offered(b, ar_respond_no));
}

static void explain(struct ar_inbox *b)
{
	struct ar_json action = chosen_action(b);
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "id", ar_api_str(action, "actionId"));
	ar_jw_mstr(&w, "sessionId", ar_api_str(action, "sessionId"));
	ar_jw_close(&w);
	if (ar_api_call(b->ctl, "explain", ar_ctl_take_buf(b->ctl, &body), &reply) == AR_EXIT_OK) {
		ar_pane_release(&b->pane);
		ar_reasons_print(&b->ctl->out, reply.doc);
		ar_pane_wait_enter(&b->pane);
		ar_pane_seize(&b->pane);
	}
	ar_api_fini(&reply);
}

static void show_all(struct ar_inbox *b)
{
	struct ar_question q = { 0 };
	struct ar_str text, digest;

	ar_question_of(b->ctl, chosen_action(b), &q);
	if (ar_question_read(b->ctl, &q, &text, &digest) != AR_EXIT_OK)
		return;
	ar_pane_release(&b->pane);
	ar_question_print(b->ctl, text);
	ar_pane_wait_enter(&b->pane);
	ar_pane_seize(&b->pane);
}

static void open_session(struct ar_inbox *b)
{
	ar_pane_chat(&b->pane, ar_api_str(chosen_action(b), "sessionId"));
	b->look_at = 0;
}

static void choose_next(struct ar_inbox *b)
{
	choose(b, b->at + 1);
}

static void choose_before(struct ar_inbox *b)
{
	choose(b, b->at ? b->at - 1 : 0);
}

static const struct {
	char letter;
	bool is_answer; /* not for a question that has only just appeared */
	void (*run)(struct ar_inbox *b);
} letters[] = {
	{ 'y', true, say_yes },	     { 'n', true, say_no },	    { 'r', true, begin_reason },
	{ 'e', false, explain },     { 'v', false, show_all },	    { 'o', false, open_session },
	{ 'j', false, choose_next }, { 'k', false, choose_before },
};

static void letter_key(struct ar_inbox *b, char letter)
{
	struct ar_str word;

	if (letter == 'q')
		b->is_over = true;
	if (!ar_inbox_count(b))
		return;
	for (size_t i = 0; i < AR_ARRAY_LEN(letters); i++) {
		if (letters[i].letter == letter && !(letters[i].is_answer && is_too_soon(b)))
			letters[i].run(b);
	}
	if (letter < '1' || letter > '9')
		return;
	word = ar_inbox_decision(b, (size_t)(letter - '1'));
	if (!ar_str_absent(word) && !is_too_soon(b))
		answer(b, word, AR_STR_NONE);
}

static void refuse(struct ar_inbox *b)
{
	struct ar_buf text = { 0 }, payload = { 0 };
	struct ar_jw w = ar_jw(&payload);
	struct ar_str word = offered(b, ar_respond_no);

	ar_edit_enter(&b->reason, &text);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "reason", ar_buf_str(&text));
	ar_jw_close(&w);
	b->is_refusing = false;
	answer(b, word, ar_ctl_take_buf(b->ctl, &payload));
	ar_buf_fini(&text);
}

static void reason_key(struct ar_inbox *b, const struct ar_key *key)
{
	if (key->kind == AR_KEY_ESC) {
		b->is_refusing = false;
		ar_edit_set(&b->reason, AR_STR(""));
	} else if (key->kind == AR_KEY_ENTER && !ar_edit_is_empty(&b->reason)) {
		refuse(b);
	} else {
		(void)ar_edit_key(&b->reason, key);
	}
}

static void on_key(struct ar_inbox *b, const struct ar_key *key)
{
	if (b->is_refusing) {
		reason_key(b, key);
		return;
	}
	ar_buf_clear(&b->pane.note);
	if (key->kind == AR_KEY_TEXT && key->text.len == 1)
		letter_key(b, key->text.p[0]);
	else if (key->kind == AR_KEY_UP)
		choose_before(b);
	else if (key->kind == AR_KEY_DOWN)
		choose_next(b);
	else if (key->kind == AR_KEY_ENTER && ar_inbox_count(b))
		open_session(b);
}

/* ---- all of it ---- */

static void draw(struct ar_inbox *b)
{
	struct ar_json action = chosen_action(b);
	struct ar_str parts[] = { ar_api_str(action, "actionId"), AR_STR("\n"), ar_api_str(action, "title") };
	struct ar_str shows = ar_arena_join(&b->ctl->arena, parts, AR_ARRAY_LEN(parts));

	b->is_whole = ar_inbox_draw(b);
	if (ar_str_eq(shows, ar_buf_str(&b->shown)))
		return;
	ar_buf_clear(&b->shown);
	ar_buf_adds(&b->shown, shows);
	b->shown_at = ar_term_now();
}

/* Memory of one look is given back before the next. While a reason is typed the question stays the one that
 * it was typed for. */
static void live(struct ar_inbox *b)
{
	struct ar_key key;

	while (!b->is_over) {
		enum ar_pane_event event;

		draw(b);
		event = ar_pane_wait(&b->pane, b->look_at, &key);
		ar_arena_reset(&b->ctl->arena);
		b->is_over = event == AR_PANE_END;
		if (event == AR_PANE_KEY)
			on_key(b, &key);
		if (b->is_over || ar_term_now() < b->look_at)
			continue;
		if (!b->is_refusing)
			(void)read_list(b);
		b->look_at = ar_term_now() + EVERY_USEC;
	}
}

enum ar_exit ar_inbox_run(struct ar_ctl *c, const struct ar_inbox_options *o)
{
	struct ar_inbox b = { .ctl = c, .options = o };
	struct ar_arena own = { 0 };
	enum ar_exit exit;

	ar_ctl_swap_arena(c, &own);
	exit = read_list(&b);
	if (exit == AR_EXIT_OK) {
		ar_pane_begin(&b.pane, c);
		live(&b);
		ar_pane_end(&b.pane);
	}
	ar_ctl_swap_arena(c, &own);
	ar_arena_fini(&own);
	ar_api_fini(&b.list);
	ar_edit_fini(&b.reason);
	ar_buf_fini(&b.chosen);
	ar_buf_fini(&b.shown);
	return exit;
}
