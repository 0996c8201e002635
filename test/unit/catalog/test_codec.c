/* Encoding: the exact bytes of one event, and a round trip through every event and command of the
 * catalogue. */
#include "codec_fixture.h"

static void test_member_order_is_fixed(void **state)
{
	struct fixture *f = *state;
	struct ar_ev_turn_started payload = { .started_at = 1,
					      .input_snapshot_ref = AR_STR("blob://x"),
					      .run_id = AR_STR("run_1") };
	struct ar_event e = { .type = AR_EV_TURN_STARTED,
			      .sequence = 9,
			      .time = INT64_C(1778493600000001),
			      .event_id = AR_STR("evt_1"),
			      .runtime_id = AR_STR("rt"),
			      .session_id = AR_STR("sess_1"),
			      .payload = &payload,
			      .payload_extra = AR_STR("\"x\":1"),
			      .extra = AR_STR("\"refs\":{}") };

	e.ids[AR_SCOPE_TRACE] = AR_STR("tr");
	e.ids[AR_SCOPE_THREAD] = AR_STR("thread_1");
	e.ids[AR_SCOPE_TURN] = AR_STR("turn_1");
	assert_text(encoded_event(f, &e),
		    "{\"type\":\"turn.started\",\"eventId\":\"evt_1\",\"timestamp\":\"2026-05-11T10:00:00."
		    "000001Z\","
		    "\"schemaVersion\":\"lime-profile-0.4.0\",\"runtimeId\":\"rt\",\"sessionId\":\"sess_1\","
		    "\"threadId\":\"thread_1\",\"turnId\":\"turn_1\",\"traceId\":\"tr\",\"sequence\":9,"
		    "\"payload\":{"
		    "\"startedAt\":\"1970-01-01T00:00:00.000001Z\",\"inputSnapshotRef\":\"blob://x\","
		    "\"executionEnvironmentRef\":null,\"runId\":\"run_1\",\"x\":1},\"refs\":{}}");
}

static void test_absent_members_are_left_out(void **state)
{
	struct fixture *f = *state;
	struct ar_cmd_interrupt_turn_in in = { .session_id = AR_STR(""),
					       .queue_policy = AR_INTERRUPT_TURN_QUEUE_POLICY_CLEAR,
					       .all = AR_OPT_BOOL(false) };

	assert_text(encoded(f, &ar_command_descs[AR_CMD_INTERRUPT_TURN].in, &in, AR_STR_NONE),
		    "{\"sessionId\":\"\",\"queuePolicy\":\"clear\",\"all\":false}");
}

static void round_trip_event(struct fixture *f, enum ar_event_type type, bool full)
{
	struct ar_event e = ar_sample_event(type, full, &f->arena), back;
	struct ar_str first = encoded_event(f, &e);

	if (ar_event_validate(&e, &f->err))
		fail_msg("sample of %s: %s", ar_event_descs[type].name, f->err.msg);
	if (ar_event_decode(parse(f, first), &f->arena, &back, &f->err))
		fail_msg("%.*s: %s", AR_STR_ARG(first), f->err.msg);
	assert_int_equal(ar_event_validate(&back, &f->err), AR_OK);
	assert_int_equal(back.type, type);
	assert_int_equal(back.sequence, e.sequence);
	assert_int_equal(back.time, e.time);
	assert_str_is(back.extra, e.extra);
	assert_str_is(back.payload_extra, e.payload_extra);
	for (int i = 0; i < AR_SCOPE_COUNT; i++)
		assert_str_is(back.ids[i], e.ids[i]);
	assert_str_is(encoded_event(f, &back), first);
}

static void test_every_event_survives_a_round_trip(void **state)
{
	for (int type = 1; type < AR_EV_COUNT; type++) {
		round_trip_event(*state, (enum ar_event_type)type, true);
		round_trip_event(*state, (enum ar_event_type)type, false);
	}
}

static void round_trip_struct(struct fixture *f, const struct ar_struct_desc *d, bool full)
{
	void *s = ar_arena_alloc(&f->arena, d->size), *back = ar_arena_alloc(&f->arena, d->size);
	struct ar_str first, extra = AR_STR_NONE;

	ar_sample_struct(d, full, &f->arena, s);
	first = encoded(f, d, s, AR_STR_NONE);
	if (ar_struct_validate(d, s, &f->err) ||
	    ar_struct_decode(d, parse(f, first), &f->arena, back, &extra, &f->err))
		fail_msg("%.*s: %s", AR_STR_ARG(first), f->err.msg);
	assert_true(ar_str_absent(extra));
	assert_str_is(encoded(f, d, back, AR_STR_NONE), first);
}

static void test_every_command_survives_a_round_trip(void **state)
{
	for (int i = 1; i < AR_CMD_COUNT; i++) {
		round_trip_struct(*state, &ar_command_descs[i].in, true);
		round_trip_struct(*state, &ar_command_descs[i].in, false);
		round_trip_struct(*state, &ar_command_descs[i].out, true);
		round_trip_struct(*state, &ar_command_descs[i].out, false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		codec_test(test_member_order_is_fixed),
		codec_test(test_absent_members_are_left_out),
		codec_test(test_every_event_survives_a_round_trip),
		codec_test(test_every_command_survives_a_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
