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

/* A home and a workspace have no time, both; only the version tells them apart. */
static void test_a_workspace_is_not_a_home(void **state AR_UNUSED)
{
	char home[AR_SESSION_KEY_LEN], key[AR_SESSION_KEY_LEN], worker[AR_SESSION_KEY_LEN];

	ar_tenant_home(AR_STR("acme"), home);
	ar_workspace_key(AR_STR("acme"), AR_STR("/srv/a"), key);
	memcpy(worker, key, sizeof(worker));
	worker[10] = 'm'; /* version 10 */
	assert_true(ar_tenant_is_a_home(session_key_of(home)));
	assert_false(ar_tenant_is_a_home(session_key_of(key)));
	assert_false(ar_key_is_reserved(session_key_of(home)));
	assert_true(ar_key_is_reserved(session_key_of(key)));
	assert_true(ar_key_is_reserved(session_key_of(worker)));
	ar_tenant_mint(AR_STR("acme"), home);
	assert_false(ar_key_is_reserved(session_key_of(home)));
}

static void test_the_same_folder_has_the_same_workspace(void **state AR_UNUSED)
{
	char key[AR_SESSION_KEY_LEN], other[AR_SESSION_KEY_LEN];

	ar_workspace_key(AR_STR("acme"), AR_STR("/srv/a"), key);
	assert_memory_equal(key, "0000000000jngtwpxq68fbhthd",
			    AR_SESSION_KEY_LEN); /* stored: never another */
	ar_workspace_key(AR_STR("acme"), AR_STR("/srv/a"), other);
	assert_memory_equal(key, other, AR_SESSION_KEY_LEN);
	ar_workspace_key(AR_STR("zeta"), AR_STR("/srv/a"), other);
	assert_memory_not_equal(key, other, AR_SESSION_KEY_LEN);
	ar_workspace_key(AR_STR("acme"), AR_STR("/srv/b"), other);
	assert_memory_not_equal(key, other, AR_SESSION_KEY_LEN);
	/* what a caller chooses as a key is never a folder */
	ar_workspace_mint(AR_STR("acme"), AR_STR("/srv/a"), other);
	assert_memory_not_equal(key, other, AR_SESSION_KEY_LEN);
	ar_workspace_mint(AR_STR("acme"), AR_STR("/srv/a"), key);
	assert_memory_equal(key, other, AR_SESSION_KEY_LEN);
	ar_workspace_mint(AR_STR("acme"), AR_STR_NONE, key);
	ar_workspace_mint(AR_STR("acme"), AR_STR_NONE, other);
	assert_memory_not_equal(key, other, AR_SESSION_KEY_LEN);
}

static void test_workspaces_are_among_themselves(void **state AR_UNUSED)
{
	char key[AR_SESSION_KEY_LEN], home[AR_SESSION_KEY_LEN];

	ar_tenant_home(AR_STR("acme"), home);
	assert_true(memcmp(home, ar_workspaces_above, AR_SESSION_KEY_LEN) < 0);
	for (int i = 0; i < 100; i++) {
		ar_workspace_mint(AR_STR("acme"), AR_STR_NONE, key);
		assert_true(key[10] == 'j' || key[10] == 'k');
		assert_true(memcmp(key, ar_workspaces_above, AR_SESSION_KEY_LEN) > 0);
		assert_true(memcmp(key, ar_workspaces_below, AR_SESSION_KEY_LEN) < 0);
		assert_true(memcmp(key, ar_tenant_homes_end, AR_SESSION_KEY_LEN) < 0);
	}
}

static void test_workers_are_among_themselves(void **state AR_UNUSED)
{
	char key[AR_SESSION_KEY_LEN], other[AR_SESSION_KEY_LEN];

	for (int i = 0; i < 100; i++) {
		ar_worker_mint(AR_STR("acme"), AR_STR_NONE, key);
		assert_true(key[10] == 'm' || key[10] == 'n');
		assert_true(memcmp(key, ar_workers_above, AR_SESSION_KEY_LEN) > 0);
		assert_true(memcmp(key, ar_workers_below, AR_SESSION_KEY_LEN) < 0);
		assert_true(memcmp(key, ar_workspaces_below, AR_SESSION_KEY_LEN) > 0);
		assert_true(memcmp(key, ar_tenant_homes_end, AR_SESSION_KEY_LEN) < 0);
		assert_true(ar_key_is_worker(session_key_of(key)));
		assert_false(ar_tenant_may_name(AR_STR("acme"), session_key_of(key)));
	}
	ar_worker_mint(AR_STR("acme"), AR_STR("k"), key);
	assert_memory_equal(key, "0000000000mk99jjtsx4svwj7z",
			    AR_SESSION_KEY_LEN); /* stored: never another */
	ar_worker_mint(AR_STR("zeta"), AR_STR("k"), other);
	assert_memory_not_equal(key, other, AR_SESSION_KEY_LEN);
	ar_workspace_mint(AR_STR("acme"), AR_STR("k"), other);
	assert_false(ar_key_is_worker(session_key_of(other)));
}

static void test_ids_of_workers_and_workspaces_are_not_mixed_up(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	char key[AR_SESSION_KEY_LEN];

	ar_worker_mint(AR_STR("acme"), AR_STR("k"), key);
	assert_true(ar_str_eq(ar_worker_key_in(ar_arena_fmt(&a, "wk_%.26s", key)), session_key_of(key)));
	assert_true(ar_str_absent(ar_worker_key_in(ar_arena_fmt(&a, "ws_%.26s", key))));
	assert_true(ar_str_absent(ar_worker_key_in(ar_arena_fmt(&a, "wk_%.26s_1", key))));
	assert_true(ar_str_absent(ar_workspace_key_in(ar_arena_fmt(&a, "ws_%.26s", key))));
	ar_workspace_mint(AR_STR("acme"), AR_STR("k"), key);
	assert_true(ar_str_absent(ar_worker_key_in(ar_arena_fmt(&a, "wk_%.26s", key))));
	ar_arena_fini(&a);
}

static void test_callers_cannot_choose_reserved_keys(void **state AR_UNUSED)
{
	char key[AR_SESSION_KEY_LEN];

	ar_workspace_key(AR_STR("acme"), AR_STR("/srv/a"), key);
	assert_false(ar_tenant_may_name(AR_STR("acme"), session_key_of(key)));
	assert_false(ar_tenant_may_name(AR_STR("local"), session_key_of(key)));
	key[10] = 'm';
	assert_false(ar_tenant_may_name(AR_STR("local"), session_key_of(key)));
}

static void test_ids_of_workspaces(void **state AR_UNUSED)
{
	char id[3 + AR_SESSION_KEY_LEN] = "ws_";
	struct ar_str text = { id, sizeof(id) };

	ar_workspace_mint(AR_STR("acme"), AR_STR_NONE, id + 3);
	assert_true(ar_str_eq(ar_workspace_key_in(text), session_key_of(id + 3)));
	assert_true(ar_str_absent(ar_workspace_key_in(ar_str_sub(text, 0, text.len - 1))));
	assert_true(ar_str_absent(ar_workspace_key_in(AR_STR("default"))));
	assert_true(ar_str_absent(ar_workspace_key_in(AR_STR_NONE)));
	id[13] = 'm'; /* a worker */
	assert_true(ar_str_absent(ar_workspace_key_in(text)));
	ar_tenant_mint(AR_STR("local"), id + 3);
	assert_true(ar_str_absent(ar_workspace_key_in(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_homes_follow_from_the_name),
		cmocka_unit_test(test_minted_ids_say_whether_the_tenant_has_a_name),
		cmocka_unit_test(test_chosen_ids_are_of_one_tenant),
		cmocka_unit_test(test_a_workspace_is_not_a_home),
		cmocka_unit_test(test_the_same_folder_has_the_same_workspace),
		cmocka_unit_test(test_workspaces_are_among_themselves),
		cmocka_unit_test(test_workers_are_among_themselves),
		cmocka_unit_test(test_ids_of_workers_and_workspaces_are_not_mixed_up),
		cmocka_unit_test(test_callers_cannot_choose_reserved_keys),
		cmocka_unit_test(test_ids_of_workspaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
