/* Who asked is in the facts of a command: of resumed, compacted and forked threads, of changed sessions and
 * tasks, of tasks that go on or are tried again, of child agents. What the runtime does by itself names
 * nobody. */
#include "desk.h"
#include "describe.h"
#include "subagent/subagents.h"
#include "task/task.h"

#include <string.h>

static void expect_actor(struct desk *d, enum ar_event_type type)
{
	desk_expect_payload(d, type, "\"actor\":\"me\"");
}

static void expect_nobody(struct desk *d, enum ar_event_type type)
{
	assert_null(strstr(desk_payload(d, type), "\"actor\""));
}

static void test_threads(void **state)
{
	struct desk *d = *state;
	struct ar_str thread;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	expect_actor(d, AR_EV_THREAD_STARTED);
	thread = desk_thread(d, 0)->id;
	assert_int_equal(desk_command(d, AR_CMD_FORK_THREAD,
				      &(struct ar_cmd_fork_thread_in){ .thread_id = thread }),
			 AR_OK);
	expect_actor(d, AR_EV_THREAD_STARTED);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	expect_nobody(d, AR_EV_HISTORY_RECONSTRUCTED);
	expect_nobody(d, AR_EV_TASK_RETRYING);
	d->policy.auto_resume = false;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_RESUME_THREAD,
				      &(struct ar_cmd_resume_thread_in){ .session_id = d->session.id,
									 .thread_id = thread }),
			 AR_OK);
	expect_actor(d, AR_EV_HISTORY_WINDOW_LOADED);
	expect_actor(d, AR_EV_HISTORY_RECONSTRUCTED);
	expect_actor(d, AR_EV_TASK_RETRYING);
}

static enum ar_status compact(struct desk *d)
{
	return desk_command(d, AR_CMD_COMPACT_THREAD,
			    &(struct ar_cmd_compact_thread_in){ .thread_id = desk_thread(d, 0)->id });
}

static void test_compaction(void **state)
{
	static const char *const turns[] = { "a", "b", "c", "d" };
	struct desk *d = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(turns); i++) {
		assert_int_equal(desk_submit(d, turns[i]), AR_OK);
		assert_int_equal(desk_answer(d, "an answer that is longer than its summary"), AR_OK);
	}
	assert_int_equal(compact(d), AR_OK);
	expect_actor(d, AR_EV_CONTEXT_COMPACTION_STARTED);
}

static void test_sessions_and_tasks(void **state)
{
	const struct ar_cmd_create_task_in create = { .objective = AR_STR("find it") };
	struct ar_cmd_create_task_in in = create;
	struct desk *d = *state;
	struct ar_str task;

	assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_UPDATE_SESSION,
				      &(struct ar_cmd_update_session_in){ .session_id = d->session.id,
									  .title = AR_STR("other") }),
			 AR_OK);
	expect_actor(d, AR_EV_SESSION_UPDATED);
	in.session_id = d->session.id;
	assert_int_equal(desk_command(d, AR_CMD_CREATE_TASK, &in), AR_OK);
	task = ((const struct ar_task *)d->session.declared.at[0])->id;
	assert_int_equal(desk_command(d, AR_CMD_UPDATE_TASK,
				      &(struct ar_cmd_update_task_in){
					      .task_id = task, .changed = AR_STR("{\"title\":\"other\"}") }),
			 AR_OK);
	expect_actor(d, AR_EV_TASK_UPDATED);
	assert_int_equal(desk_command(d, AR_CMD_CANCEL_TASK,
				      &(struct ar_cmd_cancel_task_in){ .task_id = task,
								       .reason = AR_STR("enough") }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_ARCHIVE_TASK,
				      &(struct ar_cmd_archive_task_in){ .task_id = task }),
			 AR_OK);
	expect_actor(d, AR_EV_TASK_ARCHIVED);
}

/* A session with a declared task, whose id lives there. */
static struct ar_str make_task(struct desk *d, struct ar_cmd_create_task_in in)
{
	if (d->session.head == 0)
		assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION,
					      &(struct ar_cmd_create_session_in){ 0 }),
				 AR_OK);
	in.session_id = d->session.id;
	in.objective = AR_STR("find it");
	assert_int_equal(desk_command(d, AR_CMD_CREATE_TASK, &in), AR_OK);
	return ((const struct ar_task *)d->session.declared.at[d->session.declared.count - 1])->id;
}

static void start_task(struct desk *d, struct ar_str task)
{
	assert_int_equal(desk_command(d, AR_CMD_START_TASK,
				      &(struct ar_cmd_start_task_in){
					      .task_id = task,
					      .worker = desk_read(d, &ar_shape_party_desc,
								  "{\"kind\":\"worker\"}") }),
			 AR_OK);
}

static void fail_task(struct desk *d, struct ar_str task)
{
	const struct ar_shape_failure error = { .category = AR_STR("c"), .message = AR_STR("m") };

	assert_int_equal(desk_command(d, AR_CMD_FAIL_TASK,
				      &(struct ar_cmd_fail_task_in){ .task_id = task,
								     .error = &error,
								     .retryable = AR_OPT_BOOL(true) }),
			 AR_OK);
}

static void test_paused_tasks_go_on(void **state)
{
	struct desk *d = *state;
	struct ar_str task = make_task(d, (struct ar_cmd_create_task_in){ 0 });

	start_task(d, task);
	assert_int_equal(desk_command(d, AR_CMD_PAUSE_TASK,
				      &(struct ar_cmd_pause_task_in){ .task_id = task,
								      .reason = AR_STR("lunch") }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_RESUME_TASK,
				      &(struct ar_cmd_resume_task_in){ .task_id = task,
								       .reason = AR_STR("back") }),
			 AR_OK);
	expect_actor(d, AR_EV_TASK_RESUMED);
}

static void test_blocked_tasks_go_on(void **state)
{
	struct desk *d = *state;
	struct ar_str blocker = make_task(d, (struct ar_cmd_create_task_in){ 0 });
	struct ar_str held = make_task(d, (struct ar_cmd_create_task_in){ 0 });

	start_task(d, held);
	assert_int_equal(desk_command(d, AR_CMD_LINK_TASKS,
				      &(struct ar_cmd_link_tasks_in){ .source_id = blocker,
								      .target_id = held,
								      .kind = AR_TASK_EDGE_BLOCKS }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_UNLINK_TASKS,
				      &(struct ar_cmd_unlink_tasks_in){ .source_id = blocker,
									.target_id = held,
									.kind = AR_TASK_EDGE_BLOCKS }),
			 AR_OK);
	expect_actor(d, AR_EV_TASK_RESUMED);
}

static void test_questions_are_settled(void **state)
{
	const struct ar_ask ask = { .type = AR_ACTION_STRUCTURED_INPUT,
				    .call = AR_STR("tool_1"),
				    .question = AR_STR("q"),
				    .prompt = AR_STR("which one?") };
	struct desk *d = *state;
	struct ar_str id;

	d->policy.action_timeout_ms = 60000;
	desk_begin(d);
	id = desk_ask(d, ask);
	assert_int_equal(desk_command(d, AR_CMD_RESPOND_ACTION,
				      &(struct ar_cmd_respond_action_in){ .action_id = id,
									  .decision = AR_STR("decline") }),
			 AR_OK);
	expect_actor(d, AR_EV_TASK_RESUMED);
	id = desk_ask(d, ask);
	d->now += INT64_C(60000000);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_ACTION_DUE, .due = id }), AR_OK);
	expect_nobody(d, AR_EV_TASK_RESUMED);
}

static void test_tasks_are_tried_again(void **state)
{
	struct desk *d = *state;
	const struct ar_shape_task_constraints *twice =
		desk_read(d, &ar_shape_task_constraints_desc,
			  "{\"retryPolicy\":{\"maxAttempts\":2,\"backoffMs\":5}}");
	struct ar_str task = make_task(d, (struct ar_cmd_create_task_in){ .constraints = twice });

	start_task(d, task);
	fail_task(d, task);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = task }), AR_OK);
	expect_nobody(d, AR_EV_TASK_RETRYING); /* its policy says so */
	task = make_task(d, (struct ar_cmd_create_task_in){ 0 });
	start_task(d, task);
	fail_task(d, task);
	assert_int_equal(desk_command(d, AR_CMD_RETRY_TASK,
				      &(struct ar_cmd_retry_task_in){ .task_id = task,
								      .retry_reason = AR_STR("again") }),
			 AR_OK);
	expect_actor(d, AR_EV_TASK_RETRYING);
}

static enum ar_status spawn(struct desk *d)
{
	return desk_command(d, AR_CMD_SPAWN_SUBAGENT,
			    &(struct ar_cmd_spawn_subagent_in){ .session_id = d->session.id,
								.thread_id = desk_thread(d, 0)->id,
								.turn_id = AR_STR("a"),
								.objective = AR_STR("look") });
}

static const struct ar_shape_subagent_record *child(struct desk *d, size_t i)
{
	return ar_subagent_at(&d->session, i);
}

static enum ar_status close_child(struct desk *d, size_t i)
{
	return desk_command(d, AR_CMD_CLOSE_SUBAGENT,
			    &(struct ar_cmd_close_subagent_in){ .subagent_id = child(d, i)->subagent_id });
}

/* The model of that child answers, or gives up. */
static void end_step(struct desk *d, size_t i, enum ar_model_outcome outcome)
{
	struct ar_thread *t = ar_session_thread(&d->session, child(d, i)->child_thread_id);
	struct ar_segment segment = { 1, 0, 4 };
	struct ar_step_output out = { .step = ar_thread_active(t)->open_step,
				      .text = AR_STR("done"),
				      .segments = &segment,
				      .segment_count = 1 };
	struct ar_model_result end = { .outcome = outcome,
				       .category = AR_STR("refused"),
				       .stop_reason = AR_STR("stop") };

	assert_int_equal(desk_do(d,
				 (struct ar_input){ .kind = AR_IN_MODEL_DONE, .model_done = { &out, &end } }),
			 AR_OK);
}

/* Turn "a" has one child at work, and two that wait for its place. */
static void spawn_three(struct desk *d)
{
	d->policy.subagent_depth = 2;
	d->policy.subagents_max = 3;
	d->policy.subagents_running = 1;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(spawn(d), AR_OK);
	expect_actor(d, AR_EV_THREAD_STARTED);
	for (int i = 0; i < 2; i++)
		assert_int_equal(spawn(d), AR_OK);
}

static void test_children_are_closed(void **state)
{
	struct desk *d = *state;

	spawn_three(d);
	assert_int_equal(close_child(d, 2), AR_OK); /* nothing of it runs */
	expect_actor(d, AR_EV_SUBAGENT_STATUS);
	expect_actor(d, AR_EV_SUBAGENT_CLOSED);
	assert_int_equal(close_child(d, 0), AR_OK); /* its model call ends first */
	expect_actor(d, AR_EV_SUBAGENT_STATUS);
	end_step(d, 0, AR_MODEL_COMPLETED);
	expect_nobody(d, AR_EV_SUBAGENT_CLOSED);
}

static void test_children_go_on(void **state)
{
	struct desk *d = *state;

	spawn_three(d);
	end_step(d, 0, AR_MODEL_COMPLETED);
	expect_nobody(d, AR_EV_SUBAGENT_STATUS); /* the next one has its place */
	end_step(d, 1, AR_MODEL_FAILED);
	assert_true(ar_str_is(child(d, 1)->status, "failed"));
	assert_int_equal(desk_command(d, AR_CMD_RESUME_SUBAGENT,
				      &(struct ar_cmd_resume_subagent_in){
					      .subagent_id = child(d, 1)->subagent_id }),
			 AR_OK);
	expect_actor(d, AR_EV_SUBAGENT_STATUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threads, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_compaction, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_sessions_and_tasks, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_paused_tasks_go_on, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_blocked_tasks_go_on, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_questions_are_settled, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_tasks_are_tried_again, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_children_are_closed, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_children_go_on, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
