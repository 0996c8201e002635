/* The workspace of a session: what a command brings of it, what the session keeps, and what follows. */
#include "desk.h"
#include "tenant.h"

#define WS "ws_0000000000jaaaaaaaaaaaaaaa"

static const struct ar_shape_workspace_record shop = { .workspace_id = AR_STR(WS),
						       .tenant = AR_STR("local"),
						       .owner = AR_STR("local"),
						       .name = AR_STR("shop"),
						       .kind = AR_WORKSPACE_RECORD_KIND_FOLDER,
						       .root = AR_STR("/srv/shop"),
						       .status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
						       .version = 3 };

static enum ar_status create(struct desk *d, const char *word, const struct ar_shape_workspace_record *record)
{
	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .tenant = d->session.tenant,
					     .command = { .id = AR_CMD_CREATE_SESSION,
							  .args =
								  &(struct ar_cmd_create_session_in){
									  .title = AR_STR("x"),
									  .workspace_id = ar_str_from(word) },
							  .workspace = record } });
}

static enum ar_status submit(struct desk *d, const char *word, const struct ar_shape_workspace_record *record)
{
	const struct ar_shape_create_policy policy = { .workspace_id = ar_str_from(word) };

	return desk_do(d, (struct ar_input){
				  .kind = AR_IN_COMMAND,
				  .command = {
					  .id = AR_CMD_SUBMIT_TURN,
					  .args = &(struct ar_cmd_submit_turn_in){ .turn_id = AR_STR("a"),
										   .text = AR_STR("hello"),
										   .create_policy = &policy },
					  .workspace = record } });
}

static void a_session_is_bound_before_its_thread(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, WS, &shop), AR_OK);
	desk_expect(d, "session.created workspace.bound thread.started");
	desk_expect_payload(d, AR_EV_WORKSPACE_BOUND,
			    "{\"binding\":{\"workspaceId\":\"" WS
			    "\",\"version\":3,\"folder\":\"/srv/shop\"}}");
	assert_true(ar_str_is(d->session.workspace, WS));
	d->policy.workspace = AR_STR("/srv/host");
	assert_true(ar_str_is(ar_session_folder(&d->session, &d->policy), "/srv/shop"));
}

static void the_worker_of_a_workspace_goes_with_it(void **state)
{
	struct desk *d = *state;
	struct ar_shape_workspace_record far = shop;

	far.worker = AR_STR("wk_1");
	assert_int_equal(create(d, WS, &far), AR_OK);
	desk_expect_payload(d, AR_EV_WORKSPACE_BOUND, "\"folder\":\"/srv/shop\",\"worker\":\"wk_1\"}}");
	assert_true(ar_str_is(ar_session_worker(&d->session), "wk_1"));
}

static void a_turn_that_makes_a_session_binds_it(void **state)
{
	struct desk *d = *state;

	assert_int_equal(submit(d, WS, &shop), AR_OK);
	assert_int_equal(d->decision.events[1].type, AR_EV_WORKSPACE_BOUND);
	assert_true(ar_str_is(d->session.bound->folder, "/srv/shop"));
}

/* A workspace of ours is the id of one: other words belong to the host, whatever they look like. */
static void a_word_stays_a_word(void **state)
{
	static const char *const words[] = { "repo://odd", "ws_",
					     "ws_1",	   "ws_0000000000gaaaaaaaaaaaaaaa",
					     WS "_1",	   "sess_0000000000jaaaaaaaaaaaaaaa" };

	for (size_t i = 0; i < AR_ARRAY_LEN(words); i++) {
		void *own;
		struct desk *d;

		desk_open(&own);
		d = own;
		d->policy.workspace = AR_STR("/srv/host");
		assert_int_equal(create(d, words[i], NULL), AR_OK);
		desk_expect(d, "session.created thread.started");
		assert_true(ar_str_is(d->session.workspace, words[i]));
		assert_true(ar_str_is(ar_session_folder(&d->session, &d->policy), "/srv/host"));
		desk_close(&own);
	}
	(void)state;
}

static void what_cannot_be_had_is_refused(void **state)
{
	struct ar_shape_workspace_record archived = shop;
	struct desk *d = *state;

	archived.status = AR_WORKSPACE_RECORD_STATUS_ARCHIVED;
	desk_expect_refusal(d, create(d, WS, NULL), AR_ERR_WORKSPACE_NOT_FOUND);
	desk_expect_refusal(d, submit(d, WS, NULL), AR_ERR_WORKSPACE_NOT_FOUND);
	desk_expect_refusal(d, create(d, WS, &archived), AR_ERR_WORKSPACE_ARCHIVED);
	desk_expect_refusal(d, submit(d, WS, &archived), AR_ERR_WORKSPACE_ARCHIVED);
	assert_int_equal(d->session.head, 0);
}

static void a_session_that_is_there_keeps_its_own(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, "word", NULL), AR_OK);
	assert_int_equal(submit(d, WS, NULL), AR_OK);
	assert_null(d->session.bound);
}

/* A tenant that may not use the folder of the host has its own, and nothing of the host's. */
static void another_tenant_works_in_its_own(void **state)
{
	struct desk *d = *state;

	d->policy.workspace = AR_STR("/srv/host");
	d->policy.instructions = AR_STR("Obey the host.");
	d->session.tenant = AR_STR("acme");
	desk_expect_refusal(d, create(d, "word", NULL), AR_ERR_POLICY_DENIED);
	assert_int_equal(create(d, WS, &shop), AR_OK);
	assert_true(ar_session_is_admitted(&d->session, &d->policy));
	assert_true(ar_str_is(ar_session_folder(&d->session, &d->policy), "/srv/shop"));
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	desk_expect_payload(d, AR_EV_CONTEXT_RESOLVED, "\"workspaceRefs\":[\"workspace:/\"]");
	desk_expect_payload(d, AR_EV_CONTEXT_RESOLVED, "\"instructionRefs\":[]");
}

/* What works in a folder goes with the folder; the rest belongs to the host, as its own folder does. */
static void tools_go_with_the_folder(void **state)
{
	static const struct ar_tool in_folder = { .works_in_folder = true }, of_host = { 0 };
	struct desk *d = *state;

	assert_int_equal(create(d, "word", NULL), AR_OK);
	assert_false(ar_session_may_use(&d->session, &d->policy, &in_folder));
	assert_true(ar_session_may_use(&d->session, &d->policy, &of_host));
	d->policy.sandbox = &(struct ar_sandbox_host){ 0 };
	assert_null(ar_session_sandbox(&d->session, &d->policy));
	d->policy.workspace = AR_STR("/srv/host");
	assert_non_null(ar_session_sandbox(&d->session, &d->policy));
	assert_true(ar_session_may_use(&d->session, &d->policy, &in_folder));
	d->session.tenant = AR_STR("acme");
	assert_false(ar_session_may_use(&d->session, &d->policy, &in_folder));
	assert_false(ar_session_may_use(&d->session, &d->policy, &of_host));
	d->session.bound = &(struct ar_shape_workspace_binding){ .folder = AR_STR("/srv/shop") };
	assert_true(ar_session_may_use(&d->session, &d->policy, &in_folder));
	assert_false(ar_session_may_use(&d->session, &d->policy, &of_host));
	assert_true(ar_session_is_apart(&d->session, &d->policy));
	d->policy.is_workspace_shared = true;
	assert_true(ar_session_may_use(&d->session, &d->policy, &of_host));
	assert_false(ar_session_is_apart(&d->session, &d->policy));
}

static void restore(struct desk *d, struct ar_str text, struct ar_session *ret)
{
	struct ar_json v;

	ar_session_init(ret, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, text, &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(ret, v, &d->err), AR_OK);
}

static void a_snapshot_keeps_it(void **state)
{
	struct desk *d = *state;
	struct ar_buf text = { 0 };
	struct ar_session copy;

	assert_int_equal(create(d, WS, &shop), AR_OK);
	ar_session_snapshot(&d->session, &text);
	restore(d, ar_buf_str(&text), &copy);
	assert_true(ar_str_is(copy.bound->folder, "/srv/shop"));
	assert_true(ar_str_is(copy.bound->workspace_id, WS));
	assert_int_equal(copy.bound->version, 3);
	ar_session_fini(&copy);
	ar_buf_fini(&text);
}

/* A snapshot without one has no member for it: the bytes of sessions from before stay as they are. */
static void a_snapshot_without_one_is_as_before(void **state)
{
	struct desk *d = *state;
	struct ar_buf text = { 0 };
	struct ar_session copy;

	assert_int_equal(create(d, "word", NULL), AR_OK);
	ar_session_snapshot(&d->session, &text);
	assert_null(memmem(text.p, text.len, "\"bound\":", 8));
	restore(d, ar_buf_str(&text), &copy);
	assert_null(copy.bound);
	ar_session_fini(&copy);
	ar_buf_fini(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_is_bound_before_its_thread),
		TEST(the_worker_of_a_workspace_goes_with_it),
		TEST(a_turn_that_makes_a_session_binds_it),
		cmocka_unit_test(a_word_stays_a_word),
		TEST(what_cannot_be_had_is_refused),
		TEST(a_session_that_is_there_keeps_its_own),
		TEST(another_tenant_works_in_its_own),
		TEST(tools_go_with_the_folder),
		TEST(a_snapshot_keeps_it),
		TEST(a_snapshot_without_one_is_as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
