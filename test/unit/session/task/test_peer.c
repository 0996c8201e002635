/* Tasks that a peer works on: the table of its states, both identities, what is known after a restart, how
 * the task ends, and that nothing the peer merely says is a result. */
#include "channel/channel.h"
#include "desk.h"
#include "peer/remote.h"
#include "task/task.h"

#include <stdio.h>

static const struct ar_tool delegate = { .name = AR_STR(AR_PEER_TOOL),
					 .description = AR_STR("Hands on."),
					 .schema = AR_STR("{\"type\":\"object\"}"),
					 .owner = AR_TOOL_LOCAL,
					 .is_idempotent = true };
static const struct ar_tool *const tools[] = { &delegate };
static const struct ar_inventory inventory = { tools, AR_ARRAY_LEN(tools), 1, true };

struct told {
	const char *native, *task, *message;
	int event, mechanism;
	ar_usec since;
	struct ar_str operation; /* absent: that of the call */
};

/* A task that the peer "b" has; its call runs. */
struct handed {
	struct desk *d;
	struct ar_str task, call;
};

static struct ar_str call_of(struct desk *d)
{
	for (size_t i = 0; i < d->session.threads.count; i++) {
		const struct ar_turn *turn = ar_thread_active(d->session.threads.at[i]);

		if (turn && turn->calls.count)
			return ((const struct ar_invocation *)turn->calls.at[turn->calls.count - 1])->id;
	}
	fail_msg("no call runs");
	return AR_STR_NONE;
}

static struct handed hand_on(struct desk *d)
{
	struct handed h = { .d = d };

	d->policy.inventory = &inventory;
	d->policy.permission_mode = AR_MODE_BYPASS;
	assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_CREATE_TASK,
				      &(struct ar_cmd_create_task_in){ .session_id = d->session.id,
								       .objective = AR_STR("find it") }),
			 AR_OK);
	h.task = ((const struct ar_task *)d->session.declared.at[0])->id;
	assert_int_equal(desk_command(d, AR_CMD_DELEGATE_TASK,
				      &(struct ar_cmd_delegate_task_in){ .task_id = h.task,
									 .peer = AR_STR("b") }),
			 AR_OK);
	h.call = call_of(d);
	return h;
}

static enum ar_status report(const struct handed *h, bool is_runtime, struct told t)
{
	const struct ar_cmd_report_peer_task_in in = {
		.tool_call_id = h->call,
		.operation_id = ar_str_empty(t.operation) ? h->call : t.operation,
		.peer = AR_STR("b"),
		.event = t.event ? t.event : AR_REPORT_PEER_TASK_EVENT_UPDATE,
		.message_id = AR_STR("msg_1"),
		.delivery_mechanism = t.mechanism ? t.mechanism : AR_DELIVERY_MECHANISM_POLLING,
		.remote_context_id = AR_STR("ctx_1"),
		.remote_task_id = t.task ? ar_str_from(t.task) : AR_STR_NONE,
		.native_status = t.native ? ar_str_from(t.native) : AR_STR_NONE,
		.message = t.message ? ar_str_from(t.message) : AR_STR_NONE,
		.agent_card = AR_STR("{\"name\":\"b\"}"),
		.since = t.since,
	};

	return desk_do(h->d, (struct ar_input){ .kind = AR_IN_COMMAND,
						.is_runtime = is_runtime,
						.account = AR_STR("runtime"),
						.command = { .id = AR_CMD_REPORT_PEER_TASK, .args = &in } });
}

static void tell(const struct handed *h, struct told t)
{
	assert_int_equal(report(h, true, t), AR_OK);
}

static struct handed begun(struct desk *d)
{
	struct handed h = hand_on(d);

	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_BEGIN });
	return h;
}

static const struct ar_task *task_of(const struct handed *h)
{
	return ar_session_declared(&h->d->session, h->task);
}

static void expect_status(const struct handed *h, const char *word)
{
	assert_string_equal(ar_arena_str(&h->d->arena, ar_task_status_word(task_of(h))).p, word);
}

static const struct ar_shape_remote_task *expect_remote(const struct handed *h, int status, int recovery)
{
	const struct ar_shape_remote_task *r = ar_task_remote(task_of(h));

	assert_non_null(r);
	assert_int_equal(r->status, status);
	assert_int_equal(r->recovery_state, recovery);
	return r;
}

/* OPEN-49: each word in both spellings. */
static void states_are_words_of_ours(void **state)
{
	static const struct {
		const char *old, *now;
		int status;
	} all[] = {
		{ "submitted", "TASK_STATE_SUBMITTED", AR_TASK_STATUS_ACCEPTED },
		{ "working", "TASK_STATE_WORKING", AR_TASK_STATUS_RUNNING },
		{ "input-required", "TASK_STATE_INPUT_REQUIRED", AR_TASK_STATUS_WAITING_INPUT },
		{ "auth-required", "TASK_STATE_AUTH_REQUIRED", AR_TASK_STATUS_WAITING_PERMISSION },
		{ "completed", "TASK_STATE_COMPLETED", AR_TASK_STATUS_RUNNING },
		{ "canceled", "TASK_STATE_CANCELED", AR_TASK_STATUS_CANCELLED },
		{ "failed", "TASK_STATE_FAILED", AR_TASK_STATUS_FAILED },
		{ "rejected", "TASK_STATE_REJECTED", AR_TASK_STATUS_FAILED },
		{ "unknown", "TASK_STATE_UNSPECIFIED", AR_TASK_STATUS_UNKNOWN },
		{ "TASK_STATE_", "done", AR_TASK_STATUS_UNKNOWN },
		{ "COMPLETED", "", AR_TASK_STATUS_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(all); i++) {
		assert_int_equal(ar_peer_meaning(ar_str_from(all[i].old)).status, all[i].status);
		assert_int_equal(ar_peer_meaning(ar_str_from(all[i].now)).status, all[i].status);
	}
	assert_string_equal(ar_peer_meaning(AR_STR("rejected")).category, "rejected");
	assert_true(ar_peer_meaning(AR_STR("TASK_STATE_COMPLETED")).is_end);
	assert_false(ar_peer_meaning(AR_STR("auth-required")).is_end);
}

/* The intent is a fact before the host sends; then both ids are in one fact. */
static void both_identities_are_kept(void **state)
{
	struct handed h = hand_on(*state);
	const struct ar_shape_remote_task *r;

	desk_expect_refusal(h.d, report(&h, false, (struct told){ 0 }), AR_ERR_NOT_AUTHORIZED);
	desk_expect_refusal(h.d, report(&h, true, (struct told){ .native = "working", .task = "r1" }),
			    AR_ERR_NOT_FOUND); /* nothing was sent yet */
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_BEGIN });
	desk_expect(h.d, "task.delegated channel.connected task.progress");
	desk_expect_payload(h.d, AR_EV_TASK_DELEGATED, "\"delegateKind\":\"peer_task\"");
	desk_expect_reply(h.d, "\"isSent\":false");
	expect_remote(&h, AR_TASK_STATUS_UNKNOWN, AR_REMOTE_TASK_RECOVERY_STATE_SENDING);
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_BEGIN }); /* after a restart */
	desk_expect(h.d, "");
	desk_expect_reply(h.d, "\"isSent\":true");
	tell(&h, (struct told){ .native = "TASK_STATE_SUBMITTED", .task = "r1" });
	desk_expect_all(h.d, "task.dependency.updated channel.peer_task.linked task.progress "
			     "channel.peer_task.updated");
	desk_expect_payload(h.d, AR_EV_CHANNEL_PEER_TASK_LINKED, "\"remoteTaskId\":\"r1\"");
	desk_expect_payload(h.d, AR_EV_TASK_PROGRESS, "\"nativeStatus\":\"TASK_STATE_SUBMITTED\"");
	expect_status(&h, "accepted");
	r = ar_task_remote(task_of(&h));
	assert_false(ar_str_eq(r->remote_task_id, h.task));
	assert_false(ar_str_absent(r->agent_card_ref));
	assert_ptr_equal(ar_session_remote(&h.d->session, r->channel_id, AR_STR("r1")), task_of(&h));
	assert_null(ar_session_remote(&h.d->session, AR_STR("peer:other"), AR_STR("r1")));
	tell(&h, (struct told){ .native = "TASK_STATE_SUBMITTED", .task = "r1" });
	desk_expect(h.d, ""); /* the same again */
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_BEGIN });
	desk_expect_reply(h.d, "\"remoteTaskId\":\"r1\"");
}

/* What the settings say after the message has left gives it no address for notifications. */
static void updates_come_as_the_message_said(void **state)
{
	static const struct {
		int mechanism;
		const char *known;
	} begins[] = {
		{ AR_DELIVERY_MECHANISM_STREAMING, "streaming" },
		{ AR_DELIVERY_MECHANISM_PUSH_NOTIFICATION, "streaming" },
		{ AR_DELIVERY_MECHANISM_POLLING, "polling" },
		{ AR_DELIVERY_MECHANISM_PUSH_NOTIFICATION, "polling" },
	};
	struct handed h = hand_on(*state);

	for (size_t i = 0; i < AR_ARRAY_LEN(begins); i++) {
		char text[64];

		snprintf(text, sizeof text, "\"deliveryMechanism\":\"%s\"", begins[i].known);
		tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_BEGIN,
					.mechanism = begins[i].mechanism });
		desk_expect_reply(h.d, text);
	}
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_BEGIN,
				.mechanism = AR_DELIVERY_MECHANISM_PUSH_NOTIFICATION,
				.operation = AR_STR("another") });
	desk_expect_reply(h.d, "\"deliveryMechanism\":\"push_notification\"");
}

/* CH-08, CH-09: what is known of a peer's task, in six words, none of which is failed. */
static void recovery_tells_states_apart(void **state)
{
	struct handed h = begun(*state);

	tell(&h, (struct told){ .native = "working", .task = "r1" });
	expect_remote(&h, AR_TASK_STATUS_RUNNING, AR_REMOTE_TASK_RECOVERY_STATE_RUNNING);
	expect_status(&h, "running");
	tell(&h, (struct told){ .native = "submitted", .task = "r1" });
	expect_remote(&h, AR_TASK_STATUS_ACCEPTED, AR_REMOTE_TASK_RECOVERY_STATE_IDLE);
	tell(&h, (struct told){ .native = "input-required", .task = "r1" });
	desk_expect(h.d, "task.progress channel.peer_task.updated task.waiting");
	expect_remote(&h, AR_TASK_STATUS_WAITING_INPUT, AR_REMOTE_TASK_RECOVERY_STATE_WAITING);
	expect_status(&h, "waiting_input");
	tell(&h, (struct told){ .native = "working", .task = "r1" });
	desk_expect(h.d, "task.progress channel.peer_task.updated task.resumed");
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_UNREACHABLE });
	expect_remote(&h, AR_TASK_STATUS_STALE, AR_REMOTE_TASK_RECOVERY_STATE_UNAVAILABLE);
	expect_status(&h, "stale"); /* AN-23 */
	tell(&h, (struct told){ .native = "completed", .task = "r1" });
	expect_remote(&h, AR_TASK_STATUS_RUNNING, AR_REMOTE_TASK_RECOVERY_STATE_UNRECONCILED);
	expect_status(&h, "running");
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_MISSING });
	expect_remote(&h, AR_TASK_STATUS_LOST, AR_REMOTE_TASK_RECOVERY_STATE_MISSING);
}

static void end_call(const struct handed *h, struct ar_tool_result r)
{
	desk_end_call(h->d, h->call, &r);
}

/* OPEN-49, ST-21: nobody knows whether the peer has the message. It is not missing there, and whether the
 * peer is reached is as the host says. */
static void what_nobody_knows_is_unknown(void **state)
{
	struct handed h = begun(*state);
	const struct ar_shape_remote_task *r;

	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_UNREACHABLE });
	desk_expect(h.d, "channel.disconnected task.progress");
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_UNCLEAR, .since = 7 });
	desk_expect(h.d, "task.progress");
	r = expect_remote(&h, AR_TASK_STATUS_UNKNOWN, AR_REMOTE_TASK_RECOVERY_STATE_SENDING);
	assert_int_equal(r->unreachable_since, 7);
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_UNCLEAR });
	desk_expect(h.d, "channel.connected task.progress");
	r = expect_remote(&h, AR_TASK_STATUS_UNKNOWN, AR_REMOTE_TASK_RECOVERY_STATE_SENDING);
	assert_int_equal(r->unreachable_since, 0);
	end_call(&h, (struct ar_tool_result){ .outcome = AR_TOOL_ERROR,
					      .category = AR_STR(AR_CATEGORY_END_UNKNOWN),
					      .message = AR_STR("no") });
	desk_expect_payload(h.d, AR_EV_TASK_LOST, "nobody knows whether the peer has the work");
	expect_status(&h, "unknown");
}

/* A2-06, AN-20: without an artifact a person says that it is complete. */
static void messages_are_no_output(void **state)
{
	struct handed h = begun(*state);

	tell(&h, (struct told){ .native = "completed", .task = "r1", .message = "It is in the drawer." });
	desk_expect_payload(h.d, AR_EV_CHANNEL_MESSAGE, "\"direction\":\"in\"");
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_BEGIN });
	desk_expect_reply(h.d, "\"isAnswered\":false"); /* there is a task that can be asked */
	end_call(&h,
		 (struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = AR_STR("It is in the drawer.") });
	expect_status(&h, "waiting_resource");
	assert_int_equal(ar_task_run(task_of(&h))->outputs.count, 0);
	assert_int_equal(task_of(&h)->sheet->outputs.count, 0);
	assert_int_equal(desk_command(h.d, AR_CMD_COMPLETE_TASK,
				      &(struct ar_cmd_complete_task_in){ .task_id = h.task }),
			 AR_OK);
	expect_status(&h, "completed");
}

/* After a restart nothing is looked for: the peer has said all that it had to say. */
static void an_answer_without_task_is_known(void **state)
{
	struct handed h = begun(*state);

	tell(&h, (struct told){ .message = "Hello." });
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_BEGIN });
	desk_expect_reply(h.d, "\"isAnswered\":true");
}

/* A2-07, A2-12: with one it is complete, and the edge shows it. */
static void artifacts_settle_it(void **state)
{
	struct handed h = begun(*state);
	const struct ar_tool_artifact left = { .path = AR_STR("peer/b/r1/report"),
					       .change = AR_TOOL_CREATED,
					       .version = AR_STR("v1"),
					       .content = AR_STR("one two"),
					       .size = 7 };

	tell(&h, (struct told){ .native = "completed", .task = "r1" });
	expect_status(&h, "running");
	end_call(&h, (struct ar_tool_result){ .outcome = AR_TOOL_OK,
					      .text = AR_STR("ok"),
					      .artifacts = &left,
					      .artifact_count = 1 });
	expect_status(&h, "completed");
	desk_expect_payload(h.d, AR_EV_TASK_DEPENDENCY_UPDATED, "\"kind\":\"produced_artifact\"");
	expect_remote(&h, AR_TASK_STATUS_COMPLETED, AR_REMOTE_TASK_RECOVERY_STATE_ENDED);
	assert_int_equal(ar_task_remote(task_of(&h))->remote_artifact_refs.count, 1);
	assert_int_equal(ar_task_run(task_of(&h))->outputs.count, 1);
}

/* A2-05: a retry is another attempt with a peer's task of its own. */
static void attempts_keep_their_own(void **state)
{
	struct handed h = begun(*state);
	const struct ar_task *task = task_of(&h);

	tell(&h, (struct told){ .native = "failed", .task = "r1" });
	end_call(&h, (struct ar_tool_result){ .outcome = AR_TOOL_ERROR,
					      .category = AR_STR(AR_CATEGORY_PEER_FAILED),
					      .message = AR_STR("it failed") });
	expect_status(&h, "failed");
	assert_int_equal(desk_command(h.d, AR_CMD_RETRY_TASK,
				      &(struct ar_cmd_retry_task_in){ .task_id = h.task,
								      .retry_reason = AR_STR("again") }),
			 AR_OK);
	h.call = call_of(h.d);
	tell(&h, (struct told){ .event = AR_REPORT_PEER_TASK_EVENT_BEGIN });
	desk_expect_reply(h.d, "\"isSent\":false"); /* another operation */
	tell(&h, (struct told){ .native = "working", .task = "r2" });
	assert_int_equal(task->runs.count, 2);
	assert_string_equal(ar_run_remote(task->runs.at[0])->native_status.p, "failed");
	assert_string_equal(ar_run_remote(task->runs.at[1])->native_status.p, "working");
	assert_string_equal(ar_run_remote(task->runs.at[1])->remote_task_id.p, "r2");
}

/* A peer that says of two works that they are one task is believed once. */
static void a_task_of_a_peer_is_one_work(void **state)
{
	struct handed h = begun(*state);
	struct told second = { .event = AR_REPORT_PEER_TASK_EVENT_BEGIN, .operation = AR_STR("op_2") };

	tell(&h, (struct told){ .native = "working", .task = "r1" });
	tell(&h, second);
	second = (struct told){ .native = "completed", .task = "r1", .operation = second.operation };
	desk_expect_refusal(h.d, report(&h, true, second), AR_ERR_CONFLICT);
	second.task = "r2";
	tell(&h, second);
	second.task = "r3"; /* it has r2 */
	desk_expect_refusal(h.d, report(&h, true, second), AR_ERR_CONFLICT);
	tell(&h, (struct told){ .native = "completed", .task = "r1" });
}

/* Of more works than are kept, those whose calls have ended leave: an open one is not handed on again. */
static void the_record_of_an_open_call_stays(void **state)
{
	struct handed h = hand_on(*state);
	struct told t = { .event = AR_REPORT_PEER_TASK_EVENT_BEGIN };
	struct ar_invocation *call;
	struct ar_thread *thread;
	char operation[16];

	assert_non_null(ar_session_call(&h.d->session, h.call, &call, &thread));
	t.operation = ar_arena_str(&h.d->session.arena, call->permission);
	assert_false(ar_str_empty(t.operation));
	tell(&h, t);
	for (int i = 0; i <= AR_REMOTE_TASKS_MAX; i++) {
		snprintf(operation, sizeof operation, "op_%d", i);
		tell(&h, (struct told){ .event = t.event, .operation = ar_str_from(operation) });
	}
	assert_int_equal(ar_task_run(task_of(&h))->remote.count, AR_REMOTE_TASKS_MAX);
	assert_non_null(ar_task_remote_of(task_of(&h), t.operation));
	assert_null(ar_task_remote_of(task_of(&h), AR_STR("op_0")));
	tell(&h, t);
	desk_expect_reply(h.d, "\"isSent\":true");
}

/* OPEN-49: the ends that are not good. */
static void bad_ends_have_words(void **state)
{
	static const struct {
		const char *category, *status;
	} all[] = { { AR_CATEGORY_PEER_REJECTED, "failed" },
		    { AR_CATEGORY_PEER_CANCELLED, "cancelled" },
		    { AR_CATEGORY_PEER_LOST, "lost" },
		    { AR_CATEGORY_END_UNKNOWN, "unknown" } };

	for (size_t i = 0; i < AR_ARRAY_LEN(all); i++) {
		struct handed h;

		if (i > 0) {
			desk_close(state);
			desk_open(state);
		}
		h = begun(*state);
		end_call(&h, (struct ar_tool_result){ .outcome = AR_TOOL_ERROR,
						      .category = ar_str_from(all[i].category),
						      .message = AR_STR("no") });
		expect_status(&h, all[i].status);
	}
}

/* A2-09: the four facts have one actionId. */
static void authorization_is_asked_for(void **state)
{
	struct handed h = begun(*state);
	const struct ar_tool_question q = { .id = AR_STR("q1"), .prompt = AR_STR("May b read the files?") };
	struct ar_str action;

	tell(&h, (struct told){ .native = "auth-required", .task = "r1" });
	expect_status(&h, "waiting_permission");
	assert_int_equal(desk_do(h.d, (struct ar_input){ .kind = AR_IN_TOOL_ASKED,
							 .tool_asked = { .call = h.call, .question = &q } }),
			 AR_OK);
	desk_expect_payload(h.d, AR_EV_ACTION_REQUIRED, "\"actionType\":\"peer_authorization\"");
	action = ((const struct ar_action *)h.d->session.actions.at[0])->id;
	desk_expect_payload(h.d, AR_EV_PERMISSION_REQUESTED, ar_arena_str(&h.d->arena, action).p);
	desk_expect_payload(h.d, AR_EV_CHANNEL_PERMISSION_FORWARDED, ar_arena_str(&h.d->arena, action).p);
	desk_expect_payload(h.d, AR_EV_CHANNEL_PERMISSION_FORWARDED,
			    "{\"kind\":\"peer_task\",\"id\":\"r1\"}");
	assert_int_equal(desk_command(h.d, AR_CMD_RESPOND_ACTION,
				      &(struct ar_cmd_respond_action_in){ .action_id = action,
									  .decision = AR_STR("allow") }),
			 AR_OK);
	desk_expect_payload(h.d, AR_EV_CHANNEL_PERMISSION_RETURNED, ar_arena_str(&h.d->arena, action).p);
	assert_int_equal(desk_effects(h.d, AR_EFFECT_TOOL_ANSWER), 1);
}

/* link_peer_task: a task of a peer that is there already. */
static void a_task_is_linked(void **state)
{
	struct desk *d = *state;
	const struct ar_shape_party worker = { .kind = AR_STR("worker") };
	struct ar_cmd_link_peer_task_in in = { .channel_id = AR_STR("agent-b"),
					       .remote_task_id = AR_STR("r9"),
					       .native_status = AR_STR("working") };
	struct ar_str ids[2];

	assert_int_equal(desk_command(d, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 }),
			 AR_OK);
	for (size_t i = 0; i < 2; i++) {
		desk_command(d, AR_CMD_CREATE_TASK,
			     &(struct ar_cmd_create_task_in){ .session_id = d->session.id,
							      .objective = AR_STR("x") });
		ids[i] = ((const struct ar_task *)d->session.declared.at[i])->id;
		desk_command(d, AR_CMD_START_TASK,
			     &(struct ar_cmd_start_task_in){ .task_id = ids[i], .worker = &worker });
	}
	in.task_id = ids[0];
	desk_expect_refusal(d, desk_command(d, AR_CMD_LINK_PEER_TASK, &in), AR_ERR_CHANNEL_NOT_FOUND);
	assert_int_equal(desk_command(d, AR_CMD_CONNECT_CHANNEL,
				      &(struct ar_cmd_connect_channel_in){ .session_id = d->session.id,
									   .channel_id = in.channel_id,
									   .transport = AR_TRANSPORT_JSON_RPC,
									   .peer_role =
										   AR_PEER_ROLE_PEER_AGENT,
									   .credential = AR_STR("x") }),
			 AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_LINK_PEER_TASK, &in), AR_OK);
	desk_expect_all(d, "task.delegated task.dependency.updated channel.peer_task.linked task.progress");
	assert_ptr_equal(ar_session_remote(&d->session, in.channel_id, in.remote_task_id),
			 ar_session_declared(&d->session, ids[0]));
	assert_int_equal(desk_command(d, AR_CMD_LINK_PEER_TASK, &in), AR_OK);
	desk_expect(d, "");
	in.task_id = ids[1];
	desk_expect_refusal(d, desk_command(d, AR_CMD_LINK_PEER_TASK, &in), AR_ERR_CONFLICT);
	in.remote_task_id = ids[1];
	desk_expect_refusal(d, desk_command(d, AR_CMD_LINK_PEER_TASK, &in), AR_ERR_INVALID_INPUT);
}

static void without_peers_nothing_is_handed_on(void **state)
{
	struct desk *d = *state;

	desk_command(d, AR_CMD_CREATE_SESSION, &(struct ar_cmd_create_session_in){ 0 });
	desk_command(d, AR_CMD_CREATE_TASK,
		     &(struct ar_cmd_create_task_in){ .session_id = d->session.id,
						      .objective = AR_STR("x") });
	desk_expect_refusal(
		d,
		desk_command(d, AR_CMD_DELEGATE_TASK,
			     &(struct ar_cmd_delegate_task_in){
				     .task_id = ((const struct ar_task *)d->session.declared.at[0])->id,
				     .peer = AR_STR("b") }),
		AR_ERR_WORKER_UNAVAILABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(states_are_words_of_ours, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(both_identities_are_kept, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(updates_come_as_the_message_said, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(recovery_tells_states_apart, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(what_nobody_knows_is_unknown, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(messages_are_no_output, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(an_answer_without_task_is_known, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(artifacts_settle_it, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(attempts_keep_their_own, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_task_of_a_peer_is_one_work, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(the_record_of_an_open_call_stays, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(bad_ends_have_words, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(authorization_is_asked_for, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_task_is_linked, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(without_peers_nothing_is_handed_on, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
