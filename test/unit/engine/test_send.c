/* Commands to other sessions: sent once the facts that intend them are durable, again after a pause that
 * grows when nobody was there, and their answer becomes a fact of the session that sent them. */
#include "cmocka_unit.h"
#include "engine_priv.h"
#include "store_open.h"

#include <string.h>

#define MS INT64_C(1000)

struct clock {
	struct ar_clock clock;
	ar_usec now;
};

struct world {
	struct clock clock;
	struct ar_store *store;
	struct ar_follow *follow;
	struct ar_engine *engine;
	struct ar_engine_request request;
	struct ar_sender sender;
	struct ar_send_run *sent; /* that is under way */
	size_t starts;
	bool is_done;
};

static const struct ar_str session_key = { "01arz3ndektsv4rrffq69g5fav", AR_SESSION_KEY_LEN };
#define TARGET "job_01arz3ndektsv4rrffq69g5faw_1:0:1"

static ar_usec now_of(struct ar_clock *c)
{
	return AR_CONTAINER_OF(c, struct clock, clock)->now;
}

static void done(struct ar_engine_request *r)
{
	AR_CONTAINER_OF(r, struct world, request)->is_done = true;
}

static void start_run(struct ar_sender *s, struct ar_send_run *r)
{
	struct world *w = AR_CONTAINER_OF(s, struct world, sender);

	assert_null(w->sent);
	w->sent = r;
	w->starts++;
}

static void poll_store(struct world *w)
{
	for (int i = 0; i < 10; i++)
		ar_store_poll(w->store);
}

static void command(struct world *w, enum ar_command name, const void *args)
{
	w->is_done = false;
	w->request = (struct ar_engine_request){ .session = session_key,
						 .may_create = true,
						 .input = { .kind = AR_IN_COMMAND,
							    .command = { .id = name, .args = args },
							    .is_runtime = true,
							    .account = AR_STR("me") },
						 .done = done };
	ar_engine_write(w->engine, &w->request);
	poll_store(w);
	assert_true(w->is_done);
	assert_int_equal(w->request.status, AR_OK);
}

static const struct ar_turn *the_turn(struct world *w)
{
	const struct ar_thread *t = ar_engine_peek(w->engine, session_key)->threads.at[0];

	return t->turns.at[0];
}

/* The answer of the other session. */
static void answer(struct world *w, uint16_t code)
{
	struct ar_send_run *r = w->sent;

	w->sent = NULL;
	r->on_done(r, code, AR_STR("{}"));
}

static void pass(struct world *w, ar_usec time)
{
	w->clock.now += time;
	ar_engine_tick(w->engine);
	poll_store(w);
}

static int open_world(void **state)
{
	static const struct ar_policy policy = { .runtime_id = { "rt", 2 } };
	static const struct ar_sender_vtable v = { .start = start_run };
	struct world *w = ar_new0(sizeof(*w));

	w->clock = (struct clock){ { now_of, now_of }, 3600 * 1000 * MS };
	w->sender.v = &v;
	ar_store_memory_open(NULL, NULL, &w->store);
	w->follow = ar_follow_new(&(struct ar_follow_options){
		.store = w->store, .clock = &w->clock.clock, .ring_bytes = 65536 });
	w->engine = ar_engine_new(&(struct ar_engine_options){ .store = w->store,
							       .follow = w->follow,
							       .clock = &w->clock.clock,
							       .policy = &policy,
							       .snapshot_every = 1000,
							       .commit_backlog = 10,
							       .session_cache = 100 });
	memset(w->engine->owned.bits, 0xff, sizeof w->engine->owned.bits);
	ar_engine_send_by(w->engine, &w->sender);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	ar_engine_stop(w->engine);
	ar_store_close(w->store);
	ar_engine_free(w->engine);
	ar_follow_free(w->follow);
	ar_free(w);
	return 0;
}

/* A turn of a job's item that ends, since there is no model. */
static void end_turn(struct world *w)
{
	command(w, AR_CMD_SUBMIT_TURN,
		&(struct ar_cmd_submit_turn_in){ .text = AR_STR("hello"), .report_to = AR_STR(TARGET) });
	if (ar_str_absent(the_turn(w)->outcome))
		command(w, AR_CMD_INTERRUPT_TURN,
			&(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("enough") });
	assert_false(ar_str_absent(the_turn(w)->outcome));
}

static void test_the_answer_is_a_fact(void **state)
{
	struct world *w = *state;

	end_turn(w);
	assert_int_equal(w->starts, 1);
	assert_int_equal(w->sent->command, AR_CMD_REPORT_TURN);
	assert_true(ar_str_eq(the_turn(w)->report_to, AR_STR(TARGET)));
	answer(w, 0);
	pass(w, 0);
	assert_true(ar_str_absent(the_turn(w)->report_to));
	pass(w, 60 * 1000 * MS);
	assert_int_equal(w->starts, 1);
}

static void test_nobody_is_there(void **state)
{
	static const uint16_t codes[] = { AR_ERR_OWNER_UNREACHABLE, AR_ERR_NOT_OWNER, AR_ERR_OVERLOADED };
	struct world *w = *state;
	ar_usec pause = 50 * MS;

	end_turn(w);
	for (size_t i = 0; i < AR_ARRAY_LEN(codes); i++, pause *= 2) {
		answer(w, codes[i]);
		pass(w, pause - MS);
		assert_null(w->sent);
		pass(w, MS);
		assert_int_equal(w->starts, i + 2);
		assert_non_null(w->sent);
	}
	for (int i = 0; i < 20; i++) { /* the pause has an end */
		answer(w, AR_ERR_OVERLOADED);
		pass(w, 5000 * MS);
		assert_non_null(w->sent);
	}
	answer(w, 0);
	pass(w, 0);
	assert_true(ar_str_absent(the_turn(w)->report_to));
}

/* Whom the report is for does not know it: it is not sent for ever. */
static void test_a_refusal_ends_it(void **state)
{
	struct world *w = *state;

	end_turn(w);
	answer(w, AR_ERR_JOB_NOT_FOUND);
	pass(w, 0);
	assert_true(ar_str_absent(the_turn(w)->report_to));
	pass(w, 60 * 1000 * MS);
	assert_int_equal(w->starts, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_answer_is_a_fact, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_nobody_is_there, open_world, close_world),
		cmocka_unit_test_setup_teardown(test_a_refusal_ends_it, open_world, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
