/* Commands: what each refuses, and which facts it gives. */
#include "desk.h"

#define STARTED \
	"turn.submitted task.created task.accepted turn.started task.attempt.started task.started " \
	"thread.updated context.resolved model.requested"
#define QUEUED "turn.submitted task.created task.accepted task.queued queue.changed"

static const struct ar_shape_create_policy in_new_thread = { .thread = AR_STR("new") };

static void test_create_session(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_create_session_in in = { .title = AR_STR("T") };

	assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION, &in), AR_OK);
	desk_expect(d, "session.created thread.started");
	assert_int_equal(d->decision.effect_count, 0);
	desk_expect_refusal(d, desk_command(d, AR_CMD_CREATE_SESSION, &in), AR_ERR_ID_CONFLICT);
}

static void test_submit_makes_session_and_asks_model(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, NULL), AR_OK);
	desk_expect(d, "session.created thread.started " STARTED);
	assert_int_equal(d->decision.effect_count, 1);
	assert_int_equal(d->decision.effects[0].kind, AR_EFFECT_MODEL_CALL);
	assert_int_equal(d->decision.effects[0].model_call.message_count, 1);
	desk_expect_reply(d, "\"status\":\"accepted\"");
	assert_true(ar_session_is_active(&d->session));
}

static void test_submit_refusals(void **state)
{
	static const struct {
		struct ar_cmd_submit_turn_in in;
		uint16_t code;
	} rows[] = {
		{ .code = AR_ERR_INVALID_INPUT },
		{ { .input = { "[]", 2 } }, AR_ERR_INVALID_INPUT },
		{ { .input = { "[{\"type\":\"image_ref\"}]", 22 } }, AR_ERR_INVALID_INPUT },
		{ { .input = { "[{\"type\":\"text\"}]", 17 } }, AR_ERR_INVALID_INPUT },
		{ { .text = { "x", 1 }, .thread_id = { "thread_no", 9 } }, AR_ERR_THREAD_NOT_FOUND },
		{ { .text = { "x", 1 }, .thread_id = { "t", 1 }, .create_policy = &in_new_thread },
		  AR_ERR_THREAD_NOT_FOUND },
		{ { .text = { "x", 1 }, .busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_REJECT },
		  AR_ERR_THREAD_BUSY_REJECTED },
		{ { .text = { "x", 1 } }, AR_ERR_OVERLOADED },
	};
	struct desk *d = *state;
	uint64_t head;

	for (int i = 0; i < 3; i++) /* one runs, two wait: all that the policy allows */
		assert_int_equal(desk_submit(d, NULL), AR_OK);
	head = d->session.head;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		desk_expect_refusal(d, desk_command(d, AR_CMD_SUBMIT_TURN, &rows[i].in), rows[i].code);
	assert_int_equal(d->session.head, head);
}

static void test_submit_queues_and_goes_on(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	desk_expect(d, QUEUED);
	desk_expect_reply(d, "\"status\":\"queued\",\"queuedTurnId\":\"b\",\"position\":1");
	assert_int_equal(desk_answer(d, "hi"), AR_OK);
	desk_expect(d, "model.completed task.attempt.completed task.completed turn.completed queue.changed "
		       "turn.started "
		       "task.attempt.started task.started thread.updated context.resolved model.requested");
	assert_true(ar_str_is(desk_active(d)->id, "b"));
	assert_int_equal(d->decision.effects[0].model_call.message_count, 3); /* hello, hi, hello */
}

static void test_submit_new_thread(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_submit_turn_in in = { .text = AR_STR("x"), .create_policy = &in_new_thread };

	assert_int_equal(desk_submit(d, NULL), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_SUBMIT_TURN, &in), AR_OK);
	desk_expect(d, "thread.started " STARTED);
	assert_int_equal(d->session.threads.count, 2);
}

static void test_interrupt(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_interrupt_turn_in in = { .reason = AR_STR("stop it") };

	assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN, &in), AR_OK);
	desk_expect(d, "");
	desk_expect_reply(d, "\"result\":\"no_op\"");
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN, &in), AR_OK);
	desk_expect(d, "thread.updated run.status");
	assert_int_equal(d->decision.effects[0].kind, AR_EFFECT_MODEL_CANCEL);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN, &in), AR_OK);
	desk_expect(d, ""); /* asked for already */
	assert_int_equal(desk_answer(d, "too late"), AR_OK);
	desk_expect(d, "model.completed task.attempt.failed task.cancelled turn.failed thread.updated");
	assert_true(ar_str_is(desk_thread(d, 0)->last_outcome, "cancelled"));
}

/* The new turn goes before those that wait, once the running one has ended. */
static void test_submit_interrupts(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_submit_turn_in in = { .text = AR_STR("now"),
					    .turn_id = AR_STR("c"),
					    .busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_INTERRUPT };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_SUBMIT_TURN, &in), AR_OK);
	desk_expect(d, QUEUED " queue.changed thread.updated run.status");
	desk_expect_reply(d, "\"status\":\"queued\",\"queuedTurnId\":\"c\",\"position\":1");
	assert_int_equal(d->decision.effects[0].kind, AR_EFFECT_MODEL_CANCEL);
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 6 }), AR_OK);
	assert_true(ar_str_is(desk_active(d)->id, "c"));
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_true(ar_str_is(desk_active(d)->id, "b"));
}

/* Nothing is open that would have to end first. */
static void test_submit_interrupts_a_wait(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_submit_turn_in in = { .text = AR_STR("now"),
					    .turn_id = AR_STR("b"),
					    .busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_INTERRUPT };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 2,
								    .category = AR_STR("server_error"),
								    .message = AR_STR("busy"),
								    .retryable = true }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_SUBMIT_TURN, &in), AR_OK);
	assert_true(ar_str_is(desk_active(d)->id, "b"));
	assert_int_equal(d->decision.effects[0].kind, AR_EFFECT_MODEL_CALL);
	assert_true(ar_str_is(desk_thread(d, 0)->last_outcome, "cancelled"));
}

static enum ar_status steer(struct desk *d, const char *turn, const char *words)
{
	struct ar_str input = ar_arena_fmt(&d->session.arena, "[{\"type\":\"text\",\"text\":\"%s\"}]", words);

	return desk_command(d, AR_CMD_STEER_TURN,
			    &(struct ar_cmd_steer_turn_in){ .thread_id = desk_thread(d, 0)->id,
							    .turn_id = ar_str_from(turn),
							    .input = input });
}

/* What is said while the model answers comes after that answer, and the turn goes on with it. */
static void test_steer(void **state)
{
	struct desk *d = *state;
	const struct ar_context_entry *messages;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(steer(d, "a", "in German"), AR_OK);
	desk_expect(d, "run.status");
	desk_expect_reply(d, "\"accepted\":true,\"appliedAtStep\":\"step_");
	assert_int_equal(d->decision.effect_count, 0);
	assert_int_equal(desk_thread(d, 0)->context.count, 1);
	assert_int_equal(desk_answer(d, "hi"), AR_OK);
	desk_expect(d, "model.completed model.requested");
	assert_int_equal(d->decision.effects[0].model_call.message_count, 3);
	messages = d->decision.effects[0].model_call.messages;
	assert_int_equal(messages[1].role, AR_CONTEXT_ASSISTANT);
	assert_int_equal(messages[2].role, AR_CONTEXT_USER);
	assert_int_equal(desk_active(d)->steers.count, 0);
	assert_int_equal(desk_answer(d, "hallo"), AR_OK);
	assert_true(ar_str_is(desk_thread(d, 0)->last_outcome, "completed"));
	assert_int_equal(desk_thread(d, 0)->context.count, 4);
}

/* A turn that ends otherwise leaves what was said to it to the next one. */
static void test_steer_survives_the_turn(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(steer(d, "a", "in German"), AR_OK);
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 2,
								    .category = AR_STR("auth"),
								    .message = AR_STR("no") }),
			 AR_OK);
	assert_true(ar_str_is(desk_active(d)->id, "b"));
	assert_int_equal(d->decision.effects[0].model_call.message_count, 3);
	assert_int_equal(desk_thread(d, 0)->sent, 3);
}

static void test_steer_refusals(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_steer_turn_in in = { .thread_id = AR_STR("thread_no"),
					   .turn_id = AR_STR("a"),
					   .input = AR_STR("[{\"type\":\"text\",\"text\":\"x\"}]") };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	desk_expect_refusal(d, desk_command(d, AR_CMD_STEER_TURN, &in), AR_ERR_THREAD_NOT_FOUND);
	desk_expect_refusal(d, steer(d, "b", "x"), AR_ERR_TURN_MISMATCH);
	in.thread_id = desk_thread(d, 0)->id;
	in.input = AR_STR("[]");
	desk_expect_refusal(d, desk_command(d, AR_CMD_STEER_TURN, &in), AR_ERR_INVALID_INPUT);
	for (int i = 0; i < AR_STEERS_MAX; i++)
		assert_int_equal(steer(d, "a", "x"), AR_OK);
	desk_expect_refusal(d, steer(d, "a", "x"), AR_ERR_OVERLOADED);
	assert_int_equal(desk_answer(d, "one"), AR_OK);
	assert_int_equal(steer(d, "a", "x"), AR_OK);
	assert_int_equal(desk_answer(d, "two"), AR_OK);
	desk_expect_refusal(d, steer(d, "a", "x"), AR_ERR_TURN_NOT_ACTIVE); /* three answers are allowed */
	assert_int_equal(desk_answer(d, "three"), AR_OK);
	desk_expect_refusal(d, steer(d, "a", "x"), AR_ERR_TURN_NOT_ACTIVE);
}

static enum ar_status fork_at(struct desk *d, const char *turn)
{
	return desk_command(d, AR_CMD_FORK_THREAD,
			    &(struct ar_cmd_fork_thread_in){ .thread_id = desk_thread(d, 0)->id,
							     .turn_id = ar_str_from(turn) });
}

/* One fact, whatever the history; the branch then asks with what its parent had, and both go their ways. */
static void test_fork(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_submit_turn_in in = { .text = AR_STR("other"), .turn_id = AR_STR("c") };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_answer(d, "one"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(fork_at(d, NULL), AR_OK); /* while b runs: after a */
	desk_expect(d, "thread.started");
	desk_expect_reply(d, "\"parentTurnId\":\"a\"");
	desk_expect_refusal(d, fork_at(d, "b"), AR_ERR_ACTIVE_TURN);
	desk_expect_refusal(d, fork_at(d, "nobody"), AR_ERR_TURN_NOT_FOUND);
	in.thread_id = desk_thread(d, 1)->id;
	assert_int_equal(desk_command(d, AR_CMD_SUBMIT_TURN, &in), AR_OK);
	assert_int_equal(d->decision.effects[0].model_call.message_count, 3); /* hello, one, other */
	assert_int_equal(desk_answer(d, "two"), AR_OK);
	assert_int_equal(desk_thread(d, 0)->context.count, 4);
	assert_int_equal(desk_thread(d, 1)->context.count, 3);
	assert_int_equal(desk_command(d, AR_CMD_FORK_THREAD,
				      &(struct ar_cmd_fork_thread_in){ .thread_id = AR_STR("no") }),
			 AR_E_REFUSED);
}

static enum ar_status roll_back(struct desk *d, const char *target)
{
	const struct ar_shape_rollback_target *read = desk_read(d, &ar_shape_rollback_target_desc, target);

	if (!read)
		return AR_E_REFUSED;
	return desk_command(d, AR_CMD_ROLLBACK_THREAD,
			    &(struct ar_cmd_rollback_thread_in){ .thread_id = desk_thread(d, 0)->id,
								 .target = read });
}

static void three_turns(struct desk *d)
{
	for (int i = 0; i < 3; i++) {
		assert_int_equal(desk_submit(d, (const char *[]){ "a", "b", "c" }[i]), AR_OK);
		assert_int_equal(desk_answer(d, "fine"), AR_OK);
	}
}

static void test_rollback(void **state)
{
	struct desk *d = *state;
	const struct ar_thread *t;

	three_turns(d);
	assert_int_equal(roll_back(d, "{\"turnId\":\"a\"}"), AR_OK);
	desk_expect(d,
		    "history.rollback.started history.rollback.completed snapshot.repaired thread.updated");
	desk_expect_reply(d, "\"removedTurnIds\":[\"b\",\"c\"],\"baselineRef\":\"");
	t = desk_thread(d, 0);
	assert_int_equal(t->context.count, 2);
	assert_true(ar_str_is(t->last_turn, "a"));
	assert_int_equal(roll_back(d, "{\"turnId\":\"a\"}"), AR_OK);
	desk_expect(d, ""); /* there already */
	desk_expect_reply(d, "\"removedTurnIds\":[],\"baselineRef\":\"");
	assert_int_equal(desk_submit(d, "d"), AR_OK);
	assert_int_equal(d->decision.effects[0].model_call.message_count, 3);
	assert_int_equal(desk_answer(d, "fine"), AR_OK);
	assert_int_equal(roll_back(d, "{\"sequence\":0}"), AR_OK);
	desk_expect_reply(d, "\"removedTurnIds\":[\"a\",\"d\"]");
	assert_int_equal(t->context.count, 0);
	assert_true(ar_str_absent(t->last_turn));
}

static void test_rollback_refusals(void **state)
{
	static const struct {
		const char *target;
		uint16_t code;
	} rows[] = {
		{ "{\"turnId\":\"nobody\"}", AR_ERR_TARGET_NOT_FOUND },
		{ "{\"turnId\":\"c\"}", AR_ERR_TARGET_NOT_FOUND }, /* removed */
		{ "{\"sequence\":100000}", AR_ERR_TARGET_NOT_FOUND },
		{ "{\"sequence\":-1}", AR_ERR_TARGET_NOT_FOUND },
		{ "{}", AR_ERR_INVALID_INPUT },
	};
	struct desk *d = *state;

	three_turns(d);
	assert_int_equal(roll_back(d, "{\"turnId\":\"b\"}"), AR_OK);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		desk_expect_refusal(d, roll_back(d, rows[i].target), rows[i].code);
	desk_expect_refusal(d, fork_at(d, "c"), AR_ERR_TURN_NOT_FOUND);
	assert_int_equal(desk_submit(d, "d"), AR_OK);
	desk_expect_refusal(d, roll_back(d, "{\"turnId\":\"b\"}"), AR_ERR_ACTIVE_TURN);
}

/* Turns that left the window cannot be listed any more, so no rollback goes behind them. */
static void test_rollback_within_the_window(void **state)
{
	struct desk *d = *state;

	for (int i = 0; i <= AR_WINDOW_TURNS; i++) {
		assert_int_equal(desk_submit(d, NULL), AR_OK);
		assert_int_equal(desk_answer(d, "fine"), AR_OK);
	}
	desk_expect_refusal(d, roll_back(d, "{\"sequence\":0}"), AR_ERR_TARGET_NOT_FOUND);
	assert_true(desk_thread(d, 0)->forgotten.set);
}

/* The stopped turn leaves no message, not even the answer that came too late. */
static void test_submit_rolls_back(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_submit_turn_in in = { .text = AR_STR("now"),
					    .turn_id = AR_STR("c"),
					    .busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_ROLLBACK };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_answer(d, "fine"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(steer(d, "b", "x"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_SUBMIT_TURN, &in), AR_OK);
	desk_expect(d, QUEUED " thread.updated run.status");
	assert_true(desk_active(d)->unwanted.v);
	assert_int_equal(desk_answer(d, "too late"), AR_OK);
	desk_expect(d,
		    "model.completed task.attempt.failed task.cancelled turn.failed history.rollback.started "
		    "history.rollback.completed snapshot.repaired queue.changed turn.started "
		    "task.attempt.started task.started thread.updated context.resolved model.requested");
	assert_int_equal(d->decision.effects[0].model_call.message_count, 3); /* hello, fine, now */
	assert_int_equal(desk_thread(d, 0)->context.count, 3);
	assert_int_equal(desk_thread(d, 0)->sent, 3);
	assert_true(ar_str_is(desk_thread(d, 0)->last_turn, "a"));
}

/* Who was interrupted already is removed as well, when the next turn says so. */
static void test_submit_rolls_back_the_interrupted(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_submit_turn_in in = { .text = AR_STR("now"),
					    .busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_ROLLBACK };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("stop") }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_SUBMIT_TURN, &in), AR_OK);
	desk_expect(d, QUEUED " run.status");
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 6,
								    .category = AR_STR("cancelled"),
								    .message = AR_STR("stopped") }),
			 AR_OK);
	assert_int_equal(d->decision.effects[0].model_call.message_count, 1);
	assert_true(ar_str_absent(desk_thread(d, 0)->last_turn));
}

static void test_interrupt_scope(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_interrupt_turn_in in = { .reason = AR_STR("stop"), .thread_id = AR_STR("thread_no") };

	assert_int_equal(desk_submit(d, NULL), AR_OK);
	desk_expect_refusal(d, desk_command(d, AR_CMD_INTERRUPT_TURN, &in), AR_ERR_THREAD_NOT_FOUND);
	assert_int_equal(desk_command(d, AR_CMD_SUBMIT_TURN,
				      &(struct ar_cmd_submit_turn_in){ .text = AR_STR("x"),
								       .create_policy = &in_new_thread }),
			 AR_OK);
	in.thread_id = AR_STR_NONE;
	desk_expect_refusal(d, desk_command(d, AR_CMD_INTERRUPT_TURN, &in), AR_ERR_AMBIGUOUS_SCOPE);
	in.all = AR_OPT_BOOL(true);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN, &in), AR_OK);
	desk_expect(d, "thread.updated run.status thread.updated run.status");
}

static void test_interrupt_clears_queue(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_interrupt_turn_in in = { .reason = AR_STR("stop"),
					       .queue_policy = AR_INTERRUPT_TURN_QUEUE_POLICY_CLEAR };

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN, &in), AR_OK);
	desk_expect(d, "queue.changed task.cancelled turn.failed thread.updated run.status");
	assert_int_equal(desk_thread(d, 0)->queue.count, 0);
}

static void test_queue_commands(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_promote_queued_turn_in promote = { .queued_turn_id = AR_STR("c") };
	struct ar_cmd_remove_queued_turn_in remove_it = { .queued_turn_id = AR_STR("b") };

	for (int i = 0; i < 3; i++)
		assert_int_equal(desk_submit(d, (const char *[]){ "a", "b", "c" }[i]), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_PROMOTE_QUEUED_TURN, &promote), AR_OK);
	desk_expect(d, "queue.changed");
	desk_expect_reply(d, "[\"c\",\"b\"]");
	assert_int_equal(desk_command(d, AR_CMD_PROMOTE_QUEUED_TURN, &promote), AR_OK);
	desk_expect(d, ""); /* first already */
	assert_int_equal(desk_command(d, AR_CMD_REMOVE_QUEUED_TURN, &remove_it), AR_OK);
	desk_expect(d, "queue.changed task.cancelled turn.failed");
	desk_expect_reply(d, "\"removed\":true,\"order\":[\"c\"]");
	assert_int_equal(desk_command(d, AR_CMD_REMOVE_QUEUED_TURN, &remove_it), AR_OK);
	desk_expect_reply(d, "\"removed\":false");
	promote.queued_turn_id = AR_STR("b");
	desk_expect_refusal(d, desk_command(d, AR_CMD_PROMOTE_QUEUED_TURN, &promote),
			    AR_ERR_QUEUED_TURN_NOT_FOUND);
	promote.queued_turn_id = AR_STR("nobody");
	desk_expect_refusal(d, desk_command(d, AR_CMD_PROMOTE_QUEUED_TURN, &promote),
			    AR_ERR_QUEUED_TURN_NOT_FOUND);
	remove_it.queued_turn_id = AR_STR("a");
	desk_expect_refusal(d, desk_command(d, AR_CMD_REMOVE_QUEUED_TURN, &remove_it),
			    AR_ERR_ALREADY_STARTED);
}

static void test_not_built(void **state)
{
	struct desk *d = *state;

	desk_expect_refusal(d, desk_command(d, AR_CMD_START_BENCHMARK_TRIAL, NULL), AR_ERR_UNAVAILABLE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_create_session),
		TEST(test_submit_makes_session_and_asks_model),
		TEST(test_submit_refusals),
		TEST(test_submit_queues_and_goes_on),
		TEST(test_submit_new_thread),
		TEST(test_interrupt),
		TEST(test_submit_interrupts),
		TEST(test_submit_interrupts_a_wait),
		TEST(test_steer),
		TEST(test_steer_survives_the_turn),
		TEST(test_steer_refusals),
		TEST(test_fork),
		TEST(test_rollback),
		TEST(test_rollback_refusals),
		TEST(test_rollback_within_the_window),
		TEST(test_submit_rolls_back),
		TEST(test_submit_rolls_back_the_interrupted),
		TEST(test_interrupt_scope),
		TEST(test_interrupt_clears_queue),
		TEST(test_queue_commands),
		TEST(test_not_built),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
