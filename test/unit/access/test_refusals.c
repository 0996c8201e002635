/* Refusals become facts: the first at once, those alike together, and never more than a number of them. */
#include "cmocka_unit.h"
#include "refusals.h"

#include <stdio.h>

#define SECOND ((ar_usec)1000000)

static struct ar_refusals refusals;
static unsigned told;
static uint64_t sum, last;

static void tell(void *arg AR_UNUSED, const struct ar_audit *a)
{
	assert_true(a->tenant.len && a->actor.len);
	told++;
	last = a->count;
	sum += a->count;
}

static int setup(void **state AR_UNUSED)
{
	ar_refusals_init(&refusals, tell, NULL);
	told = 0;
	sum = last = 0;
	return 0;
}

static int teardown(void **state AR_UNUSED)
{
	ar_refusals_fini(&refusals);
	return 0;
}

static void add(const char *actor, uint16_t code, ar_usec now)
{
	ar_refusals_add(&refusals,
			&(struct ar_audit){ .tenant = AR_STR("acme"),
					    .actor = ar_str_from(actor),
					    .code = code,
					    .message = AR_STR("no"),
					    .count = 1 },
			now);
}

static void test_alike_ones_are_told_together(void **state AR_UNUSED)
{
	for (int i = 0; i < 1000; i++)
		add("a", 19, SECOND);
	assert_int_equal(told, 1);
	add("a", 18, SECOND);
	add("b", 19, SECOND);
	assert_int_equal(told, 3);
	ar_refusals_tick(&refusals, SECOND + AR_REFUSALS_WINDOW - 1);
	assert_int_equal(told, 3);
	ar_refusals_tick(&refusals, SECOND + AR_REFUSALS_WINDOW);
	assert_int_equal(told, 4); /* the two others were alone */
	assert_int_equal(sum, 1002);
	add("a", 19, 2 * SECOND + AR_REFUSALS_WINDOW);
	assert_int_equal(told, 5);
	assert_int_equal(last, 1);
}

static void test_kinds_are_bounded(void **state AR_UNUSED)
{
	char actor[16];

	for (int i = 0; i < 5000; i++) {
		snprintf(actor, sizeof(actor), "a%d", i);
		add(actor, 19, SECOND);
	}
	assert_true(told <= AR_REFUSALS_KINDS + 1);
	ar_refusals_tick(&refusals, 100 * SECOND);
	assert_int_equal(sum, 5000);
	assert_true(told <= AR_REFUSALS_KINDS + 2);
	assert_int_equal(refusals.next, 0);
}

static void test_the_end_tells_what_was_counted(void **state AR_UNUSED)
{
	add("a", 19, SECOND);
	add("a", 19, SECOND);
	ar_refusals_fini(&refusals);
	assert_int_equal(sum, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_alike_ones_are_told_together, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kinds_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_end_tells_what_was_counted, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
