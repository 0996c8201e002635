/* What the read models show of open and settled questions. */
#include "desk.h"
#include "projection.h"

static struct ar_json shown(struct desk *d, struct ar_buf *text, struct ar_json_parser *json)
{
	struct ar_jw w = ar_jw(text);
	struct ar_json v;

	ar_jw_open(&w);
	ar_projection_session(&d->session, AR_STR("rt_1"), AR_STR_NONE, &w);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_open_and_settled_questions, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
