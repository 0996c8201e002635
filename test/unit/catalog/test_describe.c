/* Lookups in the catalogue. */
#include "cmocka_unit.h"
#include "describe.h"

#include <string.h>

static void test_every_event_is_found_by_name(void **state AR_UNUSED)
{
	for (int i = 1; i < AR_EV_COUNT; i++) {
		const struct ar_event_desc *d = ar_event_describe((enum ar_event_type)i);

		assert_int_equal(d->type, i);
		assert_ptr_equal(ar_event_find(ar_str_from(d->name)), d);
		assert_true(d->payload.count > 0 && d->payload.count <= 64);
	}
	assert_null(ar_event_find(AR_STR("turn.finished")));
	assert_null(ar_event_find(AR_STR("")));
	assert_null(ar_event_find(AR_STR("a")));
	assert_null(ar_event_find(AR_STR("zzz")));
	assert_null(ar_event_describe(AR_EV_NONE));
	assert_null(ar_event_describe(AR_EV_COUNT));
}

static void test_ids_are_those_of_the_standard(void **state AR_UNUSED)
{
	assert_int_equal(AR_EV_SESSION_CREATED, 1);
	assert_int_equal(AR_EV_QUEUE_CHANGED, 50);
	assert_int_equal(AR_EV_BENCHMARK_COMPARISON_COMPLETED, 126);
	assert_int_equal(AR_EV_ACCESS_REFUSED, 127); /* our own begin */
	assert_int_equal(AR_EV_COUNT, 172);
	assert_int_equal(AR_CMD_SUBMIT_TURN, 1);
	assert_int_equal(AR_CMD_FINISH_BENCHMARK_TRIAL, 63);
	assert_int_equal(AR_CMD_FORK_THREAD, 64); /* our own begin */
	assert_int_equal(AR_CMD_COUNT, 122);
}

static void test_frames_are_the_five_high_volume_types(void **state AR_UNUSED)
{
	int frames = 0;

	for (int i = 1; i < AR_EV_COUNT; i++)
		frames += ar_event_descs[i].frame;
	assert_int_equal(frames, 5);
	assert_true(ar_event_descs[AR_EV_MODEL_DELTA].frame);
	assert_true(ar_event_descs[AR_EV_REASONING_DELTA].frame);
	assert_true(ar_event_descs[AR_EV_TOOL_ARGS].frame);
	assert_true(ar_event_descs[AR_EV_TOOL_PROGRESS].frame);
	assert_true(ar_event_descs[AR_EV_PROCESS_OUTPUT].frame);
}

static void test_every_command_and_error_is_found_by_name(void **state AR_UNUSED)
{
	int built = 0;

	for (int i = 1; i < AR_CMD_COUNT; i++) {
		const struct ar_command_desc *d = ar_command_describe((enum ar_command)i);

		assert_int_equal(d->id, i);
		assert_ptr_equal(ar_command_find(ar_str_from(d->name)), d);
		built += d->built;
		assert_true(d->right != 0 && (d->right & (d->right - 1)) == 0);
		assert_true(d->write || strcmp(d->scope, "read") == 0 || strcmp(d->scope, "admin") == 0);
		for (size_t k = 0; k < d->error_count; k++)
			assert_non_null(ar_error_describe(d->errors[k]));
	}
	assert_int_equal(built, 116);
	for (int i = 1; i < AR_ERR_COUNT; i++)
		assert_int_equal(ar_error_find(ar_str_from(ar_error_descs[i].name)), i);
	assert_null(ar_command_find(AR_STR("submit_turns")));
	assert_null(ar_command_describe(AR_CMD_COUNT));
	assert_null(ar_error_describe(-1));
	assert_int_equal(ar_error_find(AR_STR("no_such_code")), AR_ERR_NONE);
}

static void test_fields_are_found_in_both_spellings(void **state AR_UNUSED)
{
	const struct ar_struct_desc *d = &ar_command_descs[AR_CMD_SUBMIT_TURN].in;

	assert_string_equal(ar_field_find(d, AR_STR("sessionId"))->name, "sessionId");
	assert_string_equal(ar_field_find(d, AR_STR("session_id"))->name, "sessionId");
	assert_null(ar_field_find(d, AR_STR("session_Id")));
	assert_null(ar_field_find(d, AR_STR("sessionid")));
	assert_null(ar_field_find(d, AR_STR("session_i")));
	assert_null(ar_field_find(d, AR_STR("session_")));
	assert_null(ar_field_find(d, AR_STR("sessionIds")));
	assert_null(ar_field_find(d, AR_STR("")));
	assert_true(ar_field_named("p0QcGateRegressionCount", AR_STR("p0_qc_gate_regression_count")));
}

static void test_enums_go_both_ways(void **state AR_UNUSED)
{
	const struct ar_enum_desc *d = &ar_thread_status_desc;

	assert_int_equal(ar_enum_find(d, AR_STR("idle")), AR_THREAD_STATUS_IDLE);
	assert_int_equal(ar_enum_find(d, AR_STR("unknown")), AR_THREAD_STATUS_UNKNOWN);
	assert_int_equal(ar_enum_find(d, AR_STR("busy")), 0);
	assert_string_equal(ar_enum_name(d, AR_THREAD_STATUS_BLOCKED), "blocked");
	assert_null(ar_enum_name(d, 0));
	assert_null(ar_enum_name(d, d->count));
	assert_null(ar_enum_name(d, -1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_event_is_found_by_name),
		cmocka_unit_test(test_ids_are_those_of_the_standard),
		cmocka_unit_test(test_frames_are_the_five_high_volume_types),
		cmocka_unit_test(test_every_command_and_error_is_found_by_name),
		cmocka_unit_test(test_fields_are_found_in_both_spellings),
		cmocka_unit_test(test_enums_go_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
