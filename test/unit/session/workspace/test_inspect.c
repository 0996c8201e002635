/* What the files of a trusted workspace bring: looked at before the first request of each turn, a fact if it
 * changed, and part of the request. */
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
