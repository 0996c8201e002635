/* Ids by tenant: what is minted, what may be chosen, where a home is. */
#include "cmocka_unit.h"
#include "tenant.h"

#include <string.h>

static struct ar_str core_of(const char *text)
{
	return (struct ar_str){ text, AR_ID_CORE };
}

static void test_homes_follow_from_the_name(void **state AR_UNUSED)
{
	char local[AR_ID_CORE], again[AR_ID_CORE], acme[AR_ID_CORE];

	ar_tenant_home(AR_STR("local"), local);
	ar_tenant_home(AR_STR("local"), again);
	ar_tenant_home(AR_STR("acme"), acme);
	assert_memory_equal(local, again, AR_ID_CORE);
	assert_memory_not_equal(local, acme, AR_ID_CORE);
	assert_memory_equal(local, "0000000000ex5sr4qz75mda5tt", AR_ID_CORE); /* stored: never another */
	assert_true(ar_tenant_is_home(AR_STR("acme"), core_of(acme)));
	assert_false(ar_tenant_is_home(AR_STR("local"), core_of(acme)));
	assert_true(memcmp(acme, ar_tenant_homes_end, AR_ID_CORE) <= 0);
}

static void test_minted_ids_say_whether_the_tenant_has_a_name(void **state AR_UNUSED)
{
	char id[AR_ID_CORE];

	for (int i = 0; i < 100; i++) {
		ar_tenant_mint(AR_STR("acme"), id);
		assert_true(id[10] == 'g' || id[10] == 'h');
		assert_true(memcmp(id, ar_tenant_homes_end, AR_ID_CORE) > 0);
		assert_false(ar_tenant_may_name(AR_STR("local"), core_of(id)));
		assert_false(ar_tenant_may_name(AR_STR("zeta"), core_of(id)));
		ar_tenant_mint(AR_STR("local"), id);
		assert_true(id[10] == 'e' || id[10] == 'f');
		assert_true(ar_tenant_may_name(AR_STR("local"), core_of(id)));
		assert_false(ar_tenant_may_name(AR_STR("acme"), core_of(id)));
	}
}

/* No id may be chosen by two tenants. */
static void test_chosen_ids_are_of_one_tenant(void **state AR_UNUSED)
{
	char id[AR_ID_CORE + 1] = "01abcdefghg012345600000000", home[AR_ID_CORE];

	assert_false(ar_tenant_may_name(AR_STR("acme"), core_of(id)));
	ar_tenant_home(AR_STR("acme"), home);
	memcpy(id + AR_ID_CORE - AR_TENANT_MARK, home + AR_ID_CORE - AR_TENANT_MARK, AR_TENANT_MARK);
	assert_true(ar_tenant_may_name(AR_STR("acme"), core_of(id)));
	assert_false(ar_tenant_may_name(AR_STR("zeta"), core_of(id)));
	assert_false(ar_tenant_may_name(AR_STR("local"), core_of(id)));
	assert_false(ar_tenant_may_name(AR_STR_NONE, core_of(id)));
	id[10] = '7';
	assert_false(ar_tenant_may_name(AR_STR("acme"), core_of(id)));
	assert_true(ar_tenant_may_name(AR_STR("local"), core_of(id)));
	memset(id, '0', 10); /* where homes are */
	assert_false(ar_tenant_may_name(AR_STR("local"), core_of(id)));
	assert_false(ar_tenant_may_name(AR_STR("local"), AR_STR("short")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_homes_follow_from_the_name),
		cmocka_unit_test(test_minted_ids_say_whether_the_tenant_has_a_name),
		cmocka_unit_test(test_chosen_ids_are_of_one_tenant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
