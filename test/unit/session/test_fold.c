/* A later fact of one decision builds on the earlier ones: the state that it sees is the one
 * that replay will see. Each of these was otherwise while decisions worked on a copy of the
 * state that they changed by hand. */
#include "desk.h"
#include "hook/hooks.h"
#include "task/task.h"

/* The last of the kind in the newest decision. */
static const struct ar_event *fact(struct desk *d, enum ar_event_type type)
{
	size_t i = d->decision.event_count;

	while (i > 0 && d->decision.events[i - 1].type != type)
		i--;
	assert_true(i > 0);
	return &d->decision.events[i - 1];
}

/* A content that the newest decision stores, as a C string in its arena. */
static const char *content(struct desk *d, struct ar_str ref)
{
	struct ar_str text = ar_decide_text(&d->decision, ref);

	assert_false(ar_str_absent(text));
	return ar_arena_fmt(&d->arena, "%.*s", AR_STR_ARG(text)).p;
}

static void expect_part(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in %s", part, text);
}

static void a_first_turn_knows_the_workspace_of_its_session(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_turn_started *p;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	p = fact(d, AR_EV_TURN_STARTED)->payload;
	expect_part(content(d, p->input_snapshot_ref), "\"workspaceId\":\"default\"");
}

static void the_next_turn_counts_from_the_last_answer(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_context_resolved *p;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 1,
								    .stop_reason = AR_STR("stop"),
								    .has_usage = true,
								    .input_tokens = 1000,
								    .output_tokens = 5 }),
			 AR_OK);
	assert_true(ar_str_is(fact(d, AR_EV_CONTEXT_RESOLVED)->ids[AR_SCOPE_TURN], "b"));
	p = fact(d, AR_EV_CONTEXT_RESOLVED)->payload;
	assert_true(p->token_estimate.v > 1000);
}

static void the_next_turn_sees_a_rate_limit(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 3,
								    .category = AR_STR("rate_limited"),
								    .message = AR_STR("slow down") }),
			 AR_OK);
	assert_true(ar_str_is(fact(d, AR_EV_ROUTING_CANDIDATES_RESOLVED)->ids[AR_SCOPE_TURN], "b"));
	desk_expect_payload(d, AR_EV_ROUTING_CANDIDATES_RESOLVED, "\"limitState\":\"rate_limited\"");
}

static void a_rollback_keeps_what_no_request_has_carried(void **state)
{
	static const struct ar_hook_rule rule = { .name = AR_STR("h"),
						  .point = AR_AT_USER_PROMPT_SUBMIT,
						  .timeout_ms = 1000 };
	struct desk *d = *state;
	const struct ar_ev_history_rollback_completed *p;
	struct ar_str answer;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_answer(d, "the answer"), AR_OK);
	answer = ((const struct ar_ev_turn_completed *)fact(d, AR_EV_TURN_COMPLETED)->payload)->output_ref;
	answer = ar_arena_str(&d->session.arena, answer);
	d->policy.hooks = &rule;
	d->policy.hook_count = 1;
	assert_int_equal(desk_submit(d, "b"), AR_OK); /* its hook runs */
	assert_int_equal(desk_command(d, AR_CMD_SUBMIT_TURN,
				      &(struct ar_cmd_submit_turn_in){
					      .text = AR_STR("instead"),
					      .busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_ROLLBACK }),
			 AR_OK);
	p = fact(d, AR_EV_HISTORY_ROLLBACK_COMPLETED)->payload;
	expect_part(content(d, p->surviving_baseline_ref),
		    ar_arena_fmt(&d->arena, "%.*s", AR_STR_ARG(answer)).p);
}

static void a_task_that_fails_as_it_begins_names_its_run(void **state)
{
	struct desk *d = *state;
	struct ar_str task;

	d->policy.model_count = 0;
	assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_CREATE_TASK,
				      &(struct ar_cmd_create_task_in){ .objective = AR_STR("find it"),
								       .session_id = d->session.id }),
			 AR_OK);
	task = ((const struct ar_task *)d->session.declared.at[0])->id;
	assert_int_equal(desk_command(d, AR_CMD_START_TASK,
				      &(struct ar_cmd_start_task_in){
					      .task_id = task,
					      .worker =
						      &(struct ar_shape_party){ .kind = AR_STR("agent") } }),
			 AR_OK);
	assert_true(ar_str_eq(fact(d, AR_EV_TASK_FAILED)->ids[AR_SCOPE_TASK], task));
	assert_false(ar_str_absent(fact(d, AR_EV_TASK_FAILED)->ids[AR_SCOPE_RUN]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_first_turn_knows_the_workspace_of_its_session, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(the_next_turn_counts_from_the_last_answer, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(the_next_turn_sees_a_rate_limit, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_rollback_keeps_what_no_request_has_carried, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(a_task_that_fails_as_it_begins_names_its_run, desk_open,
						desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
