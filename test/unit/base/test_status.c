/* ar_error: what it says, how it is cut and wrapped. */
#include "unit.h"
#include "status.h"

static void test_fail_and_refuse(void **state AR_UNUSED)
{
	struct ar_error err = { 0 };

	assert_int_equal(ar_refuse(&err, 42, "no %s", "way"), AR_E_REFUSED);
	assert_int_equal(err.status, AR_E_REFUSED);
	assert_int_equal(err.code, 42);
	assert_string_equal(err.msg, "no way");
	assert_int_equal(ar_fail(&err, AR_E_IO, "disk"), AR_E_IO);
	assert_int_equal(err.code, 0);
	assert_int_equal(ar_fail(NULL, AR_E_LIMIT, "x"), AR_E_LIMIT);
}

static void test_wrap_keeps_status_and_code(void **state AR_UNUSED)
{
	struct ar_error err = { 0 };

	ar_refuse(&err, 7, "closed");
	assert_int_equal(ar_fail_wrap(&err, "session"), AR_E_REFUSED);
	assert_int_equal(err.code, 7);
	assert_string_equal(err.msg, "session: closed");
}

static void test_long_message_is_cut_at_a_character(void **state AR_UNUSED)
{
	struct ar_error err = { 0 };
	char text[400] = "x";

	for (size_t i = 1; i + 3 < sizeof text; i += 3)
		memcpy(text + i, "\xE2\x82\xAC", 4);
	ar_fail(&err, AR_E_IO, "%s", text);
	assert_int_equal(strlen(err.msg), 235); /* 1 + 78 * 3; 237 bytes fit */
	assert_true(ar_str_is_utf8(ar_str_from(err.msg)));
}

static void test_every_status_has_a_name(void **state AR_UNUSED)
{
	for (int i = 0; i < AR_STATUS_COUNT; i++)
		assert_non_null(ar_status_name((enum ar_status)i));
	assert_string_equal(ar_status_name(AR_STATUS_COUNT), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fail_and_refuse),
		cmocka_unit_test(test_wrap_keeps_status_and_code),
		cmocka_unit_test(test_long_message_is_cut_at_a_character),
		cmocka_unit_test(test_every_status_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
