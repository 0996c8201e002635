/* The engine between sessions and their workers: what decisions are told, who hears of a change, also when
 * the session has left memory or the process was started anew, and what the ports are given. */
#include "cmocka_unit.h"
#include "engine_priv.h"
#include "limits/route.h"
#include "store_open.h"

#include <string.h>

#define MS ((ar_usec)1000)
#define WS "ws_0000000000jaaaaaaaaaaaaaaa"
#define WK_KEY "0000000000maaaaaaaaaaaaaaa"
#define WK "wk_" WK_KEY

struct clock {
	struct ar_clock clock;
	ar_usec now;
};

struct world {
	struct clock clock;
	struct ar_store *store;
	struct ar_follow *follow;
	struct ar_policy policy;
	struct ar_engine *engine;
	struct ar_provider provider;
	struct ar_provider_slot slot;
	struct ar_model_call *asked;
	struct ar_toolbox *box;
	struct ar_tool_source source;
	struct ar_tool_call *running;
	size_t tool_starts;
	struct ar_workers workers;
	enum ar_worker_state state;
	size_t drops;
	char session_key[AR_SESSION_KEY_LEN];
	struct ar_cmd_submit_turn_in input;
	struct ar_engine_request request;
};

/* ---- ports that wait for the test ---- */

static void ask(struct ar_provider *p, struct ar_model_call *c)
{
	AR_CONTAINER_OF(p, struct world, provider)->asked = c;
}

static void leave_call(struct ar_provider *p AR_UNUSED, struct ar_model_call *c AR_UNUSED)
{
}

static void leave_provider(struct ar_provider *p AR_UNUSED)
{
}

static void start_tool(struct ar_tool_source *s, struct ar_tool_call *c)
{
	struct world *w = AR_CONTAINER_OF(s, struct world, source);

	w->running = c;
	w->tool_starts++;
}

static void leave_tool(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *c AR_UNUSED)
{
}

static void leave_source(struct ar_tool_source *s AR_UNUSED)
{
}

static struct ar_worker_status find(struct ar_workers *workers, struct ar_str id)
{
	struct world *w = AR_CONTAINER_OF(workers, struct world, workers);

	assert_true(ar_str_is(id, WK));
	return (struct ar_worker_status){ .state = w->state, .last_seen = 1 };
}

static void drop(struct ar_workers *workers, struct ar_str id)
{
	assert_true(ar_str_is(id, WK));
	AR_CONTAINER_OF(workers, struct world, workers)->drops++;
}

static void go_on(struct world *w)
{
	for (ar_usec end = w->clock.now + 200 * MS; w->clock.now < end; w->clock.now += 10 * MS) {
		ar_engine_tick(w->engine);
		ar_store_poll(w->store);
	}
}

static void change(struct world *w, enum ar_worker_state state)
{
	w->state = state;
	w->workers.on_changed(w->workers.arg, AR_STR(WK), state);
	go_on(w);
}

static void answer(struct world *w, const char *tool)
{
	struct ar_model_call *c = w->asked;

	if (tool) {
		c->v->on_tool(c, 0, AR_STR("call_1"), ar_str_from(tool));
		c->v->on_output(c, AR_OUT_TOOL_ARGS, 0, AR_STR("{}"));
	}
	c->v->on_done(c, &(struct ar_model_result){ .outcome = AR_MODEL_COMPLETED,
						    .stop_reason = AR_STR("stop"),
						    .model = AR_STR("stub") });
	go_on(w);
}

/* ---- a process ---- */

static ar_usec now_of(struct ar_clock *c)
{
	return AR_CONTAINER_OF(c, struct clock, clock)->now;
}

static void boot(struct world *w)
{
	static const struct ar_provider_vtable model_calls = { ask, leave_call, leave_provider };
	static const struct ar_tool_source_vtable tool_calls = { .start = start_tool,
								 .cancel = leave_tool,
								 .close = leave_source };
	static const struct ar_workers_vtable workers = { find, drop };
	static const struct ar_tool put = { .name = { "put", 3 },
					    .description = { "Puts.", 5 },
					    .schema = { "{\"type\":\"object\"}", 17 },
					    .owner = AR_TOOL_LOCAL,
					    .is_confined = true,
					    .works_in_folder = true };

	w->provider = (struct ar_provider){ &model_calls, "stub" };
	w->slot = (struct ar_provider_slot){ AR_STR("stub"), &w->provider };
	w->workers.v = &workers;
	w->state = AR_WORKER_AWAY;
	w->source = (struct ar_tool_source){
		.v = &tool_calls, .name = "test", .tools = &put, .tool_count = 1, .is_ready = true
	};
	w->box = ar_toolbox_new();
	ar_toolbox_add(w->box, &w->source);
	w->policy.inventory = ar_toolbox_inventory(w->box);
	w->follow = ar_follow_new(&(struct ar_follow_options){
		.store = w->store, .clock = &w->clock.clock, .ring_bytes = 65536 });
	w->engine = ar_engine_new(&(struct ar_engine_options){ .store = w->store,
							       .follow = w->follow,
							       .providers = &w->slot,
							       .provider_count = 1,
							       .toolbox = w->box,
							       .workers = &w->workers,
							       .clock = &w->clock.clock,
							       .policy = &w->policy,
							       .snapshot_every = 200,
							       .session_cache = 10,
							       .commit_backlog = 100 });
	ar_engine_recover(w->engine, NULL);
	go_on(w);
}

static void end_process(struct world *w)
{
	ar_engine_free(w->engine);
	ar_follow_free(w->follow);
	ar_toolbox_close(w->box);
}

static void accepted(struct ar_engine_request *r)
{
	assert_int_equal(r->status, AR_OK);
}

static void write_to(struct world *w, const char *key, struct ar_input_command command, bool is_new)
{
	w->request = (struct ar_engine_request){ .session = { key, AR_SESSION_KEY_LEN },
						 .may_create = is_new,
						 .is_fresh = is_new,
						 .done = accepted };
	w->request.input =
		(struct ar_input){ .kind = AR_IN_COMMAND, .command = command, .account = AR_STR("local") };
	ar_engine_write(w->engine, &w->request);
	go_on(w);
}

static void create_worker(struct world *w)
{
	static const struct ar_cmd_create_worker_in in = { .name = { "box", 3 } };

	write_to(w, WK_KEY, (struct ar_input_command){ .id = AR_CMD_CREATE_WORKER, .args = &in }, true);
}

static void drain_worker(struct world *w, bool is_drained)
{
	const struct ar_cmd_update_worker_in in = { .worker_id = AR_STR(WK),
						    .draining = AR_OPT_BOOL(is_drained) };

	write_to(w, WK_KEY, (struct ar_input_command){ .id = AR_CMD_UPDATE_WORKER, .args = &in }, false);
}

/* A turn whose model asks for the tool. */
static void submit(struct world *w)
{
	static const struct ar_shape_workspace_record far = { .workspace_id = { WS, sizeof(WS) - 1 },
							      .root = { "/w/files", 8 },
							      .worker = { WK, sizeof(WK) - 1 },
							      .status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
							      .version = 1 };
	const struct ar_shape_create_policy policy = { .workspace_id = AR_STR(WS) };

	w->input = (struct ar_cmd_submit_turn_in){ .text = AR_STR("put it"),
						   .turn_id = AR_STR("a"),
						   .create_policy = &policy };
	write_to(w, w->session_key,
		 (struct ar_input_command){ .id = AR_CMD_SUBMIT_TURN, .args = &w->input, .workspace = &far },
		 true);
	answer(w, "put");
}

static int open_world(void **state)
{
	static const struct ar_model_entry models[] = {
		{ .name = { "stub", 4 },
		  .provider = { "stub", 4 },
		  .model = { "stub", 4 },
		  .price = { -1, -1, -1, -1 },
		  .capabilities = AR_CAN_ALL,
		  .has_credentials = true },
	};
	struct world *w = ar_new0(sizeof(*w));

	w->clock = (struct clock){ { now_of, now_of }, 1000000 * MS };
	ar_store_memory_open(NULL, NULL, &w->store);
	w->policy = (struct ar_policy){ .runtime_id = ar_str_from(w->store->runtime_id),
					.models = models,
					.model_count = AR_ARRAY_LEN(models),
					.max_attempts = 3,
					.backoff_ms = 50,
					.max_rounds = 16,
					.tool_ms = 120000,
					.tool_parallel = 8,
					.tool_result_bytes = 65536,
					.max_restarts = 10,
					.queue_max = 100,
					.context_max = 200,
					.context_bytes = 262144,
					.permission_mode = AR_MODE_BYPASS,
					.auto_resume = true };
	ar_id_mint(w->session_key);
	boot(w);
	create_worker(w);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	ar_engine_stop(w->engine);
	ar_store_close(w->store);
	end_process(w);
	ar_free(w);
	return 0;
}

static void restart(struct world *w)
{
	ar_engine_stop(w->engine);
	go_on(w);
	end_process(w);
	boot(w);
}

/* ---- tests ---- */

static void a_call_carries_its_worker(void **state)
{
	struct world *w = *state;

	change(w, AR_WORKER_CONNECTED);
	submit(w);
	assert_int_equal(w->tool_starts, 1);
	assert_true(ar_str_is(w->running->worker, WK));
	assert_true(ar_str_is(w->running->workspace, "/w/files"));
	w->running->v->on_done(w->running,
			       &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = AR_STR("done") });
	go_on(w);
	answer(w, NULL);
	assert_int_equal(w->engine->at_workers.count, 0); /* its work is over */
}

static void a_session_hears_of_its_worker(void **state)
{
	struct world *w = *state;

	submit(w);
	assert_int_equal(w->tool_starts, 0);
	change(w, AR_WORKER_CONNECTED);
	assert_int_equal(w->tool_starts, 1);
}

/* It waits for nothing that is in memory, so it may leave. */
static void one_that_has_left_memory_hears_of_it_too(void **state)
{
	struct world *w = *state;

	submit(w);
	assert_true(ar_engine_shed(w->engine, true) > 0);
	assert_null(ar_engine_peek(w->engine, (struct ar_str){ w->session_key, AR_SESSION_KEY_LEN }));
	change(w, AR_WORKER_CONNECTED);
	assert_int_equal(w->tool_starts, 1);
}

static void so_does_one_after_a_restart(void **state)
{
	struct world *w = *state;

	submit(w);
	restart(w);
	assert_int_equal(w->tool_starts, 0);
	change(w, AR_WORKER_CONNECTED);
	assert_int_equal(w->tool_starts, 1);
}

/* The operator's word is in the log of the worker. */
static void a_drained_worker_begins_nothing(void **state)
{
	struct world *w = *state;

	drain_worker(w, true);
	change(w, AR_WORKER_CONNECTED);
	submit(w);
	assert_int_equal(w->tool_starts, 0);
	drain_worker(w, false);
	assert_int_equal(w->tool_starts, 1);
}

static void it_is_drained_after_a_restart(void **state)
{
	struct world *w = *state;

	drain_worker(w, true);
	submit(w);
	restart(w);
	change(w, AR_WORKER_CONNECTED);
	assert_int_equal(w->tool_starts, 0);
	drain_worker(w, false);
	assert_int_equal(w->tool_starts, 1);
}

static void one_without_a_record_begins_nothing(void **state)
{
	struct world *w = *state;
	const struct ar_cmd_remove_worker_in in = { .worker_id = AR_STR(WK) };

	change(w, AR_WORKER_CONNECTED);
	write_to(w, WK_KEY, (struct ar_input_command){ .id = AR_CMD_REMOVE_WORKER, .args = &in }, false);
	submit(w);
	assert_int_equal(w->tool_starts, 0);
}

static void a_lost_call_is_repeated_when_it_is_back(void **state)
{
	struct world *w = *state;
	struct ar_tool_call *first;

	change(w, AR_WORKER_CONNECTED);
	submit(w);
	first = w->running;
	w->state = AR_WORKER_LOST;
	first->v->on_done(first, &(struct ar_tool_result){ .outcome = AR_TOOL_LOST });
	change(w, AR_WORKER_LOST);
	assert_int_equal(w->tool_starts, 1);
	change(w, AR_WORKER_CONNECTED);
	assert_int_equal(w->tool_starts, 1); /* it may have taken effect: the model is told, in this mode */
	assert_non_null(w->asked);
	answer(w, NULL);
	assert_int_equal(w->engine->at_workers.count, 0);
}

/* The process that removed it may have ended before it closed anything: what the next one finds open there is
 * ended, when the record was read and whenever something of it turns up later. */
static void one_that_was_removed_is_dropped_after_a_restart(void **state)
{
	struct world *w = *state;
	const struct ar_cmd_remove_worker_in in = { .worker_id = AR_STR(WK) };

	change(w, AR_WORKER_CONNECTED);
	assert_int_equal(w->drops, 0);
	write_to(w, WK_KEY, (struct ar_input_command){ .id = AR_CMD_REMOVE_WORKER, .args = &in }, false);
	restart(w);
	w->drops = 0;
	change(w, AR_WORKER_STALE);
	assert_true(w->drops > 0);
	w->drops = 0;
	change(w, AR_WORKER_STALE);
	assert_true(w->drops > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_carries_its_worker),
		TEST(a_session_hears_of_its_worker),
		TEST(one_that_has_left_memory_hears_of_it_too),
		TEST(so_does_one_after_a_restart),
		TEST(a_drained_worker_begins_nothing),
		TEST(it_is_drained_after_a_restart),
		TEST(one_without_a_record_begins_nothing),
		TEST(a_lost_call_is_repeated_when_it_is_back),
		TEST(one_that_was_removed_is_dropped_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
