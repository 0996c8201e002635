/* Timers fire in the order they are due, those of one time in the order they were set. */
#include "cmocka_unit.h"
#include "engine_priv.h"

struct clock {
	struct ar_clock clock;
	ar_usec now;
};

struct bell {
	struct ar_timer timer;
	char name;
	struct ar_engine *again; /* set once more from inside */
};

static char rung[32];

static ar_usec now_of(struct ar_clock *c)
{
	return AR_CONTAINER_OF(c, struct clock, clock)->now;
}

static void ring(struct ar_timer *t)
{
	struct bell *b = AR_CONTAINER_OF(t, struct bell, timer);
	size_t n = strlen(rung);

	rung[n] = b->name;
	if (b->again)
		ar_timer_start(b->again, t, 1000);
	b->again = NULL;
}

static void drop(struct ar_timer *t)
{
	rung[strlen(rung)] = (char)(AR_CONTAINER_OF(t, struct bell, timer)->name - 'a' + 'A');
}

static void test_a_step_back_is_no_correction(void **state)
{
	const ar_usec second = 1000000;

	(void)state;
	assert_int_equal(ar_clock_step(0, 5 * second), 0); /* nothing to compare with */
	assert_int_equal(ar_clock_step(100 * second, 100 * second), 0);
	assert_int_equal(ar_clock_step(100 * second, 3700 * second), 0); /* forward */
	assert_int_equal(ar_clock_step(100 * second, 100 * second - second / 2), 0);
	assert_int_equal(ar_clock_step(4000 * second, 400 * second), -3600 * second);
}

static void test_order(void **state)
{
	struct clock clock = { { now_of, now_of }, 1000000 };
	struct ar_engine *e = ar_engine_new(&(struct ar_engine_options){ .clock = &clock.clock });
	struct bell bells[5] = {
		{ .name = 'a' }, { .name = 'b' }, { .name = 'c' }, { .name = 'd' }, { .name = 'e' }
	};
	const ar_usec delays[] = { 3000, 1000, 2000, 1000, -5 };

	(void)state;
	assert_int_equal(ar_engine_deadline(e), 0);
	for (size_t i = 0; i < AR_ARRAY_LEN(bells); i++) {
		bells[i].timer.fire = ring;
		bells[i].timer.drop = drop;
		ar_timer_start(e, &bells[i].timer, delays[i]);
	}
	bells[1].again = e;
	assert_int_equal(ar_engine_deadline(e), 1000000);
	ar_engine_tick(e);
	assert_string_equal(rung, "e");
	clock.now += 999;
	ar_engine_tick(e);
	assert_string_equal(rung, "e");
	clock.now += 1;
	ar_engine_tick(e);
	assert_string_equal(rung, "ebd");
	clock.now += 1000;
	ar_engine_tick(e);
	assert_string_equal(rung, "ebdcb");
	assert_int_equal(ar_engine_deadline(e), 1003000);
	ar_engine_free(e);
	assert_string_equal(rung, "ebdcbA"); /* what never fired is dropped */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order),
					    cmocka_unit_test(test_a_step_back_is_no_correction) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
