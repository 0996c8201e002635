/* A wall clock that is set back by an hour while a session lives: it is told once, as a fact, and facts
 * stay in the order of their sequence. */
#include "cmocka_unit.h"
#include "engine_priv.h"
#include "store_open.h"

#include <string.h>

#define SECOND INT64_C(1000000)
#define HOUR (3600 * SECOND)

struct clock {
	struct ar_clock clock;
	ar_usec wall, mono;
};

struct world {
	struct clock clock;
	struct ar_store *store;
	struct ar_follow *follow;
	struct ar_engine *engine;
	struct ar_engine_request request;
	bool is_done;
};

static const struct ar_str session_key = { "01arz3ndektsv4rrffq69g5fav", AR_SESSION_KEY_LEN };

static ar_usec wall_of(struct ar_clock *c)
{
	return AR_CONTAINER_OF(c, struct clock, clock)->wall;
}

static ar_usec mono_of(struct ar_clock *c)
{
	return AR_CONTAINER_OF(c, struct clock, clock)->mono;
}

static void done(struct ar_engine_request *r)
{
	AR_CONTAINER_OF(r, struct world, request)->is_done = true;
}

/* A second passes, then a command is carried out; returns how many facts it made. */
static uint64_t command(struct world *w, enum ar_command name, const void *args)
{
	const struct ar_session *s = ar_engine_peek(w->engine, session_key);
	uint64_t before = s ? s->head : 0;

	w->clock.wall += SECOND;
	w->clock.mono += SECOND;
	w->is_done = false;
	w->request = (struct ar_engine_request){
		.session = session_key,
		.may_create = true,
		.input = { .kind = AR_IN_COMMAND,
			   .command = { .id = name, .args = args },
			   .account = AR_STR("me") },
		.done = done,
	};
	ar_engine_write(w->engine, &w->request);
	for (int i = 0; i < 10 && !w->is_done; i++)
		ar_store_poll(w->store);
	assert_true(w->is_done);
	assert_int_equal(w->request.status, AR_OK);
	return ar_engine_peek(w->engine, session_key)->head - before;
}

static uint64_t set_mode(struct world *w, const char *policy)
{
	return command(w, AR_CMD_SET_POLICY,
		       &(struct ar_cmd_set_policy_in){ .scope = AR_SET_POLICY_SCOPE_SESSION,
						       .policy = ar_str_from(policy) });
}

static void test_a_step_back_is_told_once(void **state)
{
	static const struct ar_policy policy = { .runtime_id = { "rt", 2 } };
	struct world w = { .clock = { { wall_of, mono_of }, 1000 * HOUR, 5 * SECOND } };
	ar_usec before;

	(void)state;
	ar_store_memory_open(NULL, NULL, &w.store);
	w.follow = ar_follow_new(&(struct ar_follow_options){
		.store = w.store, .clock = &w.clock.clock, .ring_bytes = 65536 });
	w.engine = ar_engine_new(&(struct ar_engine_options){ .store = w.store,
							      .follow = w.follow,
							      .clock = &w.clock.clock,
							      .policy = &policy,
							      .snapshot_every = 1000,
							      .commit_backlog = 10,
							      .session_cache = 100 });
	memset(w.engine->owned.bits, 0xff, sizeof w.engine->owned.bits);
	assert_true(command(&w, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 }) > 0);
	assert_int_equal(set_mode(&w, "{\"mode\":\"plan\"}"), 1);
	before = ar_engine_peek(w.engine, session_key)->updated;
	w.clock.wall -= HOUR;
	assert_int_equal(set_mode(&w, "{\"mode\":\"plan\"}"), 0); /* nothing to say, so it waits */
	assert_int_equal(set_mode(&w, "{\"mode\":\"never\"}"), 2); /* the warning, then the fact */
	assert_true(ar_engine_peek(w.engine, session_key)->updated < before);
	assert_int_equal(set_mode(&w, "{\"mode\":\"plan\"}"), 1);
	w.clock.wall += 2 * HOUR;
	assert_int_equal(set_mode(&w, "{\"mode\":\"never\"}"), 1); /* forward is no trouble */
	ar_engine_stop(w.engine);
	ar_store_close(w.store);
	ar_engine_free(w.engine);
	ar_follow_free(w.follow);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_step_back_is_told_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
