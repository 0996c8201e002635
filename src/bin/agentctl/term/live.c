/* See term.h: what the live region shows, from top to bottom: the open part of the answer, what is being
 * done, what goes on beside it, what waits, a question or a menu, the input, the status. */
#include "term/term.h"

#include <stdio.h>
#include <string.h>

#define OPEN_ROWS 6 /* of the answer's open block */
#define LEAST_ROWS 8 /* of the region, where the terminal has them */
#define QUEUED_SHOWN 3
#define HOW "  (Up takes it back)" /* of the last, where there is room */

/* ---- the open answer ---- */

struct open {
	struct ar_buf rows;
	int cols;
};

static void on_open(void *arg, struct ar_str line, bool is_whole AR_UNUSED)
{
	struct open *o = arg;

	ar_text_wrap(&o->rows, line, o->cols, 0);
}

/* The last rows of a text. */
static struct ar_str last_rows(struct ar_str rows, int most)
{
	size_t at = rows.len;

	for (int i = 0; i < most && at > 0; i++) {
		at--;
		while (at > 0 && rows.p[at - 1] != '\n')
			at--;
	}
	return ar_str_sub(rows, at, rows.len);
}

static void add_open(struct ar_term *t, struct ar_buf *rows)
{
	struct open o = { .cols = t->screen.cols - 1 };
	struct ar_md_out out = { on_open, &o, o.cols };
	struct ar_buf styled = { 0 };

	ar_md_show_open(&t->md, &out);
	ar_buf_adds(rows, last_rows(ar_buf_str(&o.rows), OPEN_ROWS));
	if (t->thought.len) {
		ar_buf_clear(&o.rows);
		ar_text_add_styled(&styled, AR_STYLE_DIM, ar_buf_str(&t->thought));
		ar_text_wrap(&o.rows, ar_buf_str(&styled), o.cols, 0);
		ar_buf_adds(rows, last_rows(ar_buf_str(&o.rows), 2));
	}
	ar_buf_fini(&styled);
	ar_buf_fini(&o.rows);
}

/* ---- what is being done ---- */

static void add_call(struct ar_term *t, const struct ar_term_call *call, struct ar_buf *rows)
{
	ar_text_style(rows, AR_STYLE_MAGENTA);
	ar_buf_addz(rows, "• ");
	ar_text_style(rows, AR_STYLE_PLAIN);
	ar_subject_title(rows, ar_buf_str(&call->name), ar_buf_str(&call->args), false);
	ar_text_style(rows, AR_STYLE_DIM);
	ar_buf_addf(rows, "  %lld s", (long long)((ar_term_now() - call->at) / 1000000));
	ar_text_style(rows, AR_STYLE_PLAIN);
	ar_buf_addc(rows, '\n');
	(void)t;
}

static void add_working(struct ar_term *t, struct ar_buf *rows)
{
	struct ar_chat *chat = t->chat;

	if (!chat->running.len)
		return;
	for (size_t i = 0; i < AR_TERM_CALLS; i++) {
		if (t->calls[i].is_running && !t->calls[i].is_read)
			add_call(t, &t->calls[i], rows);
	}
	ar_text_style(rows, AR_STYLE_DIM);
	if (t->plan.len) {
		ar_buf_addz(rows, "  ");
		ar_buf_adds(rows, ar_buf_str(&t->plan));
		ar_buf_addc(rows, '\n');
		ar_text_style(rows, AR_STYLE_DIM);
	}
	ar_buf_addf(rows, "• %s (%lld s · Esc interrupts)\n",
		    chat->is_interrupted   ? "Interrupting"
		    : chat->question_count ? "Waiting for you"
		    : t->is_compacting	   ? "Summarising"
					   : "Working",
		    t->turn_at ? (long long)((ar_term_now() - t->turn_at) / 1000000) : 0LL);
}

static void add_queued(struct ar_term *t, struct ar_buf *rows)
{
	size_t from = t->queued_count > QUEUED_SHOWN ? t->queued_count - QUEUED_SHOWN : 0;

	for (size_t i = from; i < t->queued_count; i++) {
		bool is_last = i + 1 == t->queued_count;
		struct ar_buf row = { 0 };

		ar_text_style(&row, AR_STYLE_DIM);
		ar_buf_addz(&row, "  waits: ");
		ar_text_add(&row, ar_str_utf8_prefix(ar_buf_str(&t->queued[i].text), 200));
		if (is_last && ar_text_width(ar_buf_str(&row)) + (int)strlen(HOW) < t->screen.cols)
			ar_buf_addz(&row, HOW);
		ar_buf_addc(&row, '\n');
		ar_buf_adds(rows, ar_buf_str(&row));
		ar_buf_fini(&row);
	}
}

/* ---- the status ---- */

static void add_model(struct ar_term *t, struct ar_buf *part)
{
	struct ar_chat *chat = t->chat;
	struct ar_str model =
		chat->shown_model.len ? ar_buf_str(&chat->shown_model) : AR_STR("model of agentd");

	ar_text_add(part, ar_str_absent(chat->model) ? model : chat->model);
}

static void add_mode(struct ar_term *t, struct ar_buf *part)
{
	ar_text_add(part, !ar_str_absent(t->chat->mode) ? t->chat->mode
			  : t->mode.len			? ar_buf_str(&t->mode)
							: AR_STR("mode of agentd"));
}

static void add_context(struct ar_term *t, struct ar_buf *part)
{
	if (t->window > 0)
		ar_buf_addf(part, "ctx %lld %%", (long long)(t->tokens * 100 / t->window));
}

static void add_cost(struct ar_term *t, struct ar_buf *part)
{
	const struct ar_chat *chat = t->chat;
	double amount = chat->all.amount + chat->turn.amount;

	if (chat->all.is_priced || chat->turn.is_priced)
		ar_buf_addf(part, "%.3f %s", amount,
			    chat->all.is_priced ? chat->all.currency : chat->turn.currency);
}

static void add_branch(struct ar_term *t, struct ar_buf *part)
{
	ar_buf_adds(part, ar_buf_str(&t->branch));
}

static void add_folder(struct ar_term *t, struct ar_buf *part)
{
	ar_buf_adds(part, ar_buf_str(&t->folder));
	if (t->branch.len) {
		ar_buf_addz(part, " (");
		add_branch(t, part);
		ar_buf_addc(part, ')');
	}
}

static void add_keys(struct ar_term *t, struct ar_buf *part)
{
	ar_buf_addz(part, !t->edit.is_vi ? "/keys" : t->edit.is_normal ? "vi normal" : "vi insert");
}

static void add_session(struct ar_term *t, struct ar_buf *part)
{
	ar_text_add(part, t->chat->session);
}

static void add_queue(struct ar_term *t, struct ar_buf *part)
{
	if (t->queued_count)
		ar_buf_addf(part, "%zu waiting", t->queued_count);
}

static const struct {
	const char *name;
	void (*add)(struct ar_term *t, struct ar_buf *part);
} status_parts[] = {
	{ "model", add_model }, { "mode", add_mode },	    { "context", add_context },
	{ "cost", add_cost },	{ "folder", add_folder },   { "branch", add_branch },
	{ "keys", add_keys },	{ "session", add_session }, { "queue", add_queue },
};

/* A part that has nothing to say is left out; a name that is none of them is shown as it is. */
static void add_part(struct ar_term *t, struct ar_str name, struct ar_buf *part)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(status_parts); i++) {
		if (ar_str_eq(name, ar_str_from(status_parts[i].name))) {
			status_parts[i].add(t, part);
			return;
		}
	}
	ar_text_add(part, name);
}

static void add_status(struct ar_term *t, struct ar_buf *rows)
{
	struct ar_str rest =
		ar_str_empty(t->status) ? AR_STR("model,mode,context,cost,folder,keys") : t->status;
	struct ar_str name;
	struct ar_buf part = { 0 };
	bool is_first = true;

	ar_text_style(rows, AR_STYLE_DIM);
	while (rest.len) {
		rest = ar_str_split(rest, ',', &name);
		ar_buf_clear(&part);
		add_part(t, name, &part);
		if (!part.len)
			continue;
		ar_buf_addz(rows, is_first ? "  " : " · ");
		ar_buf_adds(rows, ar_buf_str(&part));
		is_first = false;
	}
	ar_buf_addc(rows, '\n');
	ar_buf_fini(&part);
}

/* ---- all of it ---- */

static int count_rows(const struct ar_buf *rows)
{
	int count = 0;

	for (size_t i = 0; i < rows->len; i++)
		count += rows->p[i] == '\n';
	return count;
}

static void add_rule(struct ar_term *t, struct ar_buf *rows)
{
	ar_text_style(rows, AR_STYLE_DIM);
	for (int i = 0; i < t->screen.cols - 1; i++)
		ar_buf_addz(rows, "─");
	ar_buf_addc(rows, '\n');
}

static void add_input(struct ar_term *t, struct ar_buf *rows, int *ret_row, int *ret_col)
{
	struct ar_edit_view view;

	if (t->edit.is_searching) {
		ar_text_style(rows, AR_STYLE_DIM);
		ar_buf_addz(rows, "search: ");
		ar_text_add(rows, ar_buf_str(&t->edit.query));
		ar_buf_addz(rows, "  (Ctrl-R older, Enter takes, Esc leaves)\n");
	}
	ar_edit_show(&t->edit, t->screen.cols, &view);
	*ret_row = count_rows(rows) + view.caret_row;
	*ret_col = view.caret_col;
	ar_buf_adds(rows, ar_buf_str(&view.rows));
	ar_buf_fini(&view.rows);
}

/* At most half of the terminal, so that the history stays in sight; the answer's rows go first. */
static struct ar_str fitting(struct ar_term *t, struct ar_buf *top, const struct ar_buf *rest)
{
	int most = t->screen.rows / 2 > LEAST_ROWS ? t->screen.rows / 2 : LEAST_ROWS;
	int left = most - count_rows(rest);

	return last_rows(ar_buf_str(top), left > 0 ? left : 0);
}

void ar_term_compose(struct ar_term *t)
{
	struct ar_buf top = { 0 }, rest = { 0 }, all = { 0 };
	int row, col;

	add_open(t, &top);
	add_working(t, &top);
	ar_term_beside_rows(t, &rest);
	add_queued(t, &rest);
	if (t->is_rewinding)
		ar_buf_addz(&rest,
			    "  Take back the last turn: 1 conversation · 2 files · 3 both · Esc nothing\n");
	else if (t->pick.is_open)
		ar_term_pick_rows(t, &rest);
	else if (t->chat->question_count)
		ar_term_ask_rows(t, &rest);
	add_rule(t, &rest);
	add_input(t, &rest, &row, &col);
	ar_term_menu_rows(t, &rest);
	add_status(t, &rest);
	ar_buf_adds(&all, fitting(t, &top, &rest));
	row += count_rows(&all);
	ar_buf_adds(&all, ar_buf_str(&rest));
	ar_tty_live(&t->screen, ar_buf_str(&all), row, col);
	ar_buf_fini(&top);
	ar_buf_fini(&rest);
	ar_buf_fini(&all);
}
