/* What is sealed opens with its key in its place, and not otherwise. */
#include "cmocka_unit.h"
#include "seal.h"

#include <string.h>

#define KEY "a key of more than sixteen bytes"
#define TEXT "{\"url\":\"https://x.example/hook\",\"token\":\"t\"}"

static void it_opens_in_its_place(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_str one = ar_webhook_seal(AR_STR(KEY), AR_STR("push:1"), AR_STR(TEXT), &a), got;
	struct ar_str two = ar_webhook_seal(AR_STR(KEY), AR_STR("push:1"), AR_STR(TEXT), &a);

	assert_false(ar_str_eq(one, two));
	assert_null(memmem(one.p, one.len, "example", 7));
	assert_true(ar_webhook_unseal(AR_STR(KEY), AR_STR("push:1"), one, &a, &got));
	assert_true(ar_str_is(got, TEXT));
	assert_true(ar_webhook_unseal(AR_STR(KEY), AR_STR("push:1"), two, &a, &got));
	ar_arena_fini(&a);
}

static void nothing_else_opens(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_str sealed = ar_webhook_seal(AR_STR(KEY), AR_STR("push:1"), AR_STR(TEXT), &a), got;
	char *bytes = (char *)ar_arena_str(&a, sealed).p;

	assert_false(ar_webhook_unseal(AR_STR("another key, also long enough"), AR_STR("push:1"), sealed, &a,
				       &got));
	assert_false(ar_webhook_unseal(AR_STR(KEY), AR_STR("push:2"), sealed, &a, &got));
	assert_false(ar_webhook_unseal(AR_STR(KEY), AR_STR("push:1"), AR_STR(""), &a, &got));
	assert_false(ar_webhook_unseal(AR_STR(KEY), AR_STR("push:1"), AR_STR("AAAA"), &a, &got));
	assert_false(ar_webhook_unseal(AR_STR(KEY), AR_STR("push:1"), AR_STR("%%%%"), &a, &got));
	bytes[sealed.len / 2] = bytes[sealed.len / 2] == 'A' ? 'B' : 'A';
	assert_false(ar_webhook_unseal(AR_STR(KEY), AR_STR("push:1"), (struct ar_str){ bytes, sealed.len },
				       &a, &got));
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_opens_in_its_place),
		cmocka_unit_test(nothing_else_opens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
