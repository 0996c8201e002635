/* Shell calls before they run: what rules, grants, modes, the danger scan and the boundary say of a command,
 * and that the strictest counts. */
#include "action/action.h"
#include "desk.h"

static const struct ar_tool shell = { .name = AR_STR("shell"),
				      .description = AR_STR("Runs."),
				      .schema = AR_STR("{\"type\":\"object\"}"),
				      .owner = AR_TOOL_LOCAL,
				      .capabilities = AR_TOOL_SHELL | AR_TOOL_WRITE | AR_TOOL_FILESYSTEM,
				      .runs_process = true,
				      .is_confined = true };
static const struct ar_tool *const tools[] = { &shell };
static const struct ar_inventory inventory = { tools, 1, 1, true };

/* Everything but allowlisted_network. */
static const struct ar_sandbox_host sandbox = {
	.profiles = { [AR_SANDBOX_READ_ONLY] = { .is_available = true },
		      [AR_SANDBOX_WORKSPACE_WRITE] = { .is_available = true },
		      [AR_SANDBOX_NO_NETWORK] = { .is_available = true },
		      [AR_SANDBOX_ALLOWLISTED_NETWORK] = { .reason = AR_STR("there is no proxy"),
							   .remedy = AR_STR("start the proxy") },
		      [AR_SANDBOX_DANGER_FULL_ACCESS] = { .is_available = true } }
};

#define RULE(n, v, c) \
	{ \
		.name = { n, sizeof(n) - 1 }, .tool = { "shell", 5 }, .command = { c, sizeof(c) - 1 }, \
		.verdict = v, .reach = AR_REACH_HOST \
	}

static const struct ar_permission_rule rules[] = {
	RULE("look", AR_ALLOW, "git status"),	 RULE("list", AR_ALLOW, "ls"),
	RULE("no-push", AR_DENY, "git push"),	 RULE("ask-npm", AR_ASK, "npm install"),
	RULE("clean", AR_ALLOW, "rm -rf build"),
};

static const char *const verdicts[] = { "", "allow", "deny", "ask", "sandboxed", "unavailable" };
static const char *const sources[] = { "",	     "rule",  "mode",	     "hook",
				       "classifier", "human", "host_policy", "sandbox_override" };

static int open_desk(void **state)
{
	struct desk *d;

	desk_open(state);
	d = *state;
	d->policy.sandbox = &sandbox;
	d->policy.inventory = &inventory;
	d->policy.rules = rules;
	d->policy.rule_count = AR_ARRAY_LEN(rules);
	d->policy.max_rounds = 100;
	return 0;
}

static int close_desk(void **state)
{
	struct desk *d = *state;

	ar_buf_fini(&d->decision.scratch);
	return desk_close(state);
}

static struct ar_judgement judge(struct desk *d, const char *args, const char *options)
{
	static struct ar_input in;
	static struct ar_turn turn;

	in = (struct ar_input){ .now = d->now, .policy = &d->policy };
	turn = (struct ar_turn){ .id = AR_STR("turn_1"),
				 .thread = AR_STR("thread_1"),
				 .options = options ? desk_read(d, &ar_shape_turn_options_desc, options)
						    : NULL };
	ar_buf_fini(&d->decision.scratch);
	d->decision = (struct ar_decision){
		.arena = &d->arena, .session = &d->session, .input = &in, .json = d->decide_json
	};
	return ar_permission_judge(&d->decision, &turn,
				   &(struct ar_act){
					   .tool = &shell, .name = shell.name, .args = ar_str_from(args) });
}

struct row {
	const char *mode, *args, *verdict, *source;
};

static void expect_rows(struct desk *d, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ar_judgement j;

		d->policy.permission_mode = ar_mode_find(ar_str_from(rows[i].mode));
		j = judge(d, rows[i].args, NULL);
		if (!ar_str_is(ar_str_from(verdicts[j.verdict]), rows[i].verdict) ||
		    !ar_str_is(ar_str_from(sources[j.source]), rows[i].source))
			fail_msg("%s %s: %s by %s (%.*s)", rows[i].mode, rows[i].args, verdicts[j.verdict],
				 sources[j.source], AR_STR_ARG(j.reason));
	}
}

#define C(text) "{\"command\":\"" text "\"}"

static void rules_know_commands(void **state)
{
	static const struct row rows[] = {
		{ "default", C("git status -s"), "allow", "host_policy" },
		{ "default", C("git status && ls -l | ls"), "allow", "host_policy" },
		{ "default", C("git status; id"), "ask", "mode" },
		{ "default", C("git statuss"), "ask", "mode" },
		{ "default", C("git status $(id)"), "ask", "mode" },
		{ "default", C("git status > x"), "ask", "mode" },
		{ "default", C("git status\\n\\nid"), "ask", "mode" },
		{ "default", "{\"argv\":[\"git\",\"status\"]}", "allow", "host_policy" },
		{ "default", "{\"argv\":[\"git\",\"status; id\"]}", "ask", "mode" },
		{ "default", "{\"argv\":[]}", "ask", "mode" },
		{ "bypass", C("git push origin"), "deny", "host_policy" },
		{ "bypass", C("ls; git -C x push"), "deny", "host_policy" },
		{ "bypass", C("echo \\\"$(/usr/bin/git push)\\\""), "deny", "host_policy" },
		{ "bypass", C("npm install x"), "ask", "host_policy" },
		{ "bypass", C("sh -c 'npm install x'"), "ask", "host_policy" },
		{ "never", C("ls"), "allow", "host_policy" },
		{ "never", C("id"), "deny", "mode" },
		{ "plan", C("ls"), "deny", "mode" },
		{ "default", "{\"processId\":\"proc_1\",\"input\":\"ls\"}", "ask", "mode" },
		{ "default", "{}", "ask", "mode" },
	};

	expect_rows(*state, rows, AR_ARRAY_LEN(rows));
}

static void each_command_needs_the_same_rule(void **state)
{
	static const struct ar_permission_rule old = { .name = { "old", 3 },
						       .tool = { "shell", 5 },
						       .argument = { "command", 7 },
						       .matches = { "git *", 5 },
						       .verdict = AR_ALLOW,
						       .reach = AR_REACH_HOST };
	static const struct row rows[] = {
		{ "default", C("git log"), "allow", "host_policy" },
		{ "default", C("git log; id"), "ask", "mode" },
		{ "default", C("git log `id`"), "ask", "mode" },
	};
	struct desk *d = *state;

	d->policy.rules = &old;
	d->policy.rule_count = 1;
	expect_rows(d, rows, AR_ARRAY_LEN(rows));
}

static void modes_use_the_sandbox(void **state)
{
	static const struct row rows[] = {
		{ "default", C("make"), "ask", "mode" },
		{ "untrusted", C("make"), "ask", "mode" },
		{ "auto", C("make"), "sandboxed", "classifier" },
		{ "auto", C("make test 2>&1 | tail"), "sandboxed", "classifier" },
		{ "auto", C("make $(nproc)"), "ask", "classifier" }, /* the text does not show all */
		{ "auto", C("rm -rf build"), "ask", "classifier" },
		{ "auto", C("cat ~/.ssh/id_rsa"), "ask", "classifier" },
		{ "auto", C("git status"), "allow", "host_policy" }, /* a rule comes first */
		{ "never", C("make"), "deny", "mode" },
		{ "plan", C("make"), "deny", "mode" },
		{ "bypass", C("make"), "allow", "mode" },
		{ "on_request", C("make"), "sandboxed", "mode" },
		{ "on_failure", C("make $(nproc)"), "sandboxed", "mode" },
		{ "on_request", C("git status"), "allow", "host_policy" },
	};
	struct desk *d = *state;

	expect_rows(d, rows, AR_ARRAY_LEN(rows));
	d->policy.permission_mode = AR_MODE_ON_REQUEST;
	assert_int_equal(judge(d, C("make"), NULL).profile, AR_SANDBOX_WORKSPACE_WRITE);
	assert_int_equal(judge(d, C("make"), "{\"sandbox\":\"read_only\"}").profile, AR_SANDBOX_READ_ONLY);
	assert_int_equal(judge(d, C("make"), "{\"mode\":\"default\"}").verdict, AR_ASK);
	d->policy.profile = AR_SANDBOX_DANGER_FULL_ACCESS;
	d->policy.allow_danger = true;
	assert_int_equal(judge(d, C("make"), NULL).verdict, AR_ASK); /* nothing confines it */
}

static void danger_only_raises(void **state)
{
	static const struct row rows[] = {
		{ "default", C("rm -rf build"), "ask", "classifier" }, /* a rule allows it */
		{ "on_request", C("rm -rf x"), "ask", "classifier" },
		{ "on_failure", C("curl x | sh"), "ask", "classifier" },
		{ "default", C("rm -rf x"), "ask", "mode" },
		{ "never", C("rm -rf build"), "deny", "mode" },
		{ "plan", C("rm -rf build"), "deny", "mode" },
		{ "bypass", C("git push --force"), "deny", "host_policy" },
		{ "bypass", C("rm -rf x"), "allow", "mode" },
		{ "on_request", C("$x -rf y"), "ask", "classifier" },
		{ "on_request", C("git $x"), "ask", "host_policy" }, /* git push is denied */
		{ "bypass", C("git $x"), "ask", "host_policy" },
		{ "never", C("git $x"), "deny", "mode" },
		{ "on_request", "{\"command\":\"bash\",\"input\":\"id\"}", "ask", "classifier" },
		{ "on_request", "{\"argv\":[\"python3\",\"-\"],\"input\":\"id\"}", "ask", "classifier" },
		{ "on_request", "{\"argv\":[\"bash\",\"-c\",\"$x\"]}", "ask", "classifier" },
		{ "on_request", "{\"command\":\"cat\",\"input\":\"rm -rf x\"}", "sandboxed", "mode" },
	};
	struct desk *d = *state;
	struct ar_judgement j;

	expect_rows(d, rows, AR_ARRAY_LEN(rows));
	d->policy.permission_mode = AR_MODE_ON_REQUEST;
	j = judge(d, C("rm -rf x"), NULL);
	assert_true(ar_str_is(j.reason, "the command looks like recursive_delete (rm -rf)"));
	assert_true(j.destructive && j.impact.len && j.advice.len);
	assert_false(judge(d, C("make"), NULL).destructive);
	d->policy.permission_mode = AR_MODE_BYPASS;
	assert_true(judge(d, C("rm -rf x"), NULL).destructive);
}

/* Words that are not read may be anything. */
static void too_many_words_ask(void **state)
{
	struct desk *d = *state;
	struct ar_buf args = { 0 };
	struct ar_judgement j;

	ar_buf_adds(&args, AR_STR("{\"argv\":[\"rm\""));
	for (int i = 0; i < 1100; i++)
		ar_buf_adds(&args, AR_STR(",\"a\""));
	ar_buf_adds(&args, AR_STR(",\"-rf\"]}"));
	ar_buf_addc(&args, 0);
	d->policy.permission_mode = AR_MODE_ON_REQUEST;
	j = judge(d, args.p, NULL);
	assert_int_equal(j.verdict, AR_ASK);
	assert_true(j.is_single);
	ar_buf_fini(&args);
}

#define S(profile) "{\"command\":\"make\",\"sandbox\":\"" profile "\",\"justification\":\"needs it\"}"

static void more_is_asked_for(void **state)
{
	static const struct row rows[] = {
		{ "on_request", S("read_only"), "sandboxed", "mode" },
		{ "on_request", S("no_network"), "sandboxed", "mode" },
		{ "on_request", S("danger_full_access"), "ask", "sandbox_override" },
		{ "bypass", S("danger_full_access"), "ask", "sandbox_override" },
		{ "never", S("danger_full_access"), "deny", "mode" },
		{ "on_failure", S("danger_full_access"), "deny", "sandbox_override" },
		{ "on_request", S("allowlisted_network"), "unavailable", "sandbox_override" },
		{ "plan", S("allowlisted_network"), "deny", "mode" },
		{ "on_request", "{\"command\":\"ls\",\"sandbox\":\"danger_full_access\"}", "ask",
		  "sandbox_override" }, /* a rule allows it inside */
	};
	struct desk *d = *state;
	struct ar_judgement j;

	d->policy.allow_danger = true;
	expect_rows(d, rows, AR_ARRAY_LEN(rows));
	d->policy.permission_mode = AR_MODE_ON_REQUEST;
	j = judge(d, S("danger_full_access"), NULL);
	assert_true(j.is_escalation && j.profile == AR_SANDBOX_DANGER_FULL_ACCESS);
	assert_true(ar_str_is(j.justification, "needs it"));
	d->policy.allow_danger = false;
	j = judge(d, S("danger_full_access"), NULL);
	assert_int_equal(j.verdict, AR_DENY);
	assert_int_equal(j.source, AR_PERMISSION_EVALUATED_DECISION_SOURCE_HOST_POLICY);
	d->policy.sandbox = NULL;
	assert_int_equal(judge(d, C("ls"), NULL).verdict, AR_UNAVAILABLE);
}

/* ---- the life of a call ---- */

static struct ar_invocation *call_of(struct desk *d)
{
	return desk_active(d)->calls.at[desk_active(d)->calls.count - 1];
}

/* The model of turn "a", which runs, asks for a command. */
static void ask_for(struct desk *d, const char *args)
{
	struct ar_tool_use request = { AR_STR("call"), shell.name, ar_str_from(args) };
	struct ar_step_output out = { .tools = &request, .tool_count = 1, .text = AR_STR("") };

	out.step = desk_active(d)->open_step;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						       .model_done = { .output = &out,
								       .end =
									       &(struct ar_model_result){
										       .outcome = 1 } } }),
			 AR_OK);
}

static void end_call(struct desk *d, enum ar_tool_outcome outcome)
{
	desk_end_call(d, call_of(d)->id,
		      &(struct ar_tool_result){ .outcome = outcome, .text = AR_STR("done") });
}

static enum ar_status respond(struct desk *d, const char *decision)
{
	const struct ar_action *a = d->session.actions.at[d->session.actions.count - 1];

	return desk_command(d, AR_CMD_RESPOND_ACTION,
			    &(struct ar_cmd_respond_action_in){ .action_id = a->id,
								.decision = ar_str_from(decision) });
}

static enum ar_sandbox_profile profile_run(struct desk *d)
{
	for (size_t i = 0; i < d->decision.effect_count; i++) {
		if (d->decision.effects[i].kind == AR_EFFECT_TOOL_CALL)
			return (enum ar_sandbox_profile)d->decision.effects[i].tool_call.call->profile.v;
	}
	return 0;
}

static void what_is_confined_runs_in_its_profile(void **state)
{
	struct desk *d = *state;

	d->policy.permission_mode = AR_MODE_ON_REQUEST;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, C("make"));
	assert_int_equal(profile_run(d), AR_SANDBOX_WORKSPACE_WRITE);
	assert_int_equal(call_of(d)->profile.v, AR_SANDBOX_WORKSPACE_WRITE);
	assert_int_equal(call_of(d)->stage, AR_CALL_RUNNING);
}

static void an_escalation_is_a_question_of_its_own(void **state)
{
	struct desk *d = *state;
	const struct ar_action *a;

	d->policy.permission_mode = AR_MODE_ON_REQUEST;
	d->policy.allow_danger = true;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, S("danger_full_access"));
	a = d->session.actions.at[0];
	assert_int_equal(a->type, AR_ACTION_SANDBOX_ESCALATION);
	assert_int_equal(profile_run(d), 0);
	desk_expect_refusal(d, respond(d, "allow_session"), AR_ERR_INVALID_DECISION);
	assert_int_equal(respond(d, "allow"), AR_OK);
	assert_int_equal(profile_run(d), AR_SANDBOX_DANGER_FULL_ACCESS);
	end_call(d, AR_TOOL_OK);
	ask_for(d, S("danger_full_access"));
	assert_int_equal(respond(d, "deny"), AR_OK);
	assert_int_equal(profile_run(d), 0);
	assert_true(ar_str_is(call_of(d)->status, "denied"));
}

static void fails_inside(struct desk *d, const char *args)
{
	ask_for(d, args);
	assert_int_equal(profile_run(d), AR_SANDBOX_WORKSPACE_WRITE);
	end_call(d, AR_TOOL_ERROR);
}

static void after_a_failure_more_may_be_asked_for(void **state)
{
	struct desk *d = *state;

	d->policy.permission_mode = AR_MODE_ON_FAILURE;
	d->policy.allow_danger = true;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, S("danger_full_access"));
	assert_true(ar_str_is(call_of(d)->status, "denied"));
	ask_for(d, S("danger_full_access")); /* having been denied is no failure inside */
	assert_true(ar_str_is(call_of(d)->status, "denied"));
	assert_int_equal(d->session.actions.count, 0);
	fails_inside(d, C("make x"));
	fails_inside(d, "{\"command\":\"make\",\"cwd\":\"/else\"}");
	fails_inside(d, "{\"command\":\"make\",\"input\":\"y\"}");
	ask_for(d, S("danger_full_access")); /* another command, folder or input failed */
	assert_true(ar_str_is(call_of(d)->status, "denied"));
	assert_int_equal(d->session.actions.count, 0);
	fails_inside(d, C("make"));
	ask_for(d, S("danger_full_access"));
	assert_int_equal(d->session.actions.count, 1);
	assert_int_equal(respond(d, "deny"), AR_OK);
	fails_inside(d, C("echo $x")); /* no grant covers it; it is the same all the same */
	ask_for(d, "{\"command\":\"echo $x\",\"sandbox\":\"danger_full_access\"}");
	assert_int_equal(d->session.actions.count, 2);
}

static void what_cannot_be_enforced_does_not_run(void **state)
{
	struct desk *d = *state;

	d->policy.permission_mode = AR_MODE_BYPASS;
	d->policy.profile = AR_SANDBOX_ALLOWLISTED_NETWORK;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, C("ls"));
	assert_int_equal(profile_run(d), 0);
	assert_int_equal(call_of(d)->stage, AR_CALL_ENDED);
	assert_true(ar_str_is(call_of(d)->category, "sandbox_unavailable"));
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

static void a_grant_is_for_one_command(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	ask_for(d, C("make x"));
	assert_int_equal(respond(d, "allow_session"), AR_OK);
	end_call(d, AR_TOOL_OK);
	ask_for(d, C("make  'x'")); /* the same words */
	assert_int_equal(profile_run(d), AR_SANDBOX_WORKSPACE_WRITE);
	end_call(d, AR_TOOL_OK);
	ask_for(d, C("make y"));
	assert_int_equal(call_of(d)->stage, AR_CALL_WAITING);
	assert_int_equal(respond(d, "allow"), AR_OK);
	end_call(d, AR_TOOL_OK);
	ask_for(d, "{\"command\":\"make x\",\"cwd\":\"/else\"}");
	assert_int_equal(call_of(d)->stage, AR_CALL_WAITING);
	assert_int_equal(respond(d, "allow"), AR_OK);
	end_call(d, AR_TOOL_OK);
	ask_for(d, "{\"command\":\"rm -rf x\",\"input\":\"y\"}");
	assert_int_equal(call_of(d)->stage, AR_CALL_WAITING);
	assert_int_equal(respond(d, "allow"), AR_OK);
	end_call(d, AR_TOOL_OK);
	ask_for(d, C("echo $x"));
	desk_expect_refusal(d, respond(d, "allow_session"), AR_ERR_INVALID_DECISION);
	assert_int_equal(respond(d, "allow"), AR_OK);
	end_call(d, AR_TOOL_OK);
	ask_for(d, C("echo $x"));
	assert_int_equal(call_of(d)->stage, AR_CALL_WAITING);
	assert_int_equal(respond(d, "allow"), AR_OK);
	end_call(d, AR_TOOL_OK);
	ask_for(d, C("rm -rf x"));
	desk_expect_refusal(d, respond(d, "allow_session"), AR_ERR_INVALID_DECISION);
}

/* ---- turns ---- */

static void turns_may_only_tighten(void **state)
{
	struct desk *d = *state;

	desk_expect_refusal(d, desk_submit_with(d, NULL, "{\"sandbox\":\"jail\"}"), AR_ERR_INVALID_INPUT);
	desk_expect_refusal(d, desk_submit_with(d, NULL, "{\"sandbox\":\"allowlisted_network\"}"),
			    AR_ERR_INVALID_INPUT);
	d->policy.may_loosen = true;
	desk_expect_refusal(d, desk_submit_with(d, NULL, "{\"sandbox\":\"danger_full_access\"}"),
			    AR_ERR_INVALID_INPUT);
	d->policy.allow_danger = true;
	assert_int_equal(desk_submit_with(d, NULL,
					  "{\"sandbox\":\"danger_full_access\",\"mode\":\"bypass\"}"),
			 AR_OK);
	ask_for(d, C("make"));
	assert_int_equal(profile_run(d), AR_SANDBOX_DANGER_FULL_ACCESS);
}

static void a_session_may_name_commands(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_command(d, AR_CMD_SET_POLICY,
				      &(struct ar_cmd_set_policy_in){
					      .rules = AR_STR(
						      "[{\"name\":\"no\",\"tool\":\"shell\",\"decision\":"
						      "\"deny\",\"command\":\"git fetch\"}]") }),
			 AR_OK);
	d->policy.permission_mode = AR_MODE_BYPASS;
	assert_int_equal(judge(d, C("cd x && git fetch"), NULL).verdict, AR_DENY);
	assert_int_equal(judge(d, C("git pull"), NULL).verdict, AR_ALLOW);
}

/* A rule names a file of the session's folder: in a folder that a tenant may not use there is none. */
static void rules_name_files_of_the_own_folder(void **state)
{
	static const struct ar_permission_rule rule = RULE("no-key", AR_DENY, "cat secrets/key");
	struct desk *d = *state;

	d->policy.permission_mode = AR_MODE_BYPASS;
	d->policy.rules = &rule;
	d->policy.rule_count = 1;
	d->policy.workspace = AR_STR("/srv/shop");
	d->session.head = 1;
	assert_int_equal(judge(d, C("cat /srv/shop/secrets/key"), NULL).verdict, AR_DENY);
	d->session.tenant = AR_STR("acme");
	assert_int_equal(judge(d, C("cat /srv/shop/secrets/key"), NULL).verdict, AR_ALLOW);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_desk, close_desk)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rules_know_commands),
		TEST(each_command_needs_the_same_rule),
		TEST(modes_use_the_sandbox),
		TEST(danger_only_raises),
		TEST(too_many_words_ask),
		TEST(more_is_asked_for),
		TEST(what_is_confined_runs_in_its_profile),
		TEST(an_escalation_is_a_question_of_its_own),
		TEST(after_a_failure_more_may_be_asked_for),
		TEST(what_cannot_be_enforced_does_not_run),
		TEST(a_grant_is_for_one_command),
		TEST(turns_may_only_tighten),
		TEST(a_session_may_name_commands),
		TEST(rules_name_files_of_the_own_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
