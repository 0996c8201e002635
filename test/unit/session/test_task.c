/* Declared tasks: what each command says, in which order a tree is cancelled, what a blocker holds, and
 * that a restored session goes on the same. */
#include "desk.h"
#include "describe.h"
#include "task/task.h"

/* An open session with a thread. */
static void begin(struct desk *d)
{
	assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 }),
			 AR_OK);
}

/* The id lives in the session. */
static struct ar_str make(struct desk *d, struct ar_cmd_create_task_in in)
{
	in.objective = AR_STR("find it");
	if (ar_str_absent(in.parent_task_id))
		in.session_id = d->session.id;
	assert_int_equal(desk_command(d, AR_CMD_CREATE_TASK, &in), AR_OK);
	return ((const struct ar_task *)d->session.declared.at[d->session.declared.count - 1])->id;
}

static enum ar_status start(struct desk *d, struct ar_str task, const char *worker)
{
	return desk_command(d, AR_CMD_START_TASK,
			    &(struct ar_cmd_start_task_in){
				    .task_id = task, .worker = desk_read(d, &ar_shape_party_desc, worker) });
}

/* The command as a caller sends it, with the task and these other members. */
static enum ar_status command(struct desk *d, enum ar_command id, struct ar_str task, const char *members)
{
	const struct ar_command_desc *c = ar_command_describe(id);
	void *in = ar_arena_alloc(&d->session.arena, c->in.size);
	struct ar_str text =
		ar_arena_fmt(&d->session.arena, "{\"taskId\":\"%.*s\",%s}", AR_STR_ARG(task), members);
	enum ar_status rc;
	struct ar_json v;

	assert_int_equal(ar_json_parse(d->decide_json, text, &v, &d->err), AR_OK);
	rc = ar_input_decode(c, v, &d->session.arena, in, &d->err);
	return rc ? rc : desk_command(d, id, in);
}

static enum ar_status complete(struct desk *d, struct ar_str task, const char *acceptance)
{
	return command(d, AR_CMD_COMPLETE_TASK, task,
		       ar_arena_fmt(&d->session.arena, "\"acceptance\":%s", acceptance).p);
}

static void expect_status(struct desk *d, struct ar_str task, const char *word)
{
	struct ar_str status = ar_task_status_word(ar_session_declared(&d->session, task));

	assert_true(ar_str_is(status, word));
}

static void test_life(void **state)
{
	struct desk *d = *state;
	struct ar_str task;

	begin(d);
	task = make(d, (struct ar_cmd_create_task_in){
			       .acceptance = { &(struct ar_shape_criterion){ .criterion = AR_STR("green") },
					       1 } });
	desk_expect(d, "task.created task.accepted");
	assert_int_equal(start(d, task, "{\"kind\":\"worker\"}"), AR_OK);
	desk_expect(d, "task.attempt.started task.started");
	desk_expect_refusal(d, start(d, task, "{}"), AR_ERR_ALREADY_RUNNING);
	desk_expect_refusal(d, complete(d, task, "[]"), AR_ERR_ACCEPTANCE_UNMET);
	desk_expect_refusal(d, complete(d, task, "[{\"criterion\":\"green\",\"satisfied\":false}]"),
			    AR_ERR_ACCEPTANCE_UNMET);
	assert_int_equal(complete(d, task, "[{\"criterion\":\"green\",\"satisfied\":true}]"), AR_OK);
	desk_expect(d, "task.attempt.completed task.completed");
	desk_expect_refusal(d, complete(d, task, "[]"), AR_ERR_ALREADY_TERMINAL);
}

static void link_blocks(struct desk *d, struct ar_str source, struct ar_str target)
{
	assert_int_equal(desk_command(d, AR_CMD_LINK_TASKS,
				      &(struct ar_cmd_link_tasks_in){ .source_id = source,
								      .target_id = target,
								      .kind = AR_TASK_EDGE_BLOCKS }),
			 AR_OK);
}

static void test_blocker(void **state)
{
	struct desk *d = *state;
	struct ar_str first, second;

	begin(d);
	first = make(d, (struct ar_cmd_create_task_in){ 0 });
	second = make(d, (struct ar_cmd_create_task_in){ 0 });
	link_blocks(d, first, second);
	desk_expect(d, "task.dependency.updated task.blocked");
	link_blocks(d, first, second);
	desk_expect(d, "");
	desk_expect_refusal(d,
			    desk_command(d, AR_CMD_LINK_TASKS,
					 &(struct ar_cmd_link_tasks_in){ .source_id = second,
									 .target_id = first,
									 .kind = AR_TASK_EDGE_BLOCKS }),
			    AR_ERR_CYCLE);
	assert_int_equal(start(d, second, "{}"), AR_OK);
	desk_expect(d, "task.queued");
	expect_status(d, second, "queued");
	assert_int_equal(start(d, first, "{}"), AR_OK);
	assert_int_equal(complete(d, first, "[]"), AR_OK);
	desk_expect(d, "task.attempt.completed task.completed task.dependency.updated");
	assert_int_equal(desk_effects(d, AR_EFFECT_WAKE), 1);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = second }), AR_OK);
	desk_expect(d, "task.attempt.started task.started");
	assert_int_equal(desk_effects(d, AR_EFFECT_WAKE), 0); /* the start that was put off is over */
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = second }), AR_OK);
	desk_expect(d, "");
}

static void test_cancel_goes_down_and_ends_up(void **state)
{
	struct desk *d = *state;
	struct ar_str whole, part, small;

	begin(d);
	whole = make(d, (struct ar_cmd_create_task_in){ 0 });
	part = make(d, (struct ar_cmd_create_task_in){ .parent_task_id = whole });
	small = make(d, (struct ar_cmd_create_task_in){ .parent_task_id = part });
	assert_int_equal(start(d, small, "{}"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_CANCEL_TASK,
				      &(struct ar_cmd_cancel_task_in){ .task_id = whole,
								       .reason = AR_STR("no") }),
			 AR_OK);
	desk_expect(d, "task.cancel_requested task.cancel_requested task.cancel_requested "
		       "task.attempt.failed task.cancelled task.cancelled task.cancelled");
	desk_expect_refusal(d,
			    desk_command(d, AR_CMD_CREATE_TASK,
					 &(struct ar_cmd_create_task_in){ .objective = AR_STR("late"),
									  .parent_task_id = whole }),
			    AR_ERR_PARENT_CANCELLING);
}

/* Without a model the turn of an agent is over as it begins: the run of its task is told
 * so in the same decision. */
static void test_agent_without_a_model(void **state)
{
	struct desk *d = *state;
	struct ar_str task;

	d->policy.model_count = 0;
	begin(d);
	task = make(d, (struct ar_cmd_create_task_in){ 0 });
	assert_int_equal(start(d, task, "{\"kind\":\"agent\"}"), AR_OK);
	assert_null(ar_task_open_run(ar_session_declared(&d->session, task)));
	expect_status(d, task, "failed");
}

static void test_retry_policy(void **state)
{
	struct desk *d = *state;
	const struct ar_cmd_fail_task_in *in;
	struct ar_str task;

	begin(d);
	task = make(d, (struct ar_cmd_create_task_in){
			       .constraints =
				       desk_read(d, &ar_shape_task_constraints_desc,
						 "{\"retryPolicy\":{\"maxAttempts\":2,\"backoffMs\":5}}") });
	assert_int_equal(start(d, task, "{}"), AR_OK);
	in = &(struct ar_cmd_fail_task_in){ .task_id = task,
					    .error = &(struct ar_shape_failure){ .category = AR_STR("c"),
										 .message = AR_STR("m") },
					    .retryable = AR_OPT_BOOL(true) };
	assert_int_equal(desk_command(d, AR_CMD_FAIL_TASK, in), AR_OK);
	desk_expect(d, "task.attempt.failed");
	expect_status(d, task, "retrying");
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_TASK_DUE, .due = task }), AR_OK);
	desk_expect(d, "task.retrying task.attempt.started");
	assert_int_equal(desk_command(d, AR_CMD_FAIL_TASK, in), AR_OK);
	desk_expect(d, "task.attempt.failed task.failed");
}

/* Set back by an hour while somebody works: the task has the time that it was given, no more and no less. */
static void test_time_outlives_a_clock_that_is_set_back(void **state)
{
	const ar_usec hour = INT64_C(3600000000), minute = INT64_C(60000000);
	const struct ar_ev_task_timed_out *over;
	struct ar_input due = { .kind = AR_IN_TASK_DUE, .step = -hour };
	struct desk *d = *state;
	struct ar_str task;

	begin(d);
	task = make(d, (struct ar_cmd_create_task_in){ .constraints = &(struct ar_shape_task_constraints){
							       .time_ms = AR_OPT_INT(60000) } });
	assert_int_equal(start(d, task, "{\"kind\":\"worker\"}"), AR_OK);
	d->now -= hour;
	due.due = task;
	assert_int_equal(desk_do(d, due), AR_OK);
	desk_expect(d, "");
	assert_true(d->decision.effects[d->decision.effect_count - 1].wake.at <= d->now + minute);
	assert_int_equal(
		desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					      .command = { .id = AR_CMD_APPEND_TASK_PROGRESS,
							   .args =
								   &(struct ar_cmd_append_task_progress_in){
									   .task_id = task,
									   .summary = AR_STR("half") } },
					      .step = -hour }),
		AR_OK);
	desk_expect(d, "runtime.warning task.progress");
	d->now += minute;
	due.step = 0;
	assert_int_equal(desk_do(d, due), AR_OK);
	desk_expect(d, "task.attempt.failed task.timed_out");
	over = d->decision.events[1].payload;
	assert_in_range(over->elapsed_ms.v, 60000, 70000);
}

static void expect_part(struct ar_str text, const char *part)
{
	if (!memmem(text.p, text.len, part, strlen(part)))
		fail_msg("no %s in %.*s", part, AR_STR_ARG(text));
}

/* What is said again is no change; what cannot change is refused by name. */
static void test_update(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_task_updated *p;
	struct ar_str task;

	begin(d);
	task = make(d,
		    (struct ar_cmd_create_task_in){ .title = AR_STR("one"),
						    .owner = &(struct ar_shape_party){
							    .kind = AR_STR("user"), .id = AR_STR("ada") } });
	assert_int_equal(
		command(d, AR_CMD_UPDATE_TASK, task,
			"\"changed\":{\"owner\":{\"id\":\"ada\",\"kind\":\"user\"},\"title\":\"two\","
			"\"acceptance\":[\"green\"]}"),
		AR_OK);
	desk_expect(d, "task.updated");
	p = d->decision.events[0].payload;
	assert_null(p->changed->owner);
	assert_true(ar_str_is(p->changed->title, "two"));
	assert_true(ar_str_is(p->previous->title, "one"));
	assert_true(ar_str_is(p->changed->acceptance.at[0].text_, "green"));
	assert_null(p->previous->acceptance.at);
	assert_int_equal(ar_session_declared(&d->session, task)->sheet->acceptance.count, 1);
	assert_true(ar_str_is(ar_session_declared(&d->session, task)->sheet->owner->id, "ada"));
	assert_int_equal(command(d, AR_CMD_UPDATE_TASK, task,
				 "\"changed\":{\"title\":\"two\",\"acceptance\":[\"green\"]}"),
			 AR_OK);
	desk_expect(d, "");
	desk_expect_refusal(d, command(d, AR_CMD_UPDATE_TASK, task, "\"changed\":{\"status\":\"x\"}"),
			    AR_ERR_INVALID_FIELD);
	desk_expect_refusal(d, command(d, AR_CMD_UPDATE_TASK, task, "\"changed\":{\"owner\":7}"),
			    AR_ERR_INVALID_FIELD);
	desk_expect_refusal(d, command(d, AR_CMD_UPDATE_TASK, task, "\"changed\":{\"title\":\"\"}"),
			    AR_ERR_INVALID_FIELD);
}

/* A ref alone stands in task.completed only; the same end said again is no new fact. */
static void test_refs_of_the_end(void **state)
{
	static const char end[] =
		"\"acceptance\":[],\"artifacts\":[\"a\",{\"ref\":\"b\",\"versionId\":\"v\"}],"
		"\"evidenceRefs\":[{\"ref\":\"e\",\"kind\":\"review\"},{\"ref\":\"f\"}]";
	struct desk *d = *state;
	const struct ar_ev_artifact_changed *artifact;
	const struct ar_ev_task_completed *p;
	struct ar_str task;

	begin(d);
	task = make(d, (struct ar_cmd_create_task_in){ 0 });
	assert_int_equal(start(d, task, "{}"), AR_OK);
	assert_int_equal(command(d, AR_CMD_COMPLETE_TASK, task, "\"acceptance\":[],\"artifacts\":[7]"),
			 AR_E_INVALID);
	assert_int_equal(command(d, AR_CMD_COMPLETE_TASK, task, "\"acceptance\":[],\"artifacts\":[{}]"),
			 AR_E_INVALID);
	assert_int_equal(command(d, AR_CMD_COMPLETE_TASK, task, end), AR_OK);
	desk_expect(d, "artifact.changed evidence.changed task.attempt.completed task.completed");
	artifact = d->decision.events[0].payload;
	assert_true(ar_str_is(artifact->producer->kind, "task") && ar_str_eq(artifact->producer->id, task));
	p = d->decision.events[3].payload;
	assert_true(ar_str_is(p->artifacts.at[1].text_, "b") && ar_str_is(p->evidence_refs.at[1].text_, "f"));
	assert_true(ar_str_is(p->delivery_state->state, "not_applicable") && p->reconciled);
	assert_int_equal(command(d, AR_CMD_COMPLETE_TASK, task, end), AR_OK);
	desk_expect(d, "");
}

/* What older versions took in: it does not keep the task from being read, and nothing of it is lost. */
static void test_old_fact(void **state)
{
	struct desk *d = *state;
	struct ar_buf again = { 0 };
	const struct ar_sheet *sheet;
	struct ar_event e = { 0 };
	struct ar_json v;

	begin(d);
	assert_int_equal(
		ar_json_parse(
			d->decide_json,
			ar_arena_fmt(&d->session.arena,
				     "{\"type\":\"task.created\",\"eventId\":\"e\",\"timestamp\":"
				     "\"2026-01-01T00:00:00Z\",\"runtimeId\":\"r\",\"sessionId\":\"s\","
				     "\"taskId\":\"old\",\"sequence\":%llu,\"payload\":{\"objective\":\"o\","
				     "\"scope\":{},\"taskProfile\":{\"latencyTarget\":3},\"constraints\":{"
				     "\"timeMs\":\"soon\",\"retryPolicy\":{\"maxAttempts\":2}},"
				     "\"acceptance\":[7,\"green\",{\"criterion\":1,\"id\":\"x\"}],"
				     "\"owner\":{\"kind\":{},\"id\":\"ada\"}}}",
				     (unsigned long long)d->session.head + 1),
			&v, &d->err),
		AR_OK);
	assert_int_equal(ar_event_decode(v, &d->session.arena, &e, &d->err), AR_OK);
	assert_int_equal(ar_session_apply(&d->session, &e, &d->err), AR_OK);
	sheet = ar_session_declared(&d->session, AR_STR("old"))->sheet;
	assert_false(sheet->constraints->time_ms.set);
	assert_int_equal(sheet->constraints->retry_policy->max_attempts.v, 2);
	assert_int_equal(sheet->acceptance.count, 3);
	assert_true(ar_str_is(sheet->acceptance.at[0].text_, "7"));
	assert_true(ar_str_is(sheet->acceptance.at[2].id, "x"));
	ar_session_snapshot(&d->session, &again);
	expect_part(ar_buf_str(&again),
		    "\"constraints\":{\"retryPolicy\":{\"maxAttempts\":2},\"timeMs\":\"soon\"}");
	expect_part(ar_buf_str(&again), "\"owner\":{\"id\":\"ada\",\"kind\":{}}");
	ar_buf_fini(&again);
}

static void test_restored(void **state)
{
	struct desk *d = *state;
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_buf text = { 0 }, again = { 0 };
	struct ar_session twin;
	struct ar_str first, second;
	struct ar_json v;

	begin(d);
	first = make(
		d,
		(struct ar_cmd_create_task_in){
			.title = AR_STR("one"),
			.acceptance = { &(struct ar_shape_criterion){ .text_ = AR_STR("green") }, 1 },
			.constraints = desk_read(
				d, &ar_shape_task_constraints_desc,
				"{\"timeMs\":5,\"retryPolicy\":{\"own\":[1]},\"budget\":{\"tokens\":3}}") });
	second = make(d, (struct ar_cmd_create_task_in){ .parent_task_id = first });
	link_blocks(d, first, second);
	assert_int_equal(start(d, first, "{\"kind\":\"worker\",\"id\":\"w\"}"), AR_OK);
	assert_int_equal(start(d, second, "{}"), AR_OK); /* put off */
	assert_int_equal(command(d, AR_CMD_APPEND_TASK_PROGRESS, first,
				 "\"percent\":12.5,\"outputRefs\":[\"a\",\"b\"],\"counters\":{\"a "
				 "\\\"b\\\"\":2,\"n\":1},"
				 "\"deliveryState\":{\"state\":\"pending\"}"),
			 AR_OK);
	assert_int_equal(command(d, AR_CMD_APPEND_TASK_PROGRESS, first, "\"counters\":{\"n\":3}"), AR_OK);
	ar_session_snapshot(&d->session, &text);
	assert_int_equal(ar_json_parse(json, ar_buf_str(&text), &v, &d->err), AR_OK);
	ar_session_init(&twin, d->session.session_key, d->json);
	assert_int_equal(ar_session_restore(&twin, v, &d->err), AR_OK);
	ar_session_snapshot(&twin, &again);
	assert_true(ar_str_eq(ar_buf_str(&text), ar_buf_str(&again)));
	expect_part(ar_buf_str(&text),
		    "\"constraints\":{\"timeMs\":5,\"retryPolicy\":{\"own\":[1]},\"budget\":{\"tokens\":3}}");
	expect_part(ar_buf_str(&text), "\"acceptance\":[\"green\"]");
	expect_part(ar_buf_str(&text), "\"worker\":{\"kind\":\"worker\",\"id\":\"w\"}");
	expect_part(ar_buf_str(&text),
		    "\"percent\":12.5,\"counters\":{\"a \\\"b\\\"\":2,\"n\":3},\"outputs\":[\"a\",\"b\"]");
	ar_session_fini(&twin);
	ar_buf_fini(&text);
	ar_buf_fini(&again);
	ar_json_parser_free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_blocker, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_cancel_goes_down_and_ends_up, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_agent_without_a_model, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_retry_policy, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_time_outlives_a_clock_that_is_set_back, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(test_update, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_refs_of_the_end, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_old_fact, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_restored, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
