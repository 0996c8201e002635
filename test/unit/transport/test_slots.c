/* Which connections there is room for: some are kept for the unix socket and the other nodes, and an address
 * has its own number. */
#include "link/slots.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint32_t take_all(struct ar_slots *s, enum ar_slots_kind kind)
{
	uint32_t count = 0;

	while (ar_slots_take(s, kind))
		count++;
	return count;
}

static void some_are_kept(void **state AR_UNUSED)
{
	struct ar_slots s = { .max = 80, .is_served = { true, true, true } };

	assert_int_equal(take_all(&s, AR_SLOTS_TCP), 60);
	assert_int_equal(take_all(&s, AR_SLOTS_LOCAL), 10);
	assert_int_equal(take_all(&s, AR_SLOTS_CLUSTER), 10);
	ar_slots_leave(&s, AR_SLOTS_LOCAL);
	assert_int_equal(take_all(&s, AR_SLOTS_TCP), 0);
	assert_int_equal(take_all(&s, AR_SLOTS_LOCAL), 1);
	ar_slots_leave(&s, AR_SLOTS_TCP);
	assert_int_equal(take_all(&s, AR_SLOTS_CLUSTER), 1);
}

static void nothing_is_kept_for_nobody(void **state AR_UNUSED)
{
	struct ar_slots s = { .max = 3 }, few = { .max = 3, .is_served = { true, true, true } },
			many = { .max = 10000, .is_served = { [AR_SLOTS_LOCAL] = true } };

	assert_int_equal(take_all(&s, AR_SLOTS_TCP), 3);
	assert_int_equal(take_all(&few, AR_SLOTS_TCP), 3);
	assert_int_equal(take_all(&many, AR_SLOTS_TCP), 10000 - 64);
}

static void an_address_has_its_number(void **state AR_UNUSED)
{
	struct ar_slots s = { .max_each = 2 };
	union ar_sockaddr v4 = { .v4 = { .sin_family = AF_INET, .sin_addr.s_addr = 1 } }, other = v4;
	union ar_sockaddr v6 = { .v6 = { .sin6_family = AF_INET6 } };
	struct ar_address_slots *first = ar_slots_enter(&s, &v4), *second = ar_slots_enter(&s, &v4), *near;

	assert_non_null(first);
	assert_ptr_equal(first, second);
	assert_null(ar_slots_enter(&s, &v4));
	other.v4.sin_addr.s_addr = 2;
	ar_slots_exit(&s, ar_slots_enter(&s, &other));
	near = ar_slots_enter(&s, &v6);
	v6.v6.sin6_addr.s6_addr[15] = 9; /* the same network */
	assert_ptr_equal(ar_slots_enter(&s, &v6), near);
	assert_null(ar_slots_enter(&s, &v6));
	ar_slots_exit(&s, first);
	assert_ptr_equal(ar_slots_enter(&s, &v4), first);
	for (int i = 0; i < 2; i++) {
		ar_slots_exit(&s, first);
		ar_slots_exit(&s, near);
	}
	assert_int_equal(s.addresses.count, 0);
	ar_slots_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_are_kept),
		cmocka_unit_test(nothing_is_kept_for_nobody),
		cmocka_unit_test(an_address_has_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
