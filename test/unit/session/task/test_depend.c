/* Tasks that wait for tasks: what begins by itself and when, what stays blocked and why, and that a large
 * graph costs no more per change than a small one. */
#include "desk.h"
#include "task/blocks.h"
#include "task/task.h"

#define MANY 10000

static void begin(struct desk *d)
{
	assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 }),
			 AR_OK);
}

/* The id lives in the session. */
static struct ar_str make_with(struct desk *d, const char *constraints)
{
	struct ar_cmd_create_task_in in = { .session_id = d->session.id,
					    .objective = AR_STR("find it"),
					    .constraints = desk_read(d, &ar_shape_task_constraints_desc,
								     constraints) };

	assert_int_equal(desk_command(d, AR_CMD_CREATE_TASK, &in), AR_OK);
	return ((const struct ar_task *)d->session.declared.at[d->session.declared.count - 1])->id;
}

static struct ar_str make(struct desk *d)
{
	return make_with(d, "{}");
}

static void start(struct desk *d, struct ar_str task, const char *kind)
{
	const struct ar_shape_party worker = { .kind = ar_str_from(kind) };
	const struct ar_cmd_start_task_in in = { .task_id = task,
						 .worker = &worker,
						 .thread_id = desk_thread(d, 0)->id };

	assert_int_equal(desk_command(d, AR_CMD_START_TASK, &in), AR_OK);
}

static void complete(struct desk *d, struct ar_str task)
{
	assert_int_equal(desk_command(d, AR_CMD_COMPLETE_TASK,
				      &(struct ar_cmd_complete_task_in){ .task_id = task }),
			 AR_OK);
}

static void fail_with(struct desk *d, struct ar_str task, bool retryable)
{
	const struct ar_shape_failure error = { .category = AR_STR("c"), .message = AR_STR("m") };

	assert_int_equal(desk_command(d, AR_CMD_FAIL_TASK,
				      &(struct ar_cmd_fail_task_in){ .task_id = task,
								     .error = &error,
								     .retryable = AR_OPT_BOOL(retryable) }),
			 AR_OK);
}

static enum ar_status link_as(struct desk *d, struct ar_str source, int kind, struct ar_str target,
			      const char *status)
{
	struct ar_cmd_link_tasks_in in = { .source_id = source, .target_id = target, .kind = kind };

	if (status)
		in.status = ar_str_from(status);
	return desk_command(d, AR_CMD_LINK_TASKS, &in);
}

static void block(struct desk *d, struct ar_str blocker, struct ar_str held)
{
	assert_int_equal(link_as(d, blocker, AR_TASK_EDGE_BLOCKS, held, NULL), AR_OK);
}

static void unlink_blocks(struct desk *d, struct ar_str blocker, struct ar_str held)
{
	assert_int_equal(desk_command(d, AR_CMD_UNLINK_TASKS,
				      &(struct ar_cmd_unlink_tasks_in){ .source_id = blocker,
									.target_id = held,
									.kind = AR_TASK_EDGE_BLOCKS }),
			 AR_OK);
}

/* The clock of the task rings. */
static void ring(struct desk *d, struct ar_str task)
{
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = task }), AR_OK);
}

static const struct ar_task *task_of(struct desk *d, struct ar_str id)
{
	return ar_session_declared(&d->session, id);
}

static void expect_status(struct desk *d, struct ar_str task, const char *word)
{
	assert_string_equal(ar_arena_str(&d->arena, ar_task_status_word(task_of(d, task))).p, word);
}

static void expect_reason(struct desk *d, struct ar_str task, const char *part)
{
	const char *reason = ar_arena_str(&d->arena, task_of(d, task)->sheet->reason).p;

	if (!strstr(reason, part))
		fail_msg("no '%s' in '%s'", part, reason);
}

/* Whether the decision made last has the task begin by itself. */
static bool is_woken(struct desk *d, struct ar_str task)
{
	for (size_t i = 0; i < d->decision.effect_count; i++) {
		const struct ar_effect *e = &d->decision.effects[i];

		if (e->kind == AR_EFFECT_WAKE && ar_str_eq(e->wake.subject, task))
			return true;
	}
	return false;
}

/* d waits for b and c, which wait for a; all are started before a is done. */
static void test_diamond(void **state)
{
	struct desk *d = *state;
	struct ar_str a, b, c, e;

	begin(d);
	a = make(d), b = make(d), c = make(d), e = make(d);
	block(d, a, b);
	block(d, a, c);
	block(d, b, e);
	assert_int_equal(link_as(d, e, AR_TASK_EDGE_BLOCKED_BY, c, NULL), AR_OK);
	start(d, e, "worker"), start(d, b, "worker"), start(d, c, "worker"), start(d, a, "worker");
	expect_status(d, e, "queued");
	complete(d, a);
	desk_expect(d, "task.attempt.completed task.completed task.dependency.updated "
		       "task.dependency.updated");
	assert_true(is_woken(d, b) && is_woken(d, c) && !is_woken(d, e));
	ring(d, b), ring(d, c);
	expect_status(d, c, "running");
	complete(d, c);
	assert_false(is_woken(d, e));
	ring(d, e);
	desk_expect(d, "");
	complete(d, b);
	assert_true(is_woken(d, e));
	ring(d, e);
	desk_expect(d, "task.attempt.started task.started");
	ring(d, e);
	desk_expect(d, ""); /* it begins once */
}

static void test_failed_blocker(void **state)
{
	struct desk *d = *state;
	struct ar_str a, b;

	begin(d);
	a = make(d), b = make(d);
	block(d, a, b);
	start(d, b, "worker"), start(d, a, "worker");
	expect_status(d, b, "queued");
	fail_with(d, a, false);
	desk_expect(d, "task.attempt.failed task.failed task.dependency.updated task.blocked");
	expect_status(d, b, "blocked");
	expect_reason(d, b, "is failed and has to be completed first");
	ring(d, b);
	desk_expect(d, "");
	assert_int_equal(desk_command(d, AR_CMD_RETRY_TASK,
				      &(struct ar_cmd_retry_task_in){ .task_id = a,
								      .retry_reason = AR_STR("again") }),
			 AR_OK);
	desk_expect(d, "task.retrying task.attempt.started task.dependency.updated task.blocked");
	expect_reason(d, b, "another task has to be completed first");
	complete(d, a);
	assert_true(is_woken(d, b));
	ring(d, b);
	desk_expect(d, "task.attempt.started task.started");
}

static void test_cancelled_blocker(void **state)
{
	struct desk *d = *state;
	struct ar_str a, b;

	begin(d);
	a = make(d), b = make(d);
	block(d, a, b);
	start(d, b, "worker");
	assert_int_equal(desk_command(d, AR_CMD_CANCEL_TASK,
				      &(struct ar_cmd_cancel_task_in){ .task_id = a,
								       .reason = AR_STR("no") }),
			 AR_OK);
	expect_status(d, b, "blocked");
	expect_reason(d, b, "is cancelled");
	unlink_blocks(d, a, b);
	assert_true(is_woken(d, b));
	ring(d, b);
	expect_status(d, b, "running");
}

/* The state of an edge is what holds a task, also when a caller changes it, and from the first moment. */
static void test_edge_status(void **state)
{
	struct desk *d = *state;
	struct ar_str a, b, ended;

	begin(d);
	a = make(d), b = make(d), ended = make(d);
	block(d, a, b);
	start(d, b, "worker");
	assert_int_equal(link_as(d, a, AR_TASK_EDGE_BLOCKS, b, "satisfied"), AR_OK);
	desk_expect(d, "task.dependency.updated");
	assert_true(is_woken(d, b));
	assert_int_equal(link_as(d, a, AR_TASK_EDGE_BLOCKS, b, "open"), AR_OK);
	desk_expect(d, "task.dependency.updated task.blocked");
	ring(d, b);
	desk_expect(d, "");
	start(d, ended, "worker");
	fail_with(d, ended, false);
	unlink_blocks(d, a, b);
	block(d, ended, b);
	desk_expect(d, "task.dependency.updated task.blocked");
	desk_expect_payload(d, AR_EV_TASK_DEPENDENCY_UPDATED, "\"status\":\"failed\"");
	expect_reason(d, b, "is failed");
}

static void archive(struct desk *d, struct ar_str task)
{
	assert_int_equal(desk_command(d, AR_CMD_ARCHIVE_TASK,
				      &(struct ar_cmd_archive_task_in){ .task_id = task }),
			 AR_OK);
}

static void test_archived_blocker(void **state)
{
	struct desk *d = *state;
	struct ar_str good, bad, held;

	begin(d);
	good = make(d), bad = make(d), held = make(d);
	start(d, good, "worker"), start(d, bad, "worker");
	complete(d, good), fail_with(d, bad, false);
	archive(d, good), archive(d, bad);
	block(d, good, held);
	desk_expect_payload(d, AR_EV_TASK_DEPENDENCY_UPDATED, "\"status\":\"satisfied\"");
	block(d, bad, held);
	desk_expect_payload(d, AR_EV_TASK_DEPENDENCY_UPDATED, "\"status\":\"failed\"");
	unlink_blocks(d, bad, held);
	start(d, held, "worker");
	expect_status(d, held, "running");
}

/* A retry that is due while the task is blocked waits for the blocker. */
static void test_retry_waits_for_a_blocker(void **state)
{
	struct desk *d = *state;
	struct ar_str a, b;

	begin(d);
	a = make(d);
	b = make_with(d, "{\"retryPolicy\":{\"maxAttempts\":2,\"backoffMs\":5}}");
	start(d, b, "worker");
	fail_with(d, b, true);
	expect_status(d, b, "retrying");
	block(d, a, b);
	ring(d, b);
	desk_expect(d, "");
	expect_status(d, b, "blocked");
	start(d, a, "worker");
	complete(d, a);
	assert_true(is_woken(d, b));
	ring(d, b);
	desk_expect(d, "task.retrying task.attempt.started");
}

/* The turn of an agent ends while its task is blocked: the task ends when it is free, and what waits for it
 * begins. */
static void test_run_ends_while_blocked(void **state)
{
	struct desk *d = *state;
	struct ar_str a, b, c;

	begin(d);
	a = make(d), b = make(d), c = make(d);
	start(d, b, "agent");
	block(d, a, b);
	block(d, b, c);
	start(d, c, "worker");
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	expect_status(d, b, "blocked");
	assert_null(ar_task_open_run(task_of(d, b)));
	start(d, a, "worker");
	complete(d, a);
	assert_true(is_woken(d, b));
	ring(d, b);
	desk_expect(d, "task.completed task.dependency.updated");
	assert_true(is_woken(d, c));
}

/* A blocker that is the task of a turn: its end counts like any other. */
static void test_turn_blocks(void **state)
{
	struct desk *d = *state;
	struct ar_str held, turn;

	desk_begin(d);
	held = make(d);
	turn = desk_active(d)->task->id;
	assert_int_equal(link_as(d, held, AR_TASK_EDGE_BLOCKED_BY, turn, NULL), AR_OK);
	start(d, held, "worker");
	expect_status(d, held, "queued");
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .session_id = d->session.id,
									  .reason = AR_STR("enough") }),
			 AR_OK);
	expect_status(d, held, "blocked");
	expect_reason(d, held, "has to be completed first");
}

/* Hundreds of tasks end after the blocker has failed: it still holds, also after a restart. */
static void test_window_keeps_what_holds(void **state)
{
	struct desk *d = *state;
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_buf text = { 0 };
	struct ar_str a, b, other;
	struct ar_session twin;
	struct ar_json v;

	begin(d);
	a = make(d), b = make(d);
	block(d, a, b);
	start(d, b, "worker"), start(d, a, "worker");
	fail_with(d, a, false);
	for (int i = 0; i < 2 * AR_WINDOW_TASKS; i++) {
		d->now += 1000;
		other = make(d);
		start(d, other, "worker");
		complete(d, other);
	}
	assert_in_range(d->session.declared.count, AR_WINDOW_TASKS, AR_WINDOW_TASKS + 4);
	ring(d, b);
	desk_expect(d, "");
	ar_session_snapshot(&d->session, &text);
	assert_int_equal(ar_json_parse(json, ar_buf_str(&text), &v, &d->err), AR_OK);
	ar_session_init(&twin, d->session.session_key, d->json);
	assert_int_equal(ar_session_restore(&twin, v, &d->err), AR_OK);
	assert_true(ar_task_is_blocked(ar_session_declared(&twin, b)));
	assert_true(ar_task_holds_another(ar_session_declared(&twin, a)));
	ar_session_fini(&twin);
	unlink_blocks(d, a, b);
	assert_true(is_woken(d, b));
	ring(d, b);
	complete(d, b);
	d->now += 1000;
	other = make(d);
	start(d, other, "worker");
	complete(d, other);
	assert_null(task_of(d, a)); /* it holds nothing any more */
	ar_buf_fini(&text);
	ar_json_parser_free(json);
}

static void test_limits(void **state)
{
	struct desk *d = *state;
	struct ar_str held, ring_end;

	begin(d);
	held = make(d);
	for (int i = 0; i < AR_EDGES_MAX; i++)
		block(d, make(d), held);
	ring_end = make(d);
	desk_expect_refusal(d, link_as(d, ring_end, AR_TASK_EDGE_BLOCKS, held, NULL), AR_ERR_OVERLOADED);
	desk_expect_refusal(d, link_as(d, held, AR_TASK_EDGE_BLOCKS, held, NULL), AR_ERR_CYCLE);
	block(d, held, ring_end);
	desk_expect_refusal(d,
			    link_as(d, ring_end, AR_TASK_EDGE_BLOCKS,
				    ((const struct ar_task *)d->session.declared.at[1])->id, NULL),
			    AR_ERR_CYCLE);
}

/* A chain of as many tasks as a session takes: each link is looked at where it is. With a walk over all
 * edges per change this would be 10^8 comparisons per task. */
static void test_long_chain(void **state)
{
	struct desk *d = *state;
	struct ar_str *ids = ar_arena_alloc(&d->session.arena, MANY * sizeof(*ids));

	begin(d);
	for (size_t i = 0; i < MANY; i++) {
		ids[i] = make(d);
		if (i > 0)
			block(d, ids[i - 1], ids[i]);
	}
	desk_expect_refusal(d,
			    desk_command(d, AR_CMD_CREATE_TASK,
					 &(struct ar_cmd_create_task_in){ .session_id = d->session.id,
									  .objective = AR_STR("x") }),
			    AR_ERR_OVERLOADED);
	desk_expect_refusal(d, link_as(d, ids[MANY - 1], AR_TASK_EDGE_BLOCKS, ids[0], NULL), AR_ERR_CYCLE);
	for (size_t i = MANY; i > 0; i--)
		start(d, ids[i - 1], "worker");
	for (size_t i = 0; i < MANY; i++) {
		d->now += 1000;
		complete(d, ids[i]);
		if (i + 1 == MANY)
			break;
		assert_true(is_woken(d, ids[i + 1]));
		ring(d, ids[i + 1]);
		desk_expect(d, "task.attempt.started task.started");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_diamond, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_failed_blocker, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_cancelled_blocker, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_edge_status, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_archived_blocker, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_retry_waits_for_a_blocker, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_run_ends_while_blocked, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_turn_blocks, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_window_keeps_what_holds, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_limits, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_long_chain, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
