/* The judgement of an act: modes, rules, hooks, grants, and who speaks first. */
#include "desk.h"

static const struct ar_tool tools[] = {
	{ .name = { "read_file", 9 },
	  .owner = AR_TOOL_LOCAL,
	  .capabilities = AR_TOOL_READ,
	  .is_read_only = true },
	{ .name = { "find_page", 9 },
	  .owner = AR_TOOL_MCP,
	  .capabilities = AR_TOOL_READ,
	  .is_read_only = true },
	{ .name = { "write_file", 10 }, .owner = AR_TOOL_LOCAL, .capabilities = AR_TOOL_WRITE },
	{ .name = { "drop_table", 10 },
	  .owner = AR_TOOL_CLIENT,
	  .capabilities = AR_TOOL_WRITE,
	  .is_destructive = true },
};
enum { READ, FOREIGN_READ, WRITE, DESTROY };

static const char *const verdicts[] = { "", "allow", "deny", "ask" };
static const char *const sources[] = { "",	     "rule",  "mode",	     "hook",
				       "classifier", "human", "host_policy", "sandbox_override" };

struct case_of {
	struct ar_act act;
	const char *session_mode, *turn_mode;
	struct ar_permission_rule session_rules[2];
	struct ar_grant grant;
};

static struct ar_judgement judge(struct desk *d, const struct case_of *c)
{
	static struct ar_input in;
	static struct ar_turn turn;

	in = (struct ar_input){ .now = d->now, .policy = &d->policy };
	turn = (struct ar_turn){ .id = AR_STR("turn_1"), .thread = AR_STR("thread_1") };
	ar_buf_fini(&d->decision.scratch);
	d->decision = (struct ar_decision){
		.arena = &d->arena, .session = &d->session, .input = &in, .json = d->decide_json
	};
	if (c->turn_mode)
		turn.options = desk_read(d, &ar_shape_turn_options_desc,
					 ar_arena_fmt(&d->arena, "{\"mode\":\"%s\"}", c->turn_mode).p);
	d->session.workspace = AR_STR("shop");
	d->session.mode = ar_str_from(c->session_mode);
	d->session.rules.count = d->session.grants.count = 0;
	for (size_t i = 0; i < AR_ARRAY_LEN(c->session_rules) && c->session_rules[i].verdict; i++)
		ar_vec_push(&d->session.arena, &d->session.rules, (void *)&c->session_rules[i]);
	if (!ar_str_absent(c->grant.tool))
		ar_vec_push(&d->session.arena, &d->session.grants, (void *)&c->grant);
	return ar_permission_judge(&d->decision, &turn, &c->act);
}

static struct ar_act act_of(int tool)
{
	return (struct ar_act){ .tool = &tools[tool],
				.name = tools[tool].name,
				.args = AR_STR("{\"path\":\"a/b\"}") };
}

static void expect(struct desk *d, const struct case_of *c, const char *verdict, const char *source)
{
	struct ar_judgement j = judge(d, c);

	assert_string_equal(verdicts[j.verdict], verdict);
	assert_string_equal(sources[j.source], source);
	assert_true(j.reason.len > 0 && j.rules.at && j.mode);
}

static int close_desk(void **state)
{
	struct desk *d = *state;

	ar_buf_fini(&d->decision.scratch);
	return desk_close(state);
}

static void test_modes(void **state)
{
	/* read, foreign read, write, destroy */
	static const struct {
		const char *mode, *says[4];
	} table[] = {
		{ "default", { "allow", "allow", "ask", "ask" } },
		{ "untrusted", { "allow", "ask", "ask", "ask" } },
		{ "on_request", { "allow", "allow", "ask", "ask" } },
		{ "on_failure", { "allow", "allow", "ask", "ask" } },
		{ "never", { "allow", "allow", "deny", "deny" } },
		{ "plan", { "allow", "allow", "deny", "deny" } },
		{ "bypass", { "allow", "allow", "allow", "allow" } },
		{ "auto", { "allow", "allow", "ask", "ask" } },
	};
	struct desk *d = *state;

	assert_int_equal(AR_ARRAY_LEN(table), AR_MODE_COUNT - 1);
	for (size_t i = 0; i < AR_ARRAY_LEN(table); i++) {
		d->policy.permission_mode = ar_mode_find(ar_str_from(table[i].mode));
		for (int tool = READ; tool <= DESTROY; tool++) {
			struct case_of c = { .act = act_of(tool) };
			struct ar_judgement j = judge(d, &c);

			expect(d, &c, table[i].says[tool],
			       ar_str_is(ar_str_from(table[i].mode), "auto") ? "classifier" : "mode");
			assert_string_equal(j.mode, table[i].mode);
			assert_int_equal(j.destructive, tool == DESTROY);
			assert_int_equal(j.impact.len > 0 && j.advice.len > 0, tool == DESTROY);
		}
	}
}

static void test_nothing_known_counts_as_writing(void **state)
{
	struct desk *d = *state;
	struct case_of c = { .act = { .name = AR_STR("what") } };

	expect(d, &c, "ask", "mode");
}

#define RULE(n, t, v, r) \
	{ \
		.name = { n, sizeof(n) - 1 }, .tool = { t, sizeof(t) - 1 }, .verdict = v, .reach = r \
	}

static void test_deny_wins_over_everything(void **state)
{
	static const struct ar_permission_rule rules[] = {
		RULE("all", "*", AR_ALLOW, AR_REACH_HOST), RULE("no", "write_*", AR_DENY, AR_REACH_WORKSPACE)
	};
	struct desk *d = *state;
	struct case_of c = { .act = act_of(WRITE), .grant = { .tool = AR_STR("write_file") } };
	struct ar_judgement j;

	d->policy.rules = rules;
	d->policy.rule_count = 2;
	d->policy.permission_mode = AR_MODE_AUTO; /* the classifier comes last */
	d->policy.permission_mode = AR_MODE_BYPASS;
	c.act.hook = AR_HOOK_SAYS_ALLOW;
	expect(d, &c, "deny", "rule");
	j = judge(d, &c);
	assert_int_equal(j.rules.count, 1);
	assert_true(ar_str_is(j.rules.at[0], "no"));
	c.act = act_of(READ);
	expect(d, &c, "allow", "host_policy");
}

static void test_ask_wins_over_allow(void **state)
{
	static const struct ar_permission_rule rules[] = { RULE("all", "*", AR_ALLOW, AR_REACH_HOST),
							   RULE("look", "*", AR_ASK, AR_REACH_HOST) };
	struct desk *d = *state;
	struct case_of c = { .act = act_of(READ) };

	d->policy.rules = rules;
	d->policy.rule_count = 2;
	d->policy.permission_mode = AR_MODE_BYPASS;
	c.act.hook = AR_HOOK_SAYS_ALLOW;
	expect(d, &c, "ask", "host_policy");
	c.act.hook = AR_HOOK_SAYS_DENY;
	expect(d, &c, "deny", "hook");
	d->policy.permission_mode = AR_MODE_NEVER;
	c.act.hook = AR_HOOK_SAYS_NOTHING;
	expect(d, &c, "deny", "mode");
	assert_true(ar_str_is(judge(d, &c).rules.at[0], "look"));
}

static void test_hooks(void **state)
{
	static const struct {
		enum ar_permission_mode mode;
		enum ar_hook_word word;
		const char *verdict, *source;
	} table[] = {
		{ AR_MODE_DEFAULT, AR_HOOK_SAYS_ALLOW, "allow", "hook" },
		{ AR_MODE_DEFAULT, AR_HOOK_SAYS_DENY, "deny", "hook" },
		{ AR_MODE_BYPASS, AR_HOOK_SAYS_ASK, "ask", "hook" },
		{ AR_MODE_NEVER, AR_HOOK_SAYS_ASK, "deny", "mode" },
		{ AR_MODE_NEVER, AR_HOOK_SAYS_ALLOW, "allow", "hook" },
		{ AR_MODE_PLAN, AR_HOOK_SAYS_ALLOW, "deny", "mode" },
	};
	struct desk *d = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(table); i++) {
		struct case_of c = { .act = act_of(WRITE) };

		d->policy.permission_mode = table[i].mode;
		c.act.hook = table[i].word;
		expect(d, &c, table[i].verdict, table[i].source);
	}
}

static void test_rules_fit_what_they_name(void **state)
{
	static const struct {
		struct ar_permission_rule rule;
		const char *args, *verdict;
	} table[] = {
		{ { .tool = { "write_file", 10 } }, "{}", "deny" },
		{ { .tool = { "write_fil", 9 } }, "{}", "ask" },
		{ { .only_destructive = true }, "{}", "ask" },
		{ { .argument = { "path", 4 } }, "{\"path\":\"x\"}", "deny" },
		{ { .matches = { "*secret*", 8 } }, "{\"a\":1,\"b\":\"my secret\"}", "deny" },
		{ { .matches = { "*secret*", 8 } }, "{\"b\":\"open\"}", "ask" },
		{ { .tool = { "*_f?le", 6 } }, "{}", "deny" },
		{ { .workspace = { "shop", 4 } }, "{}", "deny" },
		{ { .workspace = { "home", 4 } }, "{}", "ask" },
		{ { .thread = { "thread_1", 8 } }, "{}", "deny" },
		{ { .thread = { "thread_2", 8 } }, "{}", "ask" },
		{ { .turn = { "turn_1", 6 } }, "{}", "deny" },
		{ { .turn = { "turn_2", 6 } }, "{}", "ask" },
		{ { .argument = { "path", 4 }, .matches = { "/etc/*", 6 } },
		  "{\"path\":\"/etc/passwd\"}",
		  "deny" },
		{ { .argument = { "path", 4 }, .matches = { "/etc/*", 6 } },
		  "{\"path\":\"/home/x\"}",
		  "ask" },
		{ { .argument = { "path", 4 }, .matches = { "/etc/*", 6 } },
		  "{\"path\":[\"/a\",\"/etc/x\"]}",
		  "deny" },
		{ { .argument = { "path", 4 }, .matches = { "/etc/*", 6 } }, "{}", "ask" },
	};
	struct desk *d = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(table); i++) {
		struct ar_permission_rule rule = table[i].rule;
		struct case_of c = { .act = act_of(WRITE) };

		rule.name = AR_STR("r");
		rule.verdict = AR_DENY;
		rule.reach = AR_REACH_WORKSPACE;
		d->policy.rules = &rule;
		d->policy.rule_count = 1;
		c.act.args = ar_str_from(table[i].args);
		expect(d, &c, table[i].verdict,
		       ar_str_is(AR_STR("deny"), table[i].verdict) ? "rule" : "mode");
	}
}

static void test_an_allow_needs_all_of_a_list(void **state)
{
	static const struct ar_permission_rule rule = { .name = { "r", 1 },
							.argument = { "path", 4 },
							.matches = { "src/*", 5 },
							.verdict = AR_ALLOW,
							.reach = AR_REACH_HOST };
	struct desk *d = *state;
	struct case_of c = { .act = act_of(WRITE) };

	d->policy.rules = &rule;
	d->policy.rule_count = 1;
	c.act.args = AR_STR("{\"path\":[\"src/a\",\"src/b\"]}");
	expect(d, &c, "allow", "host_policy");
	c.act.args = AR_STR("{\"path\":[\"src/a\",\"/etc/b\"]}");
	expect(d, &c, "ask", "mode");
	c.act.args = AR_STR("{\"path\":[]}");
	expect(d, &c, "ask", "mode");
}

static void test_a_grant_answers_its_own_question(void **state)
{
	static const struct ar_permission_rule look = RULE("look", "write_*", AR_ASK, AR_REACH_HOST);
	struct desk *d = *state;
	struct case_of c = { .act = act_of(WRITE),
			     .grant = { .tool = AR_STR("write_file"), .permission = AR_STR("evt_9") } };

	expect(d, &c, "allow", "human");
	c.act = act_of(DESTROY);
	expect(d, &c, "ask", "mode"); /* of another tool */
	c.act = act_of(WRITE);
	d->policy.rules = &look;
	d->policy.rule_count = 1;
	expect(d, &c, "ask", "host_policy"); /* the rule was not asked about */
	c.grant.rule = AR_STR("look");
	expect(d, &c, "allow", "human");
	c.act.hook = AR_HOOK_SAYS_ASK;
	expect(d, &c, "ask", "hook");
	c.act.hook = AR_HOOK_SAYS_NOTHING;
	c.grant.expires = d->now + 1;
	expect(d, &c, "allow", "human");
	c.grant.expires = d->now;
	expect(d, &c, "ask", "host_policy");
	c.grant.expires = 0;
	d->policy.permission_mode = AR_MODE_PLAN;
	expect(d, &c, "deny", "mode");
}

/* Settings and policies that others write may give one name to rules that have nothing else in common. */
static void test_a_grant_is_of_one_place(void **state)
{
	static const struct ar_permission_rule host[] = {
		RULE("look", "drop_*", AR_ASK, AR_REACH_HOST),
		{ .name = AR_STR("look"),
		  .tool = AR_STR("write_*"),
		  .workspace = AR_STR("shop"),
		  .verdict = AR_ASK,
		  .reach = AR_REACH_WORKSPACE },
	};
	static const struct {
		struct ar_permission_rule rule; /* of a policy; verdict 0: that of the settings */
		const char *source;
	} places[] = {
		{ .source = "host" },
		{ RULE("look", "write_*", AR_ASK, AR_REACH_WORKSPACE), "workspace" },
		{ RULE("look", "write_*", AR_ASK, AR_REACH_SESSION), "session" },
	};
	struct desk *d = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(places); i++) {
		struct case_of c = { .act = act_of(WRITE), .session_rules = { places[i].rule } };

		d->policy.rules = host;
		d->policy.rule_count = places[i].rule.verdict ? 1 : 2;
		assert_true(ar_str_is(judge(d, &c).rule_source, places[i].source));
		c.grant = (struct ar_grant){ .tool = AR_STR("write_file"), .rule = AR_STR("look") };
		expect(d, &c, "allow", "human"); /* of a version that recorded no source */
		for (size_t of = 0; of < AR_ARRAY_LEN(places); of++) {
			c.grant.rule_source = ar_str_from(places[of].source);
			assert_int_equal(judge(d, &c).verdict, of == i ? AR_ALLOW : AR_ASK);
		}
	}
}

static void test_session_and_turn_may_only_tighten(void **state)
{
	static const struct {
		enum ar_permission_mode host;
		const char *session, *turn;
		int tool;
		bool may_loosen;
		const char *verdict;
	} table[] = {
		{ AR_MODE_DEFAULT, "plan", NULL, WRITE, false, "deny" },
		{ AR_MODE_DEFAULT, NULL, "never", WRITE, false, "deny" },
		{ AR_MODE_DEFAULT, NULL, "bypass", WRITE, false, "ask" },
		{ AR_MODE_DEFAULT, NULL, "bypass", WRITE, true, "allow" },
		{ AR_MODE_PLAN, "bypass", NULL, WRITE, true, "allow" },
		{ AR_MODE_BYPASS, "default", "plan", READ, false, "allow" },
		{ AR_MODE_UNTRUSTED, NULL, "never", FOREIGN_READ, false, "deny" },
		{ AR_MODE_NEVER, NULL, "untrusted", WRITE, false, "deny" },
		{ AR_MODE_NEVER, NULL, "untrusted", FOREIGN_READ, false, "deny" },
	};
	struct desk *d = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(table); i++) {
		struct case_of c = { .act = act_of(table[i].tool),
				     .session_mode = table[i].session,
				     .turn_mode = table[i].turn };

		d->policy.permission_mode = table[i].host;
		d->policy.may_loosen = table[i].may_loosen;
		expect(d, &c, table[i].verdict, "mode");
	}
}

static void test_the_order_of_modes(void **state)
{
	static const char *const stricter_first[] = { "plan", "never", "untrusted", "default", "bypass" };

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(ar_mode_looseness(ar_mode_find(ar_str_from(stricter_first[i]))), i + 1);
	assert_int_equal(ar_mode_find(AR_STR("yolo")), 0);
}

static void test_patterns(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool fits;
	} table[] = {
		{ "", "", true },
		{ "*", "", true },
		{ "a*b*c", "a-b-b-c", true },
		{ "a*b*c", "a-b-b-", false },
		{ "?", "", false },
		{ "a?c", "abc", true },
		{ "*.txt", "x.txt.", false },
		{ "**x", "yyx", true },
		{ "abc", "ab", false },
		{ "ab", "abc", false },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(table); i++)
		assert_int_equal(ar_pattern_fits(ar_str_from(table[i].pattern), ar_str_from(table[i].text)),
				 table[i].fits);
}

/* Each way to write a path that lies in a folder is judged as the folder is. */
static void test_paths_are_judged_in_one_form(void **state)
{
	static const struct {
		const char *path, *verdict;
	} rows[] = {
		{ "secrets/key", "deny" },
		{ "./secrets/key", "deny" },
		{ "secrets//key", "deny" },
		{ "secrets/./key", "deny" },
		{ "src/../secrets/key", "deny" },
		{ "/srv/shop/secrets/key", "deny" },
		{ "/srv/shop/./secrets", "deny" },
		{ "//srv//shop//secrets//key", "deny" },
		{ "secrets", "deny" },
		{ "secrets/", "deny" },
		{ "../shop/secrets/key", "deny" },
		{ "/srv/other/../shop/secrets/a/b", "deny" },
		{ "/etc/passwd", "deny" },
		{ "/srv/../etc/passwd", "deny" },
		{ "../../etc/passwd", "deny" },
		{ "../../../../etc/passwd", "deny" },
		{ "src/main.c", "allow" },
		{ "./src/main.c", "allow" },
		{ "/srv/shop/src/main.c", "allow" },
		{ "src/../src//main.c", "allow" },
		{ "src/../notes", "ask" },
		{ "src/../../else/x", "ask" },
		{ "/srv/shopsrc/main.c", "ask" },
		{ "secret", "ask" },
	};
	static const struct ar_permission_rule rules[] = {
		{ .name = { "src", 3 },
		  .argument = { "path", 4 },
		  .matches = { "src/*", 5 },
		  .verdict = AR_ALLOW,
		  .reach = AR_REACH_HOST },
		{ .name = { "no", 2 },
		  .matches = { "secrets/*", 9 },
		  .verdict = AR_DENY,
		  .reach = AR_REACH_HOST },
		{ .name = { "etc", 3 },
		  .argument = { "path", 4 },
		  .matches = { "/etc/*", 6 },
		  .verdict = AR_DENY,
		  .reach = AR_REACH_HOST },
	};
	struct desk *d = *state;

	d->policy.permission_mode = AR_MODE_DEFAULT;
	d->policy.workspace = AR_STR("/srv/shop/");
	d->policy.rules = rules;
	d->policy.rule_count = AR_ARRAY_LEN(rules);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct case_of c = { .act = act_of(WRITE) };
		struct ar_judgement j;

		c.act.args =
			ar_arena_fmt(&d->arena, "{\"path\":\"%s\",\"content\":\"secrets\"}", rows[i].path);
		j = judge(d, &c);
		if (!ar_str_is(ar_str_from(verdicts[j.verdict]), rows[i].verdict))
			fail_msg("%s: %s", rows[i].path, verdicts[j.verdict]);
	}
}

/* A folder that a tenant may not use gives its paths no shorter name, and so no rule. */
static void test_paths_of_a_folder_of_others(void **state)
{
	static const struct ar_permission_rule rule = { .name = { "src", 3 },
							.argument = { "path", 4 },
							.matches = { "src/*", 5 },
							.verdict = AR_ALLOW,
							.reach = AR_REACH_HOST };
	struct desk *d = *state;
	struct case_of c = { .act = act_of(WRITE) };

	c.act.args = AR_STR("{\"path\":\"/srv/shop/src/main.c\",\"content\":\"x\"}");
	d->policy.permission_mode = AR_MODE_DEFAULT;
	d->policy.workspace = AR_STR("/srv/shop");
	d->policy.rules = &rule;
	d->policy.rule_count = 1;
	d->session.head = 1;
	expect(d, &c, "allow", "host_policy");
	d->session.tenant = AR_STR("acme");
	expect(d, &c, "ask", "mode");
	d->policy.is_workspace_shared = true;
	expect(d, &c, "allow", "host_policy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_modes, desk_open, close_desk),
		cmocka_unit_test_setup_teardown(test_nothing_known_counts_as_writing, desk_open, close_desk),
		cmocka_unit_test_setup_teardown(test_deny_wins_over_everything, desk_open, close_desk),
		cmocka_unit_test_setup_teardown(test_ask_wins_over_allow, desk_open, close_desk),
		cmocka_unit_test_setup_teardown(test_hooks, desk_open, close_desk),
		cmocka_unit_test_setup_teardown(test_rules_fit_what_they_name, desk_open, close_desk),
		cmocka_unit_test_setup_teardown(test_an_allow_needs_all_of_a_list, desk_open, close_desk),
		cmocka_unit_test_setup_teardown(test_a_grant_answers_its_own_question, desk_open, close_desk),
		cmocka_unit_test_setup_teardown(test_a_grant_is_of_one_place, desk_open, close_desk),
		cmocka_unit_test_setup_teardown(test_session_and_turn_may_only_tighten, desk_open,
						close_desk),
		cmocka_unit_test_setup_teardown(test_paths_are_judged_in_one_form, desk_open, close_desk),
		cmocka_unit_test_setup_teardown(test_paths_of_a_folder_of_others, desk_open, close_desk),
		cmocka_unit_test(test_the_order_of_modes),
		cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
