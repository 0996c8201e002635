/* What the engine forgets: old sessions leave the store and memory, those at work leave memory when
 * they are done, others stay. */
#include "cmocka_unit.h"
#include "engine_priv.h"
#include "store_open.h"

#define SECOND ((ar_usec)1000000)
#define DAY (24 * 3600 * SECOND)

struct clock {
	struct ar_clock clock;
	ar_usec now;
};

struct world {
	struct clock clock;
	struct ar_store *store;
	struct ar_follow *follow;
	struct ar_engine *engine;
};

static ar_usec now_of(struct ar_clock *c)
{
	return AR_CONTAINER_OF(c, struct clock, clock)->now;
}

static void open_world(struct world *w)
{
	*w = (struct world){ .clock = { { now_of, now_of }, 1000 * DAY } };
	ar_store_memory_open(NULL, NULL, &w->store);
	w->follow = ar_follow_new(&(struct ar_follow_options){
		.store = w->store, .clock = &w->clock.clock, .ring_bytes = 65536 });
	w->engine = ar_engine_new(&(struct ar_engine_options){
		.store = w->store, .follow = w->follow, .clock = &w->clock.clock, .session_cache = 100 });
	memset(w->engine->owned.bits, 0xff, sizeof w->engine->owned.bits);
}

static void close_world(struct world *w)
{
	ar_engine_stop(w->engine);
	ar_store_close(w->store);
	ar_engine_free(w->engine);
	ar_follow_free(w->follow);
}

static void go_on(struct world *w, ar_usec time)
{
	for (ar_usec end = w->clock.now + time; w->clock.now < end; w->clock.now += SECOND) {
		ar_engine_tick(w->engine);
		ar_store_poll(w->store);
	}
}

static void note(struct ar_store_op *op)
{
	assert_int_equal(op->status, AR_OK);
}

static void put(struct world *w, struct ar_str session_key, ar_usec updated)
{
	struct ar_store_session_row row = { .updated = updated };
	struct ar_store_append a = { .op = { .kind = AR_STORE_APPEND, .done = note },
				     .session = session_key,
				     .first_seq = 1,
				     .last_seq = 1,
				     .body = AR_STR("x"),
				     .row = &row };

	ar_store_submit(w->store, &a.op);
	ar_store_poll(w->store);
}

static size_t stored(struct world *w)
{
	struct ar_store_sessions l = { .op = { .kind = AR_STORE_SESSIONS, .done = note }, .limit = 1000 };

	ar_store_submit(w->store, &l.op);
	ar_store_poll(w->store);
	ar_store_op_fini(&l.op);
	return l.count;
}

/* As after a load. */
static struct ar_live *remember(struct world *w, struct ar_str session_key)
{
	struct ar_live *l = ar_live_get(w->engine, session_key);

	ar_session_init(&l->state, session_key, w->engine->member_json);
	l->state.head = 1;
	l->is_loaded = true;
	ar_live_settle(l);
	return l;
}

static struct ar_str session_key_of(unsigned n)
{
	static char text[300][AR_SESSION_KEY_LEN];
	uint8_t uuid[16] = { 0x01, 0x9a, (uint8_t)(n >> 8), (uint8_t)n };

	ar_id_encode(uuid, text[n]);
	return (struct ar_str){ text[n], AR_SESSION_KEY_LEN };
}

static void test_old_sessions_leave_store_and_memory(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	put(&w, session_key_of(1), w.clock.now - 31 * DAY);
	put(&w, session_key_of(2), w.clock.now - 29 * DAY);
	remember(&w, session_key_of(1));
	remember(&w, session_key_of(2));
	ar_engine_keep(w.engine, 30 * DAY, 0, 0);
	go_on(&w, 10 * SECOND);
	assert_int_equal(stored(&w), 1);
	assert_null(ar_engine_peek(w.engine, session_key_of(1)));
	assert_non_null(ar_engine_peek(w.engine, session_key_of(2)));
	go_on(&w, 120 * SECOND);
	assert_int_equal(stored(&w), 1);
	w.clock.now += 2 * DAY;
	go_on(&w, 120 * SECOND);
	assert_int_equal(stored(&w), 0);
	assert_null(ar_engine_peek(w.engine, session_key_of(2)));
	close_world(&w);
}

static void test_a_session_at_work_goes_when_it_is_done(void **state)
{
	struct ar_live *l;
	struct world w;

	(void)state;
	open_world(&w);
	put(&w, session_key_of(1), 1);
	l = remember(&w, session_key_of(1));
	ar_live_wake(l);
	l->is_loading = true; /* on its way in while the store removes it */
	ar_engine_keep(w.engine, DAY, 0, 0);
	go_on(&w, 10 * SECOND);
	assert_int_equal(stored(&w), 0);
	assert_non_null(ar_engine_peek(w.engine, session_key_of(1)));
	l->is_loading = false;
	ar_live_settle(l);
	assert_null(ar_engine_peek(w.engine, session_key_of(1)));
	close_world(&w);
}

static void test_only_what_is_ours_goes(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	put(&w, session_key_of(1), 1);
	ar_partition_remove(&w.engine->owned, ar_id_partition(session_key_of(1)));
	ar_engine_keep(w.engine, DAY, 0, 0);
	go_on(&w, 10 * SECOND);
	assert_int_equal(stored(&w), 1);
	close_world(&w);
}

static void test_without_a_time_nothing_goes(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	put(&w, session_key_of(1), 1);
	ar_engine_keep(w.engine, 0, 0, 0);
	go_on(&w, 200 * SECOND);
	assert_int_equal(stored(&w), 1);
	close_world(&w);
}

static void test_many_go_in_small_steps(void **state)
{
	struct world w;
	size_t left;

	(void)state;
	open_world(&w);
	for (unsigned n = 0; n < 300; n++)
		put(&w, session_key_of(n), 1);
	ar_engine_keep(w.engine, DAY, 0, 0);
	go_on(&w, 3 * SECOND);
	left = stored(&w);
	assert_in_range(left, 100, 299);
	go_on(&w, 10 * SECOND);
	assert_int_equal(stored(&w), 0);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_old_sessions_leave_store_and_memory),
		cmocka_unit_test(test_a_session_at_work_goes_when_it_is_done),
		cmocka_unit_test(test_only_what_is_ours_goes),
		cmocka_unit_test(test_without_a_time_nothing_goes),
		cmocka_unit_test(test_many_go_in_small_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
