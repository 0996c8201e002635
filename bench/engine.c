/* Whole turns inside one process: the real engine and the real store, a provider that answers at once,
 * no HTTP. Says what the core and the store can do when no transport stands before them.
 *
 *   bench-engine STORE SESSIONS TURNS FILE [tool]
 *
 * With `tool` a turn is two model calls with one tool call between them. A single session calls
 * bench_mark() after its fourth turn and after its last, where a profiler can look.
 *
 * STORE is a folder for SQLite, or a connection string with a `=` in it for PostgreSQL. Prompts and
 * answers are lines of FILE. Prints {"turns","facts","seconds","cpu_ms"}, the last one per turn. The
 * main thread is the loop; the store's threads raise the semaphore. */
#include "client.h"
#include "engine.h"
#include "limits/route.h"
#include "mem.h"
#include "store_open.h"
#include "toolbox.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MARK_AFTER 4 /* turns: first uses of everything are over */

struct open_call {
	struct ar_model_call *call;
	bool wants_tool; /* seen at the start: its messages are not there any more when it is answered */
};

struct bench {
	struct ar_engine *engine;
	struct ar_provider_slot slot;
	struct ar_store *store;
	struct ar_policy policy;
	sem_t finished;
	struct ar_str *lines;
	size_t line_count, submitted, calls, over, sessions, per_session;
	struct talker *talkers;
	struct open_call *open; /* calls to answer in the next turn of the loop */
	size_t open_count, open_room;
	bool with_tool;
	struct ar_tool_source tools;
	struct ar_tool_call **running; /* the same of tools */
	size_t running_count, running_room;
};

/* One session and its next turn. */
struct talker {
	struct bench *bench;
	char session_key[AR_SESSION_KEY_LEN];
	struct ar_engine_request request;
	struct ar_cmd_submit_turn_in input;
	struct ar_engine_view view;
	struct ar_arena arena;
	size_t turns;
	bool is_waiting; /* its turn runs */
};

struct instant {
	struct ar_provider provider;
	struct bench *bench;
};

static struct bench *bench_of(struct ar_provider *p)
{
	return AR_CONTAINER_OF(p, struct instant, provider)->bench;
}

/* ---- the provider ---- */

static void instant_start(struct ar_provider *p, struct ar_model_call *c)
{
	struct bench *b = bench_of(p);

	if (b->open_count == b->open_room) {
		b->open_room = b->open_room ? 2 * b->open_room : 64;
		b->open = ar_grow(b->open, b->open_room, sizeof *b->open);
	}
	b->open[b->open_count++] =
		(struct open_call){ c, b->with_tool && c->request->messages[c->request->count - 1].role !=
							       AR_ROLE_TOOL };
}

static void instant_cancel(struct ar_provider *p, struct ar_model_call *c)
{
	(void)p;
	(void)c;
}

static void instant_close(struct ar_provider *p)
{
	(void)p;
}

static const struct ar_provider_vtable instant_vtable = { instant_start, instant_cancel, instant_close };

static void ask_for_tool(struct ar_model_call *c)
{
	c->v->on_tool(c, 0, AR_STR("call_1"), AR_STR("look"));
	c->v->on_output(c, AR_OUT_TOOL_ARGS, 0, AR_STR("{\"q\":\"what is asked for\"}"));
}

static void answer_calls(struct bench *b)
{
	while (b->open_count > 0) {
		struct ar_model_call *c = b->open[--b->open_count].call;

		if (b->open[b->open_count].wants_tool)
			ask_for_tool(c);
		else
			c->v->on_output(c, AR_OUT_TEXT, 0, b->lines[b->calls++ % b->line_count]);
		c->v->on_done(c, &(struct ar_model_result){ .outcome = AR_MODEL_COMPLETED,
							    .stop_reason = AR_STR("stop"),
							    .model = AR_STR("stub"),
							    .has_usage = true,
							    .input_tokens = 40,
							    .output_tokens = 220 });
	}
}

/* ---- the tool ---- */

static void look_start(struct ar_tool_source *s, struct ar_tool_call *c)
{
	struct bench *b = AR_CONTAINER_OF(s, struct bench, tools);

	if (b->running_count == b->running_room) {
		b->running_room = b->running_room ? 2 * b->running_room : 64;
		b->running = ar_grow(b->running, b->running_room, sizeof *b->running);
	}
	b->running[b->running_count++] = c;
}

static void look_cancel(struct ar_tool_source *s, struct ar_tool_call *c)
{
	(void)s;
	(void)c;
}

static void look_close(struct ar_tool_source *s)
{
	(void)s;
}

static void answer_tools(struct bench *b)
{
	while (b->running_count > 0) {
		struct ar_tool_call *c = b->running[--b->running_count];

		c->v->on_done(c, &(struct ar_tool_result){ .outcome = AR_TOOL_OK,
							   .text = b->lines[b->calls % b->line_count] });
	}
}

static struct ar_toolbox *open_tools(struct bench *b)
{
	static const struct ar_tool_source_vtable vtable = { .start = look_start,
							     .cancel = look_cancel,
							     .close = look_close };
	static const struct ar_tool look = { .name = { "look", 4 },
					     .description = { "Looks something up.", 19 },
					     .schema = { "{\"type\":\"object\"}", 17 },
					     .owner = AR_TOOL_LOCAL,
					     .is_read_only = true,
					     .is_concurrency_safe = true };
	struct ar_toolbox *box;

	if (!b->with_tool)
		return NULL;
	b->tools = (struct ar_tool_source){
		.v = &vtable, .name = "bench", .tools = &look, .tool_count = 1, .is_ready = true
	};
	box = ar_toolbox_new();
	ar_toolbox_add(box, &b->tools);
	b->policy.inventory = ar_toolbox_inventory(box);
	return box;
}

/* ---- sessions ---- */

static void submit(struct talker *t);

static void accepted(struct ar_engine_request *r)
{
	if (r->status != AR_OK)
		client_die("submit", ar_str_from(r->err.msg));
}

/* A place for a profiler: callgrind --dump-before=bench_mark. */
__attribute__((noinline)) void bench_mark(void);
void bench_mark(void)
{
	__asm__ volatile("");
}

/* Looked at whenever something was committed: the next turn begins when the thread is idle again. */
static void seen(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct talker *t = AR_CONTAINER_OF(v, struct talker, view);

	if (!s)
		client_die("look", ar_str_from(err->msg));
	t->is_waiting = ar_session_is_active(s);
	if (t->is_waiting)
		return;
	if (++t->turns == MARK_AFTER && t->bench->sessions == 1)
		bench_mark();
	if (t->turns < t->bench->per_session)
		submit(t);
	else
		t->bench->over++;
}

static void submit(struct talker *t)
{
	static const struct ar_shape_create_policy anywhere;
	struct bench *b = t->bench;
	struct ar_str line = b->lines[b->submitted % b->line_count];

	ar_arena_reset(&t->arena);
	t->input = (struct ar_cmd_submit_turn_in){ .text = ar_str_sub(line, b->submitted % 64, 120),
						   .create_policy = &anywhere,
						   .idempotency_key =
							   ar_arena_fmt(&t->arena, "k%zu", b->submitted) };
	b->submitted++;
	t->request = (struct ar_engine_request){ .session = { t->session_key, AR_SESSION_KEY_LEN },
						 .may_create = true,
						 .is_fresh = t->turns == 0,
						 .has_receipt = true,
						 .done = accepted };
	t->request.input = (struct ar_input){ .kind = AR_IN_COMMAND,
					      .command = { .id = AR_CMD_SUBMIT_TURN, .args = &t->input },
					      .account = AR_STR("local") };
	t->request.receipt.scope = AR_STR("local/submit_turn");
	t->request.receipt.key = t->input.idempotency_key;
	t->request.receipt.input = ar_hash_of(t->input.text);
	t->is_waiting = true;
	ar_engine_write(b->engine, &t->request);
}

/* ---- life ---- */

static void wake(void *arg)
{
	sem_post(&((struct bench *)arg)->finished);
}

static void fenced(void *arg)
{
	(void)arg;
	client_die("store", AR_STR("another process owns it"));
}

static enum ar_status open_sqlite(struct bench *b, const char *folder, struct ar_error *err)
{
	struct ar_buf path = { 0 };
	struct ar_store_sqlite_options o = { .wake = wake,
					     .wake_arg = b,
					     .dictionary = { ar_catalog_dictionary,
							     ar_catalog_dictionary_len } };
	enum ar_status st;

	ar_buf_addf(&path, "%s/agentd.db%c", folder, '\0');
	o.path = path.p;
	st = ar_store_sqlite_open(&o, &b->store, err);
	ar_buf_fini(&path);
	return st;
}

static enum ar_status open_postgres(struct bench *b, const char *conninfo, struct ar_error *err)
{
	struct ar_store_postgres_options o = { .conninfo = conninfo,
					       .wake = wake,
					       .wake_arg = b,
					       .dictionary = { ar_catalog_dictionary,
							       ar_catalog_dictionary_len } };

	return ar_store_postgres_open(&o, &b->store, err);
}

static void open_store(struct bench *b, const char *where)
{
	struct ar_error err = { 0 };
	bool is_folder = strchr(where, '=') == NULL;

	if ((is_folder ? open_sqlite(b, where, &err) : open_postgres(b, where, &err)) != AR_OK)
		client_die("open", ar_str_from(err.msg));
}

static void open_engine(struct bench *b, struct instant *model)
{
	static const struct ar_model_entry models[] = {
		{ .name = { "stub", 4 },
		  .provider = { "stub", 4 },
		  .model = { "stub", 4 },
		  .price = { -1, -1, -1, -1 },
		  .capabilities = AR_CAN_ALL,
		  .has_credentials = true },
	};
	struct ar_follow *follow;

	b->policy = (struct ar_policy){ .runtime_id = ar_str_from(b->store->runtime_id),
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
					.queue_by_default = true };
	*model = (struct instant){ { &instant_vtable, "stub" }, b };
	b->slot = (struct ar_provider_slot){ models[0].name, &model->provider };
	follow = ar_follow_new(&(struct ar_follow_options){
		.store = b->store, .clock = ar_clock_system(), .ring_bytes = 1024 * 1024 });
	b->engine = ar_engine_new(&(struct ar_engine_options){ .store = b->store,
							       .follow = follow,
							       .providers = &b->slot,
							       .provider_count = 1,
							       .toolbox = open_tools(b),
							       .clock = ar_clock_system(),
							       .policy = &b->policy,
							       .snapshot_every = 200,
							       .session_cache = 1000,
							       .commit_backlog = 8192,
							       .on_fenced = fenced });
}

static void run(struct bench *b)
{
	for (size_t i = 0; i < b->sessions; i++) {
		struct talker *t = &b->talkers[i];

		t->bench = b;
		t->view = (struct ar_engine_view){ .session = { t->session_key, AR_SESSION_KEY_LEN },
						   .done = seen };
		ar_list_init(&t->view.node);
		ar_id_mint(t->session_key);
		submit(t);
	}
	while (b->over < b->sessions) {
		sem_wait(&b->finished);
		ar_store_poll(b->store);
		answer_calls(b);
		answer_tools(b);
		for (size_t i = 0; i < b->sessions; i++) {
			if (b->talkers[i].is_waiting && ar_list_empty(&b->talkers[i].view.node))
				ar_engine_look(b->engine, &b->talkers[i].view);
		}
	}
}

static double cpu_ms(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };
	struct instant model;
	double start, cpu;

	if (argc < 5) {
		fprintf(stderr, "usage: bench-engine STORE SESSIONS TURNS FILE [tool]\n");
		return 2;
	}
	b.sessions = strtoul(argv[2], NULL, 10);
	b.per_session = strtoul(argv[3], NULL, 10);
	b.with_tool = argc > 5 && strcmp(argv[5], "tool") == 0;
	b.lines = client_lines(argv[4], &b.line_count);
	b.talkers = ar_new0(b.sessions * sizeof *b.talkers);
	sem_init(&b.finished, 0, 0);
	open_store(&b, argv[1]);
	open_engine(&b, &model);
	start = client_now();
	cpu = cpu_ms();
	run(&b);
	bench_mark();
	printf("{\"turns\":%zu,\"facts\":%llu,\"seconds\":%.6f,\"cpu_ms\":%.3f}\n", b.submitted,
	       (unsigned long long)ar_engine_counts(b.engine).facts, (client_now() - start) / 1e6,
	       (cpu_ms() - cpu) / (double)b.submitted);
	ar_engine_stop(b.engine);
	ar_store_close(b.store);
	return 0;
}
