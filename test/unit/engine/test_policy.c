/* The policy of a workspace, in an engine: what was set while a session was not in memory, while the store
 * was away, or by a commit without an answer, counts before anything is decided for the session. */
#include "cmocka_unit.h"
#include "engine_priv.h"
#include "limits/route.h"
#include "store_open.h"
#include "tenant.h"
#include "workspace/policy_run.h"
#include "workspace/workspace.h"

#include <string.h>

#define MS ((ar_usec)1000)

struct clock {
	struct ar_clock clock;
	ar_usec now;
};

/* A store in memory. The next append of one session may end in doubt, stored or not; rows of the index may be
 * damaged, or away. */
struct doubtful {
	struct ar_store store;
	struct ar_store *real;
	const char *session; /* whose next append it is; NULL: none */
	bool is_stored;
	struct ar_store_op *told; /* its end is due */
	void (*done)(struct ar_store_op *op);
	bool is_index_away, is_row_damaged;
};

struct world {
	struct clock clock;
	struct doubtful doubtful;
	struct ar_follow *follow;
	struct ar_policy policy;
	struct ar_engine *engine;
	struct ar_provider provider;
	struct ar_provider_slot slot;
	struct ar_toolbox *box;
	struct ar_tool_source source;
	struct ar_model_call *asked; /* the newest call */
	size_t model_starts;
	char workspace[AR_SESSION_KEY_LEN], session_key[AR_SESSION_KEY_LEN];
	struct ar_str workspace_id;
	struct ar_arena arena;
	struct ar_shape_workspace_record record; /* as a new session is bound to it */
	struct ar_engine_request request;
	struct ar_engine_view view;
	uint16_t code; /* of the newest request; 0: it was accepted */
	size_t answers;
	int64_t limit; /* of the session, as its policy says; 0: none */
};

/* ---- the store ---- */

static struct doubtful *doubtful_of;

static void on_stored(struct ar_store_op *op)
{
	doubtful_of->told = op;
}

static bool is_doubtful(const struct doubtful *d, const struct ar_store_op *op)
{
	const struct ar_store_append *a = AR_CONTAINER_OF(op, struct ar_store_append, op);

	return op->kind == AR_STORE_APPEND && d->session &&
	       memcmp(a->session.p, d->session, AR_SESSION_KEY_LEN) == 0;
}

static void submit_op(struct ar_store *s, struct ar_store_op *op)
{
	struct doubtful *d = AR_CONTAINER_OF(s, struct doubtful, store);

	if (is_doubtful(d, op)) {
		d->session = NULL;
		d->done = op->done;
		if (!d->is_stored) {
			d->told = op;
			return;
		}
		op->done = on_stored;
	}
	if (op->kind == AR_STORE_INDEX && (d->is_index_away || d->is_row_damaged)) {
		d->done = op->done;
		if (d->is_index_away) {
			d->told = op;
			return;
		}
		op->done = on_stored;
	}
	ar_store_submit(d->real, op);
}

static void end_append(struct ar_store_op *op)
{
	op->status = ar_fail(&op->err, AR_E_DOUBT, "the connection was lost");
}

static void end_index(const struct doubtful *d, struct ar_store_op *op)
{
	if (d->is_index_away)
		op->status = ar_fail(&op->err, AR_E_IO, "the disk is away");
	else
		AR_CONTAINER_OF(op, struct ar_store_index, op)->row.shell = AR_STR_NONE;
}

static void poll_ops(struct ar_store *s)
{
	struct doubtful *d = AR_CONTAINER_OF(s, struct doubtful, store);
	struct ar_store_op *op;

	ar_store_poll(d->real);
	op = d->told;
	if (!op)
		return;
	d->told = NULL;
	op->done = d->done;
	if (op->kind == AR_STORE_APPEND)
		end_append(op);
	else
		end_index(d, op);
	op->done(op);
}

static const struct ar_store_vtable store_calls = { .submit = submit_op, .poll = poll_ops };

/* ---- a model that waits for the test, and tools that are found late ---- */

static void ask(struct ar_provider *p, struct ar_model_call *c)
{
	struct world *w = AR_CONTAINER_OF(p, struct world, provider);

	w->asked = c;
	w->model_starts++;
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

	c->v->on_output(c, AR_OUT_TEXT, 0, AR_STR("done"));
	c->v->on_done(c, &(struct ar_model_result){ .outcome = AR_MODEL_COMPLETED,
						    .stop_reason = AR_STR("stop"),
						    .model = AR_STR("stub"),
						    .has_usage = true,
						    .input_tokens = 90 });
}

static void leave_source(struct ar_tool_source *s AR_UNUSED)
{
}

static void find_tools(struct world *w)
{
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
		ar_store_poll(&w->doubtful.store);
	}
}

static void boot(struct world *w)
{
	static const struct ar_provider_vtable model_calls = { ask, leave_call, leave_provider };
	static const struct ar_tool_source_vtable tool_calls = { .close = leave_source };

	w->provider = (struct ar_provider){ &model_calls, "stub" };
	w->slot = (struct ar_provider_slot){ AR_STR("stub"), &w->provider };
	w->source = (struct ar_tool_source){ .v = &tool_calls, .name = "test" };
	w->box = ar_toolbox_new();
	ar_toolbox_add(w->box, &w->source);
	w->policy.inventory = ar_toolbox_inventory(w->box);
	w->follow = ar_follow_new(&(struct ar_follow_options){
		.store = &w->doubtful.store, .clock = &w->clock.clock, .ring_bytes = 65536 });
	w->engine = ar_engine_new(&(struct ar_engine_options){ .store = &w->doubtful.store,
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

/* ---- commands ---- */

static void answered(struct ar_engine_request *r)
{
	struct world *w = AR_CONTAINER_OF(r, struct world, request);

	w->answers++;
	w->code = r->status == AR_OK ? 0 : r->err.code;
}

/* Returns the code of its refusal; 0: it was accepted. */
static uint16_t tell(struct world *w, const char *session, struct ar_input_command command)
{
	size_t before = w->answers;

	w->request = (struct ar_engine_request){ .session = { session, AR_SESSION_KEY_LEN },
						 .may_create = true,
						 .done = answered };
	w->request.input =
		(struct ar_input){ .kind = AR_IN_COMMAND, .command = command, .account = AR_STR("local") };
	ar_engine_write(w->engine, &w->request);
	go_on(w, 200 * MS);
	assert_int_equal(w->answers, before + 1);
	return w->code;
}

static void make_workspace(struct world *w)
{
	static const struct ar_cmd_create_workspace_in input = { .name = AR_STR("shop") };
	const struct ar_workspace_folder folder = { .root = AR_STR("/srv/shop"), .is_managed = true };

	ar_workspace_mint(AR_STR("local"), AR_STR("shop"), w->workspace);
	w->workspace_id = ar_arena_fmt(&w->arena, "ws_%.*s", AR_SESSION_KEY_LEN, w->workspace);
	w->record = (struct ar_shape_workspace_record){ .workspace_id = w->workspace_id,
							.root = AR_STR("/srv/shop"),
							.status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
							.version = 1 };
	assert_int_equal(tell(w, w->workspace,
			      (struct ar_input_command){
				      .id = AR_CMD_CREATE_WORKSPACE, .args = &input, .folder = &folder }),
			 0);
}

static uint16_t set_policy(struct world *w, const char *policy)
{
	const struct ar_cmd_set_policy_in input = { .scope = AR_SET_POLICY_SCOPE_WORKSPACE,
						    .scope_id = w->workspace_id,
						    .policy = ar_str_from(policy) };

	return tell(w, w->workspace, (struct ar_input_command){ .id = AR_CMD_SET_POLICY, .args = &input });
}

/* A turn of the session, which is made in the workspace by the first one. */
static uint16_t submit(struct world *w)
{
	const struct ar_shape_create_policy policy = { .workspace_id = w->workspace_id };
	const struct ar_cmd_submit_turn_in input = { .text = AR_STR("hello"), .create_policy = &policy };

	return tell(w, w->session_key,
		    (struct ar_input_command){
			    .id = AR_CMD_SUBMIT_TURN, .args = &input, .workspace = &w->record });
}

static void seen(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err AR_UNUSED)
{
	struct world *w = AR_CONTAINER_OF(v, struct world, view);
	const struct ar_workspace_policy *policy = s ? s->workspace_policy : NULL;

	w->limit = policy && policy->preset->budget ? policy->preset->budget->tokens.v : 0;
}

static void look(struct world *w)
{
	w->view = (struct ar_engine_view){ .session = { w->session_key, AR_SESSION_KEY_LEN }, .done = seen };
	ar_engine_look(w->engine, &w->view);
	go_on(w, 200 * MS);
}

static void expect_limit(struct world *w, int64_t limit)
{
	look(w);
	assert_int_equal(w->limit, limit);
}

/* ---- before and after each test ---- */

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
	doubtful_of = &w->doubtful;
	ar_store_memory_open(NULL, NULL, &w->doubtful.real);
	w->doubtful.store = *w->doubtful.real;
	w->doubtful.store.v = &store_calls;
	w->policy = (struct ar_policy){ .runtime_id = ar_str_from(w->doubtful.real->runtime_id),
					.models = models,
					.model_count = AR_ARRAY_LEN(models),
					.max_attempts = 3,
					.backoff_ms = 50,
					.max_rounds = 16,
					.tool_result_bytes = 65536,
					.max_restarts = 10,
					.queue_max = 100,
					.context_max = 200,
					.context_bytes = 262144,
					.auto_resume = true };
	boot(w);
	find_tools(w);
	make_workspace(w);
	ar_id_mint(w->session_key);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	ar_engine_stop(w->engine);
	ar_store_close(w->doubtful.real);
	end_process(w);
	ar_arena_fini(&w->arena);
	ar_free(w);
	return 0;
}

/* ---- tests ---- */

/* The process died between the fact of the workspace and that of the session: the call that it lost is not
 * made again against the new limit. */
static void test_recovery_goes_by_it(void **state)
{
	struct world *w = *state;

	assert_int_equal(submit(w), 0);
	assert_int_equal(w->model_starts, 1);
	crash(w); /* what is open waits until all tools are found */
	assert_int_equal(set_policy(w, "{\"budget\":{\"tokens\":1}}"), 0);
	find_tools(w);
	go_on(w, 1000 * MS);
	assert_int_equal(w->model_starts, 1);
	expect_limit(w, 1);
}

static void test_recovery_waits_while_it_cannot_be_read(void **state)
{
	struct world *w = *state;

	assert_int_equal(submit(w), 0);
	crash(w);
	assert_int_equal(set_policy(w, "{\"budget\":{\"tokens\":1000}}"), 0);
	w->doubtful.is_index_away = true;
	find_tools(w);
	go_on(w, 2000 * MS);
	assert_int_equal(w->model_starts, 1);
	w->doubtful.is_index_away = false;
	go_on(w, 2000 * MS);
	assert_int_equal(w->model_starts, 2);
	expect_limit(w, 1000);
	answer(w);
	go_on(w, 100 * MS);
	assert_int_equal(submit(w), 0);
	assert_int_equal(w->model_starts, 3);
}

static void finish_a_turn(struct world *w)
{
	assert_int_equal(submit(w), 0);
	answer(w);
	go_on(w, 200 * MS);
}

/* What became of the session's own fact is not known, and it is not there: the input is refused, and the next
 * one does not go on without it. */
static void test_its_fact_may_be_lost(void **state)
{
	struct world *w = *state;

	finish_a_turn(w);
	assert_int_equal(set_policy(w, "{\"budget\":{\"tokens\":1}}"), 0);
	w->doubtful.session = w->session_key;
	assert_int_equal(submit(w), AR_ERR_STORAGE_UNAVAILABLE);
	assert_int_equal(submit(w), 0);
	assert_int_equal(w->model_starts, 1);
	expect_limit(w, 1);
}

/* What became of the workspace's fact is not known, but it is there: a repeat finds the policy as it is and
 * adds no fact, and the session has it all the same. */
static void test_the_fact_of_the_workspace_may_be_there(void **state)
{
	struct world *w = *state;

	finish_a_turn(w);
	w->doubtful.session = w->workspace;
	w->doubtful.is_stored = true;
	assert_int_equal(set_policy(w, "{\"budget\":{\"tokens\":1}}"), AR_ERR_OUTCOME_UNKNOWN);
	assert_int_equal(set_policy(w, "{\"budget\":{\"tokens\":1}}"), 0);
	assert_int_equal(submit(w), 0);
	assert_int_equal(w->model_starts, 1);
	expect_limit(w, 1);
}

static void test_nothing_is_decided_by_a_record_that_cannot_be_read(void **state)
{
	struct world *w = *state;

	finish_a_turn(w);
	assert_int_equal(set_policy(w, "{\"budget\":{\"tokens\":1}}"), 0);
	w->doubtful.is_row_damaged = true;
	assert_int_equal(submit(w), AR_ERR_STORAGE_UNAVAILABLE);
	w->doubtful.is_row_damaged = false;
	w->doubtful.is_index_away = true;
	assert_int_equal(submit(w), AR_ERR_STORAGE_UNAVAILABLE);
	w->doubtful.is_index_away = false;
	assert_int_equal(submit(w), 0);
	assert_int_equal(w->model_starts, 1);
	expect_limit(w, 1);
}

/* What was read of the record is given back as soon as it was decided about, or could not be. */
static void expect_no_record(struct world *w)
{
	const struct ar_live *l =
		ar_map_get(&w->engine->sessions, (struct ar_str){ w->session_key, AR_SESSION_KEY_LEN });

	assert_non_null(l);
	assert_non_null(l->policy);
	assert_null(l->policy->arena.head);
	assert_true(ar_str_absent(l->policy->record.workspace_id));
}

static void test_a_session_in_memory_keeps_no_record(void **state)
{
	struct world *w = *state;

	assert_int_equal(submit(w), 0);
	crash(w);
	assert_int_equal(set_policy(w, "{\"budget\":{\"tokens\":1000}}"), 0);
	find_tools(w);
	go_on(w, 2000 * MS);
	assert_int_equal(w->model_starts, 2);
	expect_no_record(w); /* recovery had it */
	assert_int_equal(set_policy(w, "{\"budget\":{\"tokens\":2000}}"), 0);
	expect_limit(w, 2000);
	expect_no_record(w); /* an input of its own had it */
	answer(w);
	go_on(w, 200 * MS);
	assert_int_equal(set_policy(w, "{\"budget\":{\"tokens\":3000}}"), 0);
	w->doubtful.is_row_damaged = true;
	assert_int_equal(submit(w), AR_ERR_STORAGE_UNAVAILABLE);
	expect_no_record(w);
	w->doubtful.is_row_damaged = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_recovery_goes_by_it, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_recovery_waits_while_it_cannot_be_read, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(test_its_fact_may_be_lost, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_the_fact_of_the_workspace_may_be_there, open_world,
						close_world),
		cmocka_unit_test_setup_teardown(test_nothing_is_decided_by_a_record_that_cannot_be_read,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(test_a_session_in_memory_keeps_no_record, open_world,
						close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
