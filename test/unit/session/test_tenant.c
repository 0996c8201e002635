/* Ids by tenant: what is minted, what may be chosen, where a home is. */
#include "cmocka_unit.h"
#include "tenant.h"

#include <string.h>

static struct ar_str session_key_of(const char *text)
{
	return (struct ar_str){ text, AR_SESSION_KEY_LEN };
}

static void test_homes_follow_from_the_name(void **state AR_UNUSED)
{
	char local[AR_SESSION_KEY_LEN], again[AR_SESSION_KEY_LEN], acme[AR_SESSION_KEY_LEN];

	ar_tenant_home(AR_STR("local"), local);
	ar_tenant_home(AR_STR("local"), again);
	ar_tenant_home(AR_STR("acme"), acme);
	assert_memory_equal(local, again, AR_SESSION_KEY_LEN);
	assert_memory_not_equal(local, acme, AR_SESSION_KEY_LEN);
	assert_memory_equal(local, "0000000000ex5sr4qz75mda5tt",
			    AR_SESSION_KEY_LEN); /* stored: never another */
	assert_true(ar_tenant_is_home(AR_STR("acme"), session_key_of(acme)));
	assert_false(ar_tenant_is_home(AR_STR("local"), session_key_of(acme)));
	assert_true(memcmp(acme, ar_tenant_homes_end, AR_SESSION_KEY_LEN) <= 0);
}

static void test_minted_ids_say_whether_the_tenant_has_a_name(void **state AR_UNUSED)
{
	char id[AR_SESSION_KEY_LEN];

	for (int i = 0; i < 100; i++) {
		ar_tenant_mint(AR_STR("acme"), id);
		assert_true(id[10] == 'g' || id[10] == 'h');
		assert_true(memcmp(id, ar_tenant_homes_end, AR_SESSION_KEY_LEN) > 0);
		assert_false(ar_tenant_may_name(AR_STR("local"), session_key_of(id)));
		assert_false(ar_tenant_may_name(AR_STR("zeta"), session_key_of(id)));
		ar_tenant_mint(AR_STR("local"), id);
		assert_true(id[10] == 'e' || id[10] == 'f');
		assert_true(ar_tenant_may_name(AR_STR("local"), session_key_of(id)));
		assert_false(ar_tenant_may_name(AR_STR("acme"), session_key_of(id)));
	}
}

/* No id may be chosen by two tenants. */
static void test_chosen_ids_are_of_one_tenant(void **state AR_UNUSED)
{
	char id[AR_SESSION_KEY_LEN + 1] = "01abcdefghg012345600000000", home[AR_SESSION_KEY_LEN];

	assert_false(ar_tenant_may_name(AR_STR("acme"), session_key_of(id)));
	ar_tenant_home(AR_STR("acme"), home);
	memcpy(id + AR_SESSION_KEY_LEN - AR_TENANT_MARK, home + AR_SESSION_KEY_LEN - AR_TENANT_MARK,
	       AR_TENANT_MARK);
	assert_true(ar_tenant_may_name(AR_STR("acme"), session_key_of(id)));
	assert_false(ar_tenant_may_name(AR_STR("zeta"), session_key_of(id)));
	assert_false(ar_tenant_may_name(AR_STR("local"), session_key_of(id)));
	assert_false(ar_tenant_may_name(AR_STR_NONE, session_key_of(id)));
	id[10] = '7';
	assert_false(ar_tenant_may_name(AR_STR("acme"), session_key_of(id)));
	assert_true(ar_tenant_may_name(AR_STR("local"), session_key_of(id)));
	memset(id, '0', 10); /* where homes are */
	assert_false(ar_tenant_may_name(AR_STR("local"), session_key_of(id)));
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
