/* What a tenant uses of its quotas, in an engine: added up from the store before the first decision, known
 * again after a crash, not taken for nothing while the store cannot say it, and never a reason to wait for
 * ever. */
#include "cmocka_unit.h"
#include "engine_priv.h"
#include "limits/route.h"
#include "store_open.h"

#define MS ((ar_usec)1000)
#define DAY ((ar_usec)86400 * 1000000)

struct clock {
	struct ar_clock clock;
	ar_usec now;
};

/* A store in memory whose lists of a tenant can be made to fail, or to wait. */
struct lists {
	struct ar_store store;
	struct ar_store *real;
	struct ar_store_op *held;
	bool fails, waits;
};

struct world {
	struct clock clock;
	struct lists lists;
	struct ar_follow *follow;
	struct ar_policy policy;
	struct ar_engine *engine;
	struct ar_provider provider;
	struct ar_provider_slot slot;
	struct ar_model_call *asked; /* the newest call */
	char session_key[AR_SESSION_KEY_LEN];
	struct ar_cmd_submit_turn_in input;
	struct ar_engine_request request;
	struct ar_engine_usage usage;
	size_t answers; /* to requests, the newest of them with: */
	uint16_t code;
	size_t usages;
};

static const struct ar_tenant_quota limited = { .tenant = { "local", 5 },
						.limits = { [AR_TENANT_TOKENS] = 100 } };

/* ---- the store ---- */

static bool is_list(const struct ar_store_op *op)
{
	return op->kind == AR_STORE_SESSIONS &&
	       !ar_str_absent(AR_CONTAINER_OF(op, struct ar_store_sessions, op)->tenant);
}

static void submit_op(struct ar_store *s, struct ar_store_op *op)
{
	struct lists *l = AR_CONTAINER_OF(s, struct lists, store);

	if (is_list(op) && (l->fails || l->waits))
		l->held = op;
	else
		ar_store_submit(l->real, op);
}

static void poll_ops(struct ar_store *s)
{
	struct lists *l = AR_CONTAINER_OF(s, struct lists, store);
	struct ar_store_op *op = l->held;

	if (op && !l->waits) {
		l->held = NULL;
		if (l->fails) {
			op->status = ar_fail(&op->err, AR_E_IO, "the disk is away");
			op->done(op);
		} else {
			ar_store_submit(l->real, op);
		}
	}
	ar_store_poll(l->real);
}

static const struct ar_store_vtable store_calls = { .submit = submit_op, .poll = poll_ops };

/* ---- the model ---- */

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

static void answer(struct world *w, int64_t tokens)
{
	struct ar_model_call *c = w->asked;

	assert_non_null(c);
	w->asked = NULL;
	c->v->on_output(c, AR_OUT_TEXT, 0, AR_STR("done"));
	c->v->on_done(c, &(struct ar_model_result){ .outcome = AR_MODEL_COMPLETED,
						    .stop_reason = AR_STR("stop"),
						    .model = AR_STR("stub"),
						    .has_usage = true,
						    .input_tokens = tokens });
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
		ar_store_poll(&w->lists.store);
	}
}

static void boot(struct world *w)
{
	static const struct ar_provider_vtable model_calls = { ask, leave_call, leave_provider };

	w->provider = (struct ar_provider){ &model_calls, "stub" };
	w->slot = (struct ar_provider_slot){ AR_STR("stub"), &w->provider };
	w->follow = ar_follow_new(&(struct ar_follow_options){
		.store = &w->lists.store, .clock = &w->clock.clock, .ring_bytes = 65536 });
	w->engine = ar_engine_new(&(struct ar_engine_options){ .store = &w->lists.store,
							       .follow = w->follow,
							       .providers = &w->slot,
							       .provider_count = 1,
							       .clock = &w->clock.clock,
							       .policy = &w->policy,
							       .snapshot_every = 200,
							       .session_cache = 10,
							       .commit_backlog = 100 });
	ar_engine_recover(w->engine, NULL);
	go_on(w, 50 * MS);
}

static void end_process(struct world *w)
{
	ar_engine_free(w->engine);
	ar_follow_free(w->follow);
}

static void crash(struct world *w)
{
	ar_engine_stop(w->engine);
	end_process(w);
	boot(w);
}

static void answered(struct ar_engine_request *r)
{
	struct world *w = AR_CONTAINER_OF(r, struct world, request);

	w->answers++;
	w->code = r->status == AR_OK ? 0 : r->err.code;
}

/* A turn in a session of its own. */
static void submit(struct world *w)
{
	static const struct ar_shape_create_policy new_one;

	ar_id_mint(w->session_key);
	w->input = (struct ar_cmd_submit_turn_in){ .text = AR_STR("hello"), .create_policy = &new_one };
	w->request = (struct ar_engine_request){ .session = { w->session_key, AR_SESSION_KEY_LEN },
						 .may_create = true,
						 .is_fresh = true,
						 .done = answered };
	w->request.input = (struct ar_input){ .kind = AR_IN_COMMAND,
					      .command = { .id = AR_CMD_SUBMIT_TURN, .args = &w->input },
					      .account = AR_STR("local") };
	ar_engine_write(w->engine, &w->request);
	go_on(w, 100 * MS);
}

static void use(struct world *w, int64_t tokens)
{
	size_t before = w->answers;

	submit(w);
	assert_int_equal(w->answers, before + 1);
	assert_int_equal(w->code, 0);
	answer(w, tokens);
	go_on(w, 100 * MS);
}

static void expect_refused(struct world *w, uint16_t code)
{
	size_t before = w->answers;

	submit(w);
	assert_int_equal(w->answers, before + 1);
	assert_int_equal(w->code, code);
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

	w->clock = (struct clock){ { now_of, now_of }, 20000 * DAY + 1000 * MS };
	ar_store_memory_open(NULL, NULL, &w->lists.real);
	w->lists.store = *w->lists.real;
	w->lists.store.v = &store_calls;
	w->policy = (struct ar_policy){ .runtime_id = ar_str_from(w->lists.real->runtime_id),
					.models = models,
					.model_count = AR_ARRAY_LEN(models),
					.max_attempts = 3,
					.max_rounds = 16,
					.tool_result_bytes = 65536,
					.max_restarts = 10,
					.context_max = 200,
					.context_bytes = 262144,
					.auto_resume = true,
					.tenant_quotas = &limited,
					.tenant_quota_count = 1 };
	boot(w);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	ar_engine_stop(w->engine);
	ar_store_close(w->lists.real);
	end_process(w);
	ar_free(w);
	return 0;
}

/* ---- tests ---- */

static void test_sessions_add_up_also_after_a_crash(void **state)
{
	struct world *w = *state;

	use(w, 60);
	crash(w);
	use(w, 39);
	crash(w);
	use(w, 1);
	expect_refused(w, AR_ERR_TENANT_QUOTA_EXCEEDED);
	crash(w);
	expect_refused(w, AR_ERR_TENANT_QUOTA_EXCEEDED);
	w->clock.now += DAY;
	use(w, 100);
	expect_refused(w, AR_ERR_TENANT_QUOTA_EXCEEDED);
}

static void test_what_the_store_cannot_say_is_not_nothing(void **state)
{
	struct world *w = *state;

	use(w, 100);
	crash(w);
	w->lists.fails = true;
	expect_refused(w, AR_ERR_STORAGE_UNAVAILABLE);
	w->lists.fails = false;
	go_on(w, 1000 * MS);
	expect_refused(w, AR_ERR_TENANT_QUOTA_EXCEEDED);
}

static void test_a_command_waits_for_the_sum_and_is_then_decided(void **state)
{
	struct world *w = *state;

	w->lists.waits = true;
	submit(w);
	assert_int_equal(w->answers, 0);
	w->lists.waits = false;
	go_on(w, 100 * MS);
	assert_int_equal(w->answers, 1);
	assert_int_equal(w->code, 0);
}

static void asked(struct ar_engine_usage *u)
{
	AR_CONTAINER_OF(u, struct world, usage)->usages++;
}

static void test_nobody_waits_longer_than_the_engine(void **state)
{
	struct world *w = *state;

	w->lists.waits = true;
	submit(w);
	w->usage = (struct ar_engine_usage){ .tenant = AR_STR("local"), .done = asked };
	ar_engine_usage(w->engine, &w->usage);
	assert_int_equal(w->answers + w->usages, 0);
	ar_engine_stop(w->engine);
	assert_int_equal(w->answers, 1);
	assert_int_equal(w->code, AR_ERR_UNAVAILABLE);
	assert_int_equal(w->usages, 1);
	assert_true(w->usage.usage.is_day_unread);
}

static void test_what_is_read_is_what_all_sessions_used(void **state)
{
	struct world *w = *state;

	use(w, 20);
	use(w, 22);
	w->usage = (struct ar_engine_usage){ .tenant = AR_STR("local"), .done = asked };
	ar_engine_usage(w->engine, &w->usage);
	assert_int_equal(w->usages, 1);
	assert_int_equal(w->usage.usage.other_tokens, 42);
	assert_false(w->usage.usage.is_day_unread);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sessions_add_up_also_after_a_crash),
		TEST(test_what_the_store_cannot_say_is_not_nothing),
		TEST(test_a_command_waits_for_the_sum_and_is_then_decided),
		TEST(test_nobody_waits_longer_than_the_engine),
		TEST(test_what_is_read_is_what_all_sessions_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
