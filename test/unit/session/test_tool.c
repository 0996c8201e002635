/* Tool calls in the pure core: when they run, and what is done about one whose end was lost. */
#include "action/action.h"
#include "desk.h"

static const struct ar_tool look = { .name = AR_STR("look"),
				     .description = AR_STR("Looks."),
				     .schema = AR_STR("{\"type\":\"object\"}"),
				     .owner = AR_TOOL_LOCAL,
				     .is_read_only = true,
				     .is_concurrency_safe = true };
static const struct ar_tool put = { .name = AR_STR("put"),
				    .description = AR_STR("Puts."),
				    .schema = AR_STR("{\"type\":\"object\"}"),
				    .owner = AR_TOOL_LOCAL };
static const struct ar_tool *const tools[] = { &look, &put };
static const struct ar_inventory inventory = { tools, AR_ARRAY_LEN(tools), 1, true };

/* Turn "a" runs, and its model asks for these tools. */
static void ask_for(struct desk *d, const char *const *names, size_t count)
{
	struct ar_tool_use requests[4];
	struct ar_step_output out = { .tools = requests, .tool_count = count, .text = AR_STR("") };

	for (size_t i = 0; i < count; i++)
		requests[i] = (struct ar_tool_use){ AR_STR("call"), ar_str_from(names[i]), AR_STR("{}") };
	d->policy.inventory = &inventory;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	out.step = desk_active(d)->open_step;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						       .model_done = { .output = &out,
								       .end =
									       &(struct ar_model_result){
										       .outcome = 1 } } }),
			 AR_OK);
}

static struct ar_invocation *call_of(struct desk *d, size_t i)
{
	return desk_active(d)->calls.at[i];
}

static void end_call(struct desk *d, size_t i, enum ar_tool_outcome outcome)
{
	desk_end_call(d, call_of(d, i)->id,
		      &(struct ar_tool_result){ .outcome = outcome, .text = AR_STR("done") });
}

static enum ar_status respond(struct desk *d, const char *decision)
{
	const struct ar_action *a = d->session.actions.at[d->session.actions.count - 1];

	return desk_command(d, AR_CMD_RESPOND_ACTION,
			    &(struct ar_cmd_respond_action_in){ .action_id = a->id,
								.decision = ar_str_from(decision) });
}

static void neighbouring_reads_run_together_and_nothing_is_overtaken(void **state)
{
	struct desk *d = *state;

	d->policy.permission_mode = AR_MODE_BYPASS;
	ask_for(d, (const char *const[]){ "look", "look", "put", "look" }, 4);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 2);
	end_call(d, 1, AR_TOOL_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	end_call(d, 0, AR_TOOL_OK);
	for (size_t i = 2; i < 4; i++) {
		assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
		assert_int_equal(call_of(d, i)->stage, AR_CALL_RUNNING);
		end_call(d, i, AR_TOOL_OK);
	}
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

static void a_read_waits_for_a_write_that_is_asked_about(void **state)
{
	struct desk *d = *state;

	ask_for(d, (const char *const[]){ "look", "put", "look" }, 3);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	end_call(d, 0, AR_TOOL_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	assert_int_equal(respond(d, "deny"), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	assert_int_equal(call_of(d, 2)->stage, AR_CALL_RUNNING);
}

static void what_is_asked_waits(void **state)
{
	struct desk *d = *state;

	ask_for(d, (const char *const[]){ "put" }, 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	assert_int_equal(call_of(d, 0)->stage, AR_CALL_WAITING);
	assert_int_equal(respond(d, "allow"), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void a_lost_read_is_tried_again(void **state)
{
	struct desk *d = *state;

	ask_for(d, (const char *const[]){ "look" }, 1);
	for (int attempt = 1; attempt < 3; attempt++) {
		end_call(d, 0, AR_TOOL_LOST);
		assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
		assert_int_equal(call_of(d, 0)->attempt, attempt + 1);
	}
	end_call(d, 0, AR_TOOL_LOST);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	assert_true(ar_turn_is_waiting(&d->session, desk_active(d)));
}

static void lose_a_write(struct desk *d)
{
	ask_for(d, (const char *const[]){ "put" }, 1);
	assert_int_equal(respond(d, "allow"), AR_OK);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	assert_int_equal(call_of(d, 0)->stage, AR_CALL_UNKNOWN);
	assert_int_equal(d->session.actions.count, 2);
}

static void a_person_decides_about_a_lost_write(void **state)
{
	static const struct {
		const char *decision;
		size_t runs, asks;
	} rows[] = { { "retry", 1, 0 }, { "skip", 0, 1 }, { "mark_done", 0, 1 } };

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk *d;

		desk_close(state);
		desk_open(state);
		d = *state;
		lose_a_write(d);
		assert_int_equal(respond(d, rows[i].decision), AR_OK);
		assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), rows[i].runs);
		assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), rows[i].asks);
	}
}

static void nobody_is_asked_twice_about_a_lost_write(void **state)
{
	struct desk *d = *state;

	lose_a_write(d);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(d->decision.event_count, 0);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("enough") }),
			 AR_OK);
	assert_true(ar_str_absent(desk_thread(d, 0)->active_turn));
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

static bool has_fact(const struct desk *d, enum ar_event_type type)
{
	for (size_t i = 0; i < d->decision.event_count; i++) {
		if (d->decision.events[i].type == type)
			return true;
	}
	return false;
}

static void where_nobody_may_be_asked_the_model_is_told(void **state)
{
	struct desk *d = *state;

	d->policy.permission_mode = AR_MODE_BYPASS;
	ask_for(d, (const char *const[]){ "put" }, 1);
	end_call(d, 0, AR_TOOL_LOST);
	assert_true(has_fact(d, AR_EV_RUNTIME_WARNING)); /* so that somebody learns of it */
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
	assert_int_equal(d->session.actions.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(neighbouring_reads_run_together_and_nothing_is_overtaken,
						desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_read_waits_for_a_write_that_is_asked_about, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(what_is_asked_waits, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_lost_read_is_tried_again, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_person_decides_about_a_lost_write, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(nobody_is_asked_twice_about_a_lost_write, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(where_nobody_may_be_asked_the_model_is_told, desk_open,
						desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
