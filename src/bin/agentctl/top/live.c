/* See top.h: the page on a terminal. The chosen session stays chosen wherever it stands in the list. What
 * stops work is asked about first, for the session that was chosen when the key was pressed. */
#include "inbox/inbox.h"
#include "term/term.h"
#include "top/top.h"

#define KEYS "enter opens · a answers · i interrupts · s sorts · ↑↓ choose · q exits"
#define QUESTIONS 50 /* of one session that are shown */

struct live {
	struct ar_pane pane;
	struct ar_ctl *ctl;
	struct ar_top *top;
	enum ar_top_sort by;
	struct ar_buf chosen; /* id of a session; empty: the first */
	size_t at; /* its place */
	struct ar_buf asked; /* id of the session whose interrupt has to be confirmed; empty: none */
	ar_usec look_at; /* monotonic */
	bool is_over;
};

static const struct ar_top_row *chosen_row(const struct live *l)
{
	return l->top->count ? &l->top->rows[l->at] : NULL;
}

static void choose(struct live *l, size_t at)
{
	l->at = at < l->top->count ? at : l->top->count ? l->top->count - 1 : 0;
	ar_buf_clear(&l->chosen);
	if (l->top->count)
		ar_buf_adds(&l->chosen, l->top->rows[l->at].session);
}

static void arrange(struct live *l)
{
	ar_top_sort(l->top, l->by);
	for (size_t i = 0; i < l->top->count; i++) {
		if (ar_str_eq(l->top->rows[i].session, ar_buf_str(&l->chosen))) {
			l->at = i;
			return;
		}
	}
	if (l->chosen.len)
		choose(l, l->at);
}

/* A daemon that is gone may come back: what is wrong becomes the note. */
static void read_top(struct live *l)
{
	size_t before = l->pane.note.len;

	if (ar_top_look(l->ctl, l->top) != AR_EXIT_OK)
		ar_buf_eat(&l->pane.note, before);
	arrange(l);
}

/* ---- the page ---- */

static void add_text(void *arg, struct ar_str text)
{
	ar_buf_adds(arg, text);
}

/* The note and the keys, in as many rows as they need. Returns how many. */
static int compose_foot(struct live *l, struct ar_buf *to)
{
	struct ar_buf keys = { 0 };
	int count = 0;

	if (l->pane.note.len)
		ar_text_wrap(to, ar_buf_str(&l->pane.note), l->pane.cols, 0);
	ar_text_style(&keys, AR_STYLE_DIM);
	ar_buf_addf(&keys, "sorted by %s · " KEYS, ar_top_sort_names[l->by]);
	ar_text_wrap(to, ar_buf_str(&keys), l->pane.cols, 0);
	for (size_t i = 0; i < to->len; i++)
		count += to->p[i] == '\n';
	ar_buf_fini(&keys);
	return count;
}

static void draw(struct live *l)
{
	struct ar_buf rows = { 0 }, foot = { 0 };
	struct ar_out out = { .sink = add_text, .arg = &rows };
	struct ar_top_view v = { .width = l->pane.cols,
				 .height = l->pane.rows - compose_foot(l, &foot),
				 .has_choice = true,
				 .chosen = l->at };

	ar_top_draw(&out, l->top, &v);
	ar_buf_adds(&rows, ar_buf_str(&foot));
	ar_pane_draw(&l->pane, ar_buf_str(&rows), (struct ar_pane_caret){ -1, 0 });
	ar_buf_fini(&rows);
	ar_buf_fini(&foot);
}

/* ---- keys ---- */

static void ask_interrupt(struct live *l)
{
	const struct ar_top_row *row = chosen_row(l);

	ar_buf_adds(&l->asked, row->session);
	ar_pane_say(&l->pane, AR_STYLE_YELLOW, "Stop what runs in %.*s? y stops it, any other key does not",
		    AR_STR_ARG(ar_str_empty(row->title) ? row->session : row->title));
}

static void interrupt(struct live *l)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_buf_str(&l->asked));
	ar_jw_mbool(&w, "all", true);
	ar_jw_mstr(&w, "reason", AR_STR("interrupted with agentctl top"));
	ar_jw_close(&w);
	if (ar_api_call(l->ctl, "interrupt_turn", ar_ctl_take_buf(l->ctl, &body), &reply) == AR_EXIT_OK)
		ar_pane_say(&l->pane, AR_STYLE_DIM,
			    ar_str_is(ar_api_str(reply.doc, "result"), "no_op") ? "nothing ran there"
										: "interrupted");
	ar_api_fini(&reply);
	l->look_at = 0;
}

static void answer_questions(struct live *l)
{
	struct ar_inbox_options o = { ar_arena_str(&l->ctl->arena, chosen_row(l)->session), QUESTIONS };

	ar_pane_release(&l->pane);
	if (ar_inbox_run(l->ctl, &o) != AR_EXIT_OK)
		ar_pane_wait_enter(&l->pane);
	ar_pane_seize(&l->pane);
	l->look_at = 0;
}

static void open_session(struct live *l)
{
	ar_pane_chat(&l->pane, chosen_row(l)->session);
	l->look_at = 0;
}

static void letter_key(struct live *l, char letter)
{
	if (letter == 'q')
		l->is_over = true;
	if (letter == 's') {
		l->by = (l->by + 1) % AR_TOP_SORTS;
		arrange(l);
	}
	if (letter == 'j')
		choose(l, l->at + 1);
	if (letter == 'k')
		choose(l, l->at ? l->at - 1 : 0);
	if (letter == 'i' && chosen_row(l))
		ask_interrupt(l);
	if (letter == 'a' && chosen_row(l))
		answer_questions(l);
}

static void on_key(struct live *l, const struct ar_key *key)
{
	char letter = key->kind == AR_KEY_TEXT && key->text.len == 1 ? key->text.p[0] : 0;

	ar_buf_clear(&l->pane.note);
	if (l->asked.len) {
		if (letter == 'y')
			interrupt(l);
		ar_buf_clear(&l->asked);
		return;
	}
	if (key->kind == AR_KEY_UP || key->kind == AR_KEY_DOWN)
		letter = key->kind == AR_KEY_UP ? 'k' : 'j';
	if (key->kind == AR_KEY_ENTER && chosen_row(l))
		open_session(l);
	letter_key(l, letter);
}

/* ---- all of it ---- */

enum ar_exit ar_top_live(struct ar_ctl *c, const struct ar_top_options *o, struct ar_top *t)
{
	struct live l = { .ctl = c, .top = t, .by = o->by };
	struct ar_arena own = { 0 };
	enum ar_exit exit = ar_top_look(c, t);
	struct ar_key key;

	if (exit != AR_EXIT_OK)
		return exit;
	arrange(&l);
	ar_ctl_swap_arena(c, &own);
	ar_pane_begin(&l.pane, c);
	l.look_at = ar_term_now() + o->interval;
	while (!l.is_over) {
		enum ar_pane_event event;

		draw(&l);
		event = ar_pane_wait(&l.pane, l.look_at, &key);
		ar_arena_reset(&c->arena);
		if (event == AR_PANE_KEY)
			on_key(&l, &key);
		l.is_over = l.is_over || event == AR_PANE_END;
		if (l.is_over || ar_term_now() < l.look_at)
			continue;
		read_top(&l);
		l.look_at = ar_term_now() + o->interval;
	}
	ar_pane_end(&l.pane);
	ar_ctl_swap_arena(c, &own);
	ar_arena_fini(&own);
	ar_buf_fini(&l.chosen);
	ar_buf_fini(&l.asked);
	return exit;
}
