/* `agentctl events`: a part of the log of a session, oldest or newest first, read page by page. */
#include "events/events.h"
#include "resolve.h"

#define PAGE 500
#define LIMIT_DEFAULT 50
#define LIMIT_MAX 1000000

enum { OPT_TYPE, OPT_TURN, OPT_TASK, OPT_THREAD, OPT_REVERSE, OPT_FROM, OPT_LIMIT, OPT_DENSITY };

struct question {
	struct ar_str session;
	uint64_t from, limit;
	const struct ar_ctl_args *args;
};

static bool read_number(const char *text, uint64_t most, uint64_t *ret)
{
	return !text || (ar_str_to_u64(ar_str_from(text), ret) && *ret > 0 && *ret <= most);
}

static enum ar_exit read_question(struct ar_ctl *c, const struct ar_ctl_args *a, struct question *ret)
{
	*ret = (struct question){ .limit = LIMIT_DEFAULT, .args = a };
	if (!read_number(a->values[OPT_LIMIT], LIMIT_MAX, &ret->limit))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "--limit must be a number from 1 to %d",
				       LIMIT_MAX);
	if (!read_number(a->values[OPT_FROM], INT64_MAX, &ret->from))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "--from must be a sequence: 1 or more");
	return ar_resolve_session(c, a->words[0], &ret->session);
}

/* Names with commas between them. */
static void add_types(struct ar_jw *w, struct ar_str names)
{
	struct ar_str name;

	if (ar_str_absent(names))
		return;
	ar_jw_key(w, "types");
	ar_jw_open_array(w);
	while (!ar_str_empty(names)) {
		names = ar_str_split(names, ',', &name);
		ar_jw_str(w, name);
	}
	ar_jw_close_array(w);
}

static struct ar_str body_of(struct ar_ctl *c, const struct question *q, struct ar_str cursor, uint64_t left)
{
	const char *const *v = (const char *const *)q->args->values;
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", q->session);
	add_types(&w, ar_str_from(v[OPT_TYPE]));
	ar_jw_mstr(&w, "turnId", ar_str_from(v[OPT_TURN]));
	ar_jw_mstr(&w, "taskId", ar_str_from(v[OPT_TASK]));
	ar_jw_mstr(&w, "threadId", ar_str_from(v[OPT_THREAD]));
	if (v[OPT_REVERSE])
		ar_jw_mbool(&w, "newestFirst", true);
	if (q->from)
		ar_jw_mint(&w, "fromSequence", (int64_t)q->from);
	ar_jw_mstr(&w, "cursor", cursor);
	ar_jw_mint(&w, "limit", left < PAGE ? (int64_t)left : PAGE);
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &text);
}

static uint64_t print_page(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json events = ar_json_get(r->doc, "events");
	struct ar_buf text = { 0 };

	for (struct ar_json_iter it = ar_json_iter(events); ar_json_next(&it);) {
		if (!c->is_json) {
			ar_event_print(&c->out, it.value, false, false);
			continue;
		}
		ar_buf_clear(&text);
		ar_json_print(it.value, &text);
		ar_buf_addc(&text, '\n');
		ar_out_json(&c->out, ar_buf_str(&text));
	}
	ar_buf_fini(&text);
	return ar_json_len(events);
}

/* ---- density ---- */

#define BUCKETS_MAX 240
#define BAR_WIDTH 40

static void print_bucket(struct ar_ctl *c, struct ar_json bucket, int64_t most)
{
	int64_t count = ar_api_int(bucket, "count");
	int width = most > 0 ? (int)((count * BAR_WIDTH + most - 1) / most) : 0;

	ar_out_column(&c->out, ar_api_str(bucket, "from"), 27);
	ar_out_printf(&c->out, "%8lld  ", (long long)count);
	for (int i = 0; i < width; i++)
		ar_out_printf(&c->out, "#");
	ar_out_printf(&c->out, "\n");
}

static void print_density(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json buckets = ar_json_get(r->doc, "buckets");
	int64_t most = 0;

	for (struct ar_json_iter it = ar_json_iter(buckets); ar_json_next(&it);) {
		if (ar_api_int(it.value, "count") > most)
			most = ar_api_int(it.value, "count");
	}
	for (struct ar_json_iter it = ar_json_iter(buckets); ar_json_next(&it);)
		print_bucket(c, it.value, most);
}

static enum ar_exit show_density(struct ar_ctl *c, const struct question *q)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	uint64_t buckets = 0;

	if (!read_number(q->args->values[OPT_DENSITY], BUCKETS_MAX, &buckets))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE,
				       "--density must be a number from 1 to %d", BUCKETS_MAX);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", q->session);
	ar_jw_mint(&w, "buckets", (int64_t)buckets);
	ar_jw_close(&w);
	return ar_api_show(c, "count_events", &body, print_density);
}

/* ---- the command ---- */

static enum ar_exit events(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_str cursor = AR_STR_NONE;
	struct question q;
	enum ar_exit exit = read_question(c, a, &q);
	uint64_t left = q.limit;

	if (exit == AR_EXIT_OK && a->values[OPT_DENSITY])
		return show_density(c, &q);
	while (exit == AR_EXIT_OK && left > 0) {
		struct ar_api_reply reply;

		exit = ar_api_call(c, "read_events", body_of(c, &q, cursor, left), &reply);
		if (exit == AR_EXIT_OK) {
			left -= print_page(c, &reply);
			cursor = ar_arena_str(&c->arena, ar_api_str(reply.doc, "nextCursor"));
		}
		ar_api_fini(&reply);
		if (ar_str_absent(cursor))
			break;
	}
	if (exit == AR_EXIT_OK && !ar_str_absent(cursor))
		ar_ctl_note(c, "there are more; --limit N shows N of them, --from %.*s goes on here",
			    AR_STR_ARG(cursor));
	return exit;
}

const struct ar_ctl_command ar_cmd_events = {
	.name = "events",
	.synopsis = "SESSION",
	.summary = "show a part of the log of a session",
	.text = "Prints facts of the session, oldest first, one per line: time, sequence, type, content. It "
		"reads\n"
		"the log by the page and ends; tail follows it. --json prints each fact as a line of JSON.",
	.examples = "agentctl events last --reverse --limit 20\n"
		    "agentctl events last --type 'tool.*,turn.failed'\n"
		    "agentctl events last --turn my-turn --json > turn.ndjson\n"
		    "agentctl events last --from 1200 --limit 100\n"
		    "agentctl events last --density 24",
	.min = 1,
	.max = 1,
	.options = { [OPT_TYPE] = { "type", "NAMES", "only these types, with commas; tool.* is a family" },
		     [OPT_TURN] = { "turn", "ID", "only this turn" },
		     [OPT_TASK] = { "task", "ID", "only this task" },
		     [OPT_THREAD] = { "thread", "ID", "only this thread" },
		     [OPT_REVERSE] = { "reverse", NULL, "newest first" },
		     [OPT_FROM] = { "from", "SEQUENCE", "begin with this fact" },
		     [OPT_LIMIT] = { "limit", "N", "number of facts (50)" },
		     [OPT_DENSITY] = { "density", "N", "count the facts in N parts of the time instead" } },
	.run = events,
};
