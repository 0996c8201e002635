/* `agentctl cost`: what the turns of a session used, one line each, and all of it. The facts of the log are
 * added up, a page at a time. Currencies are not mixed, and what has no price is said to have none. */
#include "map.h"
#include "mem.h"
#include "resolve.h"

#define PAGE 500
#define TURNS_MAX 1000 /* that have a line; the sum has all */
#define CURRENCIES 4
#define TURN_WIDTH 36
#define COUNT_WIDTH 10

struct sum {
	struct ar_str turn;
	int64_t input, output, cached;
	int64_t unpriced; /* calls */
	double amounts[CURRENCIES];
	bool is_priced[CURRENCIES];
};

/* owner: one invocation */
struct report {
	struct ar_ctl *ctl;
	struct sum all, *turns;
	size_t count;
	struct ar_map by_turn; /* to index + 1 */
	struct ar_str currencies[CURRENCIES];
	size_t currency_count;
	bool is_cut; /* there are turns without a line */
	struct ar_str cursor;
};

/* ---- adding up ---- */

/* Its number; CURRENCIES: there is no room for one more. */
static size_t currency_of(struct report *r, struct ar_str name)
{
	size_t i = 0;

	while (i < r->currency_count && !ar_str_eq(r->currencies[i], name))
		i++;
	if (i == r->currency_count && i < CURRENCIES)
		r->currencies[r->currency_count++] = ar_arena_str(&r->ctl->arena, name);
	return i;
}

static struct sum *sum_of(struct report *r, struct ar_str turn)
{
	uintptr_t at = (uintptr_t)ar_map_get(&r->by_turn, turn);

	if (at)
		return &r->turns[at - 1];
	if (r->count == TURNS_MAX) {
		r->is_cut = true;
		return NULL;
	}
	r->turns[r->count].turn = ar_arena_str(&r->ctl->arena, turn);
	ar_map_put(&r->by_turn, r->turns[r->count].turn, (void *)(uintptr_t)(r->count + 1));
	return &r->turns[r->count++];
}

static void add(struct sum *s, struct ar_json payload, size_t currency)
{
	double amount = 0;

	s->input += ar_api_int(payload, "inputTokens");
	s->output += ar_api_int(payload, "outputTokens");
	s->cached += ar_api_int(payload, "cachedTokens");
	if (currency == CURRENCIES || !ar_json_num(ar_json_get(payload, "amount"), &amount)) {
		s->unpriced++;
		return;
	}
	s->amounts[currency] += amount;
	s->is_priced[currency] = true;
}

static void add_fact(struct report *r, struct ar_json event)
{
	struct ar_json payload = ar_json_get(event, "payload");
	struct ar_str currency = ar_api_str(payload, "currency");
	size_t number = ar_str_absent(currency) ? CURRENCIES : currency_of(r, currency);
	struct sum *turn = sum_of(r, ar_api_str(event, "turnId"));

	add(&r->all, payload, number);
	if (turn)
		add(turn, payload, number);
}

static struct ar_str body_of(struct report *r, struct ar_str session)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mraw(&w, "types", AR_STR("[\"cost.recorded\"]"));
	ar_jw_mstr(&w, "cursor", r->cursor);
	ar_jw_mint(&w, "limit", PAGE);
	ar_jw_close(&w);
	return ar_ctl_take_buf(r->ctl, &body);
}

static enum ar_exit read_page(struct report *r, struct ar_str session)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(r->ctl, "read_events", body_of(r, session), &reply);

	r->cursor = AR_STR_NONE;
	if (exit == AR_EXIT_OK) {
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(reply.doc, "events"));
		     ar_json_next(&it);)
			add_fact(r, it.value);
		r->cursor = ar_arena_str(&r->ctl->arena, ar_api_str(reply.doc, "nextCursor"));
	}
	ar_api_fini(&reply);
	return exit;
}

/* ---- showing ---- */

static void print_costs(struct report *r, const struct sum *s)
{
	struct ar_out *o = &r->ctl->out;
	const char *comma = "";

	for (size_t i = 0; i < r->currency_count; i++) {
		if (!s->is_priced[i])
			continue;
		ar_out_printf(o, "%s%.6f ", comma, s->amounts[i]);
		ar_out_line(o, r->currencies[i]);
		comma = ", ";
	}
	if (s->unpriced > 0)
		ar_out_printf(o, "%s%lld without a price", comma, (long long)s->unpriced);
}

static void print_sum(struct report *r, struct ar_str name, const struct sum *s)
{
	struct ar_out *o = &r->ctl->out;

	ar_out_column(o, name, TURN_WIDTH);
	ar_out_printf(o, "%*lld  %*lld  %*lld  ", COUNT_WIDTH, (long long)s->input, COUNT_WIDTH,
		      (long long)s->output, COUNT_WIDTH, (long long)s->cached);
	print_costs(r, s);
	ar_out_printf(o, "\n");
}

static void print_table(struct report *r)
{
	struct ar_out *o = &r->ctl->out;

	if (r->count == 0) {
		ar_ctl_note(r->ctl, "no model was called yet");
		return;
	}
	ar_out_style(o, AR_STYLE_BOLD);
	ar_out_printf(o, "%-*s  %*s  %*s  %*s  %s\n", TURN_WIDTH, "TURN", COUNT_WIDTH, "IN", COUNT_WIDTH,
		      "OUT", COUNT_WIDTH, "CACHED", "COST");
	ar_out_style(o, AR_STYLE_PLAIN);
	for (size_t i = 0; i < r->count; i++)
		print_sum(r, r->turns[i].turn, &r->turns[i]);
	print_sum(r, AR_STR("all"), &r->all);
	if (r->is_cut)
		ar_ctl_note(r->ctl, "the first %d turns have a line; the last line has all of them",
			    TURNS_MAX);
}

static void write_sum(struct report *r, struct ar_jw *w, const struct sum *s)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "turnId", s->turn);
	ar_jw_mint(w, "inputTokens", s->input);
	ar_jw_mint(w, "outputTokens", s->output);
	ar_jw_mint(w, "cachedTokens", s->cached);
	ar_jw_mint(w, "unpriced", s->unpriced);
	ar_jw_key(w, "amounts");
	ar_jw_open(w);
	for (size_t i = 0; i < r->currency_count; i++) {
		if (!s->is_priced[i])
			continue;
		ar_jw_name(w, r->currencies[i]);
		ar_jw_num(w, s->amounts[i]);
	}
	ar_jw_close(w);
	ar_jw_close(w);
}

static void print_json(struct report *r)
{
	struct ar_buf text = { 0 };

	for (size_t i = 0; i <= r->count; i++) {
		struct ar_jw w = ar_jw(&text);

		write_sum(r, &w, i < r->count ? &r->turns[i] : &r->all);
		ar_buf_addc(&text, '\n');
	}
	ar_out_json(&r->ctl->out, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* ---- the command ---- */

static enum ar_exit cost(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct report r = { .ctl = c, .cursor = AR_STR_NONE };
	struct ar_str session;
	enum ar_exit exit = ar_resolve_session(c, a->count ? a->words[0] : "last", &session);

	if (exit != AR_EXIT_OK)
		return exit;
	r.all.turn = AR_STR_NONE;
	r.turns = ar_new0(TURNS_MAX * sizeof(*r.turns));
	do
		exit = read_page(&r, session);
	while (exit == AR_EXIT_OK && !ar_str_absent(r.cursor));
	if (exit == AR_EXIT_OK)
		(c->is_json ? print_json : print_table)(&r);
	ar_map_fini(&r.by_turn);
	ar_free(r.turns);
	return exit;
}

const struct ar_ctl_command ar_cmd_cost = {
	.name = "cost",
	.synopsis = "[SESSION]",
	.summary = "show what the turns of a session used",
	.text = "Prints tokens and cost of each turn of the session, its child agents included, and of all "
		"of them.\n"
		"Without SESSION the newest. Calls without a known price are counted and not guessed. "
		"`usage` "
		"is over\n"
		"all sessions. --json prints a line of JSON for each turn, and one without turnId for all.",
	.examples = "agentctl cost\n"
		    "agentctl cost last --json",
	.max = 1,
	.run = cost,
};
