/* Makes long sessions without a model and without waiting for each commit: turns are decided and folded
 * by the real core, encoded by the real encoder, and handed to the store port many at a time; rows and
 * snapshots are those that the engine would have written. What it leaves out is receipts and chunks,
 * which belong to callers and open steps.
 *
 *   ar-make-session --store FILE|CONNINFO [--facts N [--sessions K] [--answer BYTES]]
 *
 * One line of JSON per session: {"sessionId","threadId","facts","turns"}. Without --facts it is one session,
 * whose facts are on standard input, one per line: a log as an older version wrote it. The main thread
 * owns everything; the store's threads only raise the semaphore. */
#include "clock.h"
#include "mem.h"
#include "index_rows.h"
#include "limits/route.h"
#include "provider.h"
#include "store_open.h"

#include <getopt.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IN_FLIGHT_MAX 1024
#define SNAPSHOT_EVERY 200 /* the default of session.snapshot_every */
#define STEP_ID_MAX 64

/* One append and the memory that it borrows until it is durable. */
struct slot {
	struct ar_list node;
	struct maker *maker;
	struct ar_store_append append;
	struct ar_arena arena;
	struct ar_decision decision;
	struct ar_store_session_row row;
	struct ar_buf body, snapshot;
};

struct maker {
	struct ar_store *store;
	struct ar_policy policy;
	struct ar_json_parser *json, *member_json;
	struct ar_session state;
	struct ar_list free_slots;
	struct slot slots[IN_FLIGHT_MAX];
	sem_t finished;
	ar_usec now;
	char step[STEP_ID_MAX]; /* the open model call */
	struct ar_buf text;
	size_t answer_bytes;
	uint64_t words; /* how many were ever written: makes every text a new one */
};

static void die(const char *what, const struct ar_error *err)
{
	fprintf(stderr, "ar-make-session: %s: %s\n", what, err->msg);
	exit(1);
}

/* ---- slots ---- */

static void on_append(struct ar_store_op *op)
{
	struct slot *s = AR_CONTAINER_OF(op, struct slot, append.op);

	if (op->status != AR_OK)
		die("append", &op->err);
	ar_store_op_fini(op);
	ar_arena_reset(&s->arena);
	ar_buf_clear(&s->body);
	ar_buf_clear(&s->snapshot);
	ar_list_push(&s->maker->free_slots, &s->node);
}

static void wake(void *arg)
{
	sem_post(&((struct maker *)arg)->finished);
}

static struct slot *take_slot(struct maker *m)
{
	struct ar_list *node;

	while (!(node = ar_list_pop(&m->free_slots))) {
		sem_wait(&m->finished);
		ar_store_poll(m->store);
	}
	return AR_CONTAINER_OF(node, struct slot, node);
}

/* ---- what an append carries, as engine/commit.c puts it together ---- */

static void encode(struct slot *s)
{
	for (size_t i = 0; i < s->decision.event_count; i++) {
		ar_event_encode(&s->decision.events[i], &s->body);
		ar_buf_addc(&s->body, '\n');
	}
}

/* The state goes on while the append is in flight, so what the rows borrow from it is copied. */
static void add_rows(struct maker *m, struct slot *s)
{
	const struct ar_decision *d = &s->decision;
	struct ar_store_task_row *tasks = ar_arena_alloc(&s->arena, (d->event_count + 1) * sizeof *tasks);
	struct ar_store_action_row *actions =
		ar_arena_alloc(&s->arena, (d->event_count + 1) * sizeof *actions);

	s->row = ar_index_session(&m->state, &s->arena);
	s->row.tenant = ar_arena_str(&s->arena, s->row.tenant);
	s->row.workspace = ar_arena_str(&s->arena, s->row.workspace);
	s->row.account = ar_arena_str(&s->arena, s->row.account);
	s->append.row = &s->row;
	s->append.tasks = tasks;
	s->append.task_count = ar_index_tasks(&m->state, d->events, d->event_count, &s->arena, tasks);
	for (size_t i = 0; i < s->append.task_count; i++)
		tasks[i].task = ar_arena_str(&s->arena, tasks[i].task);
	s->append.actions = actions;
	s->append.action_count = ar_index_actions(&m->state, d->events, d->event_count, &s->arena, actions);
	for (size_t i = 0; i < s->append.action_count; i++) {
		actions[i].action = ar_arena_str(&s->arena, actions[i].action);
		actions[i].tenant = ar_arena_str(&s->arena, actions[i].tenant);
		actions[i].account = ar_arena_str(&s->arena, actions[i].account);
	}
}

static void add_contents(struct slot *s)
{
	const struct ar_decision *d = &s->decision;
	struct ar_store_blob *blobs = ar_arena_alloc(&s->arena, (d->content_count + 1) * sizeof *blobs);

	for (size_t i = 0; i < d->content_count; i++)
		blobs[i] = (struct ar_store_blob){ d->contents[i].hash,
						   ar_arena_str(&s->arena, d->contents[i].bytes) };
	s->append.blobs = blobs;
	s->append.blob_count = d->content_count;
}

/* The state goes on as what was written, which keeps its memory as small as the engine's. */
static void renew(struct maker *m, struct ar_str snapshot)
{
	struct ar_session fresh;
	struct ar_error err = { 0 };
	struct ar_json v;

	ar_session_init(&fresh, m->state.session_key, m->member_json);
	if (ar_json_parse(m->json, snapshot, &v, &err) != AR_OK ||
	    ar_session_restore(&fresh, v, &err) != AR_OK)
		die("snapshot", &err);
	ar_session_fini(&m->state);
	m->state = fresh;
}

static void add_snapshot(struct maker *m, struct slot *s)
{
	if (m->state.head - m->state.snapshot_head < SNAPSHOT_EVERY)
		return;
	ar_session_snapshot(&m->state, &s->snapshot);
	s->append.snapshot = ar_buf_str(&s->snapshot);
	renew(m, s->append.snapshot);
}

/* Remembers the call that the decision asks for: its end is the next input. */
static void note_step(struct maker *m, const struct ar_decision *d)
{
	for (size_t i = 0; i < d->effect_count; i++) {
		if (d->effects[i].kind == AR_EFFECT_MODEL_CALL)
			snprintf(m->step, sizeof m->step, "%.*s", AR_STR_ARG(d->effects[i].model_call.step));
	}
}

/* The facts of the slot's decision, which the state has. */
static void append(struct maker *m, struct slot *s)
{
	encode(s);
	s->append = (struct ar_store_append){ .op = { .kind = AR_STORE_APPEND, .done = on_append },
					      .session = ar_arena_str(&s->arena, m->state.session_key),
					      .first_seq = m->state.head - s->decision.event_count + 1,
					      .last_seq = m->state.head,
					      .at = m->now,
					      .body = ar_buf_str(&s->body) };
	add_rows(m, s);
	add_contents(s);
	add_snapshot(m, s);
	ar_store_submit(m->store, &s->append.op);
}

static void decide(struct maker *m, struct ar_input *in)
{
	struct slot *s = take_slot(m);
	struct ar_error err = { 0 };

	in->now = m->now += 1000;
	in->policy = &m->policy;
	s->decision = (struct ar_decision){ 0 };
	if (ar_session_decide(&m->state, in, m->json, &s->arena, &s->decision, &err) != AR_OK)
		die("decide", &err);
	note_step(m, &s->decision);
	append(m, s);
}

static void add_fact(struct maker *m, struct ar_str line)
{
	struct slot *s = take_slot(m);
	struct ar_event *e = ar_arena_alloc(&s->arena, sizeof *e);
	struct ar_error err = { 0 };
	struct ar_json v;

	if (ar_json_parse(m->json, line, &v, &err) != AR_OK ||
	    ar_event_decode(v, &s->arena, e, &err) != AR_OK)
		die("fact", &err);
	if (m->state.head == 0)
		ar_session_init(&m->state, ar_id_session_key(e->session_id), m->member_json);
	if (ar_session_apply(&m->state, e, &err) != AR_OK)
		die("fact", &err);
	s->decision = (struct ar_decision){ .events = e, .event_count = 1 };
	append(m, s);
}

static void read_log(struct maker *m)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0)
		add_fact(m, ar_str_from(line));
	free(line);
	ar_session_fini(&m->state);
}

/* ---- turns ---- */

/* Words of uneven length that never repeat as a whole: compresses like speech, not like zeros. */
static struct ar_str make_text(struct maker *m, size_t bytes)
{
	static const char *const words[] = { "the",	"session", "keeps",   "what",	   "was",
					     "decided", "and",	   "reads",   "it",	   "back",
					     "after",	"a",	   "restart", "so",	   "that",
					     "nothing", "said",	   "is",      "forgotten", "by",
					     "anyone",	"who",	   "follows", "along" };

	ar_buf_clear(&m->text);
	ar_buf_addf(&m->text, "%llu", (unsigned long long)m->words);
	while (m->text.len < bytes) {
		uint64_t x = ++m->words * UINT64_C(0x9E3779B97F4A7C15);

		ar_buf_addf(&m->text, " %s", words[(x >> 33) % AR_ARRAY_LEN(words)]);
	}
	return ar_buf_str(&m->text);
}

static void make_turn(struct maker *m)
{
	static const struct ar_shape_create_policy anywhere;
	struct ar_cmd_submit_turn_in submit = { .text = make_text(m, 120),
						.create_policy = m->state.head ? NULL : &anywhere };
	struct ar_input in = { .kind = AR_IN_COMMAND,
			       .command = { .id = AR_CMD_SUBMIT_TURN, .args = &submit },
			       .account = AR_STR("local") };
	struct ar_segment segment = { .kind = AR_OUT_TEXT };
	struct ar_step_output output = { .segments = &segment, .segment_count = 1 };

	decide(m, &in);
	output.step = ar_str_from(m->step);
	output.text = make_text(m, m->answer_bytes);
	segment.len = output.text.len;
	in = (struct ar_input){ .kind = AR_IN_MODEL_DONE,
				.model_done = { .output = &output,
						.end = &(struct ar_model_result){
							.outcome = AR_MODEL_COMPLETED,
							.stop_reason = AR_STR("stop"),
							.model = AR_STR("made"),
							.has_usage = true,
							.input_tokens = 30,
							.output_tokens = (int64_t)output.text.len / 4 } } };
	decide(m, &in);
}

static void make_session(struct maker *m, uint64_t facts)
{
	char session_key[AR_SESSION_KEY_LEN];
	const struct ar_thread *t;

	ar_id_mint(session_key);
	ar_session_init(&m->state, (struct ar_str){ session_key, sizeof session_key }, m->member_json);
	while (m->state.head < facts)
		make_turn(m);
	t = m->state.threads.at[0];
	printf("{\"sessionId\":\"%.*s\",\"threadId\":\"%.*s\",\"facts\":%llu,\"turns\":%lld}\n",
	       AR_STR_ARG(m->state.id), AR_STR_ARG(t->id), (unsigned long long)m->state.head,
	       (long long)m->state.counters.turn);
	ar_session_fini(&m->state);
}

/* ---- life ---- */

static enum ar_status open_file(struct maker *m, const char *path, struct ar_error *err)
{
	struct ar_store_sqlite_options o = { .path = path,
					     .wake = wake,
					     .wake_arg = m,
					     .dictionary = { ar_catalog_dictionary,
							     ar_catalog_dictionary_len } };

	return ar_store_sqlite_open(&o, &m->store, err);
}

static enum ar_status open_server(struct maker *m, const char *conninfo, struct ar_error *err)
{
	struct ar_store_postgres_options o = { .conninfo = conninfo,
					       .node = "maker",
					       .wake = wake,
					       .wake_arg = m,
					       .dictionary = { ar_catalog_dictionary,
							       ar_catalog_dictionary_len } };

	return ar_store_postgres_open(&o, &m->store, err);
}

/* A connection string has an equals sign or is a URI; a file's path has neither here. */
static void open_maker(struct maker *m, const char *store)
{
	static const struct ar_model_entry models[] = {
		{ .name = { "made", 4 },
		  .provider = { "openai-chat", 11 },
		  .model = { "made", 4 },
		  .price = { -1, -1, -1, -1 },
		  .capabilities = AR_CAN_ALL,
		  .has_credentials = true },
	};
	bool is_server = strchr(store, '=') || strstr(store, "://");
	struct ar_error err = { 0 };

	sem_init(&m->finished, 0, 0);
	if ((is_server ? open_server : open_file)(m, store, &err) != AR_OK)
		die(store, &err);
	m->policy = (struct ar_policy){ .runtime_id = ar_str_from(m->store->runtime_id),
					.models = models,
					.model_count = AR_ARRAY_LEN(models),
					.max_attempts = 3,
					.backoff_ms = 500,
					.max_rounds = 16,
					.tool_ms = 120000,
					.tool_parallel = 8,
					.tool_result_bytes = 65536,
					.max_restarts = 10,
					.queue_max = 100,
					.context_max = 200,
					.context_bytes = 262144,
					.queue_by_default = true,
					.auto_resume = true };
	m->json = ar_json_parser_new();
	m->member_json = ar_json_parser_new();
	m->now = ar_clock_system()->wall(ar_clock_system());
	ar_list_init(&m->free_slots);
	for (size_t i = 0; i < IN_FLIGHT_MAX; i++) {
		m->slots[i].maker = m;
		ar_list_push(&m->free_slots, &m->slots[i].node);
	}
}

static void close_maker(struct maker *m)
{
	ar_store_close(m->store);
	for (size_t i = 0; i < IN_FLIGHT_MAX; i++) {
		ar_arena_fini(&m->slots[i].arena);
		ar_buf_fini(&m->slots[i].body);
		ar_buf_fini(&m->slots[i].snapshot);
	}
	ar_json_parser_free(m->json);
	ar_json_parser_free(m->member_json);
	ar_buf_fini(&m->text);
	sem_destroy(&m->finished);
	ar_free(m);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "store", required_argument, NULL, 's' },
						 { "facts", required_argument, NULL, 'f' },
						 { "sessions", required_argument, NULL, 'k' },
						 { "answer", required_argument, NULL, 'a' },
						 { 0 } };
	struct maker *m = ar_new0(sizeof *m);
	const char *path = NULL;
	uint64_t facts = 0, sessions = 1;
	int c;

	m->answer_bytes = 900;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		uint64_t *number = c == 'f' ? &facts : c == 'k' ? &sessions : &m->answer_bytes;

		if (c == 's')
			path = optarg;
		else if (c == '?' || !ar_str_to_u64(ar_str_from(optarg), number))
			return 2;
	}
	if (!path) {
		fprintf(stderr, "usage: ar-make-session --store FILE|CONNINFO [--facts N [--sessions K] "
				"[--answer BYTES]]\n");
		return 2;
	}
	open_maker(m, path);
	if (!facts)
		read_log(m);
	for (uint64_t i = 0; facts && i < sessions; i++)
		make_session(m, facts);
	close_maker(m);
	return 0;
}
