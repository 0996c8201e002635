/* Facts that older versions wrote: what their objects hold beyond what their shapes declare does
 * not keep a session from being read. */
#include "desk.h"
#include "tenant.h"

/* Applies the fact as a load does; the envelope of it, but for the type, the ids and the
 * payload, is made here. */
static void apply(struct desk *d, const char *type, const char *ids, const char *payload)
{
	struct ar_str text = ar_arena_fmt(&d->session.arena,
					  "{\"type\":\"%s\",\"eventId\":\"e\",\"timestamp\":\"2026-01-01T00:"
					  "00:00Z\",\"runtimeId\":\"r\","
					  "\"sessionId\":\"s\",\"sequence\":%llu,%s,\"payload\":%s}",
					  type, (unsigned long long)d->session.head + 1, ids, payload);
	struct ar_event e = { 0 };
	struct ar_json v;

	assert_int_equal(ar_json_parse(d->decide_json, text, &v, &d->err), AR_OK);
	assert_int_equal(ar_event_decode(v, &d->session.arena, &e, &d->err), AR_OK);
	assert_int_equal(ar_session_apply(&d->session, &e, &d->err), AR_OK);
}

/* In the thread of turn "a", which has ended. */
static const char *ids_of(struct desk *d, const char *rest)
{
	return ar_arena_fmt(&d->session.arena, "\"threadId\":\"%.*s\"%s", AR_STR_ARG(desk_thread(d, 0)->id),
			    rest)
		.p;
}

static void open_thread(struct desk *d)
{
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_answer(d, "there"), AR_OK);
}

static void options_of_a_turn_may_be_odd(void **state)
{
	struct desk *d = *state;
	const struct ar_shape_turn_options *o;

	open_thread(d);
	apply(d, "turn.submitted", ids_of(d, ",\"turnId\":\"old\""),
	      "{\"inputRef\":\"x\",\"source\":\"api\",\"status\":\"accepted\",\"options\":{\"mode\":\"wild\","
	      "\"model\":7,\"sandbox\":null,\"latency\":\"batch\",\"colour\":\"red\","
	      "\"tools\":[\"look_up\",{\"name\":\"put\",\"isReadOnly\":\"yes\",\"more\":1}],"
	      "\"budget\":{\"tokens\":\"many\",\"ms\":5}}}");
	o = ar_turn_options(ar_thread_turn(desk_thread(d, 0), AR_STR("old")));
	assert_int_equal(o->mode, 0);
	assert_true(ar_str_absent(o->model));
	assert_int_equal(o->sandbox, 0);
	assert_int_equal(o->latency, AR_TURN_OPTIONS_LATENCY_BATCH);
	assert_int_equal(o->tools.count, 2);
	assert_true(ar_str_is(o->tools.at[0].text_, "look_up"));
	assert_true(ar_str_is(o->tools.at[1].name, "put"));
	assert_false(o->tools.at[1].is_read_only.set);
	assert_false(o->budget->tokens.set);
	assert_int_equal(o->budget->ms.v, 5);
}

static void calls_of_an_answer_may_be_odd(void **state)
{
	struct desk *d = *state;
	const struct ar_context_entry *entry;
	const struct ar_invocation *call;
	const struct ar_turn *turn;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	turn = desk_active(d);
	apply(d, "model.completed",
	      ids_of(d, ar_arena_fmt(&d->arena, ",\"turnId\":\"a\",\"stepId\":\"%.*s\"",
				     AR_STR_ARG(turn->open_step))
				.p),
	      "{\"usage\":{},\"stopReason\":\"tool_calls\",\"outputBytes\":2,\"toolCalls\":["
	      "{\"toolCallId\":\"t1\",\"id\":null,\"name\":\"put\",\"ref\":\"x\",\"bytes\":\"7\",\"more\":[1]"
	      "}]}");
	entry = desk_thread(d, 0)->context.at[1];
	assert_int_equal(entry->uses.count, 1);
	assert_true(ar_str_is(entry->uses.at[0].extra_, "\"bytes\":\"7\",\"more\":[1]"));
	call = ar_turn_call(turn, AR_STR("t1"));
	assert_true(ar_str_is(call->name, "put"));
	assert_true(ar_str_absent(call->provider_id));
	assert_true(ar_str_is(call->args_ref, "x"));
}

static void a_turn_may_have_no_options(void **state)
{
	struct desk *d = *state;

	open_thread(d);
	apply(d, "turn.submitted", ids_of(d, ",\"turnId\":\"old\""),
	      "{\"inputRef\":\"x\",\"source\":\"api\",\"status\":\"accepted\"}");
	assert_int_equal(ar_turn_options(ar_thread_turn(desk_thread(d, 0), AR_STR("old")))->mode, 0);
}

/* What a person allowed before the place of a rule was recorded answers a rule of that name in any place. */
static void a_grant_may_say_no_place(void **state)
{
	struct desk *d = *state;
	const struct ar_grant *g;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	apply(d, "action.required", ids_of(d, ",\"turnId\":\"a\",\"actionId\":\"act\""),
	      "{\"actionType\":\"tool_permission\",\"prompt\":\"?\",\"decisions\":[\"allow\"],\"scope\":{},"
	      "\"policy\":{\"rule\":\"look\"},\"toolName\":\"put\"}");
	apply(d, "permission.resolved", ids_of(d, ",\"turnId\":\"a\",\"actionId\":\"act\""),
	      "{\"outcome\":\"allowed\",\"decisionSource\":\"human\",\"decisionReason\":\"\","
	      "\"scope\":\"session\"}");
	assert_int_equal(d->session.grants.count, 1);
	g = d->session.grants.at[0];
	assert_true(ar_str_is(g->tool, "put") && ar_str_is(g->rule, "look"));
	assert_true(ar_str_absent(g->rule_source));
}

/* Older versions made the home of a tenant without a thread. */
static void a_home_may_have_no_thread(void **state)
{
	struct desk *d = *state;
	char home[AR_SESSION_KEY_LEN];

	ar_tenant_home(AR_STR(AR_TENANT_LOCAL), home);
	ar_session_fini(&d->session);
	ar_session_init(&d->session, (struct ar_str){ home, sizeof(home) }, d->json);
	apply(d, "session.created", "\"old\":true",
	      "{\"title\":\"Home\",\"accountRef\":\"system\",\"createdAt\":\"2026-01-01T00:00:00Z\"}");
	assert_true(ar_session_is_old_home(&d->session));
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	desk_expect(d, "thread.started");
	assert_int_equal(desk_thread(d, 0)->status, AR_THREAD_STATUS_IDLE);
	assert_false(ar_session_is_old_home(&d->session));
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	desk_expect(d, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(options_of_a_turn_may_be_odd, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(calls_of_an_answer_may_be_odd, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_turn_may_have_no_options, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_grant_may_say_no_place, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_home_may_have_no_thread, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
