/* A child with a folder of its own in the pure core: whose folder an effect is for, what is kept, what goes,
 * and what a crash repeats. */
#include "desk.h"
#include "subagent/subagents.h"
#include "workspace/isolation.h"

#define WS "ws_0000000000jaaaaaaaaaaaaaaa"

static const struct ar_shape_workspace_record shop = { .workspace_id = AR_STR(WS),
						       .tenant = AR_STR("local"),
						       .owner = AR_STR("local"),
						       .name = AR_STR("shop"),
						       .kind = AR_WORKSPACE_RECORD_KIND_FOLDER,
						       .root = AR_STR("/srv/shop"),
						       .status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
						       .version = 3 };
static const struct ar_tool put = { .name = AR_STR("put"),
				    .description = AR_STR("Writes."),
				    .schema = AR_STR("{\"type\":\"object\"}"),
				    .owner = AR_TOOL_LOCAL,
				    .works_in_folder = true };
static const struct ar_tool *const tools[] = { &put };
static const struct ar_inventory inventory = { tools, AR_ARRAY_LEN(tools), 1, true };

/* A session in a workspace whose turn "a" runs. */
static int open_desk(void **state)
{
	static const struct ar_cmd_create_session_in in = { .title = AR_STR("x"),
							    .workspace_id = AR_STR(WS) };
	struct desk *d;

	desk_open(state);
	d = *state;
	d->policy.inventory = &inventory;
	d->policy.permission_mode = AR_MODE_BYPASS;
	d->policy.checkpoints = 100;
	d->policy.folders = AR_STR("/srv/ws");
	d->policy.subagent_depth = 3;
	d->policy.subagents_max = 2;
	d->policy.subagents_running = 8;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
						       .command = { .id = AR_CMD_CREATE_SESSION,
								    .args = &in,
								    .workspace = &shop } }),
			 AR_OK);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	return 0;
}

static enum ar_status spawn(struct desk *d)
{
	static const struct ar_shape_isolation own = { .worktree = AR_STR("own") };

	return desk_command(d, AR_CMD_SPAWN_SUBAGENT,
			    &(struct ar_cmd_spawn_subagent_in){ .session_id = d->session.id,
								.thread_id = desk_thread(d, 0)->id,
								.turn_id = AR_STR("a"),
								.objective = AR_STR("look"),
								.isolation = &own });
}

static const struct ar_shape_subagent_record *child(struct desk *d)
{
	return ar_subagent_at(&d->session, d->session.subagents.count - 1);
}

static struct ar_turn *turn_of(struct desk *d)
{
	return ar_thread_active(ar_session_thread(&d->session, child(d)->child_thread_id));
}

/* The model of the newest child calls the tool, or says its last words. */
static void answer(struct desk *d, bool calls)
{
	struct ar_tool_use use = { AR_STR("call"), AR_STR("put"), AR_STR("{}") };
	struct ar_segment segment = { 1, 0, 4 };
	struct ar_step_output out = { .step = turn_of(d)->open_step,
				      .text = calls ? AR_STR("") : AR_STR("done"),
				      .tools = &use,
				      .tool_count = calls,
				      .segments = &segment,
				      .segment_count = !calls };
	struct ar_model_result end = { .outcome = AR_MODEL_COMPLETED, .stop_reason = AR_STR("stop") };

	assert_int_equal(desk_do(d,
				 (struct ar_input){ .kind = AR_IN_MODEL_DONE, .model_done = { &out, &end } }),
			 AR_OK);
}

/* The id may be of an effect of the last decision, whose memory the next one gets. */
static void ends(struct desk *d, struct ar_checkpoint_end end)
{
	end.id = ar_arena_str(&d->session.arena, end.id);
	assert_int_equal(desk_do(d,
				 (struct ar_input){ .kind = AR_IN_CHECKPOINT_DONE, .checkpoint_done = &end }),
			 AR_OK);
}

static const struct ar_effect_checkpoint *run_of(struct desk *d)
{
	for (size_t i = 0; i < d->decision.effect_count; i++) {
		if (d->decision.effects[i].kind == AR_EFFECT_CHECKPOINT)
			return &d->decision.effects[i].checkpoint;
	}
	return NULL;
}

/* The newest run was one of that kind in the folder of the newest child. */
static void expect_run(struct desk *d, enum ar_checkpoint_kind kind)
{
	assert_non_null(run_of(d));
	assert_int_equal(run_of(d)->kind, kind);
	assert_true(ar_str_eq(run_of(d)->child, child(d)->subagent_id));
}

static void filled(struct desk *d)
{
	ends(d, (struct ar_checkpoint_end){
			.kind = AR_CHECKPOINT_FILL, .id = child(d)->subagent_id, .tree = AR_STR("b1") });
}

static void saved(struct desk *d, struct ar_str id, const char *tree)
{
	ends(d,
	     (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_SAVE, .id = id, .tree = ar_str_from(tree) });
}

/* A child that has written and has ended. */
static void work(struct desk *d)
{
	assert_int_equal(spawn(d), AR_OK);
	answer(d, true);
	filled(d);
	expect_run(d, AR_CHECKPOINT_SAVE);
	saved(d, run_of(d)->id, "b1");
	desk_end_call(d, ((struct ar_invocation *)turn_of(d)->calls.at[0])->id,
		      &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = AR_STR("done") });
	answer(d, false);
	expect_run(d, AR_CHECKPOINT_SAVE);
	saved(d, run_of(d)->id, "b2");
	assert_true(ar_str_is(child(d)->status, "completed"));
}

static enum ar_status close_child(struct desk *d)
{
	return desk_command(d, AR_CMD_CLOSE_SUBAGENT,
			    &(struct ar_cmd_close_subagent_in){ .subagent_id = child(d)->subagent_id });
}

static enum ar_status apply(struct desk *d)
{
	return desk_command(d, AR_CMD_APPLY_WORKSPACE,
			    &(struct ar_cmd_apply_workspace_in){ .session_id = d->session.id,
								 .subagent_id = child(d)->subagent_id });
}

static void merged(struct desk *d, int64_t left_out)
{
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_MERGE,
					    .id = child(d)->files->apply_id,
					    .tree = AR_STR("w1"),
					    .base = AR_STR("b2"),
					    .left_out = left_out });
}

static void lose(struct desk *d)
{
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
}

static void the_folder_is_on_record_before_it_is_made_and_made_before_a_call(void **state)
{
	struct desk *d = *state;
	struct ar_str folder;

	assert_int_equal(spawn(d), AR_OK);
	assert_null(child(d)->files);
	assert_true(ar_str_is(child(d)->folder->origin, "/srv/shop"));
	folder = ar_session_folder_in(&d->session, &d->policy, child(d)->child_thread_id);
	assert_true(ar_str_starts(folder, AR_STR("/srv/ws/")) &&
		    ar_str_ends(folder, AR_STR("/agent-2/files")));
	assert_true(
		ar_str_is(ar_session_folder_in(&d->session, &d->policy, desk_thread(d, 0)->id), "/srv/shop"));
	assert_null(d->session.files);
	answer(d, true);
	desk_expect_payload(d, AR_EV_WORKSPACE_PREPARING, "worktree");
	expect_run(d, AR_CHECKPOINT_FILL);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	lose(d);
	expect_run(d, AR_CHECKPOINT_FILL);
	assert_null(d->session.files);
}

static void a_folder_that_cannot_be_made_is_a_failed_child(void **state)
{
	struct desk *d = *state;

	assert_int_equal(spawn(d), AR_OK);
	answer(d, true);
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_FILL,
					    .id = child(d)->subagent_id,
					    .status = AR_E_IO,
					    .message = AR_STR("no space") });
	assert_true(ar_str_is(child(d)->status, "failed"));
	assert_true(ar_str_is(child(d)->error->category, "workspace_unavailable"));
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
}

static void a_closed_child_keeps_what_is_not_merged(void **state)
{
	struct desk *d = *state;

	work(d);
	assert_true(child(d)->files->changed.v);
	assert_int_equal(close_child(d), AR_OK);
	assert_true(ar_str_is(child(d)->status, "closed"));
	assert_null(run_of(d));
	assert_int_equal(apply(d), AR_OK);
	expect_run(d, AR_CHECKPOINT_MERGE);
	desk_expect_refusal(d, apply(d), AR_ERR_CONFLICT);
	lose(d);
	expect_run(d, AR_CHECKPOINT_MERGE);
	merged(d, 1); /* a protected path is still only here */
	assert_null(run_of(d));
	assert_int_equal(apply(d), AR_OK);
	merged(d, 0);
	expect_run(d, AR_CHECKPOINT_CLEAR);
	lose(d);
	expect_run(d, AR_CHECKPOINT_CLEAR);
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_CLEAR, .id = child(d)->subagent_id });
	desk_expect(d, "workspace.removed");
	desk_expect_refusal(d, apply(d), AR_ERR_CONFLICT);
	lose(d);
	assert_null(run_of(d));
}

static void kept_folders_count_against_the_limit(void **state)
{
	struct desk *d = *state;

	for (int i = 0; i < 2; i++) {
		work(d);
		assert_int_equal(close_child(d), AR_OK);
	}
	desk_expect_refusal(d, spawn(d), AR_ERR_FANOUT_LIMIT);
	assert_int_equal(apply(d), AR_OK);
	merged(d, 0);
	desk_expect_refusal(d, spawn(d), AR_ERR_FANOUT_LIMIT); /* not before it is gone */
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_CLEAR, .id = child(d)->subagent_id });
	assert_int_equal(spawn(d), AR_OK);
}

static void a_snapshot_keeps_folders(void **state)
{
	struct desk *d = *state;
	struct ar_buf first = { 0 }, second = { 0 };
	struct ar_session copy;
	struct ar_json v;

	work(d);
	assert_int_equal(apply(d), AR_OK);
	ar_session_snapshot(&d->session, &first);
	ar_session_init(&copy, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&first), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&copy, v, &d->err), AR_OK);
	ar_session_snapshot(&copy, &second);
	assert_true(ar_str_eq(ar_buf_str(&first), ar_buf_str(&second)));
	assert_true(ar_str_eq(ar_subagent_at(&copy, 0)->files->apply_id, child(d)->files->apply_id));
	assert_true(ar_subagent_at(&copy, 0)->files->changed.v);
	ar_session_fini(&copy);
	ar_buf_fini(&first);
	ar_buf_fini(&second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_desk, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_folder_is_on_record_before_it_is_made_and_made_before_a_call),
		TEST(a_folder_that_cannot_be_made_is_a_failed_child),
		TEST(a_closed_child_keeps_what_is_not_merged),
		TEST(kept_folders_count_against_the_limit),
		TEST(a_snapshot_keeps_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
