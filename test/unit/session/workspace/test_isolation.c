/* A session with a folder of its own in the pure core: who waits, what is merged, and what is asked. */
#include "desk.h"
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

#define TOOL(n, ...) \
	{ \
		.name = AR_STR(n), .description = AR_STR("Does."), \
		.schema = AR_STR("{\"type\":\"object\"}"), .owner = AR_TOOL_LOCAL, __VA_ARGS__ \
	}

static const struct ar_tool look =
	TOOL("look", .is_read_only = true, .is_concurrency_safe = true, .works_in_folder = true);
static const struct ar_tool mail = TOOL("mail", .is_idempotent = true);
static const struct ar_tool *const tools[] = { &look, &mail };
static const struct ar_inventory inventory = { tools, AR_ARRAY_LEN(tools), 1, true };

static enum ar_status create(struct desk *d, int isolation, const struct ar_shape_workspace_record *record,
			     const char *folder)
{
	const struct ar_cmd_create_session_in in = { .title = AR_STR("x"),
						     .isolation = isolation,
						     .workspace_id =
							     record ? record->workspace_id : AR_STR_NONE };

	d->policy.inventory = &inventory;
	d->policy.permission_mode = AR_MODE_BYPASS;
	d->policy.checkpoints = 100;
	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .command = { .id = AR_CMD_CREATE_SESSION,
							  .args = &in,
							  .workspace = record,
							  .own_folder = ar_str_from(folder) } });
}

static void ask_for(struct desk *d, const char *name)
{
	struct ar_tool_use request = { AR_STR("call"), ar_str_from(name), AR_STR("{}") };
	struct ar_step_output out = {
		.tools = &request, .tool_count = 1, .text = AR_STR(""), .step = desk_active(d)->open_step
	};

	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						       .model_done = { .output = &out,
								       .end =
									       &(struct ar_model_result){
										       .outcome = 1 } } }),
			 AR_OK);
}

static void ends(struct desk *d, struct ar_checkpoint_end end)
{
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

/* A copy whose turn has ended; its base is "b1". */
static void work(struct desk *d)
{
	assert_int_equal(create(d, AR_WORKSPACE_ISOLATION_COPY, &shop, "/srv/own"), AR_OK);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, "look");
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_FILL, .tree = AR_STR("b1"), .files = 3 });
	desk_end_call(d, ((struct ar_invocation *)desk_active(d)->calls.at[0])->id,
		      &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = AR_STR("done") });
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
}

static enum ar_status apply(struct desk *d)
{
	return desk_command(d, AR_CMD_APPLY_WORKSPACE,
			    &(struct ar_cmd_apply_workspace_in){ .session_id = d->session.id,
								 .reason = AR_STR("good") });
}

static enum ar_status discard(struct desk *d)
{
	return desk_command(d, AR_CMD_DISCARD_WORKSPACE,
			    &(struct ar_cmd_discard_workspace_in){ .session_id = d->session.id });
}

static void conflict(struct desk *d)
{
	assert_int_equal(apply(d), AR_OK);
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_MERGE,
					    .id = d->session.files->apply_id,
					    .files = 2,
					    .conflicts = AR_STR("[\"a\",\"b\"]") });
}

static enum ar_status answer(struct desk *d, const char *word)
{
	return desk_command(d, AR_CMD_RESPOND_ACTION,
			    &(struct ar_cmd_respond_action_in){ .action_id = d->session.files->action_id,
								.decision = ar_str_from(word) });
}

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
	assert_non_null(copy.files);
	ar_session_fini(&copy);
	ar_buf_fini(&text);
	ar_buf_fini(&again);
}

/* ---- its folder ---- */

static void a_session_gets_the_folder_that_was_made(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, AR_WORKSPACE_ISOLATION_WORKTREE, &shop, "/srv/own"), AR_OK);
	desk_expect_payload(d, AR_EV_WORKSPACE_BOUND,
			    "\"folder\":\"/srv/own\",\"isolation\":\"worktree\",\"origin\":\"/srv/shop\"");
	assert_true(ar_str_is(ar_session_folder(&d->session, &d->policy), "/srv/own"));
}

static void the_workspace_says_what_is_usual(void **state)
{
	struct desk *d = *state;
	struct ar_shape_workspace_record record = shop;

	record.isolation = AR_WORKSPACE_ISOLATION_COPY;
	assert_int_equal(create(d, AR_WORKSPACE_ISOLATION_SHARED, &record, NULL), AR_OK);
	desk_expect_payload(d, AR_EV_WORKSPACE_BOUND, "\"folder\":\"/srv/shop\"}");
	desk_close(state);
	desk_open(state);
	assert_int_equal(create(*state, 0, &record, "/srv/own"), AR_OK);
	desk_expect_payload(*state, AR_EV_WORKSPACE_BOUND, "\"isolation\":\"copy\"");
}

static void what_cannot_be_is_refused(void **state)
{
	struct desk *d = *state;

	desk_expect_refusal(d, create(d, AR_WORKSPACE_ISOLATION_COPY, NULL, NULL), AR_ERR_INVALID_INPUT);
	desk_expect_refusal(d, create(d, AR_WORKSPACE_ISOLATION_COPY, &shop, NULL),
			    AR_ERR_ISOLATION_UNSUPPORTED);
	assert_int_equal(d->session.head, 0);
}

/* ---- filling it ---- */

static void every_call_in_the_folder_waits(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, AR_WORKSPACE_ISOLATION_COPY, &shop, "/srv/own"), AR_OK);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, "look");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	assert_int_equal(run_of(d)->kind, AR_CHECKPOINT_FILL);
	assert_true(ar_session_is_active(&d->session));
	fold_again(d);
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_FILL, .tree = AR_STR("b1"), .files = 3 });
	desk_expect_payload(d, AR_EV_WORKSPACE_PREPARED, "\"method\":\"copy\",\"base\":\"b1\"");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void other_tools_and_shared_folders_do_not_wait(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, AR_WORKSPACE_ISOLATION_COPY, &shop, "/srv/own"), AR_OK);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, "mail");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	assert_null(d->session.files);
	desk_close(state);
	desk_open(state);
	d = *state;
	assert_int_equal(create(d, AR_WORKSPACE_ISOLATION_SHARED, &shop, NULL), AR_OK);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, "look");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void a_failure_ends_the_calls_of_the_turn(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, AR_WORKSPACE_ISOLATION_COPY, &shop, "/srv/own"), AR_OK);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, "look");
	ends(d, (struct ar_checkpoint_end){
			.kind = AR_CHECKPOINT_FILL, .status = AR_E_IO, .message = AR_STR("no space") });
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	desk_expect_payload(d, AR_EV_TOOL_FAILED, "workspace_unavailable");
	assert_int_equal(desk_answer(d, "sorry"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	ask_for(d, "look"); /* the next turn tries again */
	assert_int_equal(run_of(d)->kind, AR_CHECKPOINT_FILL);
}

static void a_lost_fill_is_repeated(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, AR_WORKSPACE_ISOLATION_WORKTREE, &shop, "/srv/own"), AR_OK);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, "look");
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(run_of(d)->kind, AR_CHECKPOINT_FILL);
	assert_true(ar_str_starts(run_of(d)->label, AR_STR("agent/")));
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_FILL, .tree = AR_STR("b1") });
	assert_int_equal(d->session.files->status, AR_SESSION_FILES_STATUS_READY);
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_FILL, .tree = AR_STR("b2") });
	assert_true(ar_str_is(d->session.files->base, "b1")); /* a second end is late */
}

/* ---- merging ---- */

static void a_merge_moves_the_base(void **state)
{
	struct desk *d = *state;

	work(d);
	assert_int_equal(apply(d), AR_OK);
	desk_expect(d, "workspace.applying");
	assert_int_equal(run_of(d)->kind, AR_CHECKPOINT_MERGE);
	assert_true(ar_str_is(run_of(d)->from, "b1"));
	desk_expect_refusal(d, apply(d), AR_ERR_CONFLICT);
	desk_expect_refusal(d, discard(d), AR_ERR_CONFLICT);
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_MERGE, .id = AR_STR("apply_of_another") });
	desk_expect(d, "");
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_MERGE,
					    .id = d->session.files->apply_id,
					    .tree = AR_STR("before"),
					    .base = AR_STR("b2"),
					    .changes = AR_STR("[]"),
					    .files = 1 });
	desk_expect_payload(d, AR_EV_WORKSPACE_APPLIED, "\"before\":\"before\",\"base\":\"b2\"");
	assert_true(ar_str_is(d->session.files->base, "b2"));
	assert_false(ar_session_is_active(&d->session));
	fold_again(d);
}

static void a_lost_merge_is_repeated_with_its_id(void **state)
{
	struct desk *d = *state;
	struct ar_str id;

	work(d);
	assert_int_equal(apply(d), AR_OK);
	id = d->session.files->apply_id;
	assert_true(ar_session_is_active(&d->session));
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	desk_expect(d, "");
	assert_int_equal(run_of(d)->kind, AR_CHECKPOINT_MERGE);
	assert_true(ar_str_eq(run_of(d)->label, id));
}

static void nothing_is_moved_while_a_turn_runs(void **state)
{
	struct desk *d = *state;

	work(d);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	desk_expect_refusal(d, apply(d), AR_ERR_ACTIVE_TURN);
	desk_expect_refusal(d, discard(d), AR_ERR_ACTIVE_TURN);
}

/* A turn that begins meanwhile waits before it touches the files. */
static void calls_wait_for_a_merge(void **state)
{
	struct desk *d = *state;

	work(d);
	assert_int_equal(apply(d), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	ask_for(d, "look");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	ends(d, (struct ar_checkpoint_end){
			.kind = AR_CHECKPOINT_MERGE, .id = d->session.files->apply_id, .status = AR_E_IO });
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void a_conflict_is_a_question(void **state)
{
	static const struct {
		const char *word;
		enum ar_merge_side side;
	} cases[] = { { "keep_session", AR_MERGE_SIDE_SESSION },
		      { "keep_workspace", AR_MERGE_SIDE_WORKSPACE },
		      { "leave_out", AR_MERGE_SIDE_LEFT_OUT } };

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct desk *d = *state;
		struct ar_str id;

		work(d);
		conflict(d);
		desk_expect(d, "workspace.conflicted action.required");
		assert_null(run_of(d));
		fold_again(d);
		id = d->session.files->apply_id;
		desk_expect_refusal(d, apply(d), AR_ERR_CONFLICT);
		assert_int_equal(answer(d, cases[i].word), AR_OK);
		desk_expect(d, "action.resolved workspace.applying");
		assert_int_equal(run_of(d)->side, cases[i].side);
		assert_true(ar_str_eq(run_of(d)->id, id));
		desk_close(state);
		desk_open(state);
	}
}

/* A turn that began meanwhile neither waits for the answer nor takes the question with it. */
static void a_question_is_not_of_a_turn_that_runs(void **state)
{
	struct desk *d = *state;
	const struct ar_action *a;

	work(d);
	assert_int_equal(apply(d), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	ends(d, (struct ar_checkpoint_end){ .kind = AR_CHECKPOINT_MERGE,
					    .id = d->session.files->apply_id,
					    .files = 1,
					    .conflicts = AR_STR("[\"a\"]") });
	assert_false(ar_turn_is_waiting(&d->session, desk_active(d)));
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	a = ar_session_action(&d->session, d->session.files->action_id);
	assert_int_equal(a->status, AR_ACTION_PENDING);
	assert_int_equal(answer(d, "keep_session"), AR_OK);
}

static void an_answer_waits_for_the_turn_but_a_no_does_not(void **state)
{
	struct desk *d = *state;

	work(d);
	conflict(d);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	desk_expect_refusal(d, answer(d, "keep_session"), AR_ERR_ACTIVE_TURN);
	assert_int_equal(answer(d, "cancel"), AR_OK);
	desk_expect(d, "action.resolved workspace.failed");
	assert_true(ar_str_absent(d->session.files->apply_id));
	assert_true(ar_str_is(d->session.files->base, "b1"));
}

static void without_an_answer_nothing_is_merged(void **state)
{
	struct desk *d = *state;

	d->policy.action_timeout_ms = 1000;
	work(d);
	conflict(d);
	d->now += 2000000;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_ACTION_DUE,
						       .due = d->session.files->action_id }),
			 AR_OK);
	desk_expect(d, "action.resolved workspace.failed");
	desk_expect_payload(d, AR_EV_ACTION_RESOLVED, "\"decision\":\"cancel\"");
	assert_null(run_of(d));
}

/* ---- discarding ---- */

static void changes_are_thrown_away_by_a_restore(void **state)
{
	struct desk *d = *state;

	work(d);
	assert_int_equal(discard(d), AR_OK);
	desk_expect(d, "checkpoint.restoring");
	assert_int_equal(run_of(d)->kind, AR_CHECKPOINT_RESTORE);
	assert_true(ar_str_is(run_of(d)->tree, "b1"));
	desk_expect_refusal(d, apply(d), AR_ERR_CONFLICT);
}

static void a_shared_folder_has_nothing_to_apply(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, AR_WORKSPACE_ISOLATION_SHARED, &shop, NULL), AR_OK);
	desk_expect_refusal(d, apply(d), AR_ERR_WORKSPACE_SHARED);
	desk_expect_refusal(d, discard(d), AR_ERR_WORKSPACE_SHARED);
	desk_close(state);
	desk_open(state);
	d = *state;
	assert_int_equal(create(d, AR_WORKSPACE_ISOLATION_COPY, &shop, "/srv/own"), AR_OK);
	desk_expect_refusal(d, apply(d), AR_ERR_CONFLICT); /* not filled yet */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_gets_the_folder_that_was_made),
		TEST(the_workspace_says_what_is_usual),
		TEST(what_cannot_be_is_refused),
		TEST(every_call_in_the_folder_waits),
		TEST(other_tools_and_shared_folders_do_not_wait),
		TEST(a_failure_ends_the_calls_of_the_turn),
		TEST(a_lost_fill_is_repeated),
		TEST(a_merge_moves_the_base),
		TEST(a_lost_merge_is_repeated_with_its_id),
		TEST(nothing_is_moved_while_a_turn_runs),
		TEST(calls_wait_for_a_merge),
		TEST(a_conflict_is_a_question),
		TEST(a_question_is_not_of_a_turn_that_runs),
		TEST(an_answer_waits_for_the_turn_but_a_no_does_not),
		TEST(without_an_answer_nothing_is_merged),
		TEST(changes_are_thrown_away_by_a_restore),
		TEST(a_shared_folder_has_nothing_to_apply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
