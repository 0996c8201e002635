/* set_policy of a session, and the mode of a turn. */
#include "desk.h"
#include "limits/route.h"

static enum ar_status set_policy(struct desk *d, const char *policy, const char *rules)
{
	return desk_command(d, AR_CMD_SET_POLICY,
			    &(struct ar_cmd_set_policy_in){ .scope = AR_SET_POLICY_SCOPE_SESSION,
							    .scope_id = d->session.id,
							    .policy = ar_str_from(policy),
							    .rules = ar_str_from(rules),
							    .reason = AR_STR("careful") });
}

static void test_a_session_sets_its_policy(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_policy_changed *p;
	const struct ar_permission_rule *rule;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(
		set_policy(d,
			   "{\"mode\":\"plan\",\"rules\":[{\"tool\":\"rm_*\",\"decision\":\"denied\","
			   "\"name\":\"no rm\"}]}",
			   NULL),
		AR_OK);
	desk_expect(d, "policy.changed");
	p = d->decision.events[0].payload;
	desk_expect_payload(
		d, AR_EV_POLICY_CHANGED,
		"\"changedBy\":{\"accountRef\":\"me\",\"reason\":\"careful\"},\"policy\":{\"mode\":"
		"\"plan\",\"rules\":[{\"name\":\"no rm\",\"tool\":\"rm_*\",\"decision\":\"deny\"}]}}");
	assert_true(ar_str_absent(p->previous_policy_ref));
	assert_true(ar_str_is(d->session.mode, "plan"));
	assert_int_equal(d->session.rules.count, 1);
	rule = d->session.rules.at[0];
	assert_true(rule->verdict == AR_DENY && rule->reach == AR_REACH_SESSION &&
		    ar_str_is(rule->tool, "rm_*"));

	/* the same in other words does nothing */
	assert_int_equal(
		set_policy(d,
			   "{\"rules\":[{\"name\":\"no rm\",\"tool\":\"rm_*\",\"decision\":\"deny\"}],"
			   "\"mode\":\"plan\"}",
			   NULL),
		AR_OK);
	desk_expect(d, "");

	assert_int_equal(set_policy(d, NULL, "[]"), AR_OK); /* rules alone leave the mode */
	desk_expect(d, "policy.changed");
	assert_true(ar_str_is(d->session.mode, "plan"));
	assert_int_equal(d->session.rules.count, 0);
	assert_int_equal(set_policy(d, "{}", NULL), AR_OK);
	assert_true(ar_str_absent(d->session.mode));
}

/* An older version may have stored more of a rule than this one knows. */
static void test_odd_members_of_an_old_policy(void **state)
{
	struct desk *d = *state;
	const struct ar_permission_rule *rule;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	desk_fold(d, "policy.changed",
		  "{\"scope\":\"session\",\"policyRef\":\"r\",\"changedBy\":{\"accountRef\":1},\"policy\":"
		  "{\"mode\":\"plan\",\"rules\":[{\"name\":\"n\",\"tool\":\"*\",\"decision\":\"ask\","
		  "\"approvals\":\"two\",\"colour\":7}]}}");
	assert_true(ar_str_is(d->session.mode, "plan"));
	rule = d->session.rules.at[0];
	assert_int_equal(rule->verdict, AR_ASK);
	assert_false(rule->approvals.set);
}

static void test_it_refuses(void **state)
{
	static const struct {
		const char *policy, *says;
	} table[] = {
		{ "{\"mode\":\"bypass\"}", "looser" },
		{ "{\"mode\":\"wild\"}", "not one of default" },
		{ "{\"modes\":\"plan\"}", "not 'modes'" },
		{ "{\"rules\":{}}", "array" },
		{ "{\"rules\":[1]}", "object" },
		{ "{\"rules\":[{\"name\":\"a\",\"tool\":\"*\"}]}", "needs" },
		{ "{\"rules\":[{\"name\":\"a\",\"tool\":\"*\",\"decision\":\"perhaps\"}]}", "decision" },
		{ "{\"rules\":[{\"name\":\"a\",\"tool\":\"*\",\"decision\":\"deny\",\"x\":\"y\"}]}", "'x'" },
		{ "{\"rules\":[{\"name\":\"a\",\"tool\":\"*\",\"decision\":\"allow\"}]}", "stricter" },
		{ "{\"rules\":[{\"name\":\"a\",\"tool\":\"*\",\"decision\":\"deny\",\"argument\":\"p\"}]}",
		  "together" },
		{ "{\"budget\":{\"tokens\":0}}", "above 0" },
		{ "{\"budget\":{\"cost\":\"much\"}}", "amount" },
		{ "{\"budget\":{\"tokens\":5001}}", "looser than the host's 5000" },
		{ "{\"budget\":{\"calls\":1}}", "calls" },
		{ "{\"model\":\"huge\"}", "no model 'huge'" },
	};
	static const struct ar_model_entry models[] = { { .name = { "small", 5 } } };
	struct desk *d = *state;

	d->policy.budget.session[AR_QUOTA_TOKENS] = 5000;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	d->policy.models = models;
	d->policy.model_count = 1;
	for (size_t i = 0; i < AR_ARRAY_LEN(table); i++) {
		desk_expect_refusal(d, set_policy(d, table[i].policy, NULL), AR_ERR_INVALID_POLICY);
		if (!strstr(d->err.msg, table[i].says))
			fail_msg("'%s' is not in: %s", table[i].says, d->err.msg);
	}
	d->policy.may_loosen = true;
	assert_int_equal(set_policy(d, table[0].policy, NULL), AR_OK);
	assert_int_equal(set_policy(d, table[8].policy, NULL), AR_OK);
}

static void expect_limit(struct desk *d, const char *now, const char *before)
{
	desk_expect_payload(d, AR_EV_LIMIT_CHANGED, now);
	desk_expect_payload(d, AR_EV_LIMIT_CHANGED, before);
	desk_expect_payload(d, AR_EV_LIMIT_CHANGED, "\"source\":\"policy\"");
}

/* A budget of the policy is a limit with its fact, holds over a snapshot, and goes with the policy. */
static void test_a_policy_sets_the_budget(void **state)
{
	struct desk *d = *state;

	d->policy.budget.session[AR_QUOTA_TOKENS] = 5000;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(set_policy(d, "{\"budget\":{\"tokens\":300},\"model\":\"small\"}", NULL), AR_OK);
	desk_expect(d, "policy.changed limit.changed");
	expect_limit(d, "\"limitState\":{\"quotaKind\":\"session_tokens\",\"limit\":300",
		     "\"previous\":{\"quotaKind\":\"session_tokens\",\"limit\":5000");
	assert_int_equal(set_policy(d, NULL, "[]"), AR_OK); /* rules alone leave it */
	desk_expect(d, "");
	assert_int_equal(d->session.preset->budget->tokens.v, 300);
	assert_true(ar_str_is(d->session.preset->model, "small"));
	assert_int_equal(set_policy(d, "{\"budget\":{\"cost\":0.5}}", NULL), AR_OK);
	desk_expect(d, "policy.changed limit.changed limit.changed");
	desk_expect_payload(d, AR_EV_LIMIT_CHANGED,
			    "\"limitState\":{\"quotaKind\":\"session_tokens\",\"limit\":5000");
	assert_int_equal(set_policy(d, "{}", NULL), AR_OK);
	desk_expect(d, "policy.changed limit.changed");
	expect_limit(d, "\"limitState\":{\"quotaKind\":\"session_cost\",\"used\":0",
		     "\"previous\":{\"quotaKind\":\"session_cost\",\"limit\":0.5");
	assert_null(d->session.preset);
}

#define WS "ws_0000000000jaaaaaaaaaaaaaaa"

/* What was read of the workspace; NULL: it has no policy. */
static void read_workspace(struct desk *d, const char *policy)
{
	const struct ar_shape_workspace_record record = {
		.workspace_id = AR_STR(WS),
		.policy = policy ? desk_read(d, &ar_shape_session_policy_desc, policy) : NULL,
		.policy_author = &(struct ar_shape_policy_author){ .account_ref = AR_STR("ada") }
	};

	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_WORKSPACE, .workspace = &record }),
			 AR_OK);
}

static struct ar_str name_of_rule(const struct desk *d, size_t i)
{
	return ((const struct ar_permission_rule *)d->session.rules.at[i])->name;
}

/* The policy of the workspace and that of the session change without each other; the lower limit counts. */
static void test_a_workspace_has_a_policy(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	desk_fold(d, "workspace.bound",
		  "{\"binding\":{\"workspaceId\":\"" WS "\",\"version\":1,\"folder\":\"/srv/shop\"}}");
	read_workspace(d, NULL);
	desk_expect(d, ""); /* as it was */
	assert_int_equal(set_policy(d, "{\"rules\":[{\"name\":\"own\",\"tool\":\"a\",\"decision\":\"ask\"}]}",
				    NULL),
			 AR_OK);
	read_workspace(d, "{\"mode\":\"untrusted\",\"budget\":{\"tokens\":300},\"rules\":[{\"name\":\"ws\","
			  "\"tool\":\"b\",\"decision\":\"deny\"}]}");
	desk_expect(d, "policy.changed limit.changed");
	desk_expect_payload(d, AR_EV_POLICY_CHANGED, "{\"scope\":\"workspace\"");
	desk_expect_payload(d, AR_EV_POLICY_CHANGED, "\"changedBy\":{\"accountRef\":\"ada\"}");
	expect_limit(d, "\"limitState\":{\"quotaKind\":\"session_tokens\",\"limit\":300",
		     "\"previous\":{\"quotaKind\":\"session_tokens\",\"used\":0");
	read_workspace(d, "{\"mode\":\"untrusted\",\"budget\":{\"tokens\":300},\"rules\":[{\"name\":\"ws\","
			  "\"tool\":\"b\",\"decision\":\"deny\"}]}");
	desk_expect(d, "");
	assert_int_equal(d->session.rules.count, 2);
	assert_true(ar_str_is(name_of_rule(d, 0), "ws") && ar_str_is(name_of_rule(d, 1), "own"));

	d->policy.may_loosen = true; /* the host's alone */
	desk_expect_refusal(d, set_policy(d, "{\"mode\":\"default\"}", NULL), AR_ERR_INVALID_POLICY);
	desk_expect_refusal(d, set_policy(d, "{\"budget\":{\"tokens\":301}}", NULL), AR_ERR_INVALID_POLICY);
	desk_expect_refusal(d, desk_submit_with(d, NULL, "{\"mode\":\"default\"}"), AR_ERR_INVALID_INPUT);
	assert_int_equal(set_policy(d, "{\"mode\":\"never\",\"budget\":{\"tokens\":200}}", NULL), AR_OK);
	desk_expect(d, "policy.changed limit.changed");
	assert_true(d->session.rules.count == 1 && ar_str_is(name_of_rule(d, 0), "ws"));
	read_workspace(d, "{\"budget\":{\"tokens\":250}}");
	desk_expect(d, "policy.changed"); /* the session's is lower */
	assert_int_equal(d->session.rules.count, 0);
	read_workspace(d, NULL);
	desk_expect(d, "policy.changed");
	read_workspace(d, NULL);
	desk_expect(d, "");
	assert_int_equal(set_policy(d, "{}", NULL), AR_OK);
	expect_limit(d, "\"limitState\":{\"quotaKind\":\"session_tokens\",\"used\":0",
		     "\"previous\":{\"quotaKind\":\"session_tokens\",\"limit\":200");
}

/* The record of another workspace says nothing, and that of any to a session without one neither. */
static void test_only_its_own_workspace_counts(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	read_workspace(d, "{\"mode\":\"plan\"}");
	desk_expect(d, "");
	desk_fold(d, "workspace.bound",
		  "{\"binding\":{\"workspaceId\":\"ws_0000000000jbbbbbbbbbbbbbbb\",\"version\":1,\"folder\":"
		  "\"/x\"}}");
	read_workspace(d, "{\"mode\":\"plan\"}");
	desk_expect(d, "");
}

static void test_a_turn_names_its_mode(void **state)
{
	struct desk *d = *state;

	desk_expect_refusal(d, desk_submit_with(d, NULL, "{\"mode\":\"bypass\"}"), AR_ERR_INVALID_INPUT);
	assert_non_null(strstr(d->err.msg, "looser than the host's default"));
	desk_expect_refusal(d, desk_submit_with(d, NULL, "{\"mode\":\"x\"}"), AR_ERR_INVALID_INPUT);
	desk_expect_refusal(d, desk_submit_with(d, NULL, "{\"purpose\":\"compaction\"}"),
			    AR_ERR_INVALID_INPUT);
	assert_int_equal(desk_submit_with(d, NULL, "{\"mode\":\"plan\"}"), AR_OK);
	d->policy.may_loosen = true;
	assert_int_equal(desk_submit_with(d, NULL, "{\"mode\":\"bypass\"}"), AR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_session_sets_its_policy, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_odd_members_of_an_old_policy, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_it_refuses, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_a_policy_sets_the_budget, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_a_workspace_has_a_policy, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_only_its_own_workspace_counts, desk_open, desk_close),
		cmocka_unit_test_setup_teardown(test_a_turn_names_its_mode, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
