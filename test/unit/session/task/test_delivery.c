/* Deliveries of results: what stays in memory until it is delivered, reports that come twice, late or forged,
 * the end of their time, and how many there may be. */
#include "delivery/delivery.h"
#include "desk.h"
#include "task/task.h"

static const struct ar_shape_task_delivery to_ci = { .kind = AR_STR("webhook"), .target = AR_STR("ci") };
static const struct ar_shape_task_delivery to_file = { .kind = AR_STR("file"), .target = AR_STR("out.txt") };

static void begin(struct desk *d)
{
	static const struct ar_webhook_name names[] = { { AR_STR("local"), AR_STR("ci") },
							{ AR_STR("acme"), AR_STR("theirs") } };

	d->policy.webhooks = names;
	d->policy.webhook_count = AR_ARRAY_LEN(names);
	d->policy.delivery_ms = 5000;
	assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 }),
			 AR_OK);
}

/* Its worker says that it is complete: with a delivery that begins it, and again when that has ended. */
static void complete(struct desk *d, struct ar_str id)
{
	assert_int_equal(desk_command(d, AR_CMD_COMPLETE_TASK,
				      &(struct ar_cmd_complete_task_in){ .task_id = id }),
			 AR_OK);
}

/* A task whose work is done; the id lives in the session. */
static struct ar_str complete_one(struct desk *d, const struct ar_shape_task_delivery *to)
{
	const struct ar_shape_party worker = { .kind = AR_STR("worker") };
	struct ar_cmd_create_task_in in = { .session_id = d->session.id,
					    .objective = AR_STR("find it"),
					    .delivery = to };
	struct ar_str id;

	d->now += 1000;
	assert_int_equal(desk_command(d, AR_CMD_CREATE_TASK, &in), AR_OK);
	id = ((const struct ar_task *)d->session.declared.at[d->session.declared.count - 1])->id;
	assert_int_equal(desk_command(d, AR_CMD_START_TASK,
				      &(struct ar_cmd_start_task_in){ .task_id = id, .worker = &worker }),
			 AR_OK);
	complete(d, id);
	return id;
}

static const struct ar_shape_delivery_state *state_of(struct desk *d, struct ar_str id)
{
	return ar_session_declared(&d->session, id)->sheet->delivery;
}

static void expect_state(struct desk *d, struct ar_str id, const char *word)
{
	assert_string_equal(ar_arena_str(&d->arena, state_of(d, id)->state).p, word);
}

static enum ar_status report(struct desk *d, bool is_runtime, struct ar_cmd_report_delivery_in in)
{
	in.delivery_id = AR_STR("msg_1");
	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .is_runtime = is_runtime,
					     .account = AR_STR("runtime"),
					     .command = { .id = AR_CMD_REPORT_DELIVERY, .args = &in } });
}

static void reports_are_believed_once(void **state)
{
	struct desk *d = *state;
	struct ar_str id;
	struct ar_cmd_report_delivery_in in = { .state = AR_REPORT_DELIVERY_STATE_FAILED,
						.reason = AR_STR("the receiver answered with status 500") };

	begin(d);
	id = complete_one(d, &to_ci);
	desk_expect_payload(d, AR_EV_DELIVERY_REQUESTED, "\"webhook\":\"ci\",\"status\":\"completed\"");
	expect_state(d, id, "queued");
	in.to = id;
	in.sequence = state_of(d, id)->sequence.v + 1;
	desk_expect_refusal(d, report(d, true, in), AR_ERR_NOT_FOUND); /* of another delivery */
	in.sequence--;
	desk_expect_refusal(d, report(d, false, in), AR_ERR_NOT_AUTHORIZED);
	assert_int_equal(report(d, true, in), AR_OK);
	desk_expect(d, "task.progress task.resumed");
	assert_int_equal(report(d, true, in), AR_OK);
	desk_expect(d, ""); /* it came twice */
	expect_state(d, id, "failed");
	in.state = AR_REPORT_DELIVERY_STATE_DELIVERED;
	assert_int_equal(report(d, true, in), AR_OK); /* it was sent again */
	expect_state(d, id, "delivered");
	in.state = AR_REPORT_DELIVERY_STATE_FAILED;
	assert_int_equal(report(d, true, in), AR_OK);
	desk_expect(d, ""); /* what is there does not go away */
	expect_state(d, id, "delivered");
}

static void their_time_ends(void **state)
{
	struct desk *d = *state;
	struct ar_str id;
	ar_usec deadline;

	begin(d);
	id = complete_one(d, &to_ci);
	deadline = state_of(d, id)->deadline;
	assert_int_equal(deadline, d->now + 5000 * 1000);
	d->now = deadline - 1500 * 1000; /* a decision takes a second of the desk */
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = id }), AR_OK);
	desk_expect(d, "");
	d->now = deadline;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = id }), AR_OK);
	desk_expect_payload(d, AR_EV_TASK_PROGRESS, "\"state\":\"failed\"");
	complete(d, id);
	desk_expect_payload(d, AR_EV_TASK_COMPLETED, "\"reconciled\":false");
	assert_false(ar_session_is_active(&d->session));
}

/* Hundreds of tasks end meanwhile, and the state is stored and read: the open one is there, and no other. */
static void open_ones_stay(void **state)
{
	struct desk *d = *state;
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_buf text = { 0 };
	struct ar_session twin;
	struct ar_json v;
	struct ar_str id;

	begin(d);
	id = complete_one(d, &to_ci);
	for (int i = 0; i < 2 * AR_WINDOW_TASKS; i++)
		complete_one(d, NULL);
	assert_non_null(ar_session_declared(&d->session, id));
	ar_session_snapshot(&d->session, &text);
	assert_int_equal(ar_json_parse(json, ar_buf_str(&text), &v, &d->err), AR_OK);
	ar_session_init(&twin, d->session.session_key, d->json);
	assert_int_equal(ar_session_restore(&twin, v, &d->err), AR_OK);
	assert_int_equal(twin.deliveries.count, 1);
	assert_true(ar_session_is_active(&twin));
	ar_session_fini(&twin);
	assert_int_equal(report(d, true,
				(struct ar_cmd_report_delivery_in){
					.to = id,
					.sequence = state_of(d, id)->sequence.v,
					.state = AR_REPORT_DELIVERY_STATE_DELIVERED }),
			 AR_OK);
	complete(d, id);
	complete_one(d, NULL), complete_one(d, NULL);
	assert_null(ar_session_declared(&d->session, id));
	ar_buf_fini(&text);
	ar_json_parser_free(json);
}

static void there_are_not_too_many(void **state)
{
	struct desk *d = *state;
	struct ar_str id;

	begin(d);
	for (int i = 0; i < AR_DELIVERIES_MAX; i++)
		id = complete_one(d, &to_ci);
	expect_state(d, id, "queued");
	id = complete_one(d, &to_ci);
	expect_state(d, id, "failed");
	assert_int_equal(d->session.deliveries.count, AR_DELIVERIES_MAX);
	assert_int_equal(d->session.declared.count, AR_DELIVERIES_MAX + 1);
}

/* No tool can write it here: each attempt fails, three are made, and the pauses grow. */
static void a_file_is_tried_three_times(void **state)
{
	struct desk *d = *state;
	struct ar_str id;

	begin(d);
	id = complete_one(d, &to_file);
	assert_int_equal(desk_effects(d, AR_EFFECT_WAKE), 1);
	for (int64_t i = 1; i <= 3; i++) {
		expect_state(d, id, "queued");
		assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = id }), AR_OK);
		assert_int_equal(state_of(d, id)->attempts.v, i);
	}
	expect_state(d, id, "failed");
	assert_false(ar_str_empty(state_of(d, id)->reason));
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = id }), AR_OK);
	desk_expect(d, "");
}

/* A worker says that the result is on its way, and that it can wait; then the task fails. */
static void a_worker_does_not_speak_for_it(void **state)
{
	const struct ar_shape_party worker = { .kind = AR_STR("worker") };
	const struct ar_shape_delivery_state said = { .state = AR_STR("queued"), .deadline = INT64_MAX / 4 };
	const struct ar_shape_failure error = { .category = AR_STR("c"), .message = AR_STR("m") };
	struct desk *d = *state;
	struct ar_cmd_create_task_in in = { .objective = AR_STR("find it"), .delivery = &to_file };
	struct ar_str id;

	begin(d);
	in.session_id = d->session.id;
	assert_int_equal(desk_command(d, AR_CMD_CREATE_TASK, &in), AR_OK);
	id = ((const struct ar_task *)d->session.declared.at[0])->id;
	assert_int_equal(desk_command(d, AR_CMD_START_TASK,
				      &(struct ar_cmd_start_task_in){ .task_id = id, .worker = &worker }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_APPEND_TASK_PROGRESS,
				      &(struct ar_cmd_append_task_progress_in){ .task_id = id,
										.delivery_state = &said }),
			 AR_OK);
	assert_null(state_of(d, id));
	assert_int_equal(desk_command(d, AR_CMD_FAIL_TASK,
				      &(struct ar_cmd_fail_task_in){ .task_id = id, .error = &error }),
			 AR_OK);
	assert_int_equal(d->session.deliveries.count, 0);
	assert_false(ar_session_is_active(&d->session));
}

/* A delivery that was stored without a deadline ends, and until then nothing is decided again and again. */
static void old_ones_end(void **state)
{
	struct desk *d = *state;
	struct ar_shape_delivery_state old;
	struct ar_str id;

	begin(d);
	id = complete_one(d, &to_ci);
	old = *state_of(d, id);
	old.deadline = 0;
	assert_int_equal(report(d, true,
				(struct ar_cmd_report_delivery_in){
					.to = id,
					.sequence = old.sequence.v,
					.state = AR_REPORT_DELIVERY_STATE_DELIVERED }),
			 AR_OK);
	complete(d, id); /* which an older version was before its result was delivered */
	ar_session_declared(&d->session, id)->sheet->delivery = &old;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = id }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_WAKE), 1);
	for (size_t i = 0; i < d->decision.effect_count; i++) {
		if (d->decision.effects[i].kind == AR_EFFECT_WAKE)
			assert_true(d->decision.effects[i].wake.at > d->now);
	}
	d->now += 10 * 1000 * 1000;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = id }), AR_OK);
	expect_state(d, id, "failed");
}

static void only_places_that_can_be(void **state)
{
	struct desk *d = *state;
	static const char *const targets[][2] = {
		{ "webhook", "theirs" }, { "webhook", "nobody" }, { "file", "/x" },  { "file", "a/../b" },
		{ "file", ".." },	 { "file", "" },	  { "channel", "" }, { "mail", "x" },
	};

	begin(d);
	for (size_t i = 0; i < AR_ARRAY_LEN(targets); i++) {
		const struct ar_shape_task_delivery to = { .kind = ar_str_from(targets[i][0]),
							   .target = ar_str_from(targets[i][1]) };
		const struct ar_cmd_create_task_in in = { .session_id = d->session.id,
							  .objective = AR_STR("x"),
							  .delivery = &to };

		desk_expect_refusal(d, desk_command(d, AR_CMD_CREATE_TASK, &in), AR_ERR_INVALID_INPUT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reports_are_believed_once, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(their_time_ends, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(open_ones_stay, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(there_are_not_too_many, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_file_is_tried_three_times, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_worker_does_not_speak_for_it, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(old_ones_end, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(only_places_that_can_be, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
