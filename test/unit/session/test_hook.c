/* Hooks in the pure core: what an answer means at which point, when a run comes and ends, and what a
 * crash or another configuration leaves. */
#include "desk.h"
#include "hook.h"
#include "hook/hooks.h"

#define DECISION(word) AR_HOOK_COMPLETED_DECISION_##word

/* ---- answers ---- */

struct reading {
	enum ar_hook_point point;
	const char *said;
	int decision; /* 0: it is refused */
};

static void answers_are_read_strictly(void **state)
{
	static const struct reading readings[] = {
		{ AR_AT_STOP, "", DECISION(CONTINUE) },
		{ AR_AT_STOP, " \n\t", DECISION(CONTINUE) },
		{ AR_AT_STOP, "{}", DECISION(CONTINUE) },
		{ AR_AT_STOP, "{\"decision\":\"block\",\"reason\":\"more\"}", DECISION(BLOCK) },
		{ AR_AT_STOP, "{\"continue\":false}", DECISION(BLOCK) },
		{ AR_AT_STOP, "{\"continue\":true}", DECISION(CONTINUE) },
		{ AR_AT_PRE_TOOL_USE, "{\"decision\":\"ask\"}", DECISION(ASK) },
		{ AR_AT_PRE_TOOL_USE, "{\"decision\":\"deny\"}", DECISION(DENY) },
		{ AR_AT_PRE_TOOL_USE, "{\"continue\":false,\"decision\":\"allow\"}", DECISION(ALLOW) },
		{ AR_AT_PERMISSION_REQUEST, "{\"decision\":\"allow\",\"updatedInput\":{}}", DECISION(ALLOW) },
		{ AR_AT_POST_TOOL_USE, "{\"updatedToolOutput\":{\"a\":1}}", DECISION(CONTINUE) },
		{ AR_AT_POST_TOOL_USE, "{\"additionalContext\":[\"a\",\"\"]}", DECISION(CONTINUE) },
		{ AR_AT_STOP, "{\"decision\":\"ask\"}", 0 },
		{ AR_AT_STOP, "{\"decision\":\"Block\"}", 0 },
		{ AR_AT_STOP, "{\"decision\":1}", 0 },
		{ AR_AT_STOP, "{\"decision\":\"block\",\"decision\":\"allow\"}", 0 },
		{ AR_AT_STOP, "{\"continue\":\"no\"}", 0 },
		{ AR_AT_STOP, "{\"updatedInput\":\"x\"}", 0 },
		{ AR_AT_STOP, "{\"suppressOutput\":1}", 0 },
		{ AR_AT_STOP, "{\"auditRefs\":[1]}", 0 },
		{ AR_AT_STOP, "[]", 0 },
		{ AR_AT_STOP, "yes", 0 },
		{ AR_AT_USER_PROMPT_SUBMIT, "{\"updatedInput\":{}}", 0 },
		{ AR_AT_USER_PROMPT_SUBMIT, "{\"updatedInput\":\"\"}", 0 },
		{ AR_AT_USER_PROMPT_SUBMIT, "{\"updatedToolOutput\":\"x\"}", 0 },
		{ AR_AT_PRE_TOOL_USE, "{\"updatedInput\":\"x\"}", 0 },
		{ AR_AT_POST_TOOL_FAILURE, "{\"updatedToolOutput\":\"x\"}", 0 },
	};
	struct desk *d = *state;
	struct ar_decision decision = { .arena = &d->arena, .session = &d->session, .json = d->decide_json };

	for (size_t i = 0; i < AR_ARRAY_LEN(readings); i++) {
		struct ar_hook_answer answer = { 0 };
		bool is_good = ar_hook_answer_read(&decision, readings[i].point,
						   ar_str_from(readings[i].said), &answer, &d->err) == AR_OK;

		if (is_good != (readings[i].decision != 0) ||
		    (is_good && answer.decision != readings[i].decision))
			fail_msg("%s: %s, decision %d", readings[i].said, is_good ? "read" : d->err.msg,
				 answer.decision);
	}
	ar_buf_fini(&decision.scratch);
}

/* ---- runs ---- */

static const struct ar_hook_rule rules[] = {
	{ .name = { "first", 5 }, .point = AR_AT_USER_PROMPT_SUBMIT, .timeout_ms = 1000 },
	{ .name = { "second", 6 }, .point = AR_AT_USER_PROMPT_SUBMIT, .timeout_ms = 1000 },
	{ .name = { "guard", 5 }, .point = AR_AT_PRE_TOOL_USE, .tool = { "look_*", 6 }, .timeout_ms = 1000 },
};

static void hook_up(struct desk *d)
{
	d->policy.hooks = rules;
	d->policy.hook_count = AR_ARRAY_LEN(rules);
}

/* Ends the one run that is open. */
static enum ar_status say(struct desk *d, int outcome, const char *said)
{
	const struct ar_turn *turn = desk_active(d);
	struct ar_hook_end end = { .outcome = outcome, .output = ar_str_from(said) };

	for (size_t i = 0; i < turn->hooks.count; i++) {
		const struct ar_hook_chain *chain = turn->hooks.at[i];

		if (!ar_str_absent(chain->run))
			end.run = chain->run;
	}
	return desk_do(d, (struct ar_input){ .kind = AR_IN_HOOK_DONE, .hook_done = &end });
}

static void handlers_are_asked_in_order_before_the_model(void **state)
{
	struct desk *d = *state;

	hook_up(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_HOOK_RUN), 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 0);
	assert_int_equal(say(d, AR_HOOK_ANSWERED, "{\"additionalContext\":\"it rains\"}"), AR_OK);
	desk_expect(d, "hook.completed hook.started");
	assert_int_equal(say(d, AR_HOOK_ANSWERED, ""), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
	assert_int_equal(desk_thread(d, 0)->context.count, 2);
	assert_int_equal(desk_answer(d, "hello"), AR_OK);
	assert_int_equal(desk_thread(d, 0)->context.count, 3);
}

static void an_end_that_nobody_waits_for_changes_nothing(void **state)
{
	struct desk *d = *state;
	struct ar_hook_end end = { .run = AR_STR("evt_of_another_time"), .outcome = AR_HOOK_ANSWERED };

	hook_up(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_HOOK_DONE, .hook_done = &end }), AR_OK);
	assert_int_equal(d->decision.event_count, 0);
}

static void a_block_ends_the_turn_and_the_next_one_begins(void **state)
{
	struct desk *d = *state;

	hook_up(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(say(d, AR_HOOK_BLOCKED, "no"), AR_OK);
	assert_true(ar_str_is(desk_active(d)->id, "b"));
	assert_int_equal(desk_effects(d, AR_EFFECT_HOOK_RUN), 1);
	assert_true(ar_str_is(desk_thread(d, 0)->last_category, "blocked_by_hook"));
}

static void an_interruption_cancels_the_run(void **state)
{
	struct desk *d = *state;

	hook_up(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("enough") }),
			 AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_HOOK_CANCEL), 1);
	assert_true(ar_str_absent(desk_thread(d, 0)->active_turn));
}

/* ---- what a crash leaves ---- */

static void a_lost_run_is_made_again_and_the_ones_before_it_are_not(void **state)
{
	struct desk *d = *state;

	hook_up(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(say(d, AR_HOOK_ANSWERED, ""), AR_OK);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_HOOK_RUN), 1);
	for (size_t i = 0; i < d->decision.effect_count; i++) {
		if (d->decision.effects[i].kind == AR_EFFECT_HOOK_RUN)
			assert_true(ar_str_is(d->decision.effects[i].hook_run.handler, "second"));
	}
	assert_int_equal(say(d, AR_HOOK_ANSWERED, ""), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

static void a_run_whose_handler_is_gone_is_not_made_again(void **state)
{
	struct desk *d = *state;

	hook_up(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	d->policy.hook_count = 0;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_HOOK_RUN), 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

static void call_a_tool(struct desk *d)
{
	static const char options[] =
		"{\"tools\":[{\"name\":\"look_up\",\"inputSchema\":{},\"isReadOnly\":true}]}";
	struct ar_tool_use tool = { AR_STR("call_1"), AR_STR("look_up"), AR_STR("{\"q\":1}") };
	struct ar_step_output out = { .text = AR_STR("one moment"), .tools = &tool, .tool_count = 1 };

	assert_int_equal(desk_submit_with(d, NULL, options), AR_OK);
	out.step = desk_active(d)->open_step;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						       .model_done = { .output = &out,
								       .end =
									       &(struct ar_model_result){
										       .outcome = 1 } } }),
			 AR_OK);
}

/* Its arguments came with the handler's end; without one nobody brings them, so the
 * model is told to call again. */
static void a_call_whose_handler_is_gone_is_given_back(void **state)
{
	struct desk *d = *state;

	d->policy.hooks = rules + 2;
	d->policy.hook_count = 1;
	call_a_tool(d);
	assert_int_equal(desk_effects(d, AR_EFFECT_HOOK_RUN), 1);
	d->policy.hook_count = 0;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
	assert_true(ar_str_is(((const struct ar_invocation *)desk_active(d)->calls.at[0])->status,
			      "interrupted"));
}

static void a_state_with_runs_survives_a_snapshot(void **state)
{
	struct desk *d = *state;
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_buf text = { 0 }, again = { 0 };
	struct ar_session restored;
	struct ar_json v;

	hook_up(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(say(d, AR_HOOK_ANSWERED, "{\"updatedInput\":\"other\",\"reason\":\"r\"}"), AR_OK);
	ar_session_snapshot(&d->session, &text);
	ar_session_init(&restored, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(parser, ar_buf_str(&text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&restored, v, &d->err), AR_OK);
	ar_session_snapshot(&restored, &again);
	assert_true(ar_str_eq(ar_buf_str(&text), ar_buf_str(&again)));
	assert_true(ar_turn_has_open_hooks(ar_thread_active(restored.threads.at[0])));
	ar_session_fini(&restored);
	ar_buf_fini(&text);
	ar_buf_fini(&again);
	ar_json_parser_free(parser);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_are_read_strictly),
		TEST(handlers_are_asked_in_order_before_the_model),
		TEST(an_end_that_nobody_waits_for_changes_nothing),
		TEST(a_block_ends_the_turn_and_the_next_one_begins),
		TEST(an_interruption_cancels_the_run),
		TEST(a_lost_run_is_made_again_and_the_ones_before_it_are_not),
		TEST(a_run_whose_handler_is_gone_is_not_made_again),
		TEST(a_call_whose_handler_is_gone_is_given_back),
		TEST(a_state_with_runs_survives_a_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
