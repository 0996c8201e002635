/* Webhooks in a home session: positions only move on, what is given up is kept and sent again on request. */
#include "desk.h"
#include "webhook/webhook.h"

#include <stdio.h>

static enum ar_status report_as(struct desk *d, bool is_runtime, const struct ar_cmd_report_webhook_in *in)
{
	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .is_runtime = is_runtime,
					     .account = AR_STR("runtime"),
					     .command = { .id = AR_CMD_REPORT_WEBHOOK, .args = in } });
}

static enum ar_status report_cursor(struct desk *d, const char *cursor)
{
	return report_as(d, true,
			 &(struct ar_cmd_report_webhook_in){ .name = AR_STR("hook"),
							     .cursor = ar_str_from(cursor) });
}

static const char *cursor_of(struct desk *d)
{
	const struct ar_webhook *w = ar_session_webhook(&d->session, AR_STR("hook"));

	assert_non_null(w);
	return ar_arena_str(&d->arena, w->cursor).p;
}

static struct ar_shape_webhook_failure failure(const char *delivery)
{
	return (struct ar_shape_webhook_failure){ .delivery_id = ar_str_from(delivery),
						  .event_id = AR_STR("evt_1"),
						  .event_type = AR_STR("turn.completed"),
						  .session_id = AR_STR("sess_1"),
						  .sequence = 7,
						  .attempts = 3,
						  .reason = AR_STR("the receiver answered with status 500") };
}

static enum ar_status report_failure(struct desk *d, const char *delivery)
{
	const struct ar_shape_webhook_failure f = failure(delivery);

	return report_as(d, true,
			 &(struct ar_cmd_report_webhook_in){ .name = AR_STR("hook"), .failures = { &f, 1 } });
}

static enum ar_status redeliver(struct desk *d, const char *delivery)
{
	const struct ar_cmd_redeliver_webhook_in in = { .name = AR_STR("hook"),
							.delivery_id = ar_str_from(delivery) };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .account = AR_STR("local"),
					     .command = { .id = AR_CMD_REDELIVER_WEBHOOK, .args = &in } });
}

static void a_position_only_moves_on(void **state)
{
	struct desk *d = *state;

	assert_int_equal(report_cursor(d, ""), AR_OK);
	desk_expect(d, "session.created thread.started webhook.progressed");
	assert_string_equal(cursor_of(d), "");
	assert_int_equal(report_cursor(d, "t1:5,2:9"), AR_OK);
	desk_expect(d, "webhook.progressed");
	assert_int_equal(report_cursor(d, "t1:5,2:9"), AR_OK);
	desk_expect(d, "");
	assert_int_equal(report_cursor(d, "t1:4,2:9"), AR_OK);
	desk_expect(d, "");
	assert_int_equal(report_cursor(d, "t1:6"), AR_OK); /* of a node that has not seen the other lane */
	desk_expect(d, "");
	assert_string_equal(cursor_of(d), "t1:5,2:9");
	assert_int_equal(report_cursor(d, "t1:5.3,2:10"), AR_OK);
	desk_expect_refusal(d, report_cursor(d, "nonsense"), AR_ERR_INVALID_CURSOR);
}

static void callers_report_nothing(void **state)
{
	struct desk *d = *state;
	const struct ar_cmd_report_webhook_in in = { .name = AR_STR("hook"), .cursor = AR_STR("t1:5") };

	desk_expect_refusal(d, report_as(d, false, &in), AR_ERR_NOT_AUTHORIZED);
	assert_int_equal(d->session.head, 0);
}

static void a_failure_is_a_fact_once(void **state)
{
	struct desk *d = *state;
	const struct ar_webhook *w;

	assert_int_equal(report_failure(d, "msg_1"), AR_OK);
	desk_expect(d, "session.created thread.started webhook.failed");
	desk_expect_payload(d, AR_EV_WEBHOOK_FAILED, "\"deliveryId\":\"msg_1\"");
	assert_int_equal(report_failure(d, "msg_1"), AR_OK); /* the report came twice */
	desk_expect(d, "");
	w = ar_session_webhook(&d->session, AR_STR("hook"));
	assert_int_equal(w->failure_count, 1);
	assert_int_equal(w->failures.count, 1);
	assert_int_equal(ar_webhook_failure(w, AR_STR("msg_1"))->sequence, 7);
}

static void it_is_sent_again_once_and_fails_again_or_is_gone(void **state)
{
	struct desk *d = *state;
	const struct ar_str id = AR_STR("msg_1");
	const struct ar_cmd_report_webhook_in sent = { .name = AR_STR("hook"), .redelivered = { &id, 1 } };
	const struct ar_webhook *w;

	assert_int_equal(report_failure(d, "msg_1"), AR_OK);
	desk_expect_refusal(d, redeliver(d, "msg_2"), AR_ERR_NOT_FOUND);
	assert_int_equal(redeliver(d, "msg_1"), AR_OK);
	desk_expect(d, "webhook.redelivering");
	desk_expect_payload(d, AR_EV_WEBHOOK_REDELIVERING, "\"actor\":\"local\"");
	assert_int_equal(redeliver(d, "msg_1"), AR_OK);
	desk_expect(d, "");
	w = ar_session_webhook(&d->session, AR_STR("hook"));
	assert_true(ar_webhook_failure(w, id)->redelivering.v);

	assert_int_equal(report_failure(d, "msg_1"), AR_OK);
	desk_expect(d, "webhook.failed");
	assert_false(ar_webhook_failure(w, id)->redelivering.v);
	assert_int_equal(w->failure_count, 1);

	assert_int_equal(redeliver(d, "msg_1"), AR_OK);
	assert_int_equal(report_as(d, true, &sent), AR_OK);
	desk_expect(d, "webhook.redelivered");
	assert_int_equal(w->failures.count, 0);
	assert_int_equal(report_as(d, true, &sent), AR_OK);
	desk_expect(d, "");
	desk_expect_refusal(d, redeliver(d, "msg_1"), AR_ERR_NOT_FOUND);
}

static void the_newest_failures_are_kept(void **state)
{
	struct desk *d = *state;
	const struct ar_webhook *w;
	char id[32];

	for (int i = 0; i <= AR_WEBHOOK_FAILURES_MAX; i++) {
		snprintf(id, sizeof id, "msg_%d", i);
		assert_int_equal(report_failure(d, id), AR_OK);
	}
	w = ar_session_webhook(&d->session, AR_STR("hook"));
	assert_int_equal(w->failures.count, AR_WEBHOOK_FAILURES_MAX);
	assert_int_equal(w->failure_count, AR_WEBHOOK_FAILURES_MAX + 1);
	assert_null(ar_webhook_failure(w, AR_STR("msg_0")));
	assert_non_null(ar_webhook_failure(w, AR_STR("msg_1")));
}

static void a_snapshot_has_them(void **state)
{
	struct desk *d = *state;
	struct ar_session copy;
	struct ar_buf text = { 0 };
	const struct ar_webhook *w;
	struct ar_json v;

	assert_int_equal(report_cursor(d, "t1:5"), AR_OK);
	assert_int_equal(report_failure(d, "msg_1"), AR_OK);
	assert_int_equal(redeliver(d, "msg_1"), AR_OK);
	ar_session_snapshot(&d->session, &text);
	ar_session_init(&copy, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&copy, v, &d->err), AR_OK);
	w = ar_session_webhook(&copy, AR_STR("hook"));
	assert_non_null(w);
	assert_true(ar_str_is(w->cursor, "t1:5"));
	assert_int_equal(w->failure_count, 1);
	assert_true(ar_webhook_failure(w, AR_STR("msg_1"))->redelivering.v);
	ar_session_fini(&copy);
	ar_buf_fini(&text);
}

/* ---- push configurations ---- */

#define TASK "task_0000000000e000000000000000_1"

static enum ar_status set_push_as(struct desk *d, bool is_runtime, const char *task, const char *config,
				  const char *sealed)
{
	const struct ar_cmd_set_task_push_in in = { .task_id = ar_str_from(task),
						    .config_id = ar_str_from(config),
						    .url = AR_STR("https://hooks.example.com/secret"),
						    .token = AR_STR("secret"),
						    .version = AR_STR("1.0"),
						    .begin = 7 };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .is_runtime = is_runtime,
					     .account = AR_STR("token:1"),
					     .command = { .id = AR_CMD_SET_TASK_PUSH,
							  .args = &in,
							  .sealed = ar_str_from(sealed),
							  .address = AR_STR("https://hooks.example.com") } });
}

static enum ar_status set_push(struct desk *d, const char *config, const char *sealed)
{
	return set_push_as(d, true, TASK, config, sealed);
}

static enum ar_status remove_push(struct desk *d, const char *config)
{
	const struct ar_cmd_remove_task_push_in in = { .task_id = AR_STR(TASK),
						       .config_id = ar_str_from(config) };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .is_runtime = true,
					     .account = AR_STR("token:1"),
					     .command = { .id = AR_CMD_REMOVE_TASK_PUSH, .args = &in } });
}

static const struct ar_webhook *push_of(struct desk *d, const char *config)
{
	return ar_session_push(&d->session, AR_STR(TASK), ar_str_from(config));
}

static enum ar_status report_push(struct desk *d, struct ar_str name, const char *cursor, bool is_over)
{
	char room[64];

	snprintf(room, sizeof room, "%.*s", AR_STR_ARG(name)); /* what is decided may move the state */
	return report_as(d, true,
			 &(struct ar_cmd_report_webhook_in){ .name = ar_str_from(room),
							     .cursor = ar_str_from(cursor),
							     .is_over = { is_over, is_over } });
}

static void a_push_is_a_webhook_without_its_secrets(void **state)
{
	struct desk *d = *state;

	desk_expect_refusal(d, set_push_as(d, false, TASK, "a", "sealed-1"), AR_ERR_NOT_AUTHORIZED);
	assert_int_equal(set_push(d, "a", "sealed-1"), AR_OK);
	desk_expect(d, "session.created thread.started webhook.added");
	desk_expect_payload(d, AR_EV_WEBHOOK_ADDED, "\"sealed\":\"sealed-1\"");
	desk_expect_payload(d, AR_EV_WEBHOOK_ADDED, "\"address\":\"https://hooks.example.com\"");
	assert_int_equal(push_of(d, "a")->push->begin, 7);
	assert_null(push_of(d, "b"));
	desk_expect_refusal(d, remove_push(d, "b"), AR_ERR_NOT_FOUND);
	assert_int_equal(remove_push(d, "a"), AR_OK);
	desk_expect(d, "webhook.removed");
	assert_null(push_of(d, "a"));
}

static void its_position_is_a_sequence_and_the_end_is_one(void **state)
{
	struct desk *d = *state;

	assert_int_equal(set_push(d, "a", "sealed-1"), AR_OK);
	assert_int_equal(report_push(d, push_of(d, "a")->name, "12", false), AR_OK);
	desk_expect(d, "webhook.progressed");
	assert_int_equal(report_push(d, push_of(d, "a")->name, "9", false), AR_OK);
	desk_expect(d, "");
	desk_expect_refusal(d, report_push(d, push_of(d, "a")->name, "t1:5", false), AR_ERR_INVALID_CURSOR);
	assert_int_equal(report_push(d, push_of(d, "a")->name, "12", true), AR_OK);
	desk_expect(d, "webhook.progressed");
	assert_true(ar_webhook_is_over(push_of(d, "a")));
	assert_true(ar_str_is(push_of(d, "a")->cursor, "12"));
	assert_int_equal(report_push(d, push_of(d, "a")->name, "12", true), AR_OK);
	desk_expect(d, "");
}

/* Callers have many of them, and choose where they go: what they leave behind is little. */
static void few_failures_of_a_push_are_kept(void **state)
{
	struct desk *d = *state;
	char delivery[16], name[64];

	assert_int_equal(set_push(d, "a", "sealed-1"), AR_OK);
	snprintf(name, sizeof name, "%.*s", AR_STR_ARG(push_of(d, "a")->name));
	for (int i = 0; i < 2 * AR_WEBHOOK_PUSH_FAILURES_MAX; i++) {
		struct ar_shape_webhook_failure f;

		snprintf(delivery, sizeof delivery, "msg_%d", i);
		f = failure(delivery);
		assert_int_equal(report_as(d, true,
					   &(struct ar_cmd_report_webhook_in){ .name = ar_str_from(name),
									       .failures = { &f, 1 } }),
				 AR_OK);
	}
	assert_int_equal(push_of(d, "a")->failure_count, 2 * AR_WEBHOOK_PUSH_FAILURES_MAX);
	assert_int_equal(push_of(d, "a")->failures.count, AR_WEBHOOK_PUSH_FAILURES_MAX);
}

static void one_that_is_replaced_has_no_more_reports(void **state)
{
	struct desk *d = *state;
	char old[64];

	assert_int_equal(set_push(d, "a", "sealed-1"), AR_OK);
	snprintf(old, sizeof old, "%.*s", AR_STR_ARG(push_of(d, "a")->name));
	assert_int_equal(set_push(d, "a", "sealed-2"), AR_OK);
	desk_expect(d, "webhook.removed webhook.added");
	assert_int_equal(report_push(d, ar_str_from(old), "40", true), AR_OK);
	desk_expect(d, "");
	assert_true(ar_str_absent(push_of(d, "a")->cursor));
	assert_false(ar_webhook_is_over(push_of(d, "a")));
}

static void a_task_has_few_and_a_tenant_not_too_many(void **state)
{
	struct desk *d = *state;
	char task[64], id[32], sealed[32];

	for (int i = 0; i < AR_WEBHOOK_TASK_PUSHES_MAX; i++) {
		snprintf(id, sizeof id, "c%d", i);
		snprintf(sealed, sizeof sealed, "s%d", i);
		assert_int_equal(set_push(d, id, sealed), AR_OK);
	}
	desk_expect_refusal(d, set_push(d, "more", "s-more"), AR_ERR_INVALID_INPUT);
	assert_int_equal(set_push(d, "c0", "s-again"), AR_OK);
	for (int i = AR_WEBHOOK_TASK_PUSHES_MAX; i < AR_WEBHOOK_PUSHES_MAX; i++) {
		snprintf(task, sizeof task, "task_0000000000e000000000000000_%d", i + 10);
		snprintf(sealed, sizeof sealed, "s%d", i);
		assert_int_equal(set_push_as(d, true, task, "c", sealed), AR_OK);
	}
	desk_expect_refusal(d, set_push_as(d, true, "task_x", "c", "sx"), AR_ERR_TENANT_QUOTA_EXCEEDED);
	assert_int_equal(report_push(d, push_of(d, "c1")->name, "20", true), AR_OK);
	assert_int_equal(set_push_as(d, true, "task_x", "c", "sx"), AR_OK);
	assert_null(push_of(d, "c1")); /* it was over */
	assert_int_equal(d->session.webhooks.count, AR_WEBHOOK_PUSHES_MAX);
	assert_int_equal(report_cursor(d, "t1:5"), AR_OK); /* those of the settings have room of their own */
	assert_non_null(push_of(d, "c0"));
}

static void a_snapshot_has_pushes(void **state)
{
	struct desk *d = *state;
	struct ar_session copy;
	struct ar_buf text = { 0 };
	const struct ar_webhook *w;
	struct ar_json v;

	assert_int_equal(set_push(d, "a", "sealed-1"), AR_OK);
	assert_int_equal(report_push(d, push_of(d, "a")->name, "12", true), AR_OK);
	ar_session_snapshot(&d->session, &text);
	ar_session_init(&copy, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&copy, v, &d->err), AR_OK);
	w = ar_session_push(&copy, AR_STR(TASK), AR_STR("a"));
	assert_non_null(w);
	assert_true(ar_str_is(w->cursor, "12"));
	assert_true(ar_str_is(w->push->sealed, "sealed-1"));
	assert_true(ar_webhook_is_over(w));
	ar_session_fini(&copy);
	ar_buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_position_only_moves_on, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(callers_report_nothing, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_failure_is_a_fact_once, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(it_is_sent_again_once_and_fails_again_or_is_gone, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(the_newest_failures_are_kept, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_snapshot_has_them, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_push_is_a_webhook_without_its_secrets, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(its_position_is_a_sequence_and_the_end_is_one, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(one_that_is_replaced_has_no_more_reports, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(few_failures_of_a_push_are_kept, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_task_has_few_and_a_tenant_not_too_many, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(a_snapshot_has_pushes, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
