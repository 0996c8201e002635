/* Validation: take a valid sample, spoil one thing, see it named. */
#include "codec_fixture.h"

static void expect_fault(struct fixture *f, const struct ar_event *e, const char *message)
{
	f->err = (struct ar_error){ 0 };
	assert_int_equal(ar_event_validate(e, &f->err), AR_E_INVALID);
	assert_int_equal(f->err.code, AR_ERR_INVALID_INPUT);
	if (!strstr(f->err.msg, message))
		fail_msg("got '%s', want '%s'", f->err.msg, message);
	assert_int_equal(ar_event_validate(e, NULL), AR_E_INVALID);
}

static void test_every_required_scope_id_is_missed(void **state)
{
	struct fixture *f = *state;

	for (int type = 1; type < AR_EV_COUNT; type++) {
		struct ar_event e = ar_sample_event((enum ar_event_type)type, false, &f->arena);
		const struct ar_event_desc *d = &ar_event_descs[type];

		for (int i = 0; i < AR_SCOPE_COUNT; i++) {
			struct ar_str kept = e.ids[i];

			if (!((d->scope_required | d->scope_any) >> i & 1) || ar_str_absent(kept))
				continue;
			e.ids[i] = AR_STR_NONE;
			expect_fault(f, &e,
				     d->scope_required >> i & 1 ? ar_scope_names[i] : "it has no scope id");
			e.ids[i] = kept;
		}
		assert_int_equal(ar_event_validate(&e, &f->err), AR_OK);
	}
}

/* Text, enum and time members have an absent value; numbers and flags have none. */
static bool can_be_missing(const struct ar_field_desc *f)
{
	return f->required && !f->nullable && f->kind != AR_F_INT && f->kind != AR_F_NUM &&
	       f->kind != AR_F_BOOL;
}

static void test_every_required_member_is_missed(void **state)
{
	struct fixture *f = *state;

	for (int type = 1; type < AR_EV_COUNT; type++) {
		const struct ar_struct_desc *d = &ar_event_descs[type].payload;

		for (size_t i = 0; i < d->count; i++) {
			struct ar_event e = ar_sample_event((enum ar_event_type)type, false, &f->arena);
			const struct ar_field_desc *field = &d->fields[i];
			void *at = (char *)(uintptr_t)e.payload + field->offset;

			if (!can_be_missing(field))
				continue;
			memset(at, 0, field->kind == AR_F_ENUM ? sizeof(int) : sizeof(ar_usec));
			expect_fault(f, &e, field->name);
		}
	}
}

static void test_stricter_scope_of_our_own(void **state AR_UNUSED)
{
	static const struct {
		enum ar_event_type type;
		enum ar_scope scope;
	} cases[] = {
		{ AR_EV_PROCESS_OUTPUT, AR_SCOPE_PROCESS },
		{ AR_EV_OUTPUT_EXPIRED, AR_SCOPE_OUTPUT },
		{ AR_EV_JOB_STARTED, AR_SCOPE_JOB },
		{ AR_EV_JOB_ITEM_FAILED, AR_SCOPE_JOB_ITEM },
		{ AR_EV_CHANNEL_RESUMED, AR_SCOPE_CHANNEL },
		{ AR_EV_QUEUE_CHANGED, AR_SCOPE_THREAD },
		{ AR_EV_HISTORY_RECONSTRUCTED, AR_SCOPE_THREAD },
		{ AR_EV_CONTEXT_RESOLVED, AR_SCOPE_THREAD },
		{ AR_EV_MODEL_DELTA, AR_SCOPE_MODEL_REQUEST },
		{ AR_EV_MODEL_FAILED, AR_SCOPE_MODEL_REQUEST },
		{ AR_EV_COST_RECORDED, AR_SCOPE_MODEL_REQUEST },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++)
		assert_true(ar_event_descs[cases[i].type].scope_required >> cases[i].scope & 1);
}

static void test_envelope_ids_are_required(void **state)
{
	struct fixture *f = *state;
	struct ar_event good = ar_sample_event(AR_EV_RUN_STATUS, false, &f->arena), e = good;
	struct ar_str long_id = ar_arena_fmt(&f->arena, "%0129d", 0);

	e.event_id = AR_STR("");
	expect_fault(f, &e, "run.status: 'eventId' is required");
	e = good, e.session_id = AR_STR_NONE;
	expect_fault(f, &e, "'sessionId'");
	e = good, e.runtime_id = long_id;
	expect_fault(f, &e, "'runtimeId' has 129 bytes");
	e = good, e.time = 0;
	expect_fault(f, &e, "'timestamp'");
	e = good, e.ids[AR_SCOPE_TURN] = AR_STR("");
	expect_fault(f, &e, "'turnId'");
	e = good, e.payload = NULL;
	expect_fault(f, &e, "payload");
}

static void test_values_stay_in_range(void **state)
{
	struct fixture *f = *state;
	struct ar_ev_routing_not_possible *none;
	struct ar_ev_runtime_error *fatal;
	struct ar_ev_model_failed *failed;
	struct ar_ev_quota_low *quota;
	struct ar_event e;

	e = ar_sample_event(AR_EV_ROUTING_NOT_POSSIBLE, true, &f->arena);
	none = (void *)(uintptr_t)e.payload;
	none->candidate_count = 1;
	expect_fault(f, &e, "'candidateCount' can only be 0");
	e = ar_sample_event(AR_EV_RUNTIME_ERROR, true, &f->arena);
	fatal = (void *)(uintptr_t)e.payload;
	fatal->fatal = false;
	expect_fault(f, &e, "'fatal' can only be 1");
	e = ar_sample_event(AR_EV_MODEL_FAILED, true, &f->arena);
	failed = (void *)(uintptr_t)e.payload;
	failed->status.v = 1000;
	expect_fault(f, &e, "'status' may be at most 999");
	failed->status.v = 500;
	failed->attempt = -1;
	expect_fault(f, &e, "'attempt' may not be negative");
	failed->attempt = 1;
	failed->outcome = 99;
	expect_fault(f, &e, "'outcome' has no value 99");
	e = ar_sample_event(AR_EV_QUOTA_LOW, true, &f->arena);
	quota = (void *)(uintptr_t)e.payload;
	quota->remaining = 1.0 / 0.0;
	expect_fault(f, &e, "'remaining' is not a finite");
}

static void test_text_has_a_cap(void **state)
{
	struct fixture *f = *state;
	struct ar_event e = ar_sample_event(AR_EV_TURN_SUBMITTED, true, &f->arena);
	struct ar_ev_turn_submitted *p = (void *)(uintptr_t)e.payload;

	p->input_preview = ar_arena_fmt(&f->arena, "%0256d", 0);
	assert_int_equal(ar_event_validate(&e, &f->err), AR_OK);
	p->input_preview = ar_arena_fmt(&f->arena, "%0257d", 0);
	expect_fault(f, &e, "'inputPreview' has 257 bytes and may have at most 256");
	p->input_preview = AR_STR("");
	assert_int_equal(ar_event_validate(&e, &f->err), AR_OK);
	p->input_ref = AR_STR("");
	expect_fault(f, &e, "'inputRef' may not be empty");
}

static void test_one_of_several_is_enough(void **state)
{
	const struct ar_struct_desc *d = &ar_command_descs[AR_CMD_SUBMIT_TURN].in;
	struct fixture *f = *state;
	struct ar_cmd_submit_turn_in in = { .text = AR_STR("hi") };

	assert_int_equal(ar_struct_validate(d, &in, &f->err), AR_E_INVALID);
	assert_non_null(strstr(f->err.msg, "'sessionId'"));
	in.create_policy = &(struct ar_shape_create_policy){ 0 };
	assert_int_equal(ar_struct_validate(d, &in, &f->err), AR_OK);
	in.text = AR_STR_NONE;
	assert_int_equal(ar_struct_validate(d, &in, &f->err), AR_E_INVALID);
	assert_non_null(strstr(f->err.msg, "'text'"));
	in.input = AR_STR("[]");
	assert_int_equal(ar_struct_validate(d, &in, &f->err), AR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		codec_test(test_every_required_scope_id_is_missed),
		codec_test(test_every_required_member_is_missed),
		codec_test(test_stricter_scope_of_our_own),
		codec_test(test_envelope_ids_are_required),
		codec_test(test_values_stay_in_range),
		codec_test(test_text_has_a_cap),
		codec_test(test_one_of_several_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
