/* What the files of a trusted workspace bring: looked at before the first request of each turn, a fact if it
 * changed, and part of the request. */
#include "definition/definition.h"
#include "desk.h"
#include "inspect.h"
#include "tenant.h"

#define WS "ws_0000000000jaaaaaaaaaaaaaaa"

static void create(struct desk *d, int trust)
{
	const struct ar_shape_workspace_record record = { .workspace_id = AR_STR(WS),
							  .tenant = AR_STR("local"),
							  .owner = AR_STR("local"),
							  .name = AR_STR("shop"),
							  .kind = AR_WORKSPACE_RECORD_KIND_FOLDER,
							  .root = AR_STR("/srv/shop"),
							  .status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
							  .trust = trust,
							  .version = 3 };
	const struct ar_cmd_create_session_in in = { .title = AR_STR("x"), .workspace_id = AR_STR(WS) };

	d->policy.inspects_workspaces = true;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
						       .command = { .id = AR_CMD_CREATE_SESSION,
								    .args = &in,
								    .workspace = &record } }),
			 AR_OK);
}

static void create_trusted(struct desk *d)
{
	create(d, AR_WORKSPACE_TRUST_TRUSTED);
}

static void bring_to(struct desk *d, struct ar_str turn, struct ar_inspected found)
{
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_INSPECTED,
						       .inspected = { .turn = turn, .found = &found } }),
			 AR_OK);
}

/* The answer for the active turn: this text, or none because of this. */
static void bring(struct desk *d, const char *text, const char *reason)
{
	bring_to(d, desk_active(d)->id,
		 (struct ar_inspected){ .digest = AR_STR("sha256:1"),
					.file = AR_STR("AGENTS.md"),
					.instructions = ar_str_from(text),
					.reason = ar_str_from(reason) });
}

static bool has_fact(const struct desk *d)
{
	for (size_t i = 0; i < d->decision.event_count; i++) {
		if (d->decision.events[i].type == AR_EV_WORKSPACE_INSPECTED)
			return true;
	}
	return false;
}

static void the_first_request_waits_for_the_look(void **state)
{
	struct desk *d = *state;

	create_trusted(d);
	desk_expect_payload(d, AR_EV_WORKSPACE_BOUND, "\"folder\":\"/srv/shop\",\"trusted\":true}");
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_INSPECT), 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 0);
	bring(d, "Obey the shop.", NULL);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
	desk_expect_payload(d, AR_EV_WORKSPACE_INSPECTED, "\"bytes\":14,\"file\":\"AGENTS.md\"}");
	desk_expect_payload(d, AR_EV_CONTEXT_RESOLVED, "\"omissions\":[]");
	assert_non_null(strstr(desk_payload(d, AR_EV_CONTEXT_RESOLVED), "\"instructionRefs\":[\""));
	assert_true(ar_str_eq(d->decision.contents[0].bytes, AR_STR("Obey the shop.")));
}

static void only_a_change_is_a_fact(void **state)
{
	struct desk *d = *state;

	create_trusted(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	bring(d, "Obey the shop.", NULL);
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_INSPECT), 1);
	bring(d, "Obey the shop.", NULL);
	assert_false(has_fact(d));
	assert_non_null(strstr(desk_payload(d, AR_EV_CONTEXT_RESOLVED), "\"instructionRefs\":[\""));
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(desk_submit(d, "c"), AR_OK);
	bring(d, NULL, "not_found: gone");
	desk_expect_payload(d, AR_EV_WORKSPACE_INSPECTED, "\"reason\":\"not_found: gone\"");
	desk_expect_payload(d, AR_EV_CONTEXT_RESOLVED, "\"instructionRefs\":[]");
	desk_expect_payload(d, AR_EV_CONTEXT_RESOLVED,
			    "{\"ref\":\"AGENTS.md\",\"reason\":\"not_found: gone\"}");
}

/* A folder that does not answer says nothing: what was known stays. */
static void silence_changes_nothing(void **state)
{
	struct desk *d = *state;

	create_trusted(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	bring(d, "Obey the shop.", NULL);
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	bring_to(d, desk_active(d)->id, (struct ar_inspected){ .reason = AR_STR("too late") });
	assert_false(has_fact(d));
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
	assert_non_null(strstr(desk_payload(d, AR_EV_CONTEXT_RESOLVED), "\"instructionRefs\":[\""));
}

static void without_trust_nothing_is_looked_at(void **state)
{
	static const int words[] = { 0, AR_WORKSPACE_TRUST_UNTRUSTED };

	for (size_t i = 0; i < AR_ARRAY_LEN(words); i++) {
		void *own;
		struct desk *d;

		desk_open(&own);
		d = own;
		create(d, words[i]);
		assert_null(strstr(desk_payload(d, AR_EV_WORKSPACE_BOUND), "trusted"));
		assert_int_equal(desk_submit(d, "a"), AR_OK);
		assert_int_equal(desk_effects(d, AR_EFFECT_INSPECT), 0);
		assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
		desk_close(&own);
	}
	(void)state;
}

/* An answer for a turn that is over, or that has asked already, changes nothing. */
static void a_late_answer_is_ignored(void **state)
{
	struct desk *d = *state;
	struct ar_str turn;

	create_trusted(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	turn = desk_active(d)->id;
	bring(d, "Obey the shop.", NULL);
	bring(d, "Obey me.", NULL);
	desk_expect(d, "");
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	bring_to(d, turn, (struct ar_inspected){ .digest = AR_STR("sha256:2"), .file = AR_STR("AGENTS.md") });
	desk_expect(d, "");
	bring_to(d, AR_STR("turn_none"), (struct ar_inspected){ .digest = AR_STR("sha256:2") });
	desk_expect(d, "");
}

static void an_interrupt_does_not_wait_for_the_look(void **state)
{
	struct desk *d = *state;
	struct ar_str turn;

	create_trusted(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	turn = desk_active(d)->id;
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .turn_id = turn,
									  .reason = AR_STR("enough") }),
			 AR_OK);
	desk_expect_payload(d, AR_EV_TURN_FAILED, "\"status\":\"cancelled\"");
	bring_to(d, turn, (struct ar_inspected){ .digest = AR_STR("sha256:1"), .file = AR_STR("AGENTS.md") });
	desk_expect(d, "");
}

static const struct ar_definition tea = { .kind = AR_INSPECT_SKILL,
					  .name = AR_STR("tea"),
					  .description = AR_STR("Make tea."),
					  .path = AR_STR(".agents/skills/tea/SKILL.md"),
					  .text = AR_STR("Boil water.") };

static void bring_definitions(struct desk *d, const struct ar_definition *list, size_t count)
{
	bring_to(d, desk_active(d)->id,
		 (struct ar_inspected){ .digest = AR_STR("sha256:1"),
					.file = AR_STR("AGENTS.md"),
					.reason = AR_STR("not_found: none"),
					.definitions = list,
					.definition_count = count });
}

/* What a snapshot of the session brings back. */
static void expect_restored(struct desk *d, const char *skill_name, const char *agent_name)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_agent_definition agent;
	struct ar_buf text = { 0 };
	struct ar_session again;
	struct ar_skill skill;
	struct ar_json v;

	ar_session_snapshot(&d->session, &text);
	ar_session_init(&again, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(parser, ar_buf_str(&text), &v, &d->err), AR_OK);
	assert_int_equal(ar_session_restore(&again, v, &d->err), AR_OK);
	assert_true(ar_session_skill(&again, &d->policy, ar_str_from(skill_name), &skill));
	assert_true(ar_str_is(skill.description, "Make tea.") && !ar_str_absent(skill.ref));
	assert_true(ar_session_agent(&again, &d->policy, ar_str_from(agent_name), &agent));
	assert_true(ar_str_is(agent.mode, "plan") && agent.tools.count == 1);
	ar_session_fini(&again);
	ar_json_parser_free(parser);
	ar_buf_fini(&text);
}

static void skills_and_agents_are_facts_when_they_change(void **state)
{
	struct desk *d = *state;
	const struct ar_definition both[] = { tea,
					      { .kind = AR_INSPECT_AGENT,
						.name = AR_STR("reviewer"),
						.description = AR_STR("Reviews."),
						.path = AR_STR(".agents/agents/reviewer.md"),
						.text = AR_STR("You review."),
						.tools = AR_TEXTS(AR_STR("read_file")),
						.mode = AR_STR("plan") } };
	struct ar_definition other = tea;
	struct ar_agent_definition agent;
	struct ar_skill skill;

	create_trusted(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	bring_definitions(d, both, 2);
	desk_expect_payload(d, AR_EV_WORKSPACE_INSPECTED, "\"skills\":[{\"name\":\"tea\"");
	desk_expect_payload(d, AR_EV_WORKSPACE_INSPECTED, "\"tools\":[\"read_file\"],\"mode\":\"plan\"");
	assert_true(ar_session_skill(&d->session, &d->policy, AR_STR("tea"), &skill));
	assert_false(ar_session_skill(&d->session, &d->policy, AR_STR("reviewer"), &skill));
	assert_true(ar_session_agent(&d->session, &d->policy, AR_STR("reviewer"), &agent));
	assert_true(ar_str_is(agent.mode, "plan") && agent.tools.count == 1 && !ar_str_absent(agent.ref));
	assert_non_null(ar_session_skill_tool(&d->session, &d->policy));
	expect_restored(d, "tea", "reviewer");
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(desk_submit(d, "b"), AR_OK);
	bring_definitions(d, both, 2);
	assert_false(has_fact(d));
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(desk_submit(d, "c"), AR_OK);
	other.text = AR_STR("Boil milk.");
	bring_definitions(d, &other, 1);
	assert_true(has_fact(d));
	assert_false(ar_session_agent(&d->session, &d->policy, AR_STR("reviewer"), &agent));
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	assert_int_equal(desk_submit(d, "d"), AR_OK);
	bring_definitions(d, NULL, 0);
	assert_true(has_fact(d));
	assert_null(ar_session_skill_tool(&d->session, &d->policy));
}

/* Those of the settings come first, for whom they are, and cannot be replaced. */
static void definitions_of_the_settings(void **state)
{
	struct desk *d = *state;
	const struct ar_str tenants[] = { AR_STR("acme") };
	const struct ar_definition_entry entries[] = {
		{ .of = { .kind = AR_INSPECT_SKILL,
			  .name = AR_STR("tea"),
			  .description = AR_STR("Of acme."),
			  .text = AR_STR("acme") },
		  .audience = { .tenants = { tenants, 1 } } },
		{ .of = { .kind = AR_INSPECT_SKILL,
			  .name = AR_STR("tea"),
			  .description = AR_STR("Of the house."),
			  .text = AR_STR("house") } },
	};
	struct ar_skill skill;
	struct ar_str text;
	int64_t left_out;

	d->policy.definitions = entries;
	d->policy.definition_count = 2;
	create_trusted(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	bring_definitions(d, &tea, 1);
	assert_true(ar_session_skill(&d->session, &d->policy, AR_STR("tea"), &skill));
	assert_true(ar_str_is(skill.text, "house") && ar_str_absent(skill.ref));
	text = ar_skills_text(&d->session, &d->policy, &d->arena, &left_out);
	assert_non_null(strstr(text.p, "- tea: Of the house.\n"));
	assert_null(strstr(text.p, "acme"));
	assert_null(strstr(text.p, "Make tea."));
}

/* Nobody looks any more after a restart: it is done again. */
static void recovery_looks_again(void **state)
{
	struct desk *d = *state;

	create_trusted(d);
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_INSPECT), 1);
	bring(d, "Obey the shop.", NULL);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_first_request_waits_for_the_look),
		T(only_a_change_is_a_fact),
		T(silence_changes_nothing),
		T(without_trust_nothing_is_looked_at),
		T(a_late_answer_is_ignored),
		T(an_interrupt_does_not_wait_for_the_look),
		T(recovery_looks_again),
		T(skills_and_agents_are_facts_when_they_change),
		T(definitions_of_the_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
