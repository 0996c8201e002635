/* The log of a worker: created, enrolled, changed by version, removed for good; and the workspaces that are
 * made on it. */
#include "desk.h"
#include "worker/worker.h"
#include "workspace/workspace.h"

#include <string.h>

static enum ar_status command(struct desk *d, enum ar_command id, const void *args)
{
	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .command = { .id = id, .args = args },
					     .account = AR_STR("token:tok_1"),
					     .person = AR_STR("uid:1001"),
					     .tenant = AR_STR("acme") });
}

static enum ar_status create(struct desk *d, const char *name, const char *labels)
{
	return command(d, AR_CMD_CREATE_WORKER,
		       &(struct ar_cmd_create_worker_in){ .name = ar_str_from(name),
							  .labels = ar_str_from(labels) });
}

static enum ar_status enrol(struct desk *d)
{
	return command(d, AR_CMD_ENROL_WORKER,
		       &(struct ar_cmd_enrol_worker_in){ .labels = AR_STR("{\"zone\":\"b\"}"),
							 .info = AR_STR("{\"kernel\":\"6\"}") });
}

static void test_a_worker_is_created_once(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, "box", "{\"zone\":\"a\"}"), AR_OK);
	desk_expect(d, "session.created worker.created");
	desk_expect_payload(d, AR_EV_SESSION_CREATED, "\"tenant\":\"acme\"");
	desk_expect_payload(d, AR_EV_WORKER_CREATED,
			    "\"tenant\":\"acme\",\"createdBy\":\"uid:1001\",\"name\":\"box\",\"labels\":{"
			    "\"zone\":\"a\"},\"status\":\"active\",\"draining\":false,\"version\":1,");
	assert_null(d->session.own);
	desk_expect_refusal(d, create(d, "box", NULL), AR_ERR_ID_CONFLICT);
}

static void test_labels_are_checked(void **state)
{
	static const char *const bad[] = { "{\"a b\":\"x\"}", "{\"\":\"x\"}", "{\"a\":1}", "{\"a\":{}}" };
	struct desk *d = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++)
		desk_expect_refusal(d, create(d, "box", bad[i]), AR_ERR_INVALID_INPUT);
	desk_expect_refusal(d, create(d, "", NULL), AR_ERR_INVALID_INPUT);
	assert_int_equal(create(d, "box", "{}"), AR_OK);
}

/* A crash before its token is there leaves the enrolment token: the machine asks again. */
static void test_enrolling_again_is_allowed_until_the_token_is_replaced(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, "box", "{\"zone\":\"a\"}"), AR_OK);
	assert_int_equal(enrol(d), AR_OK);
	desk_expect(d, "worker.enrolled");
	desk_expect_payload(d, AR_EV_WORKER_ENROLLED, "\"labels\":{\"zone\":\"a\"}");
	desk_expect_payload(d, AR_EV_WORKER_ENROLLED, "\"ownLabels\":{\"zone\":\"b\"}");
	assert_true(d->session.own_worker->enrolled_at > 0);
	assert_int_equal(enrol(d), AR_OK);
	assert_int_equal(d->session.own_worker->version, 3);
}

static void test_changes_count_versions(void **state)
{
	struct desk *d = *state;
	struct ar_cmd_update_worker_in in = { .worker_id = AR_STR("wk_"), .version = AR_OPT_INT(1) };

	assert_int_equal(create(d, "box", NULL), AR_OK);
	desk_expect_refusal(d, command(d, AR_CMD_UPDATE_WORKER, &in), AR_ERR_INVALID_INPUT);
	in.draining = AR_OPT_BOOL(true);
	assert_int_equal(command(d, AR_CMD_UPDATE_WORKER, &in), AR_OK);
	desk_expect(d, "worker.updated");
	assert_true(d->session.own_worker->draining);
	desk_expect_refusal(d, command(d, AR_CMD_UPDATE_WORKER, &in), AR_ERR_VERSION_CONFLICT);
	in.version.set = false;
	assert_int_equal(command(d, AR_CMD_UPDATE_WORKER, &in), AR_OK);
	desk_expect(d, "");
}

static void test_a_removed_worker_stays_removed(void **state)
{
	struct desk *d = *state;
	const struct ar_cmd_remove_worker_in in = { .worker_id = AR_STR("wk_") };

	desk_expect_refusal(d, command(d, AR_CMD_REMOVE_WORKER, &in), AR_ERR_WORKER_NOT_FOUND);
	assert_int_equal(create(d, "box", NULL), AR_OK);
	assert_int_equal(command(d, AR_CMD_REMOVE_WORKER, &in), AR_OK);
	desk_expect(d, "worker.removed");
	desk_expect_reply(d, "\"result\":\"removed\"");
	assert_int_equal(command(d, AR_CMD_REMOVE_WORKER, &in), AR_OK);
	desk_expect(d, "");
	desk_expect_refusal(d, enrol(d), AR_ERR_WORKER_REMOVED);
	desk_expect_refusal(d,
			    command(d, AR_CMD_UPDATE_WORKER,
				    &(struct ar_cmd_update_worker_in){ .draining = AR_OPT_BOOL(true) }),
			    AR_ERR_WORKER_REMOVED);
}

static void test_a_snapshot_keeps_it(void **state)
{
	struct desk *d = *state;
	struct ar_buf text = { 0 };
	struct ar_session copy;
	struct ar_json v;

	assert_int_equal(create(d, "box", "{\"zone\":\"a\"}"), AR_OK);
	ar_session_snapshot(&d->session, &text);
	ar_session_init(&copy, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&text), &v, NULL), AR_OK);
	assert_int_equal(ar_session_restore(&copy, v, &d->err), AR_OK);
	assert_true(ar_str_is(copy.own_worker->labels, "{\"zone\":\"a\"}"));
	assert_null(copy.own);
	ar_session_fini(&copy);
	ar_buf_fini(&text);
}

/* ---- workspaces on it ---- */

static enum ar_status create_there(struct desk *d, const struct ar_shape_worker_record *worker)
{
	const struct ar_workspace_folder folder = { .root = AR_STR("/w/files"),
						    .is_managed = true,
						    .worker = worker };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .command = { .id = AR_CMD_CREATE_WORKSPACE,
							  .args =
								  &(struct ar_cmd_create_workspace_in){
									  .worker = worker->worker_id },
							  .folder = &folder },
					     .account = AR_STR("me"),
					     .tenant = AR_STR("acme") });
}

static void test_a_workspace_names_its_worker(void **state)
{
	struct desk *d = *state;
	struct ar_shape_worker_record worker = { .worker_id = AR_STR("wk_1"),
						 .status = AR_WORKER_RECORD_STATUS_REMOVED };

	desk_expect_refusal(d, create_there(d, &worker), AR_ERR_WORKER_REMOVED);
	worker.status = AR_WORKER_RECORD_STATUS_ACTIVE;
	assert_int_equal(create_there(d, &worker), AR_OK);
	desk_expect_payload(d, AR_EV_WORKSPACE_CREATED, "\"root\":\"/w/files\",\"worker\":\"wk_1\"");
}

/* The folder of a session would be on the machine of the daemon. */
static void test_sessions_there_share_its_files(void **state)
{
	struct desk *d = *state;
	const struct ar_shape_worker_record worker = { .worker_id = AR_STR("wk_1"),
						       .status = AR_WORKER_RECORD_STATUS_ACTIVE };
	const struct ar_cmd_update_workspace_in copy = { .workspace_id = AR_STR("ws_"),
							 .isolation = AR_WORKSPACE_ISOLATION_COPY };

	assert_int_equal(create_there(d, &worker), AR_OK);
	desk_expect_refusal(d, command(d, AR_CMD_UPDATE_WORKSPACE, &copy), AR_ERR_ISOLATION_UNSUPPORTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_worker_is_created_once),
		TEST(test_labels_are_checked),
		TEST(test_enrolling_again_is_allowed_until_the_token_is_replaced),
		TEST(test_changes_count_versions),
		TEST(test_a_removed_worker_stays_removed),
		TEST(test_a_snapshot_keeps_it),
		TEST(test_a_workspace_names_its_worker),
		TEST(test_sessions_there_share_its_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
