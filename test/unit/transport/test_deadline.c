/* Deadlines: they pass in order, one at a time, and never when cleared or set anew. */
#include "deadline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void pass_when_due(void **state AR_UNUSED)
{
	struct ar_deadlines all = { .length = { [AR_DEADLINE_HEADER] = 100, [AR_DEADLINE_WRITE] = 50 } };
	struct ar_deadline a, b, c;

	ar_deadlines_init(&all);
	ar_deadline_init(&a, NULL);
	ar_deadline_init(&b, NULL);
	ar_deadline_init(&c, NULL);
	ar_deadline_set(&all, &a, AR_DEADLINE_HEADER, 0);
	ar_deadline_set(&all, &b, AR_DEADLINE_HEADER, 10);
	ar_deadline_set(&all, &c, AR_DEADLINE_WRITE, 20);
	assert_null(ar_deadline_pop(&all, 69));
	assert_ptr_equal(ar_deadline_pop(&all, 70), &c);
	assert_null(ar_deadline_pop(&all, 99));
	ar_deadline_set(&all, &a, AR_DEADLINE_HEADER, 60);
	assert_null(ar_deadline_pop(&all, 109));
	assert_ptr_equal(ar_deadline_pop(&all, 500), &b);
	ar_deadline_clear(&a);
	ar_deadline_clear(&a);
	assert_null(ar_deadline_pop(&all, 500));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pass_when_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
