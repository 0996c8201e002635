/* What the read models show of open and settled questions, and questions that several
 * people have to approve. */
#include "desk.h"
#include "projection.h"

static struct ar_json shown(struct desk *d, struct ar_buf *text, struct ar_json_parser *json)
{
	struct ar_jw w = ar_jw(text);
	struct ar_json v;

	ar_jw_open(&w);
	ar_projection_session(&d->session, AR_STR("rt_1"), NULL, &w);
	ar_jw_close(&w);
	assert_int_equal(ar_json_parse(json, ar_buf_str(text), &v, &d->err), AR_OK);
	return v;
}

static struct ar_str ask(struct desk *d, enum ar_action_type type)
{
	return desk_ask(d, (struct ar_ask){ .type = type, .call = AR_STR("tool_1"), .prompt = AR_STR("?") });
}

static void test_open_and_settled_questions(void **state)
{
	struct desk *d = *state;
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_buf text = { 0 };
	struct ar_json v, thread;
	struct ar_str old, approval, id;

	desk_begin(d);
	old = ask(d, AR_ACTION_PLAN_APPROVAL);
	assert_int_equal(desk_command(d, AR_CMD_RESPOND_ACTION,
				      &(struct ar_cmd_respond_action_in){ .action_id = old,
									  .decision = AR_STR("approve") }),
			 AR_OK);
	approval = ask(d, AR_ACTION_TOOL_PERMISSION);
	ask(d, AR_ACTION_STRUCTURED_INPUT);
	v = shown(d, &text, json);
	thread = ar_json_at(ar_json_get(v, "threads"), 0);
	assert_int_equal(ar_json_len(ar_json_get(thread, "actions")), 3);
	assert_int_equal(ar_json_len(ar_json_get(thread, "pendingRequests")), 2);
	v = ar_json_get(ar_json_get(thread, "permissionState"), "pendingApprovals");
	assert_int_equal(ar_json_len(v), 1);
	assert_true(ar_json_str(ar_json_at(v, 0), &id) && ar_str_eq(id, approval));
	ar_buf_fini(&text);
	ar_json_parser_free(json);
}

/* ---- several people ---- */

static enum ar_status answer(struct desk *d, struct ar_str id, const char *person, const char *decision)
{
	struct ar_cmd_respond_action_in in = { .action_id = id, .decision = ar_str_from(decision) };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .command = { .id = AR_CMD_RESPOND_ACTION, .args = &in },
					     .person = ar_str_from(person) });
}

/* Names separated by spaces; NULL: it is not on record. */
static struct ar_texts people_of(struct desk *d, const char *names)
{
	struct ar_str rest = ar_str_from(names), *list = ar_arena_alloc(&d->session.arena, 4 * sizeof(*list));
	size_t n = 0;

	while (!ar_str_empty(rest))
		rest = ar_str_split(rest, ' ', &list[n++]);
	return (struct ar_texts){ names ? list : NULL, n };
}

/* A question of a turn that these people gave. */
static struct ar_str ask_two(struct desk *d, enum ar_action_type type, const char *people)
{
	desk_begin(d);
	desk_active(d)->people = people_of(d, people);
	return desk_ask(d, (struct ar_ask){ .type = type,
					    .call = AR_STR("tool_1"),
					    .prompt = AR_STR("?"),
					    .approvals = 2 });
}

/* The state goes through its snapshot. */
static void restart(struct desk *d)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_buf text = { 0 };
	struct ar_session fresh;
	struct ar_json v;

	ar_session_snapshot(&d->session, &text);
	ar_session_init(&fresh, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(json, ar_buf_str(&text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&fresh, v, &d->err), AR_OK);
	ar_session_fini(&d->session);
	d->session = fresh;
	ar_json_parser_free(json);
	ar_buf_fini(&text);
}

static void test_two_people_over_a_snapshot(void **state)
{
	struct desk *d = *state;
	struct ar_str id = ask_two(d, AR_ACTION_TOOL_PERMISSION, "uid:1 uid:2");

	desk_expect_refusal(d, answer(d, id, "uid:2", "allow"), AR_ERR_OTHER_PERSON_NEEDED);
	desk_expect_refusal(d, answer(d, id, NULL, "allow"), AR_ERR_OTHER_PERSON_NEEDED);
	assert_int_equal(answer(d, id, "uid:3", "allow"), AR_OK);
	desk_expect(d, "run.status");
	desk_expect_reply(d, "\"approvals\":1");
	assert_int_equal(ar_session_action(&d->session, id)->status, AR_ACTION_PENDING);
	restart(d);
	id = ar_session_action(&d->session, AR_STR("action_0123456789abcdefghjkmnpqrs_1"))->id;
	desk_expect_refusal(d, answer(d, id, "uid:3", "allow"), AR_ERR_ALREADY_APPROVED);
	desk_expect_refusal(d, answer(d, id, "uid:1", "allow"), AR_ERR_OTHER_PERSON_NEEDED);
	assert_int_equal(answer(d, id, "uid:4", "allow"), AR_OK);
	desk_expect(d, "run.status action.resolved permission.resolved thread.updated task.resumed");
}

static void test_nobody_approves_work_of_nobody_known(void **state)
{
	static const char *const people[] = { NULL, "", "unknown", "uid:1 unknown" };
	struct desk *d = *state;
	struct ar_str id = ask_two(d, AR_ACTION_TOOL_PERMISSION, NULL);

	for (size_t i = 0; i < AR_ARRAY_LEN(people); i++) {
		desk_active(d)->people = people_of(d, people[i]);
		desk_expect_refusal(d, answer(d, id, "uid:3", "allow"), AR_ERR_OTHER_PERSON_NEEDED);
	}
	assert_int_equal(answer(d, id, NULL, "deny"), AR_OK);
}

/* What is only marked or left out runs nothing. */
static void test_a_retry_needs_them_again(void **state)
{
	struct desk *d = *state;
	struct ar_str id = ask_two(d, AR_ACTION_COMPLETION_OVERRIDE, "uid:1");

	desk_expect_refusal(d, answer(d, id, "uid:1", "retry"), AR_ERR_OTHER_PERSON_NEEDED);
	assert_int_equal(answer(d, id, "uid:2", "retry"), AR_OK);
	assert_int_equal(ar_session_action(&d->session, id)->status, AR_ACTION_PENDING);
	assert_int_equal(answer(d, id, "uid:1", "mark_done"), AR_OK);
	assert_int_equal(ar_session_action(&d->session, id)->status, AR_ACTION_RESOLVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_two_people_over_a_snapshot, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_nobody_approves_work_of_nobody_known, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(test_a_retry_needs_them_again, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_open_and_settled_questions, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
