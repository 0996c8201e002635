/* State out and back: nothing is lost, the result behaves the same, and facts that
 * cannot follow are refused. */
#include "desk.h"

#include <stdio.h>

/* A session with something in every corner of its state. */
static void fill(struct desk *d)
{
	struct ar_tool_use tool = { AR_STR("call_1"), AR_STR("look_up"), AR_STR("{\"q\":1}") };
	struct ar_step_output out = { .text = AR_STR("one moment"), .tools = &tool, .tool_count = 1 };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	out.step = desk_active(d)->open_step;
	assert_int_equal(desk_do(d,
				 (struct ar_input){
					 .kind = AR_IN_MODEL_DONE,
					 .model_done = { .output = &out,
							 .end = &(struct ar_model_result){ .outcome = 1,
											   .input_tokens = 3,
											   .cached_tokens =
												   1 } } }),
			 AR_OK);
	assert_int_equal(desk_answer(d, "there"), AR_OK);
	assert_int_equal(desk_submit(d, "gone"), AR_OK);
	assert_int_equal(desk_answer(d, "never said"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_ROLLBACK_THREAD,
				      &(struct ar_cmd_rollback_thread_in){
					      .thread_id = desk_thread(d, 0)->id,
					      .target = &(struct ar_shape_rollback_target){ .turn_id = AR_STR(
												    "a") } }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_FORK_THREAD,
				      &(struct ar_cmd_fork_thread_in){ .thread_id = desk_thread(d, 0)->id }),
			 AR_OK);
	assert_int_equal(
		desk_submit_with(
			d, "b",
			"{\"mode\":\"plan\",\"tools\":[\"look_up\",{\"name\":\"put\",\"inputSchema\":{}}],"
			"\"budget\":{\"ms\":90000,\"cost\":\"0.25\"},\"stop\":[\"end\"]}"),
		AR_OK);
	assert_int_equal(desk_submit(d, "c"), AR_OK);
	assert_int_equal(desk_submit(d, "d"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_STEER_TURN,
				      &(struct ar_cmd_steer_turn_in){
					      .thread_id = desk_thread(d, 0)->id,
					      .turn_id = AR_STR("b"),
					      .input = AR_STR("[{\"type\":\"text\",\"text\":\"x\"}]") }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_SET_POLICY,
				      &(struct ar_cmd_set_policy_in){
					      .scope = AR_SET_POLICY_SCOPE_SESSION,
					      .scope_id = d->session.id,
					      .policy = AR_STR(
						      "{\"budget\":{\"tokens\":300},\"model\":\"m\"}") }),
			 AR_OK);
	desk_fold(d, "policy.changed",
		  "{\"scope\":\"workspace\",\"policyRef\":\"r\",\"policy\":{\"mode\":\"default\",\"budget\":"
		  "{\"tokens\":200},\"rules\":[{\"name\":\"n\",\"tool\":\"rm\",\"decision\":\"deny\"}]}}");
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("because") }),
			 AR_OK);
}

static void restore(struct desk *d, struct ar_buf *text, struct ar_session *ret)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json v;

	ar_session_snapshot(&d->session, text);
	ar_session_init(ret, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(parser, ar_buf_str(text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(ret, v, &d->err), AR_OK);
	ar_json_parser_free(parser);
}

#define SAME_STR(a, b, m) assert_true(ar_str_eq((a)->m, (b)->m))
#define SAME_INT(a, b, m) assert_int_equal((a)->m, (b)->m)

/* By their JSON, which is what is stored. */
static void same_shape(const struct ar_struct_desc *shape, const void *a, const void *b)
{
	struct ar_buf one = { 0 }, other = { 0 };
	struct ar_jw w = ar_jw(&one), v = ar_jw(&other);

	ar_struct_encode(shape, a, AR_STR_NONE, &w);
	ar_struct_encode(shape, b, AR_STR_NONE, &v);
	assert_true(ar_str_eq(ar_buf_str(&one), ar_buf_str(&other)));
	ar_buf_fini(&one);
	ar_buf_fini(&other);
}

static void same_turn(const struct ar_turn *a, const struct ar_turn *b)
{
	SAME_STR(a, b, id);
	SAME_STR(a, b, run);
	SAME_STR(a, b, open_step);
	SAME_STR(a, b, input_ref);
	same_shape(&ar_shape_turn_options_desc, a->options, b->options);
	SAME_STR(a, b, outcome);
	SAME_STR(a, b, interrupt_reason);
	SAME_STR(a, b, output_ref);
	SAME_STR(a, b, error_category);
	SAME_INT(a, b, status);
	SAME_INT(a, b, restarts);
	SAME_INT(a, b, attempt);
	SAME_INT(a, b, rounds);
	SAME_INT(a, b, input_bytes);
	SAME_INT(a, b, input_tokens);
	SAME_INT(a, b, is_interrupted);
	SAME_INT(a, b, is_lost);
	SAME_INT(a, b, started);
	SAME_INT(a, b, steps.count);
	SAME_INT(a, b, steers.count);
	SAME_INT(a, b, start.v);
	SAME_INT(a, b, removed.v);
	SAME_INT(a, b, task->attempts);
	SAME_INT(a, b, task->status);
	SAME_INT(a, b, task->runs.count);
}

static void same_context(const struct ar_thread *a, const struct ar_thread *b)
{
	SAME_INT(a, b, context.count);
	for (size_t i = 0; i < a->context.count; i++) {
		const struct ar_context_entry *x = a->context.at[i], *y = b->context.at[i];

		SAME_INT(x, y, role);
		SAME_INT(x, y, bytes);
		SAME_INT(x, y, turn.v);
		SAME_STR(x, y, ref);
		SAME_INT(x, y, uses.count);
		for (size_t k = 0; k < x->uses.count; k++)
			same_shape(&ar_shape_requested_call_desc, &x->uses.at[k], &y->uses.at[k]);
		SAME_STR(x, y, tool_call_id);
	}
}

static void test_nothing_is_lost(void **state)
{
	struct desk *d = *state;
	struct ar_buf first = { 0 }, second = { 0 };
	struct ar_session copy;
	const struct ar_thread *a, *b;

	fill(d);
	restore(d, &first, &copy);
	a = d->session.threads.at[0];
	b = copy.threads.at[0];
	SAME_INT(&d->session, &copy, head);
	assert_memory_equal(&d->session.counters, &copy.counters, sizeof(copy.counters));
	assert_memory_equal(&d->session.tasks, &copy.tasks, sizeof(copy.tasks));
	assert_int_equal(copy.preset->budget->tokens.v, 300);
	assert_true(ar_str_is(copy.preset->model, "m"));
	assert_true(ar_str_is(copy.workspace_policy->ref, "r"));
	assert_true(ar_str_is(copy.workspace_policy->preset->mode, "default"));
	assert_int_equal(copy.workspace_policy->preset->budget->tokens.v, 200);
	assert_int_equal(ar_session_rules(&copy, AR_REACH_WORKSPACE), 1);
	SAME_STR(a, b, active_turn);
	SAME_STR(a, b, request_ref);
	SAME_STR(a, b, reason);
	SAME_STR(a, b, last_turn);
	SAME_INT(a, b, sent);
	SAME_INT(a, b, omitted);
	SAME_INT(a, b, status);
	SAME_INT(a, b, incidents.count);
	same_context(a, b);
	same_context(d->session.threads.at[1], copy.threads.at[1]);
	assert_int_equal(((const struct ar_thread *)copy.threads.at[1])->context.count, 4);
	assert_int_equal(a->turns.count, 5);
	for (size_t i = 0; i < a->turns.count; i++)
		same_turn(a->turns.at[i], b->turns.at[i]);
	assert_int_equal(b->queue.count, 2);
	assert_ptr_equal(b->queue.at[0], ar_thread_turn(b, AR_STR("c")));
	ar_session_snapshot(&copy, &second);
	assert_true(ar_str_eq(ar_buf_str(&first), ar_buf_str(&second)));
	ar_session_fini(&copy);
	ar_buf_fini(&first);
	ar_buf_fini(&second);
}

static void print(const struct ar_decision *d, struct ar_buf *out)
{
	for (size_t i = 0; i < d->event_count; i++)
		ar_event_encode(&d->events[i], out);
	ar_buf_adds(out, d->reply);
}

static void test_behaves_the_same(void **state)
{
	struct desk *d = *state;
	struct ar_buf text = { 0 }, mine = { 0 }, theirs = { 0 };
	struct ar_arena arena = { 0 };
	struct ar_decision decision;
	struct ar_session copy;
	struct ar_input in = { .kind = AR_IN_RECOVER, .now = d->now, .policy = &d->policy };

	fill(d);
	restore(d, &text, &copy);
	assert_int_equal(ar_session_decide(&d->session, &in, d->decide_json, &arena, &decision, &d->err),
			 AR_OK);
	assert_true(decision.event_count > 5);
	print(&decision, &mine);
	assert_int_equal(ar_session_decide(&copy, &in, d->decide_json, &arena, &decision, &d->err), AR_OK);
	print(&decision, &theirs);
	assert_true(ar_str_eq(ar_buf_str(&mine), ar_buf_str(&theirs)));
	ar_arena_fini(&arena);
	ar_session_fini(&copy);
	ar_buf_fini(&text);
	ar_buf_fini(&mine);
	ar_buf_fini(&theirs);
}

static void test_facts_that_cannot_follow(void **state)
{
	struct desk *d = *state;
	struct ar_ev_turn_started started = { .started_at = 1 };
	struct ar_event e = { .type = AR_EV_TURN_STARTED, .payload = &started };

	fill(d);
	e.sequence = d->session.head + 2;
	assert_int_equal(ar_session_apply(&d->session, &e, &d->err), AR_E_CORRUPT);
	e.sequence = d->session.head;
	assert_int_equal(ar_session_apply(&d->session, &e, &d->err), AR_E_CORRUPT);
	e.sequence = d->session.head + 1;
	assert_int_equal(ar_session_apply(&d->session, &e, &d->err), AR_E_CORRUPT); /* no thread */
	e.ids[AR_SCOPE_THREAD] = desk_thread(d, 0)->id;
	e.ids[AR_SCOPE_TURN] = AR_STR("nobody");
	assert_int_equal(ar_session_apply(&d->session, &e, &d->err), AR_E_CORRUPT);
	e.ids[AR_SCOPE_TURN] = AR_STR("c");
	assert_int_equal(ar_session_apply(&d->session, &e, &d->err), AR_E_CORRUPT); /* beside a running one */
}

/* Ended turns leave the window, open ones never. */
static void test_window(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_remove_queued_turn_in in = { 0 };
	char id[16];

	assert_int_equal(desk_submit(d, "open"), AR_OK);
	for (int i = 0; i < AR_WINDOW_TURNS + 5; i++) {
		snprintf(id, sizeof(id), "t%d", i);
		assert_int_equal(desk_submit(d, id), AR_OK);
		in.queued_turn_id = ar_str_from(id);
		assert_int_equal(desk_command(d, AR_CMD_REMOVE_QUEUED_TURN, &in), AR_OK);
	}
	assert_int_equal(desk_thread(d, 0)->turns.count, AR_WINDOW_TURNS + 1);
	assert_true(ar_str_is(desk_active(d)->id, "open"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_is_lost),
		TEST(test_behaves_the_same),
		TEST(test_facts_that_cannot_follow),
		TEST(test_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
