/* The log of a workspace: created once, renamed by version, archived for good. */
#include "desk.h"
#include "tenant.h"
#include "workspace/workspace.h"

#define RECORD_OF_A \
	"\"name\":\"a\",\"kind\":\"folder\",\"root\":\"/srv/a\",\"status\":\"active\"," \
	"\"trust\":\"untrusted\",\"version\":1,"

static enum ar_status create(struct desk *d, struct ar_cmd_create_workspace_in in,
			     struct ar_workspace_folder folder)
{
	struct ar_input input = {
		.kind = AR_IN_COMMAND,
		.command = { .id = AR_CMD_CREATE_WORKSPACE, .args = &in, .folder = &folder },
		.account = AR_STR("token:tok_1"),
		.person = AR_STR("uid:1001"),
		.tenant = AR_STR("acme")
	};

	return desk_do(d, input);
}

static enum ar_status create_a(struct desk *d)
{
	return create(d, (struct ar_cmd_create_workspace_in){ .root = AR_STR("/srv/a") },
		      (struct ar_workspace_folder){ .root = AR_STR("/srv/a") });
}

static enum ar_status rename_to(struct desk *d, const char *name, struct ar_opt_int version)
{
	return desk_command(d, AR_CMD_UPDATE_WORKSPACE,
			    &(struct ar_cmd_update_workspace_in){ .workspace_id = AR_STR("ws_"),
								  .version = version,
								  .name = ar_str_from(name) });
}

static enum ar_status archive(struct desk *d)
{
	return desk_command(d, AR_CMD_ARCHIVE_WORKSPACE,
			    &(struct ar_cmd_archive_workspace_in){ .workspace_id = AR_STR("ws_"),
								   .reason = AR_STR("done") });
}

static void test_create_twice_is_one(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create_a(d), AR_OK);
	desk_expect(d, "session.created workspace.created");
	desk_expect_payload(d, AR_EV_SESSION_CREATED, "\"tenant\":\"acme\"");
	desk_expect_payload(d, AR_EV_SESSION_CREATED, "\"source\":\"system\"");
	desk_expect_payload(d, AR_EV_WORKSPACE_CREATED,
			    "\"tenant\":\"acme\",\"owner\":\"uid:1001\"," RECORD_OF_A);
	desk_expect_reply(d, "\"created\":true");
	assert_true(ar_str_is(d->session.own->root, "/srv/a"));
	assert_int_equal(create_a(d), AR_OK);
	desk_expect(d, "");
	desk_expect_reply(d, RECORD_OF_A);
	desk_expect_reply(d, "\"created\":false");
}

static void test_names(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, (struct ar_cmd_create_workspace_in){ .name = AR_STR("") },
				(struct ar_workspace_folder){ .root = AR_STR("/w/files"),
							      .is_managed = true }),
			 AR_OK);
	assert_true(
		ar_str_starts(d->session.own->name, AR_STR("ws_"))); /* no folder of a person to call it by */
	assert_int_equal(d->session.own->kind, AR_WORKSPACE_RECORD_KIND_MANAGED);
	assert_int_equal(rename_to(d, "", (struct ar_opt_int){ 0 }), AR_E_REFUSED);
	assert_int_equal(rename_to(d, "named", (struct ar_opt_int){ 0 }), AR_OK);
	desk_expect(d, "workspace.updated");
	assert_true(ar_str_is(d->session.own->name, "named"));
}

/* A root that was masked on its way is not the folder that was looked at. */
static void test_a_masked_root_is_refused(void **state)
{
	struct desk *d = *state;

	desk_expect_refusal(d,
			    create(d,
				   (struct ar_cmd_create_workspace_in){ .root = AR_STR("/srv/[redacted]") },
				   (struct ar_workspace_folder){ .root = AR_STR("/srv/a") }),
			    AR_ERR_INVALID_INPUT);
}

static void test_update_counts_versions(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create_a(d), AR_OK);
	assert_int_equal(rename_to(d, "b", AR_OPT_INT(1)), AR_OK);
	desk_expect(d, "workspace.updated");
	desk_expect_payload(d, AR_EV_WORKSPACE_UPDATED, "\"actor\":\"me\"");
	desk_expect_reply(d, "\"name\":\"b\"");
	assert_int_equal(d->session.own->version, 2);
	assert_true(d->session.own->updated_at > d->session.own->created_at);
	assert_int_equal(rename_to(d, "b", (struct ar_opt_int){ 0 }), AR_OK);
	desk_expect(d, "");
	assert_int_equal(d->session.own->version, 2);
}

static void test_stale_version_is_refused(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create_a(d), AR_OK);
	assert_int_equal(rename_to(d, "b", (struct ar_opt_int){ 0 }), AR_OK);
	desk_expect_refusal(d, rename_to(d, "c", AR_OPT_INT(1)), AR_ERR_VERSION_CONFLICT);
	assert_true(ar_str_is(d->session.own->name, "b"));
}

static void test_archive_is_final(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create_a(d), AR_OK);
	assert_int_equal(archive(d), AR_OK);
	desk_expect(d, "workspace.archived");
	desk_expect_payload(d, AR_EV_WORKSPACE_ARCHIVED, "\"reason\":\"done\"");
	desk_expect_reply(d, "\"result\":\"archived\"");
	assert_int_equal(d->session.own->status, AR_WORKSPACE_RECORD_STATUS_ARCHIVED);
	assert_int_equal(d->session.own->version, 2);
	assert_int_equal(archive(d), AR_OK);
	desk_expect(d, "");
	desk_expect_reply(d, "\"result\":\"no_op\"");
	desk_expect_refusal(d, rename_to(d, "c", (struct ar_opt_int){ 0 }), AR_ERR_WORKSPACE_ARCHIVED);
	desk_expect_refusal(d, create_a(d), AR_ERR_WORKSPACE_ARCHIVED);
}

static void test_a_session_is_no_workspace(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	desk_expect_refusal(d, create_a(d), AR_ERR_WORKSPACE_NOT_FOUND);
	desk_expect_refusal(d, rename_to(d, "c", (struct ar_opt_int){ 0 }), AR_ERR_WORKSPACE_NOT_FOUND);
	desk_expect_refusal(d, archive(d), AR_ERR_WORKSPACE_NOT_FOUND);
}

static enum ar_status trust_as(struct desk *d, const char *person, int word, struct ar_str seen,
			       struct ar_str now)
{
	const struct ar_cmd_update_workspace_in in = { .workspace_id = AR_STR("ws_"),
						       .trust = word,
						       .items_digest = seen };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .account = AR_STR("local"),
					     .person = ar_str_from(person),
					     .tenant = AR_STR("acme"),
					     .command = { .id = AR_CMD_UPDATE_WORKSPACE,
							  .args = &in,
							  .items_digest = now } });
}

static enum ar_status trust(struct desk *d, int word, struct ar_str seen, struct ar_str now)
{
	return trust_as(d, AR_PERSON_LOCAL, word, seen, now);
}

/* Trust is given to a list that was seen, and only while it is still what is there. */
static void test_trust_is_given_to_what_was_seen(void **state)
{
	const struct ar_str one = AR_STR("sha256:1"), two = AR_STR("sha256:2");
	struct desk *d = *state;

	assert_int_equal(create_a(d), AR_OK);
	desk_expect_refusal(d, trust(d, AR_WORKSPACE_TRUST_TRUSTED, AR_STR_NONE, one), AR_ERR_INVALID_INPUT);
	desk_expect_refusal(d, trust(d, AR_WORKSPACE_TRUST_TRUSTED, one, two), AR_ERR_VERSION_CONFLICT);
	desk_expect_refusal(d, trust(d, AR_WORKSPACE_TRUST_TRUSTED, one, AR_STR_NONE), AR_ERR_UNAVAILABLE);
	desk_expect_refusal(d, trust(d, 0, AR_STR_NONE, AR_STR_NONE), AR_ERR_INVALID_INPUT);
	desk_expect_refusal(d, trust_as(d, "uid:1002", AR_WORKSPACE_TRUST_TRUSTED, one, one),
			    AR_ERR_POLICY_DENIED);
	desk_expect_refusal(d, trust_as(d, "uid:1002", AR_WORKSPACE_TRUST_UNTRUSTED, one, one),
			    AR_ERR_POLICY_DENIED);
	assert_int_equal(trust_as(d, "uid:1001", AR_WORKSPACE_TRUST_TRUSTED, two, two), AR_OK);
	assert_int_equal(trust(d, AR_WORKSPACE_TRUST_TRUSTED, one, one), AR_OK);
	desk_expect_payload(d, AR_EV_WORKSPACE_UPDATED, "\"trust\":\"trusted\",\"trustedBy\":\"local\",");
	desk_expect_payload(d, AR_EV_WORKSPACE_UPDATED, "\"itemsDigest\":\"sha256:1\",\"version\":3,");
	assert_int_equal(trust(d, AR_WORKSPACE_TRUST_TRUSTED, one, one), AR_OK);
	desk_expect(d, "");
	assert_int_equal(trust(d, AR_WORKSPACE_TRUST_TRUSTED, two, two), AR_OK);
	desk_expect(d, "workspace.updated");
	assert_int_equal(trust(d, AR_WORKSPACE_TRUST_UNTRUSTED, AR_STR_NONE, AR_STR_NONE), AR_OK);
	desk_expect(d, "workspace.updated");
	assert_true(ar_str_absent(d->session.own->trusted_by));
	assert_true(ar_str_absent(d->session.own->items_digest));
	assert_int_equal(d->session.own->trusted_at, 0);
	assert_int_equal(trust(d, AR_WORKSPACE_TRUST_UNTRUSTED, AR_STR_NONE, AR_STR_NONE), AR_OK);
	desk_expect(d, "");
}

static void test_snapshot_keeps_all(void **state)
{
	struct desk *d = *state;
	struct ar_buf first = { 0 }, second = { 0 };
	struct ar_session again;
	struct ar_json v;

	assert_int_equal(create_a(d), AR_OK);
	assert_int_equal(rename_to(d, "b", (struct ar_opt_int){ 0 }), AR_OK);
	ar_session_snapshot(&d->session, &first);
	ar_session_init(&again, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&first), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&again, v, &d->err), AR_OK);
	assert_non_null(again.own);
	assert_true(ar_str_is(again.own->name, "b"));
	assert_true(ar_str_is(again.own->tenant, "acme"));
	ar_session_snapshot(&again, &second);
	assert_true(ar_str_eq(ar_buf_str(&first), ar_buf_str(&second)));
	ar_session_fini(&again);
	ar_buf_fini(&first);
	ar_buf_fini(&second);
}

#define T(f) cmocka_unit_test_setup_teardown(f, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_create_twice_is_one),
		T(test_names),
		T(test_a_masked_root_is_refused),
		T(test_update_counts_versions),
		T(test_stale_version_is_refused),
		T(test_archive_is_final),
		T(test_a_session_is_no_workspace),
		T(test_snapshot_keeps_all),
		T(test_trust_is_given_to_what_was_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
