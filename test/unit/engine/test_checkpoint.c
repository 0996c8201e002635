/* The engine between a session and the checkpoint port: what the port is given, what its ends become, and
 * what is left of a run when the process stops or the session moves. */
#include "cmocka_unit.h"
#include "checkpoint/checkpoints.h"
#include "engine_priv.h"
#include "limits/route.h"
#include "store_open.h"

#define MS ((ar_usec)1000)
#define WS "ws_0000000000jaaaaaaaaaaaaaaa"
#define RUNS 8

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
	struct ar_checkpoints port;
	struct ar_checkpoint_run *runs[RUNS]; /* that were started, in order */
	size_t run_count, cancels;
	bool has_no_port;
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

static void start_run(struct ar_checkpoints *c, struct ar_checkpoint_run *r)
{
	struct world *w = AR_CONTAINER_OF(c, struct world, port);

	assert_true(w->run_count < RUNS);
	w->runs[w->run_count++] = r;
}

static void cancel_run(struct ar_checkpoints *c, struct ar_checkpoint_run *r AR_UNUSED)
{
	AR_CONTAINER_OF(c, struct world, port)->cancels++;
}

static void leave_port(struct ar_checkpoints *c AR_UNUSED)
{
}

static void go_on(struct world *w)
{
	for (ar_usec end = w->clock.now + 200 * MS; w->clock.now < end; w->clock.now += 10 * MS) {
		ar_engine_tick(w->engine);
		ar_store_poll(w->store);
	}
}

static void end_run(struct world *w, size_t i, struct ar_checkpoint_result result)
{
	w->runs[i]->on_done(w->runs[i], &result);
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

static void end_tool(struct world *w)
{
	w->running->v->on_done(w->running,
			       &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = AR_STR("done") });
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
	static const struct ar_checkpoints_vtable runs = { start_run, cancel_run, leave_port };
	static const struct ar_tool put = { .name = { "put", 3 },
					    .description = { "Puts.", 5 },
					    .schema = { "{\"type\":\"object\"}", 17 },
					    .owner = AR_TOOL_LOCAL,
					    .works_in_folder = true };

	w->provider = (struct ar_provider){ &model_calls, "stub" };
	w->slot = (struct ar_provider_slot){ AR_STR("stub"), &w->provider };
	w->port.v = &runs;
	w->source = (struct ar_tool_source){
		.v = &tool_calls, .name = "test", .tools = &put, .tool_count = 1, .is_ready = true
	};
	w->box = ar_toolbox_new();
	ar_toolbox_add(w->box, &w->source);
	w->policy.inventory = ar_toolbox_inventory(w->box);
	w->follow = ar_follow_new(&(struct ar_follow_options){
		.store = w->store, .clock = &w->clock.clock, .ring_bytes = 65536 });
	w->engine =
		ar_engine_new(&(struct ar_engine_options){ .store = w->store,
							   .follow = w->follow,
							   .providers = &w->slot,
							   .provider_count = 1,
							   .toolbox = w->box,
							   .checkpoints = w->has_no_port ? NULL : &w->port,
							   .clock = &w->clock.clock,
							   .policy = &w->policy,
							   .snapshot_every = 200,
							   .session_cache = 10,
							   .commit_backlog = 100 });
	ar_engine_recover(w->engine, NULL);
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

static void write_command(struct world *w, enum ar_command command, const void *args)
{
	w->request.input = (struct ar_input){ .kind = AR_IN_COMMAND,
					      .command = { .id = command, .args = args },
					      .account = AR_STR("local") };
	ar_engine_write(w->engine, &w->request);
}

static void submit(struct world *w)
{
	static const struct ar_shape_workspace_record shop = { .workspace_id = { WS, sizeof(WS) - 1 },
							       .root = { "/srv/shop", 9 },
							       .status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
							       .version = 1 };
	const struct ar_shape_create_policy policy = { .workspace_id = AR_STR(WS) };

	w->input = (struct ar_cmd_submit_turn_in){ .text = AR_STR("put it"),
						   .turn_id = AR_STR("a"),
						   .create_policy = &policy };
	w->request = (struct ar_engine_request){ .session = { w->session_key, AR_SESSION_KEY_LEN },
						 .may_create = true,
						 .is_fresh = true,
						 .done = accepted };
	w->request.input = (struct ar_input){
		.kind = AR_IN_COMMAND,
		.command = { .id = AR_CMD_SUBMIT_TURN, .args = &w->input, .workspace = &shop },
		.account = AR_STR("local")
	};
	ar_engine_write(w->engine, &w->request);
	go_on(w);
	w->request = (struct ar_engine_request){ .session = { w->session_key, AR_SESSION_KEY_LEN },
						 .done = accepted };
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
					.checkpoints = 100,
					.auto_resume = true };
	ar_id_mint(w->session_key);
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

/* Turn a runs, and its model asks for the tool. */
static void begin(struct world *w)
{
	boot(w);
	submit(w);
	answer(w, "put");
}

static const struct ar_session *session_of(struct world *w)
{
	const struct ar_session *s =
		ar_engine_peek(w->engine, (struct ar_str){ w->session_key, AR_SESSION_KEY_LEN });

	assert_non_null(s);
	return s;
}

static const struct ar_shape_checkpoint_record *newest(struct world *w)
{
	const struct ar_session *s = session_of(w);

	return ar_checkpoint_at(s, s->checkpoints.count - 1);
}

/* ---- tests ---- */

static void the_port_is_given_the_workspace(void **state)
{
	struct world *w = *state;
	const struct ar_checkpoint_run *r;
	ar_usec asked;

	boot(w);
	submit(w);
	asked = w->clock.now;
	answer(w, "put");
	assert_int_equal(w->run_count, 1);
	r = w->runs[0];
	assert_int_equal(r->kind, AR_CHECKPOINT_SAVE);
	assert_true(ar_str_is(r->tenant, "local"));
	assert_true(ar_str_is(r->workspace_id, WS));
	assert_true(ar_str_is(r->folder, "/srv/shop"));
	assert_true(ar_str_eq(ar_id_session_key(r->session_id),
			      (struct ar_str){ w->session_key, AR_SESSION_KEY_LEN }));
	assert_in_range(r->deadline, asked + 120000 * MS, asked + 120200 * MS);
	assert_int_equal(ar_engine_counts(w->engine).calls, 1);
	end_run(w, 0, (struct ar_checkpoint_result){ .id = AR_STR("t1"), .files = 2 });
}

static void a_call_begins_after_it_and_the_end_is_kept_too(void **state)
{
	struct world *w = *state;

	begin(w);
	assert_int_equal(w->tool_starts, 0);
	end_run(w, 0, (struct ar_checkpoint_result){ .id = AR_STR("t1"), .files = 2 });
	assert_int_equal(w->tool_starts, 1);
	end_tool(w);
	answer(w, NULL);
	assert_int_equal(w->run_count, 2);
	assert_int_equal(newest(w)->phase, AR_CHECKPOINT_RECORD_PHASE_END);
	end_run(w, 1, (struct ar_checkpoint_result){ .id = AR_STR("t2") });
	assert_true(ar_str_is(newest(w)->tree, "t2"));
	assert_int_equal(ar_engine_counts(w->engine).steps, 0);
	assert_false(ar_session_is_active(session_of(w)));
}

static void what_cannot_be_an_id_is_none(void **state)
{
	static const char long_id[AR_CHECKPOINT_ID_MAX + 2] = { [0 ... AR_CHECKPOINT_ID_MAX] = 'a' };
	struct world *w = *state;

	begin(w);
	end_run(w, 0, (struct ar_checkpoint_result){ .id = ar_str_from(long_id) });
	assert_int_equal(newest(w)->status, AR_CHECKPOINT_RECORD_STATUS_FAILED);
	assert_int_equal(w->tool_starts, 1);
}

static void without_a_port_the_call_begins(void **state)
{
	struct world *w = *state;

	w->has_no_port = true;
	begin(w);
	assert_int_equal(w->tool_starts, 1);
	assert_int_equal(newest(w)->status, AR_CHECKPOINT_RECORD_STATUS_FAILED);
}

/* What the old process hears of its run after it was stopped is nobody's. */
static void after_a_crash_it_is_made_again(void **state)
{
	struct world *w = *state;

	begin(w);
	ar_engine_stop(w->engine);
	w->runs[0]->on_done(w->runs[0], &(struct ar_checkpoint_result){ .id = AR_STR("t1") });
	end_process(w);
	boot(w);
	go_on(w);
	assert_int_equal(w->tool_starts, 0);
	assert_int_equal(w->run_count, 2);
	assert_int_equal(session_of(w)->checkpoints.count, 2);
	end_run(w, 1, (struct ar_checkpoint_result){ .id = AR_STR("t1") });
	assert_int_equal(w->tool_starts, 1);
}

static void an_interruption_cancels_it(void **state)
{
	struct world *w = *state;

	begin(w);
	write_command(w, AR_CMD_INTERRUPT_TURN,
		      &(struct ar_cmd_interrupt_turn_in){ .turn_id = AR_STR("a"),
							  .reason = AR_STR("enough") });
	go_on(w);
	assert_int_equal(w->cancels, 1);
	assert_false(ar_session_is_active(session_of(w)));
	end_run(w, 0, (struct ar_checkpoint_result){ .status = AR_E_CANCELED });
	assert_int_equal(w->tool_starts, 0);
	assert_int_equal(ar_engine_counts(w->engine).steps, 0);
}

/* A runtime that is about to stop begins no call, and so nothing that a call waits for. */
static void a_drain_begins_none_for_a_call(void **state)
{
	struct world *w = *state;

	boot(w);
	submit(w);
	ar_engine_drain(w->engine);
	answer(w, "put");
	assert_int_equal(w->run_count, 0);
	assert_true(ar_session_is_active(session_of(w)));
}

static void a_drain_keeps_the_end(void **state)
{
	struct world *w = *state;

	begin(w);
	end_run(w, 0, (struct ar_checkpoint_result){ .id = AR_STR("t1") });
	end_tool(w);
	ar_engine_drain(w->engine);
	answer(w, NULL);
	assert_int_equal(w->run_count, 2);
	end_run(w, 1, (struct ar_checkpoint_result){ .id = AR_STR("t2") });
	assert_false(ar_session_is_active(session_of(w)));
}

/* Its partition is quiet when the port has let go of the run. */
static void a_session_that_moves_waits_for_its_run(void **state)
{
	struct world *w = *state;
	unsigned partition = ar_id_partition((struct ar_str){ w->session_key, AR_SESSION_KEY_LEN });

	begin(w);
	ar_engine_release(w->engine, partition);
	go_on(w);
	assert_int_equal(w->cancels, 1);
	assert_int_equal(ar_engine_load(w->engine, partition).sessions, 1);
	end_run(w, 0, (struct ar_checkpoint_result){ .status = AR_E_CANCELED });
	assert_int_equal(ar_engine_load(w->engine, partition).sessions, 0);
}

static void what_is_not_kept_is_forgotten(void **state)
{
	struct world *w = *state;

	w->policy.checkpoints = 1;
	begin(w);
	end_run(w, 0, (struct ar_checkpoint_result){ .id = AR_STR("t1") });
	end_tool(w);
	answer(w, NULL);
	end_run(w, 1, (struct ar_checkpoint_result){ .id = AR_STR("t2") });
	assert_int_equal(w->run_count, 3);
	assert_int_equal(w->runs[2]->kind, AR_CHECKPOINT_FORGET);
	assert_int_equal(w->runs[2]->id_count, 1);
	assert_true(ar_str_is(w->runs[2]->ids[0], "t1"));
	assert_true(ar_str_is(w->runs[2]->folder, "/srv/shop"));
	end_run(w, 2, (struct ar_checkpoint_result){ 0 });
	assert_int_equal(ar_engine_counts(w->engine).steps, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_port_is_given_the_workspace),
		TEST(a_call_begins_after_it_and_the_end_is_kept_too),
		TEST(what_cannot_be_an_id_is_none),
		TEST(without_a_port_the_call_begins),
		TEST(after_a_crash_it_is_made_again),
		TEST(an_interruption_cancels_it),
		TEST(a_drain_begins_none_for_a_call),
		TEST(a_drain_keeps_the_end),
		TEST(a_session_that_moves_waits_for_its_run),
		TEST(what_is_not_kept_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
