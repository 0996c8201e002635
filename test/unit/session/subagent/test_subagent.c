/* Children of a session as decisions: order of facts, limits, places, ends, budgets, and that a snapshot
 * keeps all of it. */
#include "desk.h"
#include "subagent/subagents.h"

#include <string.h>

static int open_desk(void **state)
{
	struct desk *d;

	desk_open(state);
	d = *state;
	d->policy.subagent_depth = 2;
	d->policy.subagents_max = 3;
	d->policy.subagents_running = 2;
	return 0;
}

/* Turn "a" runs: a parent. */
static struct ar_cmd_spawn_subagent_in parent_of(struct desk *d)
{
	return (struct ar_cmd_spawn_subagent_in){ .session_id = d->session.id,
						  .thread_id = desk_thread(d, 0)->id,
						  .turn_id = AR_STR("a"),
						  .objective = AR_STR("look") };
}

static enum ar_status spawn(struct desk *d)
{
	struct ar_cmd_spawn_subagent_in in = parent_of(d);

	return desk_command(d, AR_CMD_SPAWN_SUBAGENT, &in);
}

static enum ar_status spawn_with(struct desk *d, const char *budget)
{
	struct ar_cmd_spawn_subagent_in in = parent_of(d);

	in.budget = desk_read(d, &ar_shape_turn_budget_desc, budget);
	return desk_command(d, AR_CMD_SPAWN_SUBAGENT, &in);
}

static const struct ar_shape_subagent_record *child(struct desk *d, size_t i)
{
	assert_true(i < d->session.subagents.count);
	return ar_subagent_at(&d->session, i);
}

static void expect_status(struct desk *d, size_t i, const char *word)
{
	if (!ar_str_is(child(d, i)->status, word))
		fail_msg("child %zu is %.*s, not %s", i, AR_STR_ARG(child(d, i)->status), word);
}

static struct ar_turn *turn_of(struct desk *d, size_t i)
{
	return ar_thread_active(ar_session_thread(&d->session, child(d, i)->child_thread_id));
}

/* The model of that child answers, with so many tokens. */
static void answer(struct desk *d, size_t i, int64_t tokens)
{
	struct ar_segment segment = { 1, 0, 4 };
	struct ar_step_output out = { .step = turn_of(d, i)->open_step,
				      .text = AR_STR("done"),
				      .segments = &segment,
				      .segment_count = 1 };
	struct ar_model_result end = { .outcome = AR_MODEL_COMPLETED,
				       .stop_reason = AR_STR("stop"),
				       .output_tokens = tokens,
				       .has_usage = true };

	assert_int_equal(desk_do(d,
				 (struct ar_input){ .kind = AR_IN_MODEL_DONE, .model_done = { &out, &end } }),
			 AR_OK);
}

static enum ar_status close_child(struct desk *d, size_t i)
{
	struct ar_cmd_close_subagent_in in = { .subagent_id = child(d, i)->subagent_id };

	return desk_command(d, AR_CMD_CLOSE_SUBAGENT, &in);
}

static enum ar_status send(struct desk *d, size_t i)
{
	struct ar_cmd_send_subagent_input_in in = { .subagent_id = child(d, i)->subagent_id,
						    .input = AR_STR("\"more\"") };

	return desk_command(d, AR_CMD_SEND_SUBAGENT_INPUT, &in);
}

/* ---- life ---- */

static void test_a_child_runs_after_it_is_on_record(void **state)
{
	struct desk *d = *state;

	desk_submit(d, "a");
	assert_int_equal(spawn(d), AR_OK);
	desk_expect(d,
		    "thread.started subagent.spawned task.delegated task.dependency.updated subagent.input "
		    "turn.submitted task.created task.accepted turn.started task.attempt.started "
		    "task.started thread.updated subagent.status context.resolved model.requested");
	expect_status(d, 0, "running");
	answer(d, 0, 5);
	desk_expect(d, "model.completed task.attempt.completed task.completed turn.completed subagent.output "
		       "subagent.completed thread.updated");
	expect_status(d, 0, "completed");
	assert_true(ar_str_is(child(d, 0)->summary, "done"));
}

static void test_limits(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_spawn_subagent_in in;

	desk_submit(d, "a");
	for (int i = 0; i < 3; i++)
		assert_int_equal(spawn(d), AR_OK);
	expect_status(d, 1, "running");
	expect_status(d, 2, "queued"); /* there are two places */
	desk_expect_refusal(d, spawn(d), AR_ERR_FANOUT_LIMIT);
	in = parent_of(d);
	in.thread_id = child(d, 0)->child_thread_id;
	in.turn_id = turn_of(d, 0)->id;
	d->policy.subagents_max = 10;
	assert_int_equal(desk_command(d, AR_CMD_SPAWN_SUBAGENT, &in), AR_OK);
	assert_int_equal(child(d, 3)->depth.v, 2);
	answer(d, 0, 5); /* its place goes to the one that waited longest */
	expect_status(d, 2, "running");
	expect_status(d, 3, "queued");
	answer(d, 1, 5);
	in.thread_id = child(d, 3)->child_thread_id;
	in.turn_id = turn_of(d, 3)->id;
	desk_expect_refusal(d, desk_command(d, AR_CMD_SPAWN_SUBAGENT, &in), AR_ERR_DEPTH_LIMIT);
}

static void test_a_closed_child_never_runs(void **state)
{
	struct desk *d = *state;

	desk_submit(d, "a");
	for (int i = 0; i < 3; i++)
		assert_int_equal(spawn(d), AR_OK);
	assert_int_equal(close_child(d, 2), AR_OK); /* it waits for a place */
	expect_status(d, 2, "closed");
	assert_int_equal(close_child(d, 0), AR_OK); /* its model is being asked: that ends first */
	assert_true(ar_subagent_is_closing(child(d, 0)));
	desk_expect_refusal(d, send(d, 0), AR_ERR_SUBAGENT_CLOSED);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CANCEL), 0); /* of the refusal */
	answer(d, 0, 5);
	expect_status(d, 0, "closed");
	assert_null(turn_of(d, 0));
	desk_expect_refusal(d, send(d, 0), AR_ERR_SUBAGENT_CLOSED);
	desk_expect_refusal(d, send(d, 2), AR_ERR_SUBAGENT_CLOSED);
	assert_int_equal(close_child(d, 0), AR_OK);
	desk_expect(d, "");
	answer(d, 1, 5);
	assert_null(turn_of(d, 2));
}

/* ---- budgets ---- */

static void test_budgets_are_set_aside(void **state)
{
	struct desk *d = *state;

	d->policy.subagents_max = d->policy.subagents_running = 10;
	d->policy.budget.turn[AR_QUOTA_TOKENS] = 100;
	desk_submit(d, "a");
	assert_int_equal(spawn_with(d, "{\"tokens\":60}"), AR_OK);
	desk_expect_refusal(d, spawn_with(d, "{\"tokens\":41}"), AR_ERR_BUDGET_EXCEEDED);
	assert_int_equal(ar_subagents_held(&d->session, desk_active(d), AR_QUOTA_TOKENS), 60);
	answer(d, 0, 10); /* fifty come back */
	assert_int_equal(ar_subagents_held(&d->session, desk_active(d), AR_QUOTA_TOKENS), 10);
	desk_expect_refusal(d, spawn_with(d, "{\"tokens\":91}"), AR_ERR_BUDGET_EXCEEDED);
	assert_int_equal(spawn_with(d, "{\"tokens\":90}"), AR_OK);
	desk_expect_refusal(d, send(d, 0), AR_ERR_BUDGET_EXCEEDED);
	desk_expect_refusal(d, spawn_with(d, "{\"tokens\":1}"), AR_ERR_BUDGET_EXCEEDED);
}

static void test_a_session_has_a_limit_too(void **state)
{
	struct desk *d = *state;

	d->policy.budget.session[AR_QUOTA_TOKENS] = 50;
	desk_submit(d, "a");
	desk_expect_refusal(d, spawn_with(d, "{\"tokens\":51}"), AR_ERR_BUDGET_EXCEEDED);
	assert_int_equal(spawn_with(d, "{\"tokens\":30}"), AR_OK);
	desk_expect_refusal(d, spawn_with(d, "{\"tokens\":21}"), AR_ERR_BUDGET_EXCEEDED);
	assert_int_equal(ar_subagents_reserved(&d->session, desk_active(d), AR_QUOTA_TOKENS), 30);
	assert_int_equal(ar_subagents_reserved(&d->session, turn_of(d, 0), AR_QUOTA_TOKENS), 0);
}

/* More closed children than are kept: what they used stays counted, with the turn and, of those below it,
 * with the child. */
static void test_closed_children_stay_counted(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_spawn_subagent_in in;

	d->policy.subagents_max = d->policy.subagents_running = 10;
	d->policy.budget.turn[AR_QUOTA_TOKENS] = 1000000;
	desk_submit(d, "a");
	assert_int_equal(spawn(d), AR_OK);
	in = parent_of(d);
	in.thread_id = child(d, 0)->child_thread_id;
	in.turn_id = turn_of(d, 0)->id;
	assert_int_equal(desk_command(d, AR_CMD_SPAWN_SUBAGENT, &in), AR_OK);
	assert_int_equal(child(d, 0)->children.v, 1);
	answer(d, 1, 30);
	assert_int_equal(close_child(d, 1), AR_OK);
	assert_int_equal(child(d, 0)->spent->child_tokens.v, 30);
	assert_int_equal(ar_subagents_held(&d->session, desk_active(d), AR_QUOTA_TOKENS), 30);
	for (int i = 0; i < 510; i++) {
		size_t last;

		assert_int_equal(spawn(d), AR_OK);
		last = d->session.subagents.count - 1;
		answer(d, last, 7);
		assert_int_equal(close_child(d, last), AR_OK);
	}
	assert_true(d->session.subagents.count <= 501);
	assert_int_equal(ar_subagents_held(&d->session, desk_active(d), AR_QUOTA_TOKENS), 30 + 510 * 7);
	answer(d, 0, 5);
	assert_int_equal(ar_subagents_held(&d->session, desk_active(d), AR_QUOTA_TOKENS), 35 + 510 * 7);
}

/* A turn with a child that is not closed is not forgotten: the child uses its budget. */
static void test_a_child_never_loses_the_budget_of_its_parent(void **state)
{
	struct desk *d = *state;
	const struct ar_model_result done = { .outcome = AR_MODEL_COMPLETED,
					      .output_tokens = 1,
					      .has_usage = true };

	d->policy.subagents_max = d->policy.subagents_running = 10;
	desk_submit_with(d, "a", "{\"budget\":{\"tokens\":100}}");
	assert_int_equal(spawn(d), AR_OK);
	assert_int_equal(desk_end_step(d, done), AR_OK);
	for (int i = 0; i < 2 * AR_WINDOW_TURNS; i++) {
		desk_submit_with(d, NULL, "{}");
		assert_int_equal(desk_end_step(d, done), AR_OK);
	}
	answer(d, 0, 200);
	assert_int_equal(send(d, 0), AR_OK);
	expect_status(d, 0, "failed");
}

/* ---- the record ---- */

static void test_a_snapshot_keeps_children(void **state)
{
	struct desk *d = *state;
	struct ar_buf first = { 0 }, second = { 0 };
	struct ar_session copy;
	struct ar_json v;

	desk_submit(d, "a");
	spawn_with(d, "{\"tokens\":60}");
	spawn(d);
	answer(d, 1, 7);
	close_child(d, 0);
	ar_session_snapshot(&d->session, &first);
	ar_session_init(&copy, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&first), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&copy, v, &d->err), AR_OK);
	ar_session_snapshot(&copy, &second);
	assert_true(ar_str_eq(ar_buf_str(&first), ar_buf_str(&second)));
	assert_int_equal(copy.subagents.count, 2);
	assert_int_equal(ar_subagent_at(&copy, 1)->spent->tokens.v, 7);
	assert_true(ar_subagent_is_closing(ar_subagent_at(&copy, 0)));
	ar_session_fini(&copy);
	ar_buf_fini(&first);
	ar_buf_fini(&second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_desk, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_child_runs_after_it_is_on_record),
		TEST(test_limits),
		TEST(test_a_closed_child_never_runs),
		TEST(test_budgets_are_set_aside),
		TEST(test_closed_children_stay_counted),
		TEST(test_a_child_never_loses_the_budget_of_its_parent),
		TEST(test_a_session_has_a_limit_too),
		TEST(test_a_snapshot_keeps_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
