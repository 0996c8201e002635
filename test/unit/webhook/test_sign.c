/* Signatures against the published examples of Standard Webhooks and GitHub; ids; pauses. */
#include "cmocka_unit.h"
#include "sign.h"

#include <string.h>

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define ID "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define TIME 1614265330
#define BODY "{\"test\": 2432232314}"
#define RIGHT "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

static int open_arena(void **state)
{
	static struct ar_arena a;

	*state = &a;
	return 0;
}

static int close_arena(void **state)
{
	ar_arena_fini(*state);
	return 0;
}

static struct ar_str key_of(void **state)
{
	struct ar_str key;

	assert_true(ar_webhook_key(AR_STR(SECRET), *state, &key));
	return key;
}

static void the_example_of_standard_webhooks(void **state)
{
	struct ar_str key = key_of(state);

	assert_string_equal(ar_webhook_signature(key, AR_STR(ID), TIME, AR_STR(BODY), *state).p, RIGHT);
	assert_true(ar_webhook_is_signed(key, AR_STR(ID), TIME, AR_STR(BODY), AR_STR(RIGHT)));
	assert_true(ar_webhook_is_signed(key, AR_STR(ID), TIME, AR_STR(BODY), AR_STR("v1,bad v1a,x " RIGHT)));
}

static void anything_else_is_not_signed(void **state)
{
	struct ar_str key = key_of(state);

	assert_false(ar_webhook_is_signed(key, AR_STR(ID), TIME + 1, AR_STR(BODY), AR_STR(RIGHT)));
	assert_false(ar_webhook_is_signed(key, AR_STR("msg_"), TIME, AR_STR(BODY), AR_STR(RIGHT)));
	assert_false(ar_webhook_is_signed(key, AR_STR(ID), TIME, AR_STR("{}"), AR_STR(RIGHT)));
	assert_false(ar_webhook_is_signed(AR_STR("another key, long enough"), AR_STR(ID), TIME, AR_STR(BODY),
					  AR_STR(RIGHT)));
	assert_false(ar_webhook_is_signed(key, AR_STR(ID), TIME, AR_STR(BODY), AR_STR("")));
	assert_false(ar_webhook_is_signed(key, AR_STR(ID), TIME, AR_STR(BODY), AR_STR("v1,")));
	assert_false(ar_webhook_is_signed(key, AR_STR(ID), TIME, AR_STR(BODY), AR_STR_NONE));
}

static void the_example_of_github(void **state AR_UNUSED)
{
	struct ar_str key = AR_STR("It's a Secret to Everybody"), body = AR_STR("Hello, World!");
	static const char right[] = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

	assert_true(ar_webhook_is_signed_hex(key, body, ar_str_from(right)));
	assert_false(ar_webhook_is_signed_hex(key, AR_STR("Hello, World"), ar_str_from(right)));
	assert_false(
		ar_webhook_is_signed_hex(key, body, ar_str_sub(ar_str_from(right), 7, sizeof(right) - 1)));
	assert_false(ar_webhook_is_signed_hex(key, body, AR_STR("sha256=")));
	assert_false(ar_webhook_is_signed_hex(key, body, AR_STR_NONE));
}

static void keys_are_long_enough(void **state)
{
	struct ar_str key;

	assert_true(ar_webhook_key(AR_STR("sixteen bytes ok"), *state, &key));
	assert_false(ar_webhook_key(AR_STR("fifteen bytes.."), *state, &key));
	assert_false(ar_webhook_key(AR_STR("whsec_c2hvcnQ="), *state, &key));
	assert_false(ar_webhook_key(AR_STR("whsec_not base64 at all!"), *state, &key));
	assert_false(ar_webhook_key(AR_STR(""), *state, &key));
}

static void an_event_has_one_id_per_webhook(void **state)
{
	struct ar_str one = ar_webhook_delivery_id(AR_STR("a"), AR_STR("evt_1"), *state);

	assert_string_equal(one.p, ar_webhook_delivery_id(AR_STR("a"), AR_STR("evt_1"), *state).p);
	assert_string_not_equal(one.p, ar_webhook_delivery_id(AR_STR("b"), AR_STR("evt_1"), *state).p);
	assert_string_not_equal(one.p, ar_webhook_delivery_id(AR_STR("a"), AR_STR("evt_2"), *state).p);
	assert_string_not_equal(ar_webhook_delivery_id(AR_STR("a\nb"), AR_STR("c"), *state).p,
				ar_webhook_delivery_id(AR_STR("a"), AR_STR("b\nc"), *state).p);
	assert_int_equal(one.len, 30);
}

static void pauses_double_to_an_hour_and_vary_by_a_quarter(void **state AR_UNUSED)
{
	assert_int_equal(ar_webhook_pause_ms(1000, 1, 0), 750);
	assert_int_equal(ar_webhook_pause_ms(1000, 1, 1023), 1250);
	assert_int_equal(ar_webhook_pause_ms(1000, 3, 0), 3000);
	assert_int_equal(ar_webhook_pause_ms(1000, 3, 1023), 5000);
	assert_int_equal(ar_webhook_pause_ms(1000, 100, 0), AR_WEBHOOK_PAUSE_MAX_MS / 4 * 3);
	assert_int_equal(ar_webhook_pause_ms(600000, 4000000000u, 1023), AR_WEBHOOK_PAUSE_MAX_MS / 4 * 5);
	assert_int_equal(ar_webhook_pause_ms(1, 1, UINT32_MAX), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_example_of_standard_webhooks, open_arena, close_arena),
		cmocka_unit_test_setup_teardown(anything_else_is_not_signed, open_arena, close_arena),
		cmocka_unit_test(the_example_of_github),
		cmocka_unit_test_setup_teardown(keys_are_long_enough, open_arena, close_arena),
		cmocka_unit_test_setup_teardown(an_event_has_one_id_per_webhook, open_arena, close_arena),
		cmocka_unit_test(pauses_double_to_an_hour_and_vary_by_a_quarter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
