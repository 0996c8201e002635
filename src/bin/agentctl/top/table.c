/* See top.h. Columns are a table: each says from which width of the terminal on it is shown; the title takes
 * what is left. */
#include "top/top.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_ID 6
#define TEXT 64

const char *const ar_top_sort_names[AR_TOP_SORTS] = {
	[AR_TOP_BY_ACTIVITY] = "activity", [AR_TOP_BY_UPDATED] = "updated", [AR_TOP_BY_COST] = "cost",
	[AR_TOP_BY_TOKENS] = "tokens",	   [AR_TOP_BY_TURNS] = "turns",	    [AR_TOP_BY_WAITS] = "waits",
	[AR_TOP_BY_TITLE] = "title",
};

/* ---- order ---- */

static int weight(const struct ar_top_row *r)
{
	return r->waits ? 3 : ar_str_is(r->status, "running") ? 2 : ar_str_is(r->status, "blocked") ? 1 : 0;
}

static int64_t rank(const struct ar_top_row *r, enum ar_top_sort by)
{
	switch (by) {
	case AR_TOP_BY_ACTIVITY:
		return weight(r);
	case AR_TOP_BY_COST:
		return (int64_t)(r->cost * 1e6);
	case AR_TOP_BY_TOKENS:
		return r->tokens;
	case AR_TOP_BY_TURNS:
		return r->turns;
	case AR_TOP_BY_WAITS:
		return r->waits;
	default:
		return 0;
	}
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct ar_top_row *x = a, *y = b;
	enum ar_top_sort by = *(const enum ar_top_sort *)arg;
	int64_t p = rank(x, by), q = rank(y, by);

	if (by == AR_TOP_BY_TITLE && !ar_str_eq(x->title, y->title))
		return ar_str_cmp(x->title, y->title);
	if (p != q)
		return p > q ? -1 : 1;
	if (x->updated != y->updated)
		return x->updated > y->updated ? -1 : 1;
	return ar_str_cmp(y->session, x->session);
}

void ar_top_sort(struct ar_top *t, enum ar_top_sort by)
{
	qsort_r(t->rows, t->count, sizeof(*t->rows), compare, &by);
}

/* ---- numbers for people ---- */

static const char *shortened(double v, char out[TEXT])
{
	static const char *const units[] = { "", "k", "M", "G", "T" };
	size_t i = 0;

	while (v >= 9999.5 && i < AR_ARRAY_LEN(units) - 1) {
		v /= 1000;
		i++;
	}
	snprintf(out, TEXT, v < 10 && v != (double)(int64_t)v ? "%.1f%s" : "%.0f%s", v, units[i]);
	return out;
}

static const char *age(ar_usec then, ar_usec now, char out[TEXT])
{
	static const struct {
		int64_t seconds;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	int64_t seconds = (now - then) / 1000000;

	snprintf(out, TEXT, "now");
	for (size_t i = AR_ARRAY_LEN(units); i-- > 0 && seconds >= units[i].seconds;)
		snprintf(out, TEXT, "%lld%c", (long long)(seconds / units[i].seconds), units[i].unit);
	return out;
}

static const char *money(const struct ar_top_row *r, char out[TEXT])
{
	if (r->cost > 0)
		snprintf(out, TEXT, r->cost < 0.01 ? "%.4f" : "%.2f", r->cost);
	else
		snprintf(out, TEXT, "-");
	return out;
}

static const char *count_or_dash(int64_t n, char out[TEXT])
{
	if (!n)
		return "-";
	return shortened((double)n, out);
}

/* ---- lines ---- */

/* A line that ends where the terminal does. */
struct line {
	struct ar_out *out;
	int left;
};

static void put_text(struct line *l, struct ar_str text)
{
	size_t width = 0, at = 0;

	while (at < text.len && width < (size_t)(l->left > 0 ? l->left : 0)) {
		at++;
		while (at < text.len && ((unsigned char)text.p[at] & 0xc0) == 0x80)
			at++;
		width++;
	}
	ar_out_line(l->out, ar_str_sub(text, 0, at));
	l->left -= (int)width;
}

static void put_column(struct line *l, const char *text, int width, bool is_left)
{
	char padded[TEXT];

	snprintf(padded, sizeof(padded), is_left ? "%-*.*s " : "%*.*s ", width, width, text);
	put_text(l, ar_str_from(padded));
}

static void end_line(struct line *l)
{
	ar_out_style(l->out, AR_STYLE_PLAIN);
	ar_out_printf(l->out, "\n");
}

enum { COL_SESSION, COL_STATUS, COL_WAITS, COL_QUEUED, COL_TURNS, COL_TOKENS, COL_COST, COL_AGE, COLS };

static const struct {
	const char *head;
	int width;
	int from; /* width of the terminal */
	bool is_left;
} columns[COLS] = {
	[COL_SESSION] = { "ID", SHORT_ID, 0, true }, [COL_STATUS] = { "STATUS", 8, 0, true },
	[COL_WAITS] = { "WAIT", 4, 32, false },	     [COL_QUEUED] = { "QUE", 4, 44, false },
	[COL_TURNS] = { "TURNS", 6, 56, false },     [COL_TOKENS] = { "TOKENS", 6, 66, false },
	[COL_COST] = { "COST", 8, 76, false },	     [COL_AGE] = { "AGE", 4, 38, false },
};

static const char *cell(const struct ar_top_row *r, ar_usec now, int column, char out[TEXT])
{
	struct ar_str id = r->session;

	switch (column) {
	case COL_SESSION:
		snprintf(out, TEXT, "%.*s",
			 AR_STR_ARG(ar_str_sub(id, id.len > SHORT_ID ? id.len - SHORT_ID : 0, id.len)));
		return out;
	case COL_STATUS:
		snprintf(out, TEXT, "%.*s", AR_STR_ARG(r->waits ? AR_STR("asks") : r->status));
		return out;
	case COL_WAITS:
		return count_or_dash(r->waits, out);
	case COL_QUEUED:
		return count_or_dash(r->queued, out);
	case COL_TURNS:
		return count_or_dash(r->turns, out);
	case COL_TOKENS:
		return count_or_dash(r->tokens, out);
	case COL_COST:
		return money(r, out);
	default:
		return age(r->updated, now, out);
	}
}

static void put_mark(struct line *l, const struct ar_top_view *v, const char *mark)
{
	if (v->has_choice)
		put_text(l, ar_str_from(mark));
}

static void draw_row(struct line l, const struct ar_top *t, const struct ar_top_row *r,
		     const struct ar_top_view *v)
{
	static const enum ar_style styles[] = { AR_STYLE_PLAIN, AR_STYLE_RED, AR_STYLE_GREEN,
						AR_STYLE_YELLOW };
	char text[TEXT];

	put_mark(&l, v, r == &t->rows[v->chosen] ? "› " : "  ");
	ar_out_style(l.out, styles[weight(r)]);
	for (int i = 0; i < COLS; i++) {
		if (v->width >= columns[i].from)
			put_column(&l, cell(r, t->wall, i, text), columns[i].width, columns[i].is_left);
	}
	put_text(&l, r->title);
	end_line(&l);
}

static void draw_heads(struct line l, const struct ar_top_view *v)
{
	ar_out_style(l.out, AR_STYLE_BOLD);
	put_mark(&l, v, "  ");
	for (int i = 0; i < COLS; i++) {
		if (v->width >= columns[i].from)
			put_column(&l, columns[i].head, columns[i].width, columns[i].is_left);
	}
	put_text(&l, AR_STR("TITLE"));
	end_line(&l);
}

/* ---- the head of the page ---- */

static void put_pair(struct line *l, const char *name, const char *value)
{
	char text[2 * TEXT];
	int needs = snprintf(text, sizeof(text), "%s %s  ", name, value);

	if (needs <= l->left + 2) /* whole or not at all */
		put_text(l, ar_str_from(text));
}

static double commit_ms(const struct ar_top *t)
{
	double commits = ar_top_rate(t, AR_TOP_COMMITS);

	return commits > 0 ? ar_top_rate(t, AR_TOP_COMMIT_SECONDS) / commits * 1000 : 0;
}

static void draw_now(struct line l, const struct ar_top *t)
{
	static const struct {
		const char *name;
		enum ar_top_metric metric;
	} pairs[] = { { "running", AR_TOP_RUNNING },	 { "queued", AR_TOP_QUEUED },
		      { "asking", AR_TOP_ASKING },	 { "in memory", AR_TOP_SESSIONS },
		      { "streams", AR_TOP_STREAMS },	 { "lag", AR_TOP_LAG },
		      { "store", AR_TOP_STORE_WAITING }, { "cost", AR_TOP_COST } };
	char text[TEXT];

	for (size_t i = 0; i < AR_ARRAY_LEN(pairs); i++)
		put_pair(&l, pairs[i].name, shortened(t->now.values[pairs[i].metric], text));
	end_line(&l);
}

static void draw_rates(struct line l, const struct ar_top *t)
{
	char text[TEXT];

	put_pair(&l, "turns/s", shortened(ar_top_rate(t, AR_TOP_TURNS), text));
	put_pair(&l, "commands/s", shortened(ar_top_rate(t, AR_TOP_COMMANDS), text));
	put_pair(&l, "facts/s", shortened(ar_top_rate(t, AR_TOP_FACTS), text));
	put_pair(&l, "tokens/s", shortened(ar_top_rate(t, AR_TOP_TOKENS), text));
	put_pair(&l, "commit ms", shortened(commit_ms(t), text));
	put_pair(&l, "cpu %", shortened(ar_top_rate(t, AR_TOP_CPU) * 100, text));
	put_pair(&l, "MB", shortened(t->now.values[AR_TOP_MEMORY] / 1e6, text));
	put_pair(&l, "files", shortened(t->now.values[AR_TOP_FILES], text));
	end_line(&l);
}

void ar_top_draw(struct ar_out *o, const struct ar_top *t, const struct ar_top_view *v)
{
	struct line l = { o, v->width };
	size_t room = v->height > 3 ? (size_t)v->height - 3 : v->height ? 1 : t->count;
	size_t first = v->has_choice && v->chosen >= room ? v->chosen - room + 1 : 0;

	draw_now(l, t);
	draw_rates(l, t);
	draw_heads(l, v);
	for (size_t i = first; i < t->count && i < first + room; i++)
		draw_row(l, t, &t->rows[i], v);
}
