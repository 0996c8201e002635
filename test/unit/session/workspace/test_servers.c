/* Servers that a trusted workspace names: an intent before they are started, only as they were trusted, a
 * fact when something is otherwise than before, and the first request waits for them. */
#include "desk.h"
#include "inspect.h"
#include "tenant.h"

#define WS "ws_0000000000jaaaaaaaaaaaaaaa"
#define DIGEST "sha256:1"

static void create(struct desk *d, const char *digest, struct ar_str own_folder)
{
	const struct ar_shape_workspace_record record = { .workspace_id = AR_STR(WS),
							  .tenant = AR_STR("local"),
							  .owner = AR_STR("local"),
							  .name = AR_STR("shop"),
							  .kind = AR_WORKSPACE_RECORD_KIND_FOLDER,
							  .root = AR_STR("/srv/shop"),
							  .status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
							  .trust = AR_WORKSPACE_TRUST_TRUSTED,
							  .servers_digest = ar_str_from(digest),
							  .version = 3 };
	const struct ar_cmd_create_session_in in = { .title = AR_STR("x"),
						     .workspace_id = AR_STR(WS),
						     .isolation = ar_str_absent(own_folder)
									  ? 0
									  : AR_WORKSPACE_ISOLATION_COPY };

	d->policy.inspects_workspaces = d->policy.starts_servers = true;
	d->policy.checkpoints = 10;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
						       .command = { .id = AR_CMD_CREATE_SESSION,
								    .args = &in,
								    .workspace = &record,
								    .own_folder = own_folder } }),
			 AR_OK);
}

/* A turn begins, and its look finds these. */
static void find_servers(struct desk *d, const char *text, const struct ar_server *servers, size_t count)
{
	const struct ar_inspected found = { .digest = AR_STR("sha256:all"),
					    .file = AR_STR("AGENTS.md"),
					    .reason = AR_STR("not_found"),
					    .servers = servers,
					    .server_count = count,
					    .servers_digest = count ? AR_STR(DIGEST) : AR_STR_NONE };

	assert_int_equal(desk_submit(d, text), AR_OK);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_INSPECTED,
						       .inspected = { .turn = desk_active(d)->id,
								      .found = &found } }),
			 AR_OK);
}

static void end_start(struct desk *d, enum ar_server_status status, const char *reason)
{
	const struct ar_server_state states[] = {
		{ .name = AR_STR("tea"), .status = status, .reason = ar_str_from(reason), .tools = 2 },
	};
	const struct ar_servers_end end = { .turn = desk_active(d)->id, .states = states, .count = 1 };

	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_SERVERS, .servers = &end }), AR_OK);
}

static bool has_fact(const struct desk *d, enum ar_event_type type)
{
	for (size_t i = 0; i < d->decision.event_count; i++) {
		if (d->decision.events[i].type == type)
			return true;
	}
	return false;
}

static const struct ar_server both[] = {
	{ .name = AR_STR("tea"), .command = AR_STR("node") },
	{ .name = AR_STR("far"), .url = AR_STR("http://x"), .reason = AR_STR("not_supported: http") },
};

static void the_first_request_waits_for_them(void **state)
{
	struct desk *d = *state;

	create(d, DIGEST, AR_STR_NONE);
	find_servers(d, "a", both, 2);
	desk_expect_payload(d, AR_EV_WORKSPACE_SERVERS_STARTING,
			    "\"servers\":[{\"name\":\"tea\",\"transport\":\"stdio\",\"status\":\"starting\"},"
			    "{\"name\":\"far\",\"transport\":\"http\",\"status\":\"not_started\","
			    "\"reason\":\"not_supported: http\"}]");
	assert_int_equal(desk_effects(d, AR_EFFECT_SERVERS), 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 0);
	end_start(d, AR_SERVER_READY, NULL);
	desk_expect_payload(d, AR_EV_WORKSPACE_SERVERS_STARTED, "\"status\":\"ready\",\"tools\":2}");
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
	end_start(d, AR_SERVER_FAILED, "late");
	assert_int_equal(d->decision.event_count, 0);
}

static void only_a_change_is_a_fact(void **state)
{
	struct desk *d = *state;

	create(d, DIGEST, AR_STR_NONE);
	find_servers(d, "a", both, 2);
	end_start(d, AR_SERVER_READY, NULL);
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	find_servers(d, "b", both, 2);
	assert_false(has_fact(d, AR_EV_WORKSPACE_SERVERS_STARTING));
	assert_int_equal(desk_effects(d, AR_EFFECT_SERVERS), 1);
	end_start(d, AR_SERVER_READY, NULL);
	assert_false(has_fact(d, AR_EV_WORKSPACE_SERVERS_STARTED));
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	find_servers(d, "c", both, 2);
	end_start(d, AR_SERVER_FAILED, "it died");
	desk_expect_payload(d, AR_EV_WORKSPACE_SERVERS_STARTED,
			    "\"status\":\"failed\",\"reason\":\"it died\"");
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

static void they_are_ended_when_the_file_is_gone(void **state)
{
	struct desk *d = *state;
	struct ar_arena a = { 0 };

	create(d, DIGEST, AR_STR_NONE);
	assert_true(ar_str_absent(ar_session_servers_key(&d->session, &a)));
	find_servers(d, "a", both, 2);
	end_start(d, AR_SERVER_READY, NULL);
	assert_false(ar_str_absent(ar_session_servers_key(&d->session, &a)));
	assert_int_equal(desk_answer(d, "done"), AR_OK);
	find_servers(d, "b", NULL, 0);
	desk_expect_payload(d, AR_EV_WORKSPACE_SERVERS_STARTING, "\"servers\":[]");
	assert_int_equal(desk_effects(d, AR_EFFECT_SERVERS), 1);
	assert_true(ar_str_absent(ar_session_servers_key(&d->session, &a)));
	ar_arena_fini(&a);
}

static void another_file_is_not_the_one_that_was_trusted(void **state)
{
	struct desk *d = *state;

	create(d, "sha256:2", AR_STR_NONE);
	find_servers(d, "a", both, 1);
	desk_expect_payload(d, AR_EV_WORKSPACE_SERVERS_STARTING,
			    "\"status\":\"not_started\",\"reason\":\"changed: ");
	assert_int_equal(desk_effects(d, AR_EFFECT_SERVERS), 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

static void trust_of_before_is_not_enough(void **state)
{
	struct desk *d = *state;

	create(d, NULL, AR_STR_NONE);
	find_servers(d, "a", both, 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_SERVERS), 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

static void a_session_with_a_folder_of_its_own_has_none(void **state)
{
	struct desk *d = *state;

	create(d, DIGEST, AR_STR("/srv/own"));
	find_servers(d, "a", both, 1);
	desk_expect_payload(d, AR_EV_WORKSPACE_SERVERS_STARTING, "\"reason\":\"not_supported: ");
	assert_int_equal(desk_effects(d, AR_EFFECT_SERVERS), 0);
}

static void recovery_looks_again(void **state)
{
	struct desk *d = *state;

	create(d, DIGEST, AR_STR_NONE);
	find_servers(d, "a", both, 2);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_INSPECT), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_first_request_waits_for_them),
		T(only_a_change_is_a_fact),
		T(they_are_ended_when_the_file_is_gone),
		T(another_file_is_not_the_one_that_was_trusted),
		T(trust_of_before_is_not_enough),
		T(a_session_with_a_folder_of_its_own_has_none),
		T(recovery_looks_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
