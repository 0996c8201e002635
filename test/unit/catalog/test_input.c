/* The strict way for inputs of commands: mistyped names and missing numbers are refused. */
#include "codec_fixture.h"

static enum ar_status decode(struct fixture *f, enum ar_command command, const char *text)
{
	const struct ar_command_desc *c = ar_command_describe(command);

	f->err = (struct ar_error){ 0 };
	return ar_input_decode(c, parse(f, ar_str_from(text)), &f->arena,
			       ar_arena_alloc(&f->arena, c->in.size), &f->err);
}

static void test_good_input_passes(void **state)
{
	assert_int_equal(decode(*state, AR_CMD_SUBMIT_TURN, "{\"sessionId\":\"s\",\"text\":\"hi\"}"), AR_OK);
	assert_int_equal(decode(*state, AR_CMD_SUBMIT_TURN, "{\"create_policy\":{},\"input\":[{}]}"), AR_OK);
	assert_int_equal(decode(*state, AR_CMD_LIST_SESSIONS, "{}"), AR_OK);
}

static void test_unknown_member_is_named(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(decode(f, AR_CMD_SUBMIT_TURN,
				"{\"sessionId\":\"s\",\"text\":\"hi\",\"idempotencyKye\":\"k\"}"),
			 AR_E_INVALID);
	assert_string_equal(f->err.msg, "submit_turn has no input called 'idempotencyKye'");
	assert_int_equal(f->err.code, AR_ERR_INVALID_INPUT);
}

static void test_required_numbers_cannot_be_left_out(void **state)
{
	struct fixture *f = *state;
	const char *without = "{\"trialId\":\"t\",\"rewardRef\":\"r\",\"verifierStatus\":\"ok\"}";
	const char *with = "{\"trialId\":\"t\",\"reward\":0,\"reward_ref\":\"r\",\"verifierStatus\":\"ok\"}";

	assert_int_equal(decode(f, AR_CMD_RECORD_BENCHMARK_REWARD, without), AR_E_INVALID);
	assert_string_equal(f->err.msg, "'reward' is required");
	assert_int_equal(decode(f, AR_CMD_RECORD_BENCHMARK_REWARD, with), AR_OK);
}

static void test_missing_and_oversized_members_are_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(decode(f, AR_CMD_INTERRUPT_TURN, "{\"sessionId\":\"s\"}"), AR_E_INVALID);
	assert_string_equal(f->err.msg, "'reason' is required");
	assert_int_equal(decode(f, AR_CMD_GET_SESSION, "{\"sessionId\":\"s\",\"limit\":1001}"), AR_E_INVALID);
	assert_int_equal(decode(f, AR_CMD_GET_SESSION, "{\"sessionId\":\"s\",\"limit\":-1}"), AR_E_INVALID);
	assert_int_equal(decode(f, AR_CMD_GET_SESSION, "{\"sessionId\":\"\"}"), AR_E_INVALID);
	assert_int_equal(decode(f, AR_CMD_GET_SESSION, "{\"sessionId\":[]}"), AR_E_INVALID);
}

/* What is kept of it stands in facts and snapshots, which are documents too. */
static void test_what_nests_too_deep_is_refused(void **state)
{
	struct fixture *f = *state;

	for (int levels = 40; levels <= 64; levels++) {
		ar_buf_clear(&f->out);
		ar_buf_addz(&f->out, "{\"metadata\":");
		for (int i = 1; i < levels; i++)
			ar_buf_addz(&f->out, "{\"a\":");
		ar_buf_addc(&f->out, '1');
		for (int i = 0; i < levels; i++)
			ar_buf_addc(&f->out, '}');
		ar_buf_addc(&f->out, 0);
		assert_int_equal(decode(f, AR_CMD_CREATE_SESSION, f->out.p),
				 levels <= 48 ? AR_OK : AR_E_INVALID);
	}
	assert_string_equal(f->err.msg, "the input nests deeper than 48 levels");
	assert_int_equal(f->err.code, AR_ERR_INVALID_INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		codec_test(test_good_input_passes),
		codec_test(test_unknown_member_is_named),
		codec_test(test_required_numbers_cannot_be_left_out),
		codec_test(test_missing_and_oversized_members_are_refused),
		codec_test(test_what_nests_too_deep_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
