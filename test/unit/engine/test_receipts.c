/* The receipts of this process: found by scope and key, oldest dropped first; and what a repeat is
 * answered. */
#include "cmocka_unit.h"
#include "engine_priv.h"

#include <stdio.h>

static struct ar_store_receipt receipt(const char *scope, const char *key, const char *input,
				       const char *reply)
{
	return (struct ar_store_receipt){ ar_str_from(scope), ar_str_from(key),
					  ar_hash_of(ar_str_from(input)), ar_str_from(reply) };
}

static void test_found_by_scope_and_key(void **state)
{
	struct ar_engine *e = ar_engine_new(&(struct ar_engine_options){ 0 });
	struct ar_store_receipt r = receipt("me/submit_turn", "turn:a", "x", "{1}");
	const struct ar_receipt_cache_entry *found;

	(void)state;
	assert_null(ar_receipts_find(e, &r));
	ar_receipts_keep(e, &r);
	found = ar_receipts_find(e, &r);
	assert_non_null(found);
	assert_string_equal(found->reply, "{1}");
	r.scope = AR_STR("you/submit_turn");
	assert_null(ar_receipts_find(e, &r));
	r = receipt("me/submit_turn", "turn:b", "x", "");
	assert_null(ar_receipts_find(e, &r));
	ar_engine_free(e);
}

static void test_oldest_leaves(void **state)
{
	struct ar_engine *e = ar_engine_new(&(struct ar_engine_options){ 0 });
	struct ar_store_receipt r;
	char key[32];

	(void)state;
	for (int i = 0; i <= AR_RECEIPT_CACHE; i++) {
		snprintf(key, sizeof(key), "turn:%d", i);
		r = receipt("me/submit_turn", key, "x", "{}");
		ar_receipts_keep(e, &r);
	}
	assert_non_null(ar_receipts_find(e, &r));
	r = receipt("me/submit_turn", "turn:0", "x", "{}");
	assert_null(ar_receipts_find(e, &r));
	r = receipt("me/submit_turn", "turn:1", "x", "{}");
	assert_non_null(ar_receipts_find(e, &r));
	ar_engine_free(e);
}

static int answers;

static void answered(struct ar_engine_request *r)
{
	(void)r;
	answers++;
}

static void test_repeat(void **state)
{
	struct ar_engine_request r = { .done = answered, .has_receipt = true };
	struct ar_hash same = ar_hash_of(AR_STR("x")), other = ar_hash_of(AR_STR("y"));

	(void)state;
	r.receipt = receipt("me/submit_turn", "turn:a", "x", "");
	ar_request_repeat(&r, &same, AR_STR("{1}"));
	assert_int_equal(r.status, AR_OK);
	assert_true(ar_str_is(r.reply, "{1}"));
	ar_request_repeat(&r, &other, AR_STR("{1}"));
	assert_int_equal(r.status, AR_E_REFUSED);
	assert_int_equal(r.err.code, AR_ERR_ID_CONFLICT);
	assert_int_equal(answers, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found_by_scope_and_key),
		cmocka_unit_test(test_oldest_leaves),
		cmocka_unit_test(test_repeat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
