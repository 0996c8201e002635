/* Work that a crash left open, in a process whose tools are still being found: nothing of it is
 * taken up before they are there, whoever reads the session meanwhile, and then all of it once. */
#include "cmocka_unit.h"
#include "engine_priv.h"
#include "limits/route.h"
#include "store_open.h"

#define MS ((ar_usec)1000)

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
	struct ar_model_call *asked; /* the newest call */
	size_t model_starts, offered; /* offered: tools of the newest call */
	struct ar_toolbox *box;
	struct ar_tool_source source;
	struct ar_tool_call *running;
	size_t tool_starts;
	char session_key[AR_SESSION_KEY_LEN];
	struct ar_cmd_submit_turn_in input;
	struct ar_engine_request request;
	struct ar_engine_view view;
	size_t views; /* that were answered, */
	uint16_t code; /* the newest with this error; 0: with a session, */
	bool is_active; /* which has open work */
};

/* ---- a model and a tool that wait for the test ---- */

static void ask(struct ar_provider *p, struct ar_model_call *c)
{
	struct world *w = AR_CONTAINER_OF(p, struct world, provider);

	w->asked = c;
	w->model_starts++;
	w->offered = c->request->tool_count;
}

static void leave_call(struct ar_provider *p AR_UNUSED, struct ar_model_call *c AR_UNUSED)
{
}

static void leave_provider(struct ar_provider *p AR_UNUSED)
{
}

static void answer(struct world *w)
{
	struct ar_model_call *c = w->asked;

	c->v->on_done(c, &(struct ar_model_result){ .outcome = AR_MODEL_COMPLETED,
						    .stop_reason = AR_STR("stop"),
						    .model = AR_STR("stub") });
}

static void answer_with_text(struct world *w)
{
	w->asked->v->on_output(w->asked, AR_OUT_TEXT, 0, AR_STR("done"));
	answer(w);
}

static void answer_with_call(struct world *w)
{
	w->asked->v->on_tool(w->asked, 0, AR_STR("call_1"), AR_STR("look"));
	w->asked->v->on_output(w->asked, AR_OUT_TOOL_ARGS, 0, AR_STR("{}"));
	answer(w);
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

static void find_tools(struct world *w)
{
	static const struct ar_tool look = { .name = { "look", 4 },
					     .description = { "Looks something up.", 19 },
					     .schema = { "{\"type\":\"object\"}", 17 },
					     .owner = AR_TOOL_LOCAL,
					     .is_read_only = true };

	w->source.tools = &look;
	w->source.tool_count = 1;
	w->source.is_ready = true;
	w->source.on_changed(w->source.arg);
	w->policy.inventory = ar_toolbox_inventory(w->box);
}

/* ---- a process ---- */

static ar_usec now_of(struct ar_clock *c)
{
	return AR_CONTAINER_OF(c, struct clock, clock)->now;
}

static void go_on(struct world *w, ar_usec time)
{
	for (ar_usec end = w->clock.now + time; w->clock.now < end; w->clock.now += 10 * MS) {
		ar_engine_tick(w->engine);
		ar_store_poll(w->store);
	}
}

static void boot(struct world *w)
{
	static const struct ar_provider_vtable model_calls = { ask, leave_call, leave_provider };
	static const struct ar_tool_source_vtable tool_calls = { .start = start_tool,
								 .cancel = leave_tool,
								 .close = leave_source };

	w->provider = (struct ar_provider){ &model_calls, "stub" };
	w->slot = (struct ar_provider_slot){ AR_STR("stub"), &w->provider };
	w->source = (struct ar_tool_source){ .v = &tool_calls, .name = "test" };
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

static void crash(struct world *w)
{
	ar_engine_stop(w->engine);
	end_process(w);
	boot(w);
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

static void accepted(struct ar_engine_request *r)
{
	assert_int_equal(r->status, AR_OK);
}

static void submit_in(struct world *w, const struct ar_shape_workspace_record *workspace)
{
	const struct ar_shape_create_policy policy = { .workspace_id = workspace ? workspace->workspace_id
										 : AR_STR_NONE };

	w->input = (struct ar_cmd_submit_turn_in){ .text = AR_STR("look it up"), .create_policy = &policy };
	w->request = (struct ar_engine_request){ .session = { w->session_key, AR_SESSION_KEY_LEN },
						 .may_create = true,
						 .is_fresh = true,
						 .done = accepted };
	w->request.input = (struct ar_input){
		.kind = AR_IN_COMMAND,
		.command = { .id = AR_CMD_SUBMIT_TURN, .args = &w->input, .workspace = workspace },
		.account = AR_STR("local")
	};
	ar_engine_write(w->engine, &w->request);
	go_on(w, 100 * MS);
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
					.auto_resume = true };
	ar_id_mint(w->session_key);
	boot(w);
	find_tools(w);
	submit_in(w, NULL);
	assert_int_equal(w->model_starts, 1);
	assert_int_equal(w->offered, 1);
	*state = w;
	return 0;
}

/* ---- readers ---- */

static void seen(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct world *w = AR_CONTAINER_OF(v, struct world, view);

	w->views++;
	w->code = s ? 0 : err->code;
	w->is_active = s && ar_session_is_active(s);
}

static void look(struct world *w)
{
	w->view = (struct ar_engine_view){ .session = { w->session_key, AR_SESSION_KEY_LEN }, .done = seen };
	ar_engine_look(w->engine, &w->view);
	go_on(w, 1000 * MS);
}

static void expect_over(struct world *w)
{
	answer_with_text(w);
	go_on(w, 1000 * MS);
	look(w);
	assert_int_equal(w->code, 0);
	assert_false(w->is_active);
}

/* ---- tests ---- */

static void test_a_model_call_is_repeated_with_all_tools(void **state)
{
	struct world *w = *state;

	crash(w);
	look(w);
	assert_int_equal(w->model_starts, 1);
	assert_int_equal(w->views, 0);
	assert_true(ar_engine_is_recovering(w->engine));
	find_tools(w);
	go_on(w, 1000 * MS);
	assert_int_equal(w->views, 1);
	assert_true(w->is_active);
	assert_int_equal(w->model_starts, 2);
	assert_int_equal(w->offered, 1);
	assert_false(ar_engine_is_recovering(w->engine));
	expect_over(w);
}

static void test_a_tool_call_is_repeated_once(void **state)
{
	struct world *w = *state;

	answer_with_call(w);
	go_on(w, 100 * MS);
	assert_int_equal(w->tool_starts, 1);
	crash(w);
	look(w);
	assert_int_equal(w->tool_starts, 1);
	find_tools(w);
	go_on(w, 1000 * MS);
	assert_int_equal(w->tool_starts, 2);
	w->running->v->on_done(w->running,
			       &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = AR_STR("found") });
	go_on(w, 1000 * MS);
	assert_int_equal(w->tool_starts, 2);
	assert_int_equal(w->model_starts, 2);
	expect_over(w);
}

static void test_a_reader_that_waits_is_told_of_the_stop(void **state)
{
	struct world *w = *state;

	crash(w);
	look(w);
	ar_engine_stop(w->engine);
	assert_int_equal(w->views, 1);
	assert_int_equal(w->code, AR_ERR_UNAVAILABLE);
}

static void test_a_reader_that_waits_is_told_of_the_move(void **state)
{
	struct world *w = *state;
	unsigned partition = ar_id_partition((struct ar_str){ w->session_key, AR_SESSION_KEY_LEN });

	crash(w);
	look(w);
	ar_engine_release(w->engine, partition);
	assert_int_equal(w->views, 1);
	assert_int_equal(w->code, AR_ERR_NOT_OWNER);
	assert_int_equal(ar_engine_load(w->engine, partition).sessions, 0);
	go_on(w, 1000 * MS);
	assert_false(ar_engine_is_recovering(w->engine));
	assert_int_equal(w->model_starts, 1);
}

static void test_a_call_has_the_folder_of_its_session(void **state)
{
	static const struct ar_shape_workspace_record shop = { .workspace_id = AR_STR(
								       "ws_0000000000jaaaaaaaaaaaaaaa"),
							       .root = AR_STR("/srv/shop"),
							       .status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
							       .version = 1 };
	struct world *w = *state;

	w->policy.workspace = AR_STR("/srv/host");
	answer_with_call(w);
	go_on(w, 100 * MS);
	assert_true(ar_str_is(w->running->workspace, "/srv/host"));
	w->running->v->on_done(w->running, &(struct ar_tool_result){ .outcome = AR_TOOL_OK });
	go_on(w, 100 * MS);
	expect_over(w);

	ar_id_mint(w->session_key);
	submit_in(w, &shop);
	answer_with_call(w);
	go_on(w, 100 * MS);
	assert_true(ar_str_is(w->running->workspace, "/srv/shop"));
	crash(w);
	find_tools(w);
	go_on(w, 1000 * MS);
	assert_true(ar_str_is(w->running->workspace, "/srv/shop"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_model_call_is_repeated_with_all_tools, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(test_a_tool_call_is_repeated_once, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_a_call_has_the_folder_of_its_session, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(test_a_reader_that_waits_is_told_of_the_stop, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(test_a_reader_that_waits_is_told_of_the_move, open_world,
						close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
