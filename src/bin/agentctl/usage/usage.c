/* `agentctl usage`: what model calls used, as bars. Rows of one key are one line: calls without a known price
 * stand beside those with one, and each currency is written on its own. */
#include "api.h"
#include "clock.h"

#include <stdlib.h>
#include <string.h>

#define BAR_WIDTH 30
#define KEY_WIDTH 30
#define LINES_MAX 2000 /* rows that are read */
#define PAGE 500
#define HOUR ((ar_usec)3600 * 1000000)

enum { OPT_BY, OPT_SINCE, OPT_UNTIL, OPT_WORKSPACE, OPT_MODEL, OPT_TENANT };

struct line {
	struct ar_str key, cost; /* absent: no price is known */
	int64_t requests, tokens, unpriced;
};

struct chart {
	struct ar_ctl *ctl;
	const struct ar_ctl_args *args;
	struct line lines[LINES_MAX];
	size_t count;
	struct ar_str cursor;
};

/* ---- reading ---- */

static struct ar_str cost_text(struct ar_ctl *c, struct ar_str before, double cost, struct ar_str currency)
{
	const char *comma = ar_str_absent(before) ? "" : ", ";

	return ar_arena_fmt(&c->arena, "%.*s%s%.6g %.*s",
			    AR_STR_ARG(ar_str_absent(before) ? AR_STR("") : before), comma, cost,
			    AR_STR_ARG(currency));
}

static void add_row(struct chart *t, struct ar_json row)
{
	struct ar_str title = ar_api_str(row, "title"), key = ar_api_str(row, "key");
	struct line *last = t->count > 0 ? &t->lines[t->count - 1] : NULL;
	double cost = 0;

	if (!last || !ar_str_eq(last->key, key) || !ar_str_absent(title)) {
		if (t->count == LINES_MAX)
			return;
		last = &t->lines[t->count++];
		last->key = ar_arena_str(&t->ctl->arena, key);
	}
	last->requests += ar_api_int(row, "requests");
	last->tokens += ar_api_int(row, "tokens");
	if (ar_json_num(ar_json_get(row, "cost"), &cost))
		last->cost = cost_text(t->ctl, last->cost, cost, ar_api_str(row, "currency"));
	else
		last->unpriced += ar_api_int(row, "requests");
}

/* `2h`, `7d`, or a time as it is. */
static struct ar_str since_text(struct ar_ctl *c, const char *value)
{
	struct ar_clock *clock = ar_clock_system();
	char text[AR_TIME_TEXT], *end = NULL;
	long number = value ? strtol(value, &end, 10) : 0;
	bool is_days = end && strcmp(end, "d") == 0;

	if (!value || number < 1 || number > 100000 || (!is_days && strcmp(end, "h") != 0))
		return ar_str_from(value);
	return ar_arena_str(&c->arena,
			    ar_time_format(clock->wall(clock) - number * (is_days ? 24 : 1) * HOUR, text));
}

static struct ar_str body_of(struct chart *t, struct ar_str cursor)
{
	const char *const *v = t->args->values;
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "by", ar_str_from(v[OPT_BY]));
	ar_jw_mstr(&w, "since", since_text(t->ctl, v[OPT_SINCE]));
	ar_jw_mstr(&w, "until", since_text(t->ctl, v[OPT_UNTIL]));
	ar_jw_mstr(&w, "workspaceId", ar_str_from(v[OPT_WORKSPACE]));
	ar_jw_mstr(&w, "model", ar_str_from(v[OPT_MODEL]));
	ar_jw_mstr(&w, "tenant", ar_str_from(v[OPT_TENANT]));
	ar_jw_mstr(&w, "cursor", cursor);
	ar_jw_mint(&w, "limit", PAGE);
	ar_jw_close(&w);
	return ar_ctl_take_buf(t->ctl, &body);
}

static void print_json(struct ar_ctl *c, struct ar_json rows)
{
	struct ar_buf text = { 0 };

	for (struct ar_json_iter it = ar_json_iter(rows); ar_json_next(&it);) {
		ar_buf_clear(&text);
		ar_json_print(it.value, &text);
		ar_buf_addc(&text, '\n');
		ar_out_json(&c->out, ar_buf_str(&text));
	}
	ar_buf_fini(&text);
}

static enum ar_exit read_page(struct chart *t)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(t->ctl, "get_usage", body_of(t, t->cursor), &reply);
	struct ar_json rows = ar_json_get(reply.doc, "rows");

	t->cursor = AR_STR_NONE;
	if (exit == AR_EXIT_OK) {
		for (struct ar_json_iter it = ar_json_iter(rows); !t->ctl->is_json && ar_json_next(&it);)
			add_row(t, it.value);
		if (t->ctl->is_json)
			print_json(t->ctl, rows);
		t->cursor = ar_arena_str(&t->ctl->arena, ar_api_str(reply.doc, "nextCursor"));
	}
	ar_api_fini(&reply);
	return exit;
}

/* ---- drawing ---- */

static void print_bar(struct ar_out *o, int64_t tokens, int64_t most)
{
	int width = most > 0 ? (int)((double)tokens * BAR_WIDTH / (double)most) : 0;

	if (width == 0 && tokens > 0)
		width = 1;

	for (int i = 0; i < BAR_WIDTH; i++)
		ar_out_printf(o, i < width ? "#" : " ");
}

static void print_line(struct ar_out *o, const struct line *line, int64_t most)
{
	ar_out_column(o, ar_str_empty(line->key) ? AR_STR("-") : line->key, KEY_WIDTH);
	ar_out_printf(o, "%10lld  %14lld  ", (long long)line->requests, (long long)line->tokens);
	print_bar(o, line->tokens, most);
	ar_out_printf(o, "  ");
	if (!ar_str_absent(line->cost))
		ar_out_line(o, line->cost);
	if (line->unpriced > 0)
		ar_out_printf(o, "%s%lld without a price", ar_str_absent(line->cost) ? "" : ", ",
			      (long long)line->unpriced);
	ar_out_printf(o, "\n");
}

static void draw(struct chart *t, const char *by)
{
	struct ar_out *o = &t->ctl->out;
	int64_t most = 0;

	for (size_t i = 0; i < t->count; i++)
		most = t->lines[i].tokens > most ? t->lines[i].tokens : most;
	if (t->count == 0) {
		ar_ctl_note(t->ctl, "nothing was used in that time");
		return;
	}
	ar_out_style(o, AR_STYLE_BOLD);
	ar_out_printf(o, "%-*s%10s  %14s  %-*s  %s\n", KEY_WIDTH, by, "REQUESTS", "TOKENS", BAR_WIDTH, "",
		      "COST");
	ar_out_style(o, AR_STYLE_PLAIN);
	for (size_t i = 0; i < t->count; i++)
		print_line(o, &t->lines[i], most);
}

static const char *heading(const char *by)
{
	static const char *const words[][2] = { { "model", "MODEL" },
						{ "workspace", "WORKSPACE" },
						{ "session", "SESSION" },
						{ "tenant", "TENANT" } };

	for (size_t i = 0; by && i < AR_ARRAY_LEN(words); i++) {
		if (strcmp(by, words[i][0]) == 0)
			return words[i][1];
	}
	return "HOUR";
}

static enum ar_exit usage(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct chart *t = ar_arena_alloc(&c->arena, sizeof(*t));
	enum ar_exit exit;

	t->ctl = c;
	t->args = a;
	t->cursor = AR_STR_NONE;
	for (size_t i = 0; i < LINES_MAX; i++)
		t->lines[i].cost = AR_STR_NONE;
	do
		exit = read_page(t);
	while (exit == AR_EXIT_OK && !ar_str_absent(t->cursor) && t->count < LINES_MAX);
	if (exit != AR_EXIT_OK || c->is_json)
		return exit;
	draw(t, heading(a->values[OPT_BY]));
	if (!ar_str_absent(t->cursor))
		ar_ctl_note(c, "there are more; --since and --until show a shorter time");
	return exit;
}

const struct ar_ctl_command ar_cmd_usage = {
	.name = "usage",
	.synopsis = "",
	.summary = "show what model calls used, as bars",
	.text = "Prints requests, tokens and cost of model calls, by hour unless --by says otherwise: of the "
		"last\n"
		"day, or since a time. By session a line has all that the session used, if it changed since\n"
		"then. Sums stay when sessions are removed (retention.usage_days). --json prints each row as "
		"a\n"
		"line of JSON.",
	.examples = "agentctl usage\n"
		    "agentctl usage --by model --since 7d\n"
		    "agentctl usage --by session --since 2h\n"
		    "agentctl usage --by workspace --since 2026-11-01T00:00:00Z --json",
	.options = { [OPT_BY] = { "by", "WHAT", "hour, model, workspace, session or tenant" },
		     [OPT_SINCE] = { "since", "TIME", "a time, or how long ago: 2h, 7d (24h)" },
		     [OPT_UNTIL] = { "until", "TIME", "a time, or how long ago (now)" },
		     [OPT_WORKSPACE] = { "workspace", "ID", "only of this workspace" },
		     [OPT_MODEL] = { "model", "NAME", "only of this model" },
		     [OPT_TENANT] = { "tenant", "NAME", "of this tenant; the operator's to name" } },
	.run = usage,
};
