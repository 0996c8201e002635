/* See top.h: GET /metrics, list_sessions and list_actions. What a node counts is its own; sessions and
 * questions are those of all nodes. */
#include "top/top.h"
#include "clock.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 200

const char *const ar_top_keys[AR_TOP_METRICS] = {
	[AR_TOP_SESSIONS] = "sessionsOpen",
	[AR_TOP_RUNNING] = "turnsRunning",
	[AR_TOP_QUEUED] = "turnsQueued",
	[AR_TOP_ASKING] = "actionsPending",
	[AR_TOP_STREAMS] = "streams",
	[AR_TOP_LAG] = "lag",
	[AR_TOP_CONNECTIONS] = "connections",
	[AR_TOP_STORE_WAITING] = "storeWaiting",
	[AR_TOP_MEMORY] = "memoryBytes",
	[AR_TOP_FILES] = "openFiles",
	[AR_TOP_COST] = "cost",
	[AR_TOP_TURNS] = "turns",
	[AR_TOP_COMMANDS] = "commands",
	[AR_TOP_FACTS] = "facts",
	[AR_TOP_TOKENS] = "tokens",
	[AR_TOP_COMMITS] = "commits",
	[AR_TOP_COMMIT_SECONDS] = "commitSeconds",
	[AR_TOP_CPU] = "cpu",
};

static const char *const scraped[AR_TOP_METRICS] = {
	[AR_TOP_SESSIONS] = "agentd_sessions_open",
	[AR_TOP_RUNNING] = "agentd_turns_running",
	[AR_TOP_QUEUED] = "agentd_turns_queued",
	[AR_TOP_ASKING] = "agentd_actions_pending",
	[AR_TOP_STREAMS] = "agentd_subscribers_open",
	[AR_TOP_LAG] = "agentd_subscriber_lag",
	[AR_TOP_CONNECTIONS] = "agentd_connections_open",
	[AR_TOP_STORE_WAITING] = "agentd_store_waiting",
	[AR_TOP_MEMORY] = "process_resident_memory_bytes",
	[AR_TOP_FILES] = "process_open_fds",
	[AR_TOP_COST] = "agentd_cost_total",
	[AR_TOP_TURNS] = "agentd_turns_ended_total",
	[AR_TOP_COMMANDS] = "agentd_commands_total",
	[AR_TOP_FACTS] = "agentd_events_appended_total",
	[AR_TOP_TOKENS] = "agentd_model_tokens_total",
	[AR_TOP_COMMITS] = "agentd_commit_duration_seconds_count",
	[AR_TOP_COMMIT_SECONDS] = "agentd_commit_duration_seconds_sum",
	[AR_TOP_CPU] = "process_cpu_seconds_total",
};

static ar_usec mono(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

/* ---- metrics ---- */

/* `name{labels} value`; cached tokens are among those of the input already. */
static void add_line(struct ar_top_counts *t, struct ar_str line)
{
	const char *space = memrchr(line.p, ' ', line.len);
	char number[64];
	struct ar_str name, value;

	if (!space || ar_str_starts(line, AR_STR("#")) || memmem(line.p, line.len, "\"cached\"", 8))
		return;
	ar_str_split(ar_str_sub(line, 0, (size_t)(space - line.p)), '{', &name);
	value = ar_str_sub(line, (size_t)(space - line.p) + 1, line.len);
	if (value.len >= sizeof(number))
		return;
	memcpy(number, value.p, value.len);
	number[value.len] = '\0';
	for (size_t i = 0; i < AR_TOP_METRICS; i++) {
		if (ar_str_is(name, scraped[i]))
			t->values[i] += strtod(number, NULL);
	}
}

enum ar_exit ar_top_count(struct ar_ctl *c, struct ar_top_counts *ret)
{
	struct ar_http_request r = ar_api_request(c, "/metrics");
	struct ar_http_reply reply = { 0 };
	struct ar_error err = { 0 };
	enum ar_status st = ar_http_run(&r, &reply, &err);
	struct ar_str rest = ar_buf_str(&reply.body), line;
	enum ar_exit exit = AR_EXIT_OK;

	*ret = (struct ar_top_counts){ .at = mono() };
	if (st != AR_OK)
		exit = ar_api_unreachable(c, st, &err);
	else if (reply.status != 200)
		exit = ar_ctl_complain(c, AR_EXIT_FAILED,
				       AR_STR("the daemon is too old; stop it with `agentctl stop`"),
				       "the daemon shows no metrics (HTTP status %ld)", reply.status);
	while (exit == AR_EXIT_OK && !ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		add_line(ret, line);
	}
	ar_buf_fini(&reply.body);
	return exit;
}

double ar_top_rate(const struct ar_top *t, enum ar_top_metric m)
{
	double seconds = (double)(t->now.at - t->before.at) / 1e6;
	double change = t->now.values[m] - t->before.values[m];

	return t->before.at && seconds > 0 && change > 0 ? change / seconds : 0;
}

/* ---- lists ---- */

static struct ar_top_row *find_row(struct ar_top *t, struct ar_str session)
{
	for (size_t i = 0; i < t->count; i++) {
		if (ar_str_eq(t->rows[i].session, session))
			return &t->rows[i];
	}
	return NULL;
}

static void add_session(struct ar_top *t, struct ar_json s)
{
	struct ar_str id = ar_api_str(s, "sessionId");
	struct ar_top_row *row = &t->rows[t->count];
	double cost = 0;

	if (t->count == AR_TOP_ROWS || find_row(t, id))
		return;
	ar_json_num(ar_json_get(s, "cost"), &cost);
	*row = (struct ar_top_row){ .session = ar_arena_str(&t->arena, id),
				    .title = ar_arena_str(&t->arena, ar_api_str(s, "title")),
				    .status = ar_arena_str(&t->arena, ar_api_str(s, "status")),
				    .currency = ar_arena_str(&t->arena, ar_api_str(s, "currency")),
				    .turns = ar_api_int(s, "turns"),
				    .queued = ar_api_int(s, "queuedTurns"),
				    .tokens = ar_api_int(s, "tokens"),
				    .cost = cost,
				    .updated = ar_api_time(s, "updatedAt") };
	t->count++;
}

static void add_action(struct ar_top *t, struct ar_json action)
{
	struct ar_top_row *row = find_row(t, ar_api_str(action, "sessionId"));

	if (row)
		row->waits++;
}

static enum ar_exit add_list(struct ar_ctl *c, struct ar_top *t, const char *command, const char *status)
{
	struct ar_api_reply reply;
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	bool is_sessions = strcmp(command, "list_sessions") == 0;
	enum ar_exit exit;

	ar_jw_open(&w);
	ar_jw_mint(&w, "limit", PAGE);
	ar_jw_mstr(&w, "status", ar_str_from(status));
	ar_jw_close(&w);
	exit = ar_api_call(c, command, ar_buf_str(&body), &reply);
	if (exit == AR_EXIT_OK) {
		struct ar_json list = ar_json_get(reply.doc, is_sessions ? "sessions" : "actions");

		for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);)
			is_sessions ? add_session(t, it.value) : add_action(t, it.value);
	}
	ar_api_fini(&reply);
	ar_buf_fini(&body);
	return exit;
}

/* Those at work first, so that a long list of idle ones does not hide them. */
static enum ar_exit read_all(struct ar_ctl *c, struct ar_top *t)
{
	static const struct {
		const char *command, *status;
	} lists[] = { { "list_sessions", "running" },
		      { "list_sessions", "blocked" },
		      { "list_sessions", NULL },
		      { "list_actions", "pending" } };
	enum ar_exit exit;

	t->before = t->now;
	exit = ar_top_count(c, &t->now);
	ar_arena_reset(&t->arena);
	t->rows = ar_arena_alloc(&t->arena, AR_TOP_ROWS * sizeof(*t->rows));
	t->count = 0;
	t->wall = ar_clock_system()->wall(ar_clock_system());
	for (size_t i = 0; i < AR_ARRAY_LEN(lists) && exit == AR_EXIT_OK; i++)
		exit = add_list(c, t, lists[i].command, lists[i].status);
	return exit;
}

enum ar_exit ar_top_look(struct ar_ctl *c, struct ar_top *t)
{
	struct ar_arena own = { 0 };
	enum ar_exit exit;

	ar_ctl_swap_arena(c, &own);
	exit = read_all(c, t);
	ar_ctl_swap_arena(c, &own);
	ar_arena_fini(&own);
	return exit;
}

void ar_top_fini(struct ar_top *t)
{
	ar_arena_fini(&t->arena);
}
