/* The environment and the profiles of a workspace: what is refused, who sets them, and that a session keeps
 * those of the moment it was created in. */
#include "desk.h"
#include "permission/permission.h"
#include "tenant.h"
#include "workspace/environment.h"
#include "workspace/workspace.h"

#define WS "ws_0000000000jaaaaaaaaaaaaaaa"

static const struct ar_shape_workspace_variable plain[] = {
	{ .name = AR_STR("STAGE"), .value = AR_STR("test") }, { .name = AR_STR("EMPTY"), .value = AR_STR("") }
};
static const struct ar_shape_workspace_variable secret[] = { { .name = AR_STR("TOKEN"),
							       .secret = AR_STR("KEY") } };
static const struct ar_str read_only[] = { AR_STR("read_only") };

#define LIST(l) ((struct ar_shape_workspace_variable_list){ l, AR_ARRAY_LEN(l) })

static struct ar_shape_workspace_record record_of(const char *tenant)
{
	return (struct ar_shape_workspace_record){ .workspace_id = AR_STR(WS),
						   .tenant = ar_str_from(tenant),
						   .owner = AR_STR("ada"),
						   .name = AR_STR("shop"),
						   .kind = AR_WORKSPACE_RECORD_KIND_FOLDER,
						   .root = AR_STR("/srv/shop"),
						   .status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
						   .version = 3 };
}

static enum ar_status create(struct desk *d, const struct ar_cmd_create_workspace_in *in, int64_t masked)
{
	const struct ar_workspace_folder folder = { .root = AR_STR("/w/files"), .is_managed = true };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .account = AR_STR("me"),
					     .person = AR_STR("ada"),
					     .tenant = AR_STR("acme"),
					     .command = { .id = AR_CMD_CREATE_WORKSPACE,
							  .args = in,
							  .folder = &folder,
							  .masked = { .count = masked } } });
}

static enum ar_status update(struct desk *d, const char *person, struct ar_cmd_update_workspace_in in)
{
	in.workspace_id = AR_STR(WS);
	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .account = AR_STR("me"),
					     .person = ar_str_from(person),
					     .tenant = AR_STR("acme"),
					     .command = { .id = AR_CMD_UPDATE_WORKSPACE, .args = &in } });
}

static void the_owner_sets_it_and_nobody_else(void **state)
{
	struct desk *d = *state;

	assert_int_equal(create(d, &(struct ar_cmd_create_workspace_in){ .environment = LIST(plain) }, 0),
			 AR_OK);
	desk_expect_payload(d, AR_EV_WORKSPACE_CREATED,
			    "\"environment\":[{\"name\":\"STAGE\",\"value\":\"test\"},"
			    "{\"name\":\"EMPTY\",\"value\":\"\"}]");
	desk_expect_refusal(d,
			    update(d, "bob",
				   (struct ar_cmd_update_workspace_in){ .environment = LIST(plain) }),
			    AR_ERR_POLICY_DENIED);
	desk_expect_refusal(
		d,
		update(d, "bob", (struct ar_cmd_update_workspace_in){ .allowed_profiles = { read_only, 1 } }),
		AR_ERR_POLICY_DENIED);
	assert_int_equal(update(d, "ada", (struct ar_cmd_update_workspace_in){ .environment = LIST(plain) }),
			 AR_OK);
	desk_expect(d, "");
	assert_int_equal(update(d, "ada", (struct ar_cmd_update_workspace_in){ .environment = { plain, 0 } }),
			 AR_OK);
	desk_expect(d, "workspace.updated");
	assert_int_equal(d->session.own->environment.count, 0);
	assert_int_equal(d->session.own->version, 2);
}

static void what_was_masked_is_refused(void **state)
{
	struct desk *d = *state;

	desk_expect_refusal(d,
			    create(d, &(struct ar_cmd_create_workspace_in){ .environment = LIST(plain) }, 1),
			    AR_ERR_INVALID_INPUT);
	assert_int_equal(create(d, &(struct ar_cmd_create_workspace_in){ .name = AR_STR("a") }, 1), AR_OK);
}

static enum ar_status check(struct desk *d, const struct ar_shape_workspace_record *r)
{
	const struct ar_input in = { .kind = AR_IN_COMMAND, .policy = &d->policy };
	const struct ar_decision decision = { .session = &d->session, .input = &in };

	return ar_environment_check(&decision, r, &LIST(secret), NULL);
}

/* Named for the tenant: only its workspaces. Without tenants: those of the server. On a worker: none. */
static void a_secret_has_to_be_for_the_workspace(void **state)
{
	struct desk *d = *state;
	const struct ar_str acme = AR_STR("acme"), key = AR_STR("KEY");
	struct ar_audience audience = { 0 };
	struct ar_shape_workspace_record ours = record_of("local"), theirs = record_of("acme");

	assert_int_equal(check(d, &ours), AR_E_REFUSED);
	d->policy.secrets = &audience;
	d->policy.secret_count = 1;
	d->policy.secret_names = (struct ar_texts){ &key, 1 };
	assert_int_equal(check(d, &ours), AR_OK);
	assert_int_equal(check(d, &theirs), AR_E_REFUSED);
	audience.tenants = (struct ar_texts){ &acme, 1 };
	assert_int_equal(check(d, &ours), AR_E_REFUSED);
	assert_int_equal(check(d, &theirs), AR_OK);
	audience.workspace = AR_STR("/srv/other");
	assert_int_equal(check(d, &theirs), AR_E_REFUSED);
	audience.workspace = AR_STR(WS);
	assert_int_equal(check(d, &theirs), AR_OK);
	theirs.worker = AR_STR("wk_1");
	assert_int_equal(check(d, &theirs), AR_E_REFUSED);
}

static void a_session_keeps_what_it_began_with(void **state)
{
	struct desk *d = *state;
	struct ar_shape_workspace_record record = record_of("local");
	const struct ar_cmd_create_session_in in = { .title = AR_STR("x"), .workspace_id = AR_STR(WS) };
	const struct ar_shape_workspace_variable both[] = { plain[0], secret[0] };
	enum ar_sandbox_profile profile;
	struct ar_arena a = { 0 };
	struct ar_texts texts;
	size_t count;

	record.environment = LIST(both);
	record.allowed_profiles = (struct ar_texts){ read_only, 1 };
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
						       .command = { .id = AR_CMD_CREATE_SESSION,
								    .args = &in,
								    .workspace = &record } }),
			 AR_OK);
	desk_expect_payload(d, AR_EV_WORKSPACE_BOUND,
			    "\"environment\":[{\"name\":\"STAGE\",\"value\":\"test\"},"
			    "{\"name\":\"TOKEN\",\"secret\":\"KEY\"}],\"allowedProfiles\":[\"read_only\"]");
	texts = ar_environment_texts(ar_session_environment(&d->session), false, &a);
	assert_int_equal(texts.count, 1);
	assert_true(ar_str_is(texts.at[0], "STAGE=test"));
	assert_int_equal(ar_environment_texts(ar_session_environment(&d->session), true, &a).count, 2);
	assert_true(ar_str_is(ar_session_secret_variables(&d->session, &a, &count)->secret, "KEY"));
	assert_int_equal(count, 1);
	assert_int_equal(ar_profile_of_turn(&d->session, &d->policy, &(struct ar_shape_turn_options){ 0 }),
			 AR_SANDBOX_READ_ONLY);
	assert_true(ar_profile_of_servers(&d->session, &d->policy, &profile));
	assert_int_equal(profile, AR_SANDBOX_READ_ONLY);
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_owner_sets_it_and_nobody_else, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(what_was_masked_is_refused, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_secret_has_to_be_for_the_workspace, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(a_session_keeps_what_it_began_with, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
