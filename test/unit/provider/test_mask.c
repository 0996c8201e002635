/* A key never shows, not even in part. */
#include "unit.h"

#include "buf.h"
#include "mask.h"

static void test_mask(void **state AR_UNUSED)
{
	struct ar_arena arena = { 0 };
	struct ar_buf text = { 0 };
	struct ar_str masked;

	assert_str(ar_mask(&arena, AR_STR("key sk-secret, sk-secret"), AR_STR("sk-secret")), "key ***, ***");
	assert_str(ar_mask(&arena, AR_STR("aaa"), AR_STR("a")), "aaa");
	assert_str(ar_mask(&arena, AR_STR("plain"), AR_STR_NONE), "plain");
	assert_true(ar_str_absent(ar_mask(&arena, AR_STR_NONE, AR_STR("sk-secret"))));
	/* A key that lies across the cut must not survive in part. */
	for (int i = 0; i < AR_MASK_EXCERPT - 4; i++)
		ar_buf_addc(&text, '.');
	ar_buf_addz(&text, "sk-secret and more");
	masked = ar_mask(&arena, ar_buf_str(&text), AR_STR("sk-secret"));
	assert_int_equal(masked.len, AR_MASK_EXCERPT);
	assert_true(ar_str_ends(masked, AR_STR("...*** ")));
	ar_buf_fini(&text);
	ar_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
