/* Checkpoints in the pure core: who waits for one, what becomes of it, what is restored and what is kept. */
#include "checkpoint/checkpoints.h"
#include "desk.h"

#include <stdio.h>

#define COMPLETED "task.attempt.completed task.completed turn.completed thread.updated"
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
static const struct ar_tool put = TOOL("put", .works_in_folder = true);
static const struct ar_tool *const tools[] = { &look, &mail, &put };
static const struct ar_inventory inventory = { tools, AR_ARRAY_LEN(tools), 1, true };

/* A session with this workspace, or none, that keeps checkpoints. */
static void create_with(struct desk *d, const struct ar_shape_workspace_record *workspace)
{
	const struct ar_cmd_create_session_in in = { .title = AR_STR("x"),
						     .workspace_id = workspace ? workspace->workspace_id
									       : AR_STR_NONE };

	d->policy.inventory = &inventory;
	d->policy.permission_mode = AR_MODE_BYPASS;
	d->policy.checkpoints = 100;
	d->policy.workspace = AR_STR("/srv/host");
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
						       .command = { .id = AR_CMD_CREATE_SESSION,
								    .args = &in,
								    .workspace = workspace } }),
			 AR_OK);
}

static void create(struct desk *d)
{
	create_with(d, &shop);
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

static void submit(struct desk *d, const char *turn)
{
	assert_int_equal(desk_submit(d, turn), AR_OK);
}

static void begin(struct desk *d, const char *turn)
{
	submit(d, turn);
	ASK_FOR(d, "put");
}

static const struct ar_shape_checkpoint_record *newest(struct desk *d)
{
	assert_true(d->session.checkpoints.count > 0);
	return ar_checkpoint_at(&d->session, d->session.checkpoints.count - 1);
}

static void end_with(struct desk *d, struct ar_checkpoint_end end)
{
	assert_int_equal(desk_do(d,
				 (struct ar_input){ .kind = AR_IN_CHECKPOINT_DONE, .checkpoint_done = &end }),
			 AR_OK);
}

static void made(struct desk *d, const char *tree)
{
	end_with(d, (struct ar_checkpoint_end){ .id = newest(d)->checkpoint_id,
						.tree = ar_str_from(tree),
						.files = 3,
						.bytes = 10,
						.left_out = 1 });
}

static void end_call(struct desk *d, size_t i)
{
	desk_end_call(d, ((struct ar_invocation *)desk_active(d)->calls.at[i])->id,
		      &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = AR_STR("done") });
}

static enum ar_status recover(struct desk *d)
{
	return desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER });
}

/* A turn from its start to its checkpoint at the end, with the files as given before and after. */
static void run_turn(struct desk *d, const char *turn, const char *before, const char *after)
{
	begin(d, turn);
	made(d, before);
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	made(d, after);
}

static enum ar_status restore(struct desk *d, const char *id, const char *turn, int phase)
{
	return desk_command(d, AR_CMD_RESTORE_CHECKPOINT,
			    &(struct ar_cmd_restore_checkpoint_in){ .session_id = d->session.id,
								    .checkpoint_id = ar_str_from(id),
								    .turn_id = ar_str_from(turn),
								    .phase = phase,
								    .reason = AR_STR("bad idea") });
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
	ar_session_fini(&d->session);
	d->session = copy;
	ar_buf_fini(&text);
	ar_buf_fini(&again);
}

/* ---- around a turn ---- */

static void a_call_that_may_change_files_waits(void **state)
{
	struct desk *d = *state;

	create(d);
	begin(d, "a");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 1);
	desk_expect_payload(d, AR_EV_CHECKPOINT_STARTED, "\"phase\":\"start\",\"workspaceId\":\"" WS "\"");
	assert_true(ar_session_is_active(&d->session));
	made(d, "t1");
	desk_expect(d, "checkpoint.created tool.started");
	desk_expect_payload(d, AR_EV_CHECKPOINT_CREATED,
			    "\"phase\":\"start\",\"tree\":\"t1\",\"files\":3,\"bytes\":10,\"leftOut\":1");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void only_the_first_of_a_turn_waits(void **state)
{
	struct desk *d = *state;

	create(d);
	begin(d, "a");
	made(d, "t1");
	end_call(d, 0);
	ASK_FOR(d, "put");
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void reads_and_other_tools_do_not_wait(void **state)
{
	struct desk *d = *state;

	create(d);
	d->policy.is_workspace_shared = true;
	submit(d, "a");
	ASK_FOR(d, "look", "look");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 2);
	end_call(d, 0);
	end_call(d, 1);
	ASK_FOR(d, "mail");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	end_call(d, 2);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	assert_int_equal(d->session.checkpoints.count, 0);
}

static void a_read_behind_it_keeps_its_place(void **state)
{
	struct desk *d = *state;

	create(d);
	submit(d, "a");
	ASK_FOR(d, "look", "put", "look");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 0); /* its turn has not come */
	end_call(d, 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	made(d, "t1");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void without_them_nothing_changes(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct desk *d;

		desk_close(state);
		desk_open(state);
		d = *state;
		create_with(d, i == 0 ? &shop : NULL);
		if (i == 0)
			d->policy.checkpoints = 0;
		begin(d, "a");
		assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
		assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 0);
		end_call(d, 0);
		assert_int_equal(desk_answer(d, "ready"), AR_OK);
		assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 0);
		assert_int_equal(d->session.checkpoints.count, 0);
	}
}

static void the_end_of_the_turn_has_one_too(void **state)
{
	struct desk *d = *state;

	create(d);
	begin(d, "a");
	made(d, "t1");
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	desk_expect_payload(d, AR_EV_CHECKPOINT_STARTED, "\"phase\":\"end\"");
	assert_int_equal(d->decision.events[d->decision.event_count - 1].type, AR_EV_CHECKPOINT_STARTED);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 1);
	assert_true(ar_str_is(d->decision.effects[0].checkpoint.from, "t1"));
	assert_true(ar_session_is_active(&d->session));
	made(d, "t2");
	desk_expect(d, "checkpoint.created " COMPLETED);
	assert_true(ar_str_is(ar_session_checkpoint_of(&d->session, AR_STR("a"), 1)->tree, "t1"));
	assert_true(ar_str_is(ar_session_checkpoint_of(&d->session, AR_STR("a"), 2)->tree, "t2"));
	assert_false(ar_session_is_active(&d->session));
}

static void one_that_fails_stops_nothing(void **state)
{
	struct desk *d = *state;

	create(d);
	begin(d, "a");
	end_with(d, (struct ar_checkpoint_end){ .id = newest(d)->checkpoint_id,
						.status = AR_E_UNAVAILABLE,
						.message = AR_STR("no git; install it") });
	desk_expect(d, "checkpoint.failed tool.started");
	desk_expect_payload(d, AR_EV_CHECKPOINT_FAILED,
			    "\"category\":\"unavailable\",\"message\":\"no git; install it\"");
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 0);
	assert_int_equal(newest(d)->status, AR_CHECKPOINT_RECORD_STATUS_FAILED);
}

static void an_interrupted_turn_does_not_wait_for_it(void **state)
{
	struct desk *d = *state;
	struct ar_str id;

	create(d);
	begin(d, "a");
	id = newest(d)->checkpoint_id;
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .session_id = d->session.id,
									  .turn_id = AR_STR("a"),
									  .reason = AR_STR("enough") }),
			 AR_OK);
	desk_expect_payload(d, AR_EV_CHECKPOINT_FAILED, "\"category\":\"cancelled\"");
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT_CANCEL), 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 0);
	assert_true(ar_str_absent(desk_thread(d, 0)->active_turn));
	end_with(d, (struct ar_checkpoint_end){ .id = id, .tree = AR_STR("t1") });
	desk_expect(d, ""); /* it comes too late */
	assert_int_equal(newest(d)->status, AR_CHECKPOINT_RECORD_STATUS_FAILED);
}

/* ---- after a crash ---- */

static void a_lost_start_is_made_again(void **state)
{
	struct desk *d = *state;
	char first[128];

	create(d);
	begin(d, "a");
	snprintf(first, sizeof(first), "%.*s", AR_STR_ARG(newest(d)->checkpoint_id));
	fold_again(d);
	assert_int_equal(recover(d), AR_OK);
	desk_expect_payload(d, AR_EV_CHECKPOINT_FAILED, "\"category\":\"interrupted\"");
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	assert_int_equal(d->session.checkpoints.count, 2);
	assert_false(ar_str_is(newest(d)->checkpoint_id, first));
	made(d, "t1");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

/* One call waits for its checkpoint, another for a person: the turn does more than wait. */
static void a_turn_that_also_asks_makes_it_again(void **state)
{
	static const struct ar_tool careful = TOOL("careful", .is_destructive = true);
	static const struct ar_tool *const both[] = { &careful, &put };
	static const struct ar_inventory two = { both, 2, 1, true };
	static const struct ar_permission_rule rules[] = {
		{ .name = AR_STR("r"), .tool = AR_STR("careful"), .reach = AR_REACH_HOST, .verdict = AR_ASK }
	};
	struct desk *d = *state;

	create(d);
	d->policy.is_workspace_shared = true;
	d->policy.inventory = &two;
	d->policy.rules = rules;
	d->policy.rule_count = 1;
	submit(d, "a");
	ASK_FOR(d, "put", "careful");
	assert_int_equal(d->session.actions.count, 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 1);
	assert_int_equal(recover(d), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 1);
	made(d, "t1");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

/* Nothing of the turn is lost with the process: no attempt is counted. */
static void a_lost_end_is_made_again(void **state)
{
	struct desk *d = *state;

	create(d);
	begin(d, "a");
	made(d, "t1");
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	assert_int_equal(recover(d), AR_OK);
	desk_expect(d, "checkpoint.failed checkpoint.started");
	fold_again(d);
	made(d, "t2");
	desk_expect(d, "checkpoint.created " COMPLETED);
	assert_false(ar_session_is_active(&d->session));
}

/* The turn does not wait longer than for an answer. */
static void an_end_that_fails_stops_nothing(void **state)
{
	struct desk *d = *state;

	create(d);
	begin(d, "a");
	made(d, "t1");
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	end_with(d, (struct ar_checkpoint_end){ .id = newest(d)->checkpoint_id,
						.status = AR_E_IO,
						.message = AR_STR("no space") });
	desk_expect(d, "checkpoint.failed " COMPLETED);
}

static void interrupt(struct desk *d)
{
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .turn_id = AR_STR("a"),
									  .reason = AR_STR("enough") }),
			 AR_OK);
}

/* The state of its files is kept all the same, once. */
static void an_interrupt_does_not_wait_for_the_end(void **state)
{
	struct desk *d = *state;

	create(d);
	begin(d, "a");
	made(d, "t1");
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	interrupt(d);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT_CANCEL), 0);
	assert_true(ar_str_absent(((struct ar_thread *)d->session.threads.at[0])->active_turn));
	made(d, "t2");
	desk_expect(d, "checkpoint.created");
	assert_true(ar_str_is(ar_session_checkpoint_of(&d->session, AR_STR("a"), 2)->tree, "t2"));
}

/* ---- what commands changed ---- */

static const struct ar_tool_artifact found[] = {
	{ .path = AR_STR("made.txt"),
	  .change = AR_TOOL_CREATED,
	  .version = AR_STR("11"),
	  .content = AR_STR("new"),
	  .size = 3 },
	{ .path = AR_STR("gone.txt"), .change = AR_TOOL_DELETED },
};

static void observe(struct desk *d, int64_t changed)
{
	end_with(d, (struct ar_checkpoint_end){ .id = newest(d)->checkpoint_id,
						.tree = AR_STR("t2"),
						.artifacts = found,
						.artifact_count = AR_ARRAY_LEN(found),
						.changed = changed });
}

static void what_changed_is_known_when_the_turn_completes(void **state)
{
	struct desk *d = *state;

	create(d);
	begin(d, "a");
	made(d, "t1");
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	observe(d, 2);
	desk_expect(d, "artifact.changed artifact.changed checkpoint.created " COMPLETED);
	desk_expect_payload(d, AR_EV_ARTIFACT_CHANGED, "\"change\":\"observed\"");
	assert_null(((const struct ar_ev_artifact_changed *)d->decision.events[0].payload)->producer);
	desk_expect_payload(d, AR_EV_TURN_COMPLETED, "\"artifactRefs\":[\"artifact_");
}

/* A file tool has said it already: the same version is no news. */
static void what_a_tool_reported_is_not_reported_again(void **state)
{
	struct desk *d = *state;

	create(d);
	begin(d, "a");
	made(d, "t1");
	desk_end_call(d, ((struct ar_invocation *)desk_active(d)->calls.at[0])->id,
		      &(struct ar_tool_result){ .outcome = AR_TOOL_OK,
						.text = AR_STR("done"),
						.artifacts = found,
						.artifact_count = 1 });
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	observe(d, 5000);
	desk_expect(d, "artifact.changed runtime.warning checkpoint.created " COMPLETED);
	desk_expect_payload(d, AR_EV_RUNTIME_WARNING, "4998 of 5000 files");
	desk_expect_payload(d, AR_EV_RUNTIME_WARNING, "\"turnId\":\"a\"");
}

/* ---- restored ---- */

static void a_turn_is_taken_back_and_forth(void **state)
{
	struct desk *d = *state;
	const char *before;

	create(d);
	run_turn(d, "a", "t1", "t2");
	assert_int_equal(restore(d, NULL, "a", 0), AR_OK);
	desk_expect(d, "checkpoint.restoring");
	desk_expect_payload(d, AR_EV_CHECKPOINT_RESTORING, "\"tree\":\"t1\"");
	desk_expect_payload(d, AR_EV_CHECKPOINT_RESTORING, "\"actor\":\"me\",\"reason\":\"bad idea\"");
	assert_int_equal(d->decision.effects[0].checkpoint.kind, AR_CHECKPOINT_RESTORE);
	assert_true(ar_str_is(d->decision.effects[0].checkpoint.tree, "t1"));
	before = ar_arena_str(&d->session.arena, newest(d)->checkpoint_id).p;
	desk_expect_reply(d, before);
	end_with(d, (struct ar_checkpoint_end){ .id = newest(d)->checkpoint_id,
						.tree = AR_STR("t2"),
						.files = 7,
						.changes = AR_STR("[]") });
	desk_expect(d, "checkpoint.restored");
	desk_expect_payload(d, AR_EV_CHECKPOINT_RESTORED, "\"before\":\"t2\",\"files\":7,\"changesRef\":");
	assert_int_equal(restore(d, before, NULL, 0), AR_OK);
	assert_true(ar_str_is(d->decision.effects[0].checkpoint.tree, "t2"));
}

static void the_phase_selects(void **state)
{
	struct desk *d = *state;

	create(d);
	run_turn(d, "a", "t1", "t2");
	assert_int_equal(restore(d, NULL, "a", AR_RESTORE_CHECKPOINT_PHASE_END), AR_OK);
	assert_true(ar_str_is(d->decision.effects[0].checkpoint.tree, "t2"));
}

static void what_cannot_be_restored_is_refused(void **state)
{
	struct desk *d = *state;

	create(d);
	run_turn(d, "a", "t1", "t2");
	desk_expect_refusal(d, restore(d, "cp_x", NULL, 0), AR_ERR_CHECKPOINT_NOT_FOUND);
	desk_expect_refusal(d, restore(d, NULL, "b", 0), AR_ERR_CHECKPOINT_NOT_FOUND);
	begin(d, "b");
	desk_expect_refusal(d, restore(d, NULL, "a", 0), AR_ERR_ACTIVE_TURN);
	desk_expect_refusal(d, restore(d, newest(d)->checkpoint_id.p, NULL, 0), AR_ERR_CHECKPOINT_NOT_FOUND);
	made(d, "t3");
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	made(d, "t4");
	assert_int_equal(restore(d, NULL, "a", 0), AR_OK);
	desk_expect_refusal(d, restore(d, NULL, "b", 0), AR_ERR_CONFLICT);
	made(d, "t4");
	d->policy.checkpoints = 0;
	desk_expect_refusal(d, restore(d, NULL, "b", 0), AR_ERR_UNAVAILABLE);
}

/* What was kept before a restore that failed can be had back. */
static void a_failed_restore_leaves_what_was_before(void **state)
{
	struct desk *d = *state;

	create(d);
	run_turn(d, "a", "t1", "t2");
	assert_int_equal(restore(d, NULL, "a", 0), AR_OK);
	end_with(d, (struct ar_checkpoint_end){ .id = newest(d)->checkpoint_id,
						.status = AR_E_IO,
						.tree = AR_STR("t2"),
						.message = AR_STR("3 files are not writable") });
	desk_expect_payload(d, AR_EV_CHECKPOINT_FAILED,
			    "\"phase\":\"restore\",\"category\":\"error\",\"message\":\"3 files are not "
			    "writable\",\"tree\":\"t2\"");
	assert_int_equal(newest(d)->status, AR_CHECKPOINT_RECORD_STATUS_AVAILABLE);
	assert_int_equal(restore(d, newest(d)->checkpoint_id.p, NULL, 0), AR_OK);
}

/* Files that are half restored are not worked with, and not read. */
static void calls_wait_for_a_restore(void **state)
{
	struct desk *d = *state;
	struct ar_str restoring;

	create(d);
	run_turn(d, "a", "t1", "t2");
	assert_int_equal(restore(d, NULL, "a", 0), AR_OK);
	restoring = newest(d)->checkpoint_id;
	submit(d, "b");
	ASK_FOR(d, "look", "put");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 0);
	end_with(d, (struct ar_checkpoint_end){ .id = restoring, .tree = AR_STR("t3"), .files = 1 });
	desk_expect(d, "checkpoint.restored tool.started");
	end_call(d, 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 1);
}

static void a_lost_restore_is_not_called_done(void **state)
{
	struct desk *d = *state;

	create(d);
	run_turn(d, "a", "t1", "t2");
	assert_int_equal(restore(d, NULL, "a", 0), AR_OK);
	assert_int_equal(recover(d), AR_OK);
	desk_expect(d, "checkpoint.failed");
	desk_expect_payload(d, AR_EV_CHECKPOINT_FAILED, "some of them may be; restore again");
	assert_int_equal(newest(d)->status, AR_CHECKPOINT_RECORD_STATUS_FAILED);
}

/* ---- kept ---- */

static size_t forgotten(struct desk *d, const char *tree)
{
	size_t n = 0;

	for (size_t i = 0; i < d->decision.effect_count; i++) {
		const struct ar_effect *e = &d->decision.effects[i];

		if (e->kind == AR_EFFECT_CHECKPOINT && e->checkpoint.kind == AR_CHECKPOINT_FORGET)
			n += ar_texts_have(e->checkpoint.trees, ar_str_from(tree));
	}
	return n;
}

static void the_newest_are_kept(void **state)
{
	struct desk *d = *state;

	create(d);
	d->policy.checkpoints = 3;
	run_turn(d, "a", "t1", "t2");
	begin(d, "b");
	made(d, "t2");
	assert_int_equal(d->session.checkpoints.count, 3);
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	made(d, "t3");
	desk_expect(d, "checkpoint.created " COMPLETED " checkpoint.expired");
	desk_expect_payload(d, AR_EV_CHECKPOINT_EXPIRED, "\"reason\":\"count\"");
	assert_int_equal(forgotten(d, "t1"), 1);
	assert_int_equal(d->session.checkpoints.count, 3);
	run_turn(d, "c", "t3", "t4"); /* the end of a leaves; b began with the same files */
	assert_int_equal(forgotten(d, "t2"), 1);
	assert_int_equal(d->session.checkpoints.count, 3);
}

static void a_state_that_another_has_stays(void **state)
{
	struct desk *d = *state;

	create(d);
	d->policy.checkpoints = 3;
	run_turn(d, "a", "t1", "t1");
	begin(d, "b");
	made(d, "t1");
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	made(d, "t2");
	desk_expect(d, "checkpoint.created " COMPLETED " checkpoint.expired");
	assert_int_equal(desk_effects(d, AR_EFFECT_CHECKPOINT), 0);
}

static void what_is_in_use_stays(void **state)
{
	struct desk *d = *state;

	create(d);
	d->policy.checkpoints = 1;
	run_turn(d, "a", "t1", "t2");
	assert_int_equal(d->session.checkpoints.count, 1);
	assert_int_equal(restore(d, newest(d)->checkpoint_id.p, NULL, 0), AR_OK);
	begin(d, "b");
	/* the target of the restore, and the restore */
	assert_int_equal(d->session.checkpoints.count, 2);
	made(d, "t3"); /* of the restore */
	made(d, "t3");
	assert_int_equal(d->session.checkpoints.count, 1); /* the start of the turn that runs */
}

static void the_old_leave(void **state)
{
	struct desk *d = *state;

	create(d);
	d->policy.checkpoint_days = 2;
	run_turn(d, "a", "t1", "t2");
	d->now += INT64_C(3) * 24 * 3600 * 1000000;
	desk_expect_refusal(d, restore(d, NULL, "a", 0), AR_ERR_CHECKPOINT_NOT_FOUND);
	begin(d, "b");
	made(d, "t2");
	desk_expect_payload(d, AR_EV_CHECKPOINT_EXPIRED, "\"reason\":\"age\"");
	assert_int_equal(d->session.checkpoints.count, 1);
	assert_int_equal(forgotten(d, "t1"), 1);
	assert_int_equal(forgotten(d, "t2"), 0);
}

static void a_snapshot_keeps_them(void **state)
{
	struct desk *d = *state;

	create(d);
	run_turn(d, "a", "t1", "t2");
	begin(d, "b");
	fold_again(d);
	assert_int_equal(d->session.checkpoints.count, 3);
	assert_int_equal(desk_active(d)->checkpoint.v, AR_TURN_CHECKPOINT_PENDING);
	made(d, "t2");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	end_call(d, 0);
	assert_int_equal(desk_answer(d, "ready"), AR_OK);
	made(d, "t3");
	assert_int_equal(d->session.checkpoints.count, 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_that_may_change_files_waits),
		TEST(only_the_first_of_a_turn_waits),
		TEST(reads_and_other_tools_do_not_wait),
		TEST(a_read_behind_it_keeps_its_place),
		TEST(without_them_nothing_changes),
		TEST(the_end_of_the_turn_has_one_too),
		TEST(one_that_fails_stops_nothing),
		TEST(an_interrupted_turn_does_not_wait_for_it),
		TEST(a_lost_start_is_made_again),
		TEST(a_turn_that_also_asks_makes_it_again),
		TEST(a_lost_end_is_made_again),
		TEST(an_end_that_fails_stops_nothing),
		TEST(an_interrupt_does_not_wait_for_the_end),
		TEST(what_changed_is_known_when_the_turn_completes),
		TEST(what_a_tool_reported_is_not_reported_again),
		TEST(a_turn_is_taken_back_and_forth),
		TEST(the_phase_selects),
		TEST(what_cannot_be_restored_is_refused),
		TEST(a_failed_restore_leaves_what_was_before),
		TEST(calls_wait_for_a_restore),
		TEST(a_lost_restore_is_not_called_done),
		TEST(the_newest_are_kept),
		TEST(a_state_that_another_has_stays),
		TEST(what_is_in_use_stays),
		TEST(the_old_leave),
		TEST(a_snapshot_keeps_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
