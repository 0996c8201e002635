/* Decoding: both spellings, wrong types, unknown members, and events that lack what we would require. */
#include "codec_fixture.h"

static enum ar_status decode_submit(struct fixture *f, const char *text, struct ar_cmd_submit_turn_in *ret,
				    struct ar_str *ret_extra)
{
	*ret = (struct ar_cmd_submit_turn_in){ 0 };
	f->err = (struct ar_error){ 0 };
	return ar_struct_decode(&ar_command_descs[AR_CMD_SUBMIT_TURN].in, parse(f, ar_str_from(text)),
				&f->arena, ret, ret_extra, &f->err);
}

static void test_snake_case_is_the_same(void **state)
{
	struct fixture *f = *state;
	struct ar_cmd_submit_turn_in in;
	struct ar_str extra;

	assert_int_equal(
		decode_submit(f, "{\"session_id\":\"s\",\"busy_policy\":\"queue\",\"idempotency_key\":\"k\"}",
			      &in, &extra),
		AR_OK);
	assert_text(in.session_id, "s");
	assert_text(in.idempotency_key, "k");
	assert_int_equal(in.busy_policy, AR_SUBMIT_TURN_BUSY_POLICY_QUEUE);
	assert_true(ar_str_absent(extra));
}

static void test_two_spellings_must_agree(void **state)
{
	struct fixture *f = *state;
	struct ar_cmd_submit_turn_in in;

	assert_int_equal(decode_submit(f, "{\"session_id\":\"s\",\"sessionId\":\"s\"}", &in, NULL), AR_OK);
	assert_int_equal(decode_submit(f, "{\"session_id\":\"s\",\"sessionId\":\"t\"}", &in, NULL),
			 AR_E_INVALID);
	assert_int_equal(f->err.code, AR_ERR_INVALID_INPUT);
	assert_non_null(strstr(f->err.msg, "'sessionId'"));
}

static void test_wrong_types_are_refused(void **state)
{
	static const struct {
		const char *text, *member;
	} cases[] = {
		{ "{\"sessionId\":1}", "'sessionId' must be a string" },
		{ "{\"sessionId\":null}", "'sessionId' must be a string" },
		{ "{\"input\":{}}", "'input' must be an array" },
		{ "{\"options\":[]}", "'options' must be an object" },
		{ "{\"options\":null}", "'options' must be an object" },
		{ "{\"busyPolicy\":\"wait\"}", "'busyPolicy' has no 'wait'; use one of: reject, queue" },
		{ "{\"busyPolicy\":1}", "'busyPolicy' must be one of" },
		{ "[]", "a JSON object is expected" },
	};
	struct fixture *f = *state;
	struct ar_cmd_submit_turn_in in;

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		assert_int_equal(decode_submit(f, cases[i].text, &in, NULL), AR_E_INVALID);
		if (!strstr(f->err.msg, cases[i].member))
			fail_msg("%s: %s", cases[i].text, f->err.msg);
	}
}

static void test_numbers_keep_their_kind(void **state)
{
	static const struct {
		const char *text;
		enum ar_status status;
		int64_t value;
	} cases[] = {
		{ "{\"position\":3}", AR_OK, 3 },
		{ "{\"position\":3.0}", AR_OK, 3 },
		{ "{\"position\":-4}", AR_OK, -4 },
		{ "{\"position\":3.5}", AR_E_INVALID, 0 },
		{ "{\"position\":\"3\"}", AR_E_INVALID, 0 },
		{ "{\"position\":true}", AR_E_INVALID, 0 },
		{ "{\"position\":1e300}", AR_E_INVALID, 0 },
		{ "{\"position\":9007199254740993}", AR_OK, 9007199254740993 },
	};
	const struct ar_struct_desc *d = &ar_command_descs[AR_CMD_PROMOTE_QUEUED_TURN].in;
	struct fixture *f = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_cmd_promote_queued_turn_in in = { 0 };
		struct ar_json v = parse(f, ar_str_from(cases[i].text));

		assert_int_equal(ar_struct_decode(d, v, &f->arena, &in, NULL, &f->err), cases[i].status);
		assert_int_equal(in.position.set, cases[i].status == AR_OK);
		if (in.position.set)
			assert_int_equal(in.position.v, cases[i].value);
	}
}

static void test_free_values_are_anything_but_null(void **state)
{
	const struct ar_struct_desc *d = &ar_command_descs[AR_CMD_REPORT_JOB_ITEM].in;
	struct fixture *f = *state;
	struct ar_cmd_report_job_item_in in = { 0 };

	assert_int_equal(ar_struct_decode(d, parse(f, AR_STR("{\"result\":[1,\"a\"]}")), &f->arena, &in, NULL,
					  &f->err),
			 AR_OK);
	assert_text(in.result, "[1,\"a\"]");
	assert_int_equal(ar_struct_decode(d, parse(f, AR_STR("{\"result\":false}")), &f->arena, &in, NULL,
					  &f->err),
			 AR_OK);
	assert_text(in.result, "false");
	assert_int_equal(ar_struct_decode(d, parse(f, AR_STR("{\"result\":null}")), &f->arena, &in, NULL,
					  &f->err),
			 AR_E_INVALID);
}

static void test_unknown_members_are_kept(void **state)
{
	struct fixture *f = *state;
	struct ar_cmd_submit_turn_in in;
	struct ar_str extra;

	assert_int_equal(decode_submit(f, "{\"a\\\"b\":{\"c\":[1, 2]},\"text\":\"t\",\"z\":null}", &in,
				       &extra),
			 AR_OK);
	assert_text(extra, "\"a\\\"b\":{\"c\":[1,2]},\"z\":null");
	assert_int_equal(decode_submit(f, "{\"zzz\":1}", &in, NULL), AR_OK);
}

static void test_text_outlives_the_document(void **state)
{
	struct fixture *f = *state;
	struct ar_cmd_submit_turn_in in;

	assert_int_equal(decode_submit(f,
				       "{\"text\":\"h\\u00e9 \\ud83c\\udf31\",\"metadata\":{ \"k\" : [ ] }}",
				       &in, NULL),
			 AR_OK);
	parse(f, AR_STR("{\"other\":\"document that takes its place\"}"));
	assert_text(in.text, "h\xc3\xa9 \xf0\x9f\x8c\xb1");
	assert_text(in.metadata, "{\"k\":[]}");
}

static void test_null_is_absent_where_allowed(void **state)
{
	const struct ar_struct_desc *d = &ar_event_descs[AR_EV_PERMISSION_EVALUATED].payload;
	struct ar_ev_permission_evaluated p = { 0 };
	struct fixture *f = *state;
	struct ar_json v =
		parse(f, AR_STR("{\"expiresAt\":null,\"updatedInputRef\":null,\"approvalActionId\":null}"));

	assert_int_equal(ar_struct_decode(d, v, &f->arena, &p, NULL, &f->err), AR_OK);
	assert_int_equal(p.expires_at, 0);
	assert_true(ar_str_absent(p.updated_input_ref));
}

static void test_foreign_event_is_read_as_far_as_it_goes(void **state)
{
	static const char text[] =
		"{\"type\":\"turn.submitted\",\"eventId\":\"e\",\"timestamp\":\"2026-05-11T12:00:00+02:00\","
		"\"session_id\":\"s\",\"threadId\":\"t\",\"sequence\":1,\"benchmark\":{\"trialId\":\"x\"},"
		"\"payload\":{\"status\":\"accepted\",\"note\":1}}";
	struct fixture *f = *state;
	const struct ar_ev_turn_submitted *p;
	struct ar_event e;

	assert_int_equal(ar_event_decode(parse(f, ar_str_from(text)), &f->arena, &e, &f->err), AR_OK);
	p = e.payload;
	assert_int_equal(p->status, AR_ADMISSION_ACCEPTED);
	assert_int_equal(e.time, INT64_C(1778493600000000));
	assert_text(e.session_id, "s");
	assert_text(e.ids[AR_SCOPE_THREAD], "t");
	assert_text(e.extra, "\"benchmark\":{\"trialId\":\"x\"}");
	assert_text(e.payload_extra, "\"note\":1");
	assert_int_equal(ar_event_validate(&e, &f->err), AR_E_INVALID);
}

static void test_bad_events_are_refused(void **state)
{
	static const char *const cases[] = {
		"{}",
		"{\"type\":7}",
		"{\"type\":\"turn.ended\"}",
		"{\"type\":\"x.vendor\"}",
		"{\"type\":\"turn.failed\",\"sequence\":-1}",
		"{\"type\":\"turn.failed\",\"sequence\":\"1\"}",
		"{\"type\":\"turn.failed\",\"timestamp\":\"yesterday\"}",
		"{\"type\":\"turn.failed\",\"threadId\":3}",
		"{\"type\":\"turn.failed\",\"threadId\":\"a\",\"thread_id\":\"b\"}",
		"{\"type\":\"turn.failed\",\"payload\":[]}",
		"{\"type\":\"turn.failed\",\"payload\":null}",
		"{\"type\":\"turn.failed\",\"payload\":{\"status\":\"completed\"}}",
	};
	struct fixture *f = *state;
	struct ar_event e = { .sequence = 5 };

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++)
		if (ar_event_decode(parse(f, ar_str_from(cases[i])), &f->arena, &e, &f->err) != AR_E_INVALID)
			fail_msg("accepted: %s", cases[i]);
	assert_int_equal(e.sequence, 5);
	assert_int_equal(ar_event_decode(parse(f, ar_str_from(cases[0])), &f->arena, &e, NULL), AR_E_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		codec_test(test_snake_case_is_the_same),
		codec_test(test_two_spellings_must_agree),
		codec_test(test_wrong_types_are_refused),
		codec_test(test_numbers_keep_their_kind),
		codec_test(test_free_values_are_anything_but_null),
		codec_test(test_unknown_members_are_kept),
		codec_test(test_text_outlives_the_document),
		codec_test(test_null_is_absent_where_allowed),
		codec_test(test_foreign_event_is_read_as_far_as_it_goes),
		codec_test(test_bad_events_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
