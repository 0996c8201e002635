/* A session whose workspace a worker has: calls wait while the worker is away, silent or drained, go on when
 * it is back, and are lost with it. */
#include "desk.h"
#include "tool/calls.h"
#include "worker/worker.h"

#include <string.h>

#define WS "ws_0000000000jaaaaaaaaaaaaaaa"
#define WK "wk_0000000000maaaaaaaaaaaaaaa"

static const struct ar_shape_workspace_record far = { .workspace_id = AR_STR(WS),
						      .tenant = AR_STR("local"),
						      .owner = AR_STR("local"),
						      .name = AR_STR("far"),
						      .kind = AR_WORKSPACE_RECORD_KIND_MANAGED,
						      .root = AR_STR("/w/files"),
						      .worker = AR_STR(WK),
						      .status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
						      .version = 1 };

#define TOOL(n, ...) \
	{ \
		.name = AR_STR(n), .description = AR_STR("Does."), \
		.schema = AR_STR("{\"type\":\"object\"}"), .owner = AR_TOOL_LOCAL, __VA_ARGS__ \
	}

static const struct ar_tool look = TOOL("look", .is_read_only = true, .is_concurrency_safe = true,
					.works_in_folder = true, .is_confined = true);
static const struct ar_tool mail = TOOL("mail", .is_concurrency_safe = true);
static const struct ar_tool put = TOOL("put", .works_in_folder = true, .is_confined = true);
static const struct ar_tool shell =
	TOOL("shell", .works_in_folder = true, .is_confined = true, .runs_process = true);
static const struct ar_tool *const tools[] = { &look, &mail, &put, &shell };
static const struct ar_inventory inventory = { tools, AR_ARRAY_LEN(tools), 1, true };

static enum ar_status change(struct desk *d, enum ar_worker_state state)
{
	d->worker = (struct ar_worker_status){ .state = state, .last_seen = d->now };
	return desk_do(d, (struct ar_input){ .kind = AR_IN_WORKER });
}

/* The model of the turn that runs asks for these tools. */
static void ask_for(struct desk *d, const char *const *names, size_t count)
{
	struct ar_tool_use requests[4];
	struct ar_step_output out = {
		.tools = requests, .tool_count = count, .text = AR_STR(""), .step = desk_active(d)->open_step
	};

	for (size_t i = 0; i < count; i++)
		requests[i] = (struct ar_tool_use){ AR_STR("call"), ar_str_from(names[i]), AR_STR("{}") };
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						       .model_done = { .output = &out,
								       .end =
									       &(struct ar_model_result){
										       .outcome = 1 } } }),
			 AR_OK);
}

#define ASK_FOR(d, ...) \
	ask_for(d, (const char *const[]){ __VA_ARGS__ }, \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static void begin(struct desk *d, enum ar_worker_state state)
{
	const struct ar_cmd_create_session_in in = { .title = AR_STR("x"), .workspace_id = AR_STR(WS) };

	d->policy.inventory = &inventory;
	d->policy.permission_mode = AR_MODE_BYPASS;
	d->policy.tool_parallel = 4;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
						       .command = { .id = AR_CMD_CREATE_SESSION,
								    .args = &in,
								    .workspace = &far } }),
			 AR_OK);
	d->worker.state = state;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
}

static struct ar_invocation *call_at(struct desk *d, size_t i)
{
	return ar_call_at(desk_active(d), i);
}

static void end_call(struct desk *d, size_t i, enum ar_tool_outcome outcome)
{
	desk_end_call(d, call_at(d, i)->id,
		      &(struct ar_tool_result){ .outcome = outcome, .text = AR_STR("done") });
}

/* What a snapshot gives back behaves the same. */
static void fold_again(struct desk *d)
{
	struct ar_buf text = { 0 }, again = { 0 };
	struct ar_session copy;
	struct ar_json v;

	ar_session_snapshot(&d->session, &text);
	ar_session_init(&copy, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&copy, v, &d->err), AR_OK);
	ar_session_snapshot(&copy, &again);
	assert_true(ar_str_eq(ar_buf_str(&text), ar_buf_str(&again)));
	ar_session_fini(&d->session);
	d->session = copy;
	ar_buf_fini(&text);
	ar_buf_fini(&again);
}

/* ---- waiting ---- */

static void a_call_waits_for_its_worker(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_AWAY);
	ASK_FOR(d, "put");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	desk_expect_payload(d, AR_EV_WORKER_CHANGED, "\"workerId\":\"" WK "\",\"state\":\"away\"");
	desk_expect_payload(
		d, AR_EV_TASK_WAITING,
		"\"waitFor\":\"worker\",\"status\":\"waiting_resource\",\"statusReason\":\"worker " WK);
	desk_expect_payload(d, AR_EV_THREAD_UPDATED, "\"status\":\"blocked\"");
	desk_expect_payload(d, AR_EV_THREAD_UPDATED, "\"statusDetail\":\"waiting_resource\"");
	assert_int_equal(change(d, AR_WORKER_AWAY), AR_OK);
	desk_expect(d, ""); /* nothing new */
	fold_again(d);
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	desk_expect(d, "worker.changed thread.updated task.resumed tool.started");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	desk_expect(d, "");
}

static void a_connected_worker_leaves_no_trace(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_CONNECTED);
	ASK_FOR(d, "put");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	end_call(d, 0, AR_TOOL_OK);
	assert_null(d->session.worker);
}

static void a_drained_worker_begins_nothing(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_CONNECTED);
	d->worker.is_draining = true;
	ASK_FOR(d, "put");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	desk_expect_payload(d, AR_EV_TASK_WAITING, "is drained");
	assert_int_equal(change(d, AR_WORKER_AWAY), AR_OK); /* another reason now */
	desk_expect_payload(d, AR_EV_TASK_WAITING, "is not connected");
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void other_tools_do_not_wait(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_LOST);
	ASK_FOR(d, "mail", "look");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	assert_int_equal(call_at(d, 0)->stage, AR_CALL_RUNNING);
	assert_int_equal(call_at(d, 1)->stage, AR_CALL_ALLOWED);
	end_call(d, 0, AR_TOOL_OK);
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void an_interruption_ends_the_wait(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_STALE);
	ASK_FOR(d, "put");
	assert_true(desk_active(d)->waits_worker.v);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .session_id = d->session.id,
									  .reason = AR_STR("enough") }),
			 AR_OK);
	assert_null(ar_thread_active(desk_thread(d, 0)));
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	desk_expect(d, "");
}

/* Nobody waited for it when it came back: the next call says so. */
static void what_is_on_record_is_not_older_than_a_call(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_AWAY);
	ASK_FOR(d, "put");
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .session_id = d->session.id,
									  .reason = AR_STR("enough") }),
			 AR_OK);
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	desk_expect(d, "");
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	ASK_FOR(d, "put");
	desk_expect_payload(d, AR_EV_WORKER_CHANGED, "\"state\":\"connected\"");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void silence_is_not_counted_meanwhile(void **state)
{
	struct desk *d = *state;

	d->policy.budget.inactivity_ms = 1;
	begin(d, AR_WORKER_AWAY);
	ASK_FOR(d, "put");
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_SILENCE_DUE,
						       .due = desk_active(d)->task->id }),
			 AR_OK);
	desk_expect(d, "");
	assert_false(desk_active(d)->is_interrupted);
}

static void a_restart_finds_it_waiting(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_AWAY);
	ASK_FOR(d, "put");
	fold_again(d);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	desk_expect(d, ""); /* nothing was lost with the process */
	assert_int_equal(desk_command(d, AR_CMD_RESUME_THREAD,
				      &(struct ar_cmd_resume_thread_in){ .thread_id =
										 desk_thread(d, 0)->id }),
			 AR_OK);
	desk_expect_reply(d, "\"result\":\"blocked\"");
	desk_expect_reply(d, "{\"kind\":\"worker\",\"id\":\"" WK "\"}");
	d->worker.state = AR_WORKER_CONNECTED; /* it is back before the next one */
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

/* It was connected when the call was decided, and gone when it should begin. */
static void a_call_that_did_not_begin_waits(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_CONNECTED);
	ASK_FOR(d, "put");
	d->worker.state = AR_WORKER_AWAY;
	end_call(d, 0, AR_TOOL_NOT_RUN);
	desk_expect_payload(d, AR_EV_TOOL_FAILED, "\"errorCategory\":\"not_begun\"");
	assert_true(desk_active(d)->waits_worker.v);
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	end_call(d, 0, AR_TOOL_NOT_RUN); /* the worker is there: it is a failure of the tool */
	desk_expect_payload(d, AR_EV_TOOL_FAILED, "\"errorCategory\":\"tool_unavailable\"");
}

/* ---- stale and lost ---- */

static void a_silent_worker_makes_the_thread_stale(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_CONNECTED);
	ASK_FOR(d, "put");
	assert_int_equal(change(d, AR_WORKER_STALE), AR_OK);
	desk_expect(d, "worker.changed thread.updated");
	desk_expect_payload(d, AR_EV_THREAD_UPDATED, "\"status\":\"stale\"");
	assert_true(desk_active(d)->task->stale.v);
	fold_again(d);
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	desk_expect(d, "worker.changed thread.updated");
	desk_expect_payload(d, AR_EV_THREAD_UPDATED, "\"status\":\"running\"");
	assert_false(desk_active(d)->task->stale.v);
	end_call(d, 0, AR_TOOL_OK);
	desk_expect_payload(d, AR_EV_TOOL_RESULT, "\"status\":\"ok\"");
}

static void check_lost(struct desk *d)
{
	desk_expect_payload(d, AR_EV_TASK_ATTEMPT_FAILED, "\"status\":\"lost\"");
	desk_expect_payload(d, AR_EV_TASK_LOST, "\"worker\":{\"kind\":\"worker\",\"id\":\"" WK "\"}");
	assert_true(desk_active(d)->is_lost && desk_active(d)->lost_worker.v);
	for (size_t i = 0; i < d->decision.event_count; i++) {
		assert_int_not_equal(d->decision.events[i].type, AR_EV_TASK_COMPLETED);
		assert_int_not_equal(d->decision.events[i].type, AR_EV_TASK_FAILED);
	}
}

/* Whichever is told first: that the worker is lost, or that its call is. */
static void a_lost_worker_loses_the_attempt(void **state)
{
	struct desk *d = *state;

	for (int is_call_first = 0; is_call_first < 2; is_call_first++) {
		void *own;

		assert_int_equal(desk_open(&own), 0);
		d = own;
		begin(d, AR_WORKER_CONNECTED);
		ASK_FOR(d, "look");
		d->worker.state = AR_WORKER_LOST;
		if (is_call_first)
			end_call(d, 0, AR_TOOL_LOST);
		else
			assert_int_equal(change(d, AR_WORKER_LOST), AR_OK);
		check_lost(d);
		desk_expect_payload(d, AR_EV_TOOL_FAILED, "\"errorCategory\":\"unknown_outcome\"");
		fold_again(d);
		if (is_call_first)
			assert_int_equal(change(d, AR_WORKER_LOST), AR_OK);
		else
			end_call(d, 0, AR_TOOL_LOST);
		desk_expect(d, "");
		assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
		desk_expect_payload(d, AR_EV_TASK_RETRYING, "\"retryReason\":\"worker_connected\"");
		assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1); /* safe to repeat */
		assert_int_equal(desk_active(d)->restarts, 0); /* no crash of ours */
		assert_false(desk_active(d)->lost_worker.v);
		assert_int_equal(desk_close(&own), 0);
	}
}

static void about_a_write_a_person_is_asked(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_CONNECTED);
	d->policy.permission_mode = AR_MODE_ON_REQUEST;
	ASK_FOR(d, "put");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	assert_int_equal(change(d, AR_WORKER_LOST), AR_OK);
	check_lost(d);
	desk_expect_payload(d, AR_EV_ACTION_REQUIRED, "nobody knows whether it took effect");
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0); /* not before the answer */
}

/* A process under its supervisor runs on: its end may come while the turn is lost. */
static void a_process_outlives_the_lease(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_CONNECTED);
	ASK_FOR(d, "shell");
	assert_int_equal(change(d, AR_WORKER_LOST), AR_OK);
	check_lost(d);
	assert_int_equal(call_at(d, 0)->stage, AR_CALL_RUNNING);
	end_call(d, 0, AR_TOOL_OK);
	desk_expect(d, "tool.result");
	assert_true(desk_active(d)->is_lost);
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1); /* the model reads the answer */
}

static void a_restart_keeps_it_lost(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_CONNECTED);
	ASK_FOR(d, "shell");
	assert_int_equal(change(d, AR_WORKER_LOST), AR_OK);
	fold_again(d);
	d->worker.state = AR_WORKER_AWAY; /* what a new process knows */
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_true(desk_active(d)->is_lost);
	assert_int_equal(change(d, AR_WORKER_CONNECTED), AR_OK);
	assert_false(desk_active(d)->is_lost);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1); /* its process was never recorded */
}

static void a_lost_turn_can_be_interrupted(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_CONNECTED);
	ASK_FOR(d, "shell");
	assert_int_equal(change(d, AR_WORKER_LOST), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .session_id = d->session.id,
									  .reason = AR_STR("enough") }),
			 AR_OK);
	assert_null(ar_thread_active(desk_thread(d, 0)));
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CANCEL), 1);
}

/* ---- what it can enforce ---- */

static void its_report_decides_about_profiles(void **state)
{
	struct desk *d = *state;

	begin(d, AR_WORKER_CONNECTED);
	d->worker.capabilities = AR_STR(
		"{\"profiles\":{\"workspace_write\":{\"isAvailable\":false,\"reason\":\"no landlock\"},"
		"\"read_only\":{\"isAvailable\":true}}}");
	ASK_FOR(d, "put", "look");
	desk_expect_payload(d, AR_EV_TOOL_FAILED, "\"errorCategory\":\"sandbox_unavailable\"");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_waits_for_its_worker),	TEST(a_connected_worker_leaves_no_trace),
		TEST(a_drained_worker_begins_nothing),	TEST(other_tools_do_not_wait),
		TEST(an_interruption_ends_the_wait),	TEST(what_is_on_record_is_not_older_than_a_call),
		TEST(silence_is_not_counted_meanwhile), TEST(a_restart_finds_it_waiting),
		TEST(a_call_that_did_not_begin_waits),	TEST(a_silent_worker_makes_the_thread_stale),
		TEST(a_lost_worker_loses_the_attempt),	TEST(about_a_write_a_person_is_asked),
		TEST(a_process_outlives_the_lease),	TEST(a_restart_keeps_it_lost),
		TEST(a_lost_turn_can_be_interrupted),	TEST(its_report_decides_about_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
