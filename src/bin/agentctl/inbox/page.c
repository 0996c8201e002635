/* See inbox.h: the page from top to bottom. Titles and questions are text of others. */
#include "inbox/inbox.h"

#include <string.h>

#define LIST_LEAST 3 /* rows */
#define LEFT_WIDTH 14 /* columns of the time that is left */
#define KEYS "y yes, once · n no · r no, with a reason · e why · v all of it · o open · ↑↓ choose · q exit"
#define KEYS_NARROW "y yes · n no · r why not · e why · v all · o open · q exit"
#define NARROW 60 /* columns */
#define KEYS_EMPTY "q exit"
#define KEYS_REASON "Enter sends the refusal · Esc goes back"
#define RULE "first answer counts, no answer never means yes"

struct page {
	struct ar_inbox *inbox;
	int cols, left; /* rows that are not used yet */
	struct ar_buf rows;
	ar_usec now;
};

static int count_rows(struct ar_str rows)
{
	int count = 0;

	for (size_t i = 0; i < rows.len; i++)
		count += rows.p[i] == '\n';
	return count;
}

/* Styled rows, or as many of them as there is room for. Returns how many were left out. */
static int add_rows(struct page *p, struct ar_str rows, int most)
{
	struct ar_str row;

	while (rows.len && most-- > 0) {
		rows = ar_str_split(rows, '\n', &row);
		ar_buf_adds(&p->rows, row);
		ar_buf_addc(&p->rows, '\n');
		p->left--;
	}
	return count_rows(rows);
}

static void add_styled(struct page *p, enum ar_style style, struct ar_str text)
{
	ar_text_add_styled(&p->rows, style, text);
	ar_buf_addc(&p->rows, '\n');
	p->left--;
}

/* ---- the list ---- */

static void add_head(struct page *p)
{
	size_t count = ar_inbox_count(p->inbox);
	struct ar_buf row = { 0 };
	int gap;

	if (count)
		ar_buf_addf(&row, "%zu question%s wait%s for you", count, count == 1 ? "" : "s",
			    count == 1 ? "s" : "");
	else
		ar_buf_addz(&row, "nothing waits for an answer");
	gap = p->cols - ar_text_width(ar_buf_str(&row)) - (int)strlen(RULE);
	ar_text_style(&p->rows, AR_STYLE_BOLD);
	ar_buf_adds(&p->rows, ar_buf_str(&row));
	ar_text_style(&p->rows, AR_STYLE_PLAIN);
	if (gap > 1) {
		ar_buf_addf(&p->rows, "%*s", gap, "");
		ar_text_add_styled(&p->rows, AR_STYLE_DIM, AR_STR(RULE));
	}
	ar_buf_addc(&p->rows, '\n');
	p->left--;
	ar_buf_fini(&row);
}

static void add_subject(struct ar_buf *to, struct ar_json action)
{
	struct ar_str session = ar_api_str(action, "sessionTitle"), tool = ar_api_str(action, "toolName");

	if (!ar_str_empty(session)) {
		ar_text_add(to, session);
		ar_buf_addz(to, " · ");
	}
	ar_text_add(to, ar_str_empty(tool) ? ar_api_str(action, "actionType") : tool);
	ar_buf_addz(to, " · ");
	ar_text_add(to, ar_api_str(action, "title"));
}

static void add_row(struct page *p, size_t i)
{
	struct ar_json action = ar_inbox_action(p->inbox, i);
	bool is_chosen = i == p->inbox->at, is_destructive = false;
	struct ar_buf subject = { 0 }, cut = { 0 };
	char left[AR_OUT_LEFT];
	int room = p->cols - LEFT_WIDTH - 6;

	ar_json_bool(ar_json_get(action, "destructive"), &is_destructive);
	ar_out_left(ar_api_time(action, "expiresAt"), p->now, left);
	add_subject(&subject, action);
	ar_text_cut(&cut, ar_buf_str(&subject), room);
	if (is_chosen || is_destructive)
		ar_text_style(&p->rows, is_destructive ? AR_STYLE_RED : AR_STYLE_CYAN);
	ar_buf_addf(&p->rows, "%s%3zu  ", is_chosen ? "›" : " ", i + 1);
	ar_buf_adds(&p->rows, ar_buf_str(&cut));
	ar_buf_addf(&p->rows, "%*s", room - ar_text_width(ar_buf_str(&cut)), "");
	ar_text_style(&p->rows, AR_STYLE_PLAIN);
	ar_text_style(&p->rows, AR_STYLE_DIM);
	ar_buf_addf(&p->rows, "%*s\n", LEFT_WIDTH, left);
	p->left--;
	ar_buf_fini(&subject);
	ar_buf_fini(&cut);
}

/* A third of the page, around the chosen one. */
static void add_list(struct page *p)
{
	size_t count = ar_inbox_count(p->inbox), at = p->inbox->at;
	size_t most = p->left / 3 > LIST_LEAST ? (size_t)p->left / 3 : LIST_LEAST;
	size_t first = at >= most ? at - most + 1 : 0;

	for (size_t i = first; i < count && i < first + most; i++)
		add_row(p, i);
}

/* ---- the question ---- */

static void add_when(struct ar_buf *to, const struct page *p, struct ar_json action)
{
	struct ar_json escalation = ar_json_get(action, "escalation");
	struct ar_str approvals = ar_question_approvals(p->inbox->ctl, action);
	struct ar_str session = ar_api_str(action, "sessionId");
	size_t seen = ar_json_len(ar_json_get(action, "seenBy"));
	char age[AR_OUT_AGE];

	ar_out_age_text(ar_api_time(action, "createdAt"), p->now, age);
	ar_text_style(to, AR_STYLE_DIM);
	ar_buf_addf(to, "  asked %s in ", age);
	ar_text_add(to, ar_str_sub(session, session.len > 6 ? session.len - 6 : 0, session.len));
	if (!ar_str_absent(approvals)) {
		ar_buf_addz(to, " · ");
		ar_text_add(to, approvals);
	}
	if (seen)
		ar_buf_addf(to, " · seen by %zu", seen);
	if (ar_str_is(ar_api_str(escalation, "state"), "escalated")) {
		ar_buf_addz(to, " · escalated to ");
		ar_text_add(to, ar_api_str(escalation, "audience"));
	}
	ar_buf_addc(to, '\n');
}

static void add_text(struct ar_buf *to, struct ar_str text, int cols, bool is_destructive)
{
	struct ar_buf line = { 0 };
	struct ar_str one;

	while (text.len) {
		text = ar_str_split(text, '\n', &one);
		ar_buf_clear(&line);
		if (is_destructive)
			ar_text_style(&line, AR_STYLE_RED);
		ar_buf_addz(&line, "  ");
		ar_text_add(&line, one);
		ar_text_wrap(to, ar_buf_str(&line), cols, 2);
	}
	ar_buf_fini(&line);
}

/* Decisions that have no letter. */
static void add_numbers(struct ar_buf *to, const struct ar_inbox *b)
{
	struct ar_str word;

	for (size_t i = 0; i < 9 && !ar_str_absent(word = ar_inbox_decision(b, i)); i++) {
		ar_buf_addf(to, "  %zu ", i + 1);
		ar_text_add(to, word);
	}
	if (!ar_str_absent(ar_inbox_decision(b, 0)))
		ar_buf_addc(to, '\n');
}

/* Returns how many rows of it were left out. */
static int add_question(struct page *p, int most)
{
	struct ar_json action = ar_inbox_action(p->inbox, p->inbox->at);
	bool is_destructive = false;
	struct ar_buf rows = { 0 }, rest = { 0 };
	int over;

	ar_json_bool(ar_json_get(action, "destructive"), &is_destructive);
	add_text(&rows, ar_api_str(action, "title"), p->cols, is_destructive);
	add_when(&rest, p, action);
	add_numbers(&rest, p->inbox);
	most -= count_rows(ar_buf_str(&rest));
	over = count_rows(ar_buf_str(&rows)) - most;
	over = add_rows(p, ar_buf_str(&rows), over > 0 ? most - 1 : most);
	if (over > 0) {
		struct ar_str more =
			ar_arena_fmt(&p->inbox->ctl->arena, "  … %d rows more: v shows all", over);

		add_styled(p, AR_STYLE_DIM, more);
	}
	add_rows(p, ar_buf_str(&rest), p->left);
	ar_buf_fini(&rows);
	ar_buf_fini(&rest);
	return over;
}

/* ---- the end of the page ---- */

static const char *keys_of(const struct page *p)
{
	if (p->inbox->is_refusing)
		return KEYS_REASON;
	if (!ar_inbox_count(p->inbox))
		return KEYS_EMPTY;
	return p->cols < NARROW ? KEYS_NARROW : KEYS;
}

static void compose_foot(struct page *p, struct ar_buf *to)
{
	struct ar_inbox *b = p->inbox;
	struct ar_buf keys = { 0 };

	if (b->pane.note.len)
		ar_text_wrap(to, ar_buf_str(&b->pane.note), p->cols, 0);
	ar_text_add_styled(&keys, AR_STYLE_DIM, ar_str_from(keys_of(p)));
	ar_text_wrap(to, ar_buf_str(&keys), p->cols, 0);
	ar_buf_fini(&keys);
}

/* The reason that is typed, and where its caret is. */
static struct ar_pane_caret add_reason(struct page *p, struct ar_str rows, int row, int col)
{
	int before;

	ar_buf_addz(&p->rows, "why not:\n");
	p->left--;
	before = count_rows(ar_buf_str(&p->rows));
	add_rows(p, rows, p->left);
	return (struct ar_pane_caret){ before + row, col };
}

bool ar_inbox_draw(struct ar_inbox *b)
{
	struct ar_clock *clock = ar_clock_system();
	struct page p = { b, b->pane.cols, b->pane.rows, { 0 }, clock->wall(clock) };
	struct ar_pane_caret caret = { -1, 0 };
	struct ar_edit_view view = { 0 };
	struct ar_buf foot = { 0 };
	int over = 0, below;

	if (b->is_refusing)
		ar_edit_show(&b->reason, p.cols, &view);
	compose_foot(&p, &foot);
	below = count_rows(ar_buf_str(&foot)) + (b->is_refusing ? 1 + count_rows(ar_buf_str(&view.rows)) : 0);
	add_head(&p);
	if (ar_inbox_count(b)) {
		add_list(&p);
		for (int i = 0; i < p.cols; i++)
			ar_buf_addz(&p.rows, "─");
		ar_buf_addc(&p.rows, '\n');
		p.left--;
		over = add_question(&p, p.left - below);
	}
	if (b->is_refusing)
		caret = add_reason(&p, ar_buf_str(&view.rows), view.caret_row, view.caret_col);
	add_rows(&p, ar_buf_str(&foot), p.left);
	ar_pane_draw(&b->pane, ar_buf_str(&p.rows), caret);
	ar_buf_fini(&p.rows);
	ar_buf_fini(&foot);
	ar_buf_fini(&view.rows);
	return over <= 0;
}
