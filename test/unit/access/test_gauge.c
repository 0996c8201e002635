/* Token buckets and counts, over a clock that the test moves. */
#include "catalog.h"
#include "cmocka_unit.h"
#include "gauge.h"

#define SECOND ((ar_usec)1000000)

static struct ar_gauges gauges;
static uint32_t retry_ms;

static bool acquire(const char *name, enum ar_auth_slot slot, ar_usec now)
{
	struct ar_error err = { 0 };

	if (ar_gauges_check(&gauges, ar_str_from(name), slot, now, &retry_ms, &err) != AR_OK) {
		assert_int_equal(err.code, AR_ERR_RATE_LIMITED);
		assert_true(retry_ms > 0);
		return false;
	}
	ar_gauges_acquire(&gauges, ar_str_from(name), slot);
	return true;
}

static int count(const char *name, int tries, ar_usec now)
{
	int in = 0;

	for (int i = 0; i < tries; i++) {
		if (!acquire(name, AR_AUTH_COMMAND, now))
			continue;
		ar_gauges_release(&gauges, ar_str_from(name), AR_AUTH_COMMAND);
		in++;
	}
	return in;
}

static void test_rate_and_burst(void **state AR_UNUSED)
{
	ar_gauges_init(&gauges, "token", &(struct ar_access_limit){ .rate = 10, .burst = 30 });
	assert_int_equal(count("a", 100, 0), 30);
	assert_int_equal(retry_ms, 101);
	assert_int_equal(count("a", 100, SECOND / 20), 0);
	assert_int_equal(retry_ms, 51);
	assert_int_equal(count("a", 100, SECOND / 10), 1);
	assert_int_equal(count("a", 100, SECOND), 9);
	assert_int_equal(count("b", 100, SECOND), 30);
	assert_int_equal(count("a", 100, 1000 * SECOND), 30);
	ar_gauges_fini(&gauges);
}

/* Many small steps give what one large one does: nothing is lost to rounding. */
static void test_small_steps(void **state AR_UNUSED)
{
	int in = 0;

	ar_gauges_init(&gauges, "token", &(struct ar_access_limit){ .rate = 7 });
	assert_int_equal(count("a", 100, 0), 7);
	for (ar_usec t = 0; t <= 10 * SECOND; t += 999)
		in += count("a", 1, t);
	assert_int_equal(in, 69); /* of 70: the last is due a moment later */
	ar_gauges_fini(&gauges);
}

static void test_counts(void **state AR_UNUSED)
{
	ar_gauges_init(&gauges, "tenant", &(struct ar_access_limit){ .open = { 2, 1 } });
	assert_true(acquire("a", AR_AUTH_COMMAND, 0) && acquire("a", AR_AUTH_COMMAND, 0));
	assert_false(acquire("a", AR_AUTH_COMMAND, 0));
	assert_true(acquire("a", AR_AUTH_STREAM, 0));
	assert_false(acquire("a", AR_AUTH_STREAM, 0));
	assert_true(acquire("b", AR_AUTH_STREAM, 0));
	ar_gauges_sweep(&gauges, 0);
	ar_gauges_release(&gauges, AR_STR("a"), AR_AUTH_COMMAND);
	assert_true(acquire("a", AR_AUTH_COMMAND, 0));
	ar_gauges_release(&gauges, AR_STR("b"), AR_AUTH_STREAM);
	ar_gauges_sweep(&gauges, 0);
	assert_int_equal(gauges.map.count, 1);
	ar_gauges_fini(&gauges);
}

/* One that is still slowed down is not forgotten: it would begin anew with a full bucket. */
static void test_sweep_keeps_the_slowed(void **state AR_UNUSED)
{
	ar_gauges_init(&gauges, "token", &(struct ar_access_limit){ .rate = 1, .burst = 5 });
	assert_int_equal(count("a", 10, 0), 5);
	ar_gauges_sweep(&gauges, SECOND);
	assert_int_equal(count("a", 10, SECOND), 1);
	ar_gauges_sweep(&gauges, 10 * SECOND);
	assert_int_equal(gauges.map.count, 0);
	ar_gauges_fini(&gauges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate_and_burst),
		cmocka_unit_test(test_small_steps),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_sweep_keeps_the_slowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
