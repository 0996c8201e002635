/* Questions to people: asked, answered once, expired, cancelled, over restarts. */
#include "desk.h"

#define ASKED "action.required thread.updated task.waiting"
#define ASKED_PERMISSION "action.required permission.requested thread.updated task.waiting"
#define SETTLED "action.resolved thread.updated task.resumed"
#define SETTLED_PERMISSION "action.resolved permission.resolved thread.updated task.resumed"

static const struct ar_str rule = { "r", 1 };
static const struct ar_judgement asking = { .verdict = AR_ASK,
					    .source = 2,
					    .scope = 1,
					    .reason = { "mode default asks", 17 },
					    .rules = { &rule, 1 },
					    .mode = "default" };

static struct ar_str ask_permission(struct desk *d)
{
	return desk_ask(d, (struct ar_ask){ .type = AR_ACTION_TOOL_PERMISSION,
					    .call = AR_STR("tool_1"),
					    .tool = AR_STR("write_file"),
					    .prompt = AR_STR("may it?"),
					    .judgement = &asking });
}

static struct ar_str ask_form(struct desk *d)
{
	return desk_ask(d, (struct ar_ask){
				   .type = AR_ACTION_STRUCTURED_INPUT,
				   .call = AR_STR("tool_1"),
				   .question = AR_STR("q-7"),
				   .prompt = AR_STR("which one?"),
				   .schema = AR_STR("{\"type\":\"object\",\"required\":[\"size\"],"
						    "\"properties\":{\"size\":{\"type\":\"integer\"}}}") });
}

static enum ar_status respond(struct desk *d, struct ar_str id, const char *decision, const char *payload)
{
	return desk_command(d, AR_CMD_RESPOND_ACTION,
			    &(struct ar_cmd_respond_action_in){ .action_id = id,
								.decision = ar_str_from(decision),
								.payload = ar_str_from(payload) });
}

static enum ar_status resolve(struct desk *d, struct ar_str id, const char *decision, const char *scope)
{
	return desk_command(d, AR_CMD_RESOLVE_PERMISSION,
			    &(struct ar_cmd_resolve_permission_in){ .action_id = id,
								    .decision = ar_str_from(decision),
								    .scope = ar_str_from(scope) });
}

static enum ar_status due(struct desk *d, struct ar_str id)
{
	return desk_do(d, (struct ar_input){ .kind = AR_IN_ACTION_DUE, .due = id });
}

static struct ar_action *action(struct desk *d, struct ar_str id)
{
	struct ar_action *a = ar_session_action(&d->session, id);

	assert_non_null(a);
	return a;
}

static const void *fact(struct desk *d, enum ar_event_type type)
{
	for (size_t i = 0; i < d->decision.event_count; i++) {
		if (d->decision.events[i].type == type)
			return d->decision.events[i].payload;
	}
	fail_msg("no such fact");
	return NULL;
}

/* What was written comes back from a snapshot the same. */
static void restart(struct desk *d)
{
	struct ar_buf text = { 0 }, again = { 0 };
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_session fresh;
	struct ar_json v;

	ar_session_snapshot(&d->session, &text);
	ar_session_init(&fresh, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(json, ar_buf_str(&text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&fresh, v, &d->err), AR_OK);
	ar_session_snapshot(&fresh, &again);
	assert_true(ar_str_eq(ar_buf_str(&text), ar_buf_str(&again)));
	ar_session_fini(&d->session);
	d->session = fresh;
	ar_json_parser_free(json);
	ar_buf_fini(&text);
	ar_buf_fini(&again);
}

static void test_a_question_blocks_its_thread(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_action_required *p;
	struct ar_str id;

	desk_begin(d);
	id = ask_permission(d);
	desk_expect(d, ASKED_PERMISSION);
	assert_true(ar_str_is(id, "action_0123456789abcdefghjkmnpqrs_1"));
	p = fact(d, AR_EV_ACTION_REQUIRED);
	assert_true(ar_str_is(p->action_type, "tool_permission"));
	assert_int_equal(p->decisions.count, 3);
	desk_expect_payload(d, AR_EV_ACTION_REQUIRED,
			    "\"decisions\":[\"allow\",\"allow_session\",\"deny\"],\"decisionKind\":");
	desk_expect_payload(
		d, AR_EV_ACTION_REQUIRED,
		"\"scope\":{\"sessionId\":\"sess_0123456789abcdefghjkmnpqrs\",\"threadId\":"
		"\"thread_0123456789abcdefghjkmnpqrs_1\",\"turnId\":\"a\",\"toolCallId\":\"tool_1\","
		"\"toolName\":\"write_file\"},\"policy\":{\"mode\":\"default\",\"ruleRefs\":[\"r\"],"
		"\"reason\":\"mode default asks\"}");
	assert_true(ar_str_is(p->decision_kind, "allow_or_deny"));
	assert_int_equal(desk_thread(d, 0)->status, AR_THREAD_STATUS_BLOCKED);
	assert_true(ar_str_is(desk_thread(d, 0)->detail, "waiting_permission"));
	assert_true(ar_str_is(desk_active(d)->task->waiting, "waiting_permission"));
	ask_form(d);
	desk_expect(d, ASKED);
	assert_true(ar_str_is(desk_thread(d, 0)->detail, "waiting_input"));
	assert_int_equal(desk_effects(d, AR_EFFECT_WAKE), 0); /* no deadline, nothing to wake for */
}

static void test_every_kind_offers_decisions_and_none_allows_by_itself(void **state)
{
	struct desk *d = *state;

	desk_begin(d);
	for (int i = 1; i < AR_ACTION_TYPE_COUNT; i++) {
		const struct ar_action_kind *kind = ar_action_kind((enum ar_action_type)i);
		struct ar_str id = desk_ask(d, (struct ar_ask){ .type = (enum ar_action_type)i,
								.call = AR_STR("tool_1"),
								.prompt = AR_STR("?") });
		const struct ar_ev_action_required *p = fact(d, AR_EV_ACTION_REQUIRED);

		assert_int_equal(ar_action_type_find(ar_str_from(kind->name)), i);
		assert_true(p->decisions.count > 1 && p->decision_kind.len > 0);
		assert_false(ar_action_allows(ar_str_from(kind->unanswered)));
		assert_true(p->on_timeout != 0);
		assert_int_equal(respond(d, id, kind->unanswered, NULL), AR_OK);
	}
}

static void test_the_first_answer_stands(void **state)
{
	struct desk *d = *state;
	struct ar_str id;

	desk_begin(d);
	id = ask_permission(d);
	assert_int_equal(respond(d, id, "allow", NULL), AR_OK);
	desk_expect(d, SETTLED_PERMISSION);
	desk_expect_reply(d, "\"decisionSource\":\"human\"");
	assert_int_equal(action(d, id)->status, AR_ACTION_RESOLVED);
	assert_true(ar_str_is(action(d, id)->actor->account_ref, "me"));
	desk_expect_payload(d, AR_EV_ACTION_RESOLVED, "\"actor\":{\"accountRef\":\"me\"}");
	assert_int_equal(desk_thread(d, 0)->status, AR_THREAD_STATUS_RUNNING);
	assert_int_equal(desk_active(d)->task->status, AR_TASK_RUNNING);

	assert_int_equal(respond(d, id, "allow", NULL), AR_OK); /* the same again: what stands */
	desk_expect(d, "");
	desk_expect_reply(d, "\"decision\":\"allow\"");
	desk_expect_refusal(d, respond(d, id, "deny", NULL), AR_ERR_ALREADY_RESOLVED);
	assert_non_null(strstr(d->err.msg, "'allow' (human, by me) at 2026-01-01T"));
	desk_expect_refusal(d, resolve(d, id, "denied", NULL), AR_ERR_ALREADY_RESOLVED);
}

static void test_the_host_answers_with_the_same_one_outcome(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_permission_resolved *p;
	struct ar_str id;

	desk_begin(d);
	id = ask_permission(d);
	assert_int_equal(resolve(d, id, "denied", NULL), AR_OK);
	desk_expect(d, SETTLED_PERMISSION);
	desk_expect_reply(d, "\"outcome\":\"denied\"");
	p = fact(d, AR_EV_PERMISSION_RESOLVED);
	assert_int_equal(p->decision_source, AR_PERMISSION_RESOLVED_DECISION_SOURCE_HOST);
	desk_expect_refusal(d, respond(d, id, "allow", NULL), AR_ERR_ALREADY_RESOLVED);
	assert_int_equal(respond(d, id, "deny", NULL), AR_OK);
	desk_expect_reply(d, "\"decisionSource\":\"host\"");
	id = ask_form(d);
	desk_expect_refusal(d, resolve(d, id, "allow", NULL), AR_ERR_REQUEST_NOT_FOUND);
}

/* As versions stored it that let callers name themselves in any way. */
static void test_odd_members_of_an_old_question(void **state)
{
	struct desk *d = *state;
	const struct ar_action *a;

	desk_begin(d);
	desk_fold(
		d, "action.required",
		"{\"actionType\":\"tool_permission\",\"prompt\":\"?\",\"decisions\":[\"allow\",7],\"scope\":"
		"{\"toolCallId\":[1],\"questionId\":\"q\",\"extra\":true},\"policy\":{\"rule\":\"r\","
		"\"mode\":1}}");
	a = d->session.actions.at[0];
	assert_true(ar_str_is(a->question, "q"));
	assert_true(ar_str_is(a->rule, "r"));
	assert_true(ar_str_absent(a->mode));
	assert_int_equal(a->decisions.count, 2);
	assert_true(ar_str_is(a->scope->extra_, "\"toolCallId\":[1],\"extra\":true"));
}

static void test_wrong_answers(void **state)
{
	struct desk *d = *state;
	struct ar_str id, form;

	desk_begin(d);
	id = ask_permission(d);
	form = ask_form(d);
	desk_expect_refusal(d, respond(d, id, "maybe", NULL), AR_ERR_INVALID_DECISION);
	assert_non_null(strstr(d->err.msg, "[\"allow\",\"allow_session\",\"deny\"]"));
	desk_expect_refusal(d, respond(d, AR_STR("action_0123456789abcdefghjkmnpqrs_9"), "allow", NULL),
			    AR_ERR_ACTION_NOT_FOUND);
	desk_expect_refusal(d, respond(d, form, "accept", NULL), AR_ERR_SCHEMA_MISMATCH);
	desk_expect_refusal(d, respond(d, form, "accept", "{\"size\":\"big\"}"), AR_ERR_SCHEMA_MISMATCH);
	assert_non_null(strstr(d->err.msg, "/size"));
	desk_expect_refusal(d, respond(d, id, "allow", "{\"scope\":\"workspace\"}"), AR_ERR_INVALID_INPUT);
	assert_int_equal(action(d, id)->status, AR_ACTION_PENDING);
	assert_int_equal(action(d, form)->status, AR_ACTION_PENDING);
}

static void test_a_tool_gets_its_answer(void **state)
{
	struct desk *d = *state;
	const struct ar_effect *answer;
	struct ar_str id;

	desk_begin(d);
	id = ask_form(d);
	assert_int_equal(respond(d, id, "accept", "{\"size\":3}"), AR_OK);
	desk_expect(d, SETTLED);
	assert_int_equal(d->decision.effect_count, 1);
	answer = &d->decision.effects[0];
	assert_int_equal(answer->kind, AR_EFFECT_TOOL_ANSWER);
	assert_true(ar_str_is(answer->tool_answer.question, "q-7") &&
		    ar_str_is(answer->tool_answer.call, "tool_1"));
	assert_true(ar_str_is(answer->tool_answer.decision, "accept") &&
		    ar_str_is(answer->tool_answer.content, "{\"size\":3}"));
}

static enum ar_status accept_with(struct desk *d, struct ar_str id, struct ar_str digest)
{
	return desk_command(d, AR_CMD_RESPOND_ACTION,
			    &(struct ar_cmd_respond_action_in){
				    .action_id = id, .decision = AR_STR("accept"), .prompt_digest = digest });
}

/* A question of any kind that is too long to be sent: only who has read all of it says more than no. */
static void test_a_long_question_has_to_be_read(void **state)
{
	struct desk *d = *state;
	struct ar_arena a = { 0 };
	char whole[5000];
	struct ar_str text = { whole, sizeof(whole) }, id;

	memset(whole, 'x', sizeof(whole));
	desk_begin(d);
	for (int i = 0; i < 2; i++) {
		id = desk_ask(d, (struct ar_ask){ .type = AR_ACTION_STRUCTURED_INPUT, .prompt = text });
		assert_true(action(d, id)->prompt.len < 2100 && !ar_str_absent(action(d, id)->prompt_ref));
		desk_expect_refusal(d, accept_with(d, id, AR_STR_NONE), AR_ERR_NOT_SHOWN);
		desk_expect_refusal(d, accept_with(d, id, action(d, id)->check), AR_ERR_NOT_SHOWN);
		desk_expect_refusal(d, accept_with(d, id, ar_action_digest(&a, AR_STR("another"), text)),
				    AR_ERR_NOT_SHOWN);
		assert_int_equal(i ? respond(d, id, "decline", NULL)
				   : accept_with(d, id, ar_action_digest(&a, id, text)),
				 AR_OK);
	}
	ar_arena_fini(&a);
}

static void test_one_answer_leaves_the_other_question_open(void **state)
{
	struct desk *d = *state;
	struct ar_str first, second;

	desk_begin(d);
	first = ask_permission(d);
	second = ask_permission(d);
	assert_int_equal(respond(d, first, "deny", NULL), AR_OK);
	desk_expect(d, "action.resolved permission.resolved");
	assert_int_equal(desk_thread(d, 0)->status, AR_THREAD_STATUS_BLOCKED);
	assert_int_equal(action(d, second)->status, AR_ACTION_PENDING);
	assert_int_equal(respond(d, second, "allow", NULL), AR_OK);
	desk_expect(d, SETTLED_PERMISSION);
}

static void test_a_grant_for_the_session(void **state)
{
	struct desk *d = *state;
	const struct ar_grant *g;

	desk_begin(d);
	assert_int_equal(respond(d, ask_permission(d), "allow", NULL), AR_OK);
	assert_int_equal(d->session.grants.count, 0);
	assert_int_equal(respond(d, ask_permission(d), "deny", "{\"scope\":\"session\"}"), AR_OK);
	assert_int_equal(d->session.grants.count, 0);
	assert_int_equal(respond(d, ask_permission(d), "allow",
				 "{\"scope\":\"session\",\"expiresAt\":\"2026-01-01T00:01:00Z\"}"),
			 AR_OK);
	assert_int_equal(resolve(d, ask_permission(d), "allowed", "session"), AR_OK);
	assert_int_equal(respond(d, ask_permission(d), "allow_session", NULL), AR_OK);
	assert_int_equal(d->session.grants.count, 3);
	g = d->session.grants.at[0];
	assert_true(ar_str_is(g->tool, "write_file") && ar_str_absent(g->rule));
	assert_int_equal(g->expires, INT64_C(1767225660000000));
	restart(d);
	assert_int_equal(d->session.grants.count, 3);
}

static void test_its_time_runs_out(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_permission_resolved *p;
	struct ar_str id;

	d->policy.action_timeout_ms = 60000;
	desk_begin(d);
	id = ask_permission(d);
	assert_int_equal(desk_effects(d, AR_EFFECT_WAKE), 1);
	assert_int_equal(d->decision.effects[0].wake.input, AR_IN_ACTION_DUE);
	assert_int_equal(d->decision.effects[0].wake.at, action(d, id)->expires);
	assert_int_equal(due(d, id), AR_OK); /* too early: the clock was set back */
	desk_expect(d, "");
	assert_int_equal(desk_effects(d, AR_EFFECT_WAKE), 1);
	d->now += 60000000;
	desk_expect_refusal(d, respond(d, id, "allow", NULL), AR_ERR_EXPIRED);
	assert_int_equal(due(d, id), AR_OK);
	desk_expect(d, SETTLED_PERMISSION);
	p = fact(d, AR_EV_PERMISSION_RESOLVED);
	assert_int_equal(p->outcome, AR_PERMISSION_RESOLVED_OUTCOME_TIMED_OUT);
	assert_true(ar_str_is(action(d, id)->decision, "deny") &&
		    ar_str_is(action(d, id)->source, "timeout"));
	assert_int_equal(due(d, id), AR_OK);
	desk_expect(d, "");
	desk_expect_refusal(d, respond(d, id, "allow", NULL), AR_ERR_ALREADY_RESOLVED);
}

static void test_an_answer_needs_no_waking(void **state)
{
	struct desk *d = *state;

	d->policy.action_timeout_ms = 60000;
	desk_begin(d);
	assert_int_equal(respond(d, ask_permission(d), "allow", NULL), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_WAKE_CANCEL), 1);
}

static void test_it_waits_on_after_a_restart(void **state)
{
	struct desk *d = *state;
	struct ar_str id;
	ar_usec expires;

	d->policy.action_timeout_ms = 3600000;
	desk_begin(d);
	id = ask_permission(d);
	expires = action(d, id)->expires;
	restart(d);
	for (int i = 0; i < 5; i++) { /* more often than a turn may be restarted */
		assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
		desk_expect(d, "");
		assert_int_equal(desk_effects(d, AR_EFFECT_WAKE), 1);
		assert_int_equal(d->decision.effects[0].wake.at, expires);
	}
	assert_int_equal(desk_active(d)->restarts, 0);
	assert_int_equal(desk_active(d)->task->attempts, 1);
	assert_int_equal(respond(d, d->decision.effects[0].wake.subject, "allow", NULL), AR_OK);
	desk_expect(d, SETTLED_PERMISSION);
}

static void test_it_expired_while_nobody_was_there(void **state)
{
	struct desk *d = *state;
	struct ar_str id;

	d->policy.action_timeout_ms = 1000;
	desk_begin(d);
	id = ask_permission(d);
	restart(d);
	d->now += 3600000000;
	d->policy.action_timeout_ms = 7200000; /* the original deadline counts */
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	desk_expect(d, SETTLED_PERMISSION);
	id = ((struct ar_action *)d->session.actions.at[0])->id;
	assert_true(ar_str_is(action(d, id)->source, "timeout"));
}

/* Two calls: a local one runs and has asked, a client's waits for a person. */
static void begin_calls(struct desk *d)
{
	static const struct ar_tool local = { .name = { "ask", 3 },
					      .owner = AR_TOOL_LOCAL,
					      .is_concurrency_safe = true };
	static const struct ar_tool *const list[] = { &local };
	static const struct ar_inventory inventory = { .tools = list, .count = 1 };
	static const struct ar_permission_rule free = {
		.name = { "free", 4 }, .tool = { "ask", 3 }, .verdict = AR_ALLOW, .reach = AR_REACH_HOST
	};
	struct ar_tool_use calls[] = { { AR_STR("c1"), AR_STR("ask"), AR_STR("{}") },
				       { AR_STR("c2"), AR_STR("put"), AR_STR("{}") } };
	struct ar_step_output out = { .tools = calls, .tool_count = 2 };

	d->policy.inventory = &inventory;
	d->policy.rules = &free;
	d->policy.rule_count = 1;
	d->policy.tool_parallel = 8;
	d->policy.tool_ms = 1000;
	d->policy.tool_result_bytes = 10000;
	assert_int_equal(desk_submit_with(d, "a",
					  "{\"tools\":[\"ask\",{\"name\":\"put\",\"inputSchema\":{},"
					  "\"isConcurrencySafe\":true}]}"),
			 AR_OK);
	out.step = desk_active(d)->open_step;
	assert_int_equal(
		desk_do(d,
			(struct ar_input){
				.kind = AR_IN_MODEL_DONE,
				.model_done = { .output = &out,
						.end = &(struct ar_model_result){ .outcome = 1,
										  .stop_reason = AR_STR(
											  "tools") } } }),
		AR_OK);
}

static enum ar_status tool_asks(struct desk *d, const char *schema)
{
	struct ar_tool_question question = { .id = AR_STR("q-1"),
					     .prompt = AR_STR("which?"),
					     .schema = ar_str_from(schema) };
	const struct ar_invocation *call = desk_active(d)->calls.at[0];

	return desk_do(d, (struct ar_input){ .kind = AR_IN_TOOL_ASKED,
					     .tool_asked = { .call = call->id, .question = &question } });
}

static void test_a_lost_tool_takes_its_question_along(void **state)
{
	struct desk *d = *state;
	struct ar_action *permission, *question, *lost;

	begin_calls(d);
	assert_int_equal(tool_asks(d, "{\"type\":\"object\"}"), AR_OK);
	desk_expect(d, ASKED);
	assert_int_equal(d->session.actions.count, 2);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	desk_expect(
		d,
		"history.reconstructed task.attempt.failed task.retrying task.attempt.started thread.updated "
		"thread.updated task.waiting action.resolved tool.failed " ASKED);
	permission = d->session.actions.at[0];
	question = d->session.actions.at[1];
	lost = d->session.actions.at[2]; /* nobody knows how it ended */
	assert_true(ar_str_is(question->source, "cancelled") && ar_str_is(question->question, "q-1"));
	assert_int_equal(permission->status, AR_ACTION_PENDING);
	assert_int_equal(desk_active(d)->task->status, AR_TASK_WAITING);
	assert_int_equal(respond(d, lost->id, "skip", NULL), AR_OK);
	assert_int_equal(respond(d, permission->id, "deny", NULL),
			 AR_OK); /* all have ended: the model is asked */
	desk_expect(d, SETTLED_PERMISSION " tool.started tool.failed model.requested");
}

static void test_a_lost_turn_keeps_its_questions(void **state)
{
	struct desk *d = *state;
	struct ar_action *permission;
	struct ar_cmd_resume_thread_in in = { 0 };

	d->policy.auto_resume = false;
	begin_calls(d);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_true(desk_active(d)->is_lost);
	permission = d->session.actions.at[0];
	assert_int_equal(respond(d, permission->id, "allow", NULL), AR_OK);
	desk_expect(d, "action.resolved permission.resolved"); /* nobody works on it */
	in.session_id = d->session.id;
	in.thread_id = desk_thread(d, 0)->id;
	assert_int_equal(desk_command(d, AR_CMD_RESUME_THREAD, &in), AR_OK);
	desk_expect(d, "history.window.loaded history.reconstructed snapshot.updated task.retrying "
		       "task.attempt.started thread.updated "
		       "tool.failed " ASKED " tool.started");
}

#define TEN(text) text text text text text text text text text text

static void test_a_tool_that_asks_too_much_gets_no_answer(void **state)
{
	struct desk *d = *state;

	begin_calls(d);
	assert_int_equal(tool_asks(d, "[1]"), AR_OK);
	desk_expect(d, "");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_ANSWER), 1);
	assert_int_equal(tool_asks(d, "{\"a\":" TEN("[[[[[") TEN("]]]]]") "}"),
			 AR_OK); /* a fact with it could not be read */
	desk_expect(d, "");
	for (int i = 0; i < 8; i++)
		assert_int_equal(tool_asks(d, NULL), AR_OK);
	desk_expect(d, ASKED);
	assert_int_equal(tool_asks(d, NULL), AR_OK);
	desk_expect(d, "");
	assert_true(ar_str_is(d->decision.effects[0].tool_answer.decision, "cancel"));
}

static void test_an_interruption_cancels_it(void **state)
{
	struct desk *d = *state;
	struct ar_str id;

	d->policy.action_timeout_ms = 60000;
	desk_begin(d);
	id = ask_permission(d);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("enough") }),
			 AR_OK);
	desk_expect(d, "thread.updated run.status action.resolved permission.resolved task.attempt.failed "
		       "task.cancelled turn.failed thread.updated");
	desk_expect_reply(d, "\"actions\":[\"action_0123456789abcdefghjkmnpqrs_1\"]");
	assert_int_equal(desk_effects(d, AR_EFFECT_WAKE_CANCEL), 1);
	assert_true(ar_str_is(action(d, id)->source, "cancelled"));
	desk_expect_refusal(d, respond(d, id, "allow", NULL), AR_ERR_ALREADY_RESOLVED);
}

static void test_resume_names_the_blocker(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_resume_thread_in in = { 0 };

	desk_begin(d);
	ask_permission(d);
	in.session_id = d->session.id;
	in.thread_id = desk_thread(d, 0)->id;
	assert_int_equal(desk_command(d, AR_CMD_RESUME_THREAD, &in), AR_OK);
	desk_expect(d, "");
	desk_expect_reply(d, "\"result\":\"blocked\"");
	desk_expect_reply(d, "\"id\":\"action_0123456789abcdefghjkmnpqrs_1\"");
}

static void test_a_turn_that_says_yes_is_no_answer(void **state)
{
	struct desk *d = *state;
	struct ar_str id;

	desk_begin(d);
	id = ask_permission(d);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(action(d, id)->status, AR_ACTION_PENDING);
	assert_int_equal(desk_thread(d, 0)->queue.count, 1);
}

static void test_the_window_keeps_what_is_open(void **state)
{
	struct desk *d = *state;
	struct ar_str open, first;

	desk_begin(d);
	open = ask_permission(d);
	first = ask_permission(d);
	assert_int_equal(respond(d, first, "deny", NULL), AR_OK);
	for (int i = 0; i < AR_WINDOW_ACTIONS; i++)
		assert_int_equal(respond(d, ask_permission(d), "deny", NULL), AR_OK);
	assert_int_equal(d->session.actions.count, AR_WINDOW_ACTIONS + 1);
	assert_int_equal(respond(d, open, "allow_session", NULL), AR_OK); /* asked first, settled last */
	assert_int_equal(d->session.grants.count, 1);
	assert_int_equal(d->session.actions.count, AR_WINDOW_ACTIONS);
	desk_expect_refusal(d, respond(d, AR_STR("action_0123456789abcdefghjkmnpqrs_2"), "allow", NULL),
			    AR_ERR_ALREADY_RESOLVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_question_blocks_its_thread, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_every_kind_offers_decisions_and_none_allows_by_itself,
						desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_the_first_answer_stands, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_the_host_answers_with_the_same_one_outcome, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(test_odd_members_of_an_old_question, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_wrong_answers, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_a_tool_gets_its_answer, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_a_long_question_has_to_be_read, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_one_answer_leaves_the_other_question_open, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(test_a_grant_for_the_session, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_its_time_runs_out, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_an_answer_needs_no_waking, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_it_waits_on_after_a_restart, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_it_expired_while_nobody_was_there, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(test_a_lost_tool_takes_its_question_along, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(test_a_lost_turn_keeps_its_questions, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_a_tool_that_asks_too_much_gets_no_answer, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(test_an_interruption_cancels_it, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_resume_names_the_blocker, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_a_turn_that_says_yes_is_no_answer, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(test_the_window_keeps_what_is_open, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
