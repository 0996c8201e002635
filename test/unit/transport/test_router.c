/* Which command answers which path, and what is said when none does. */
#include "router.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct ar_command_desc rows[] = {
	{ 0 },
	{ .id = AR_CMD_LIST_SESSIONS, .name = "list_sessions", .get_route = "/v1/sessions" },
	{ .id = AR_CMD_GET_THREAD_READ,
	  .name = "get_thread_read",
	  .get_route = "/v1/sessions/{sessionId}/threads/{threadId}" },
	{ .id = AR_CMD_SUBSCRIBE_EVENTS,
	  .name = "subscribe_events",
	  .get_route = "/v1/sessions/{sessionId}/events" },
	{ .id = AR_CMD_SUBMIT_TURN, .name = "submit_turn" },
};
static const struct ar_command_table table = { rows, AR_ARRAY_LEN(rows) };

static uint16_t find(const char *method, const char *path, struct ar_http_route *ret)
{
	struct ar_error err = { 0 };

	ar_http_route_find(&table, ar_str_from(method), ar_str_from(path), ret);
	if (!ret->code)
		return AR_ERR_NONE;
	ar_http_route_explain(ret, ar_str_from(path), &err);
	assert_true(err.msg[0]);
	return err.code;
}

static void finds_commands(void **state AR_UNUSED)
{
	struct ar_http_route r;

	assert_int_equal(find("POST", "/v1/submit_turn", &r), AR_ERR_NONE);
	assert_int_equal(r.command->id, AR_CMD_SUBMIT_TURN);
	assert_int_equal(r.name, AR_ROUTE_NONE);
	assert_false(r.is_get);
	assert_int_equal(find("GET", "/v1/sessions", &r), AR_ERR_NONE);
	assert_true(r.is_get);
	assert_int_equal(find("POST", "/v1/subscribe_events", &r), AR_ERR_NONE);
	assert_int_equal(r.name, AR_ROUTE_NONE);
	assert_int_equal(find("GET", "/health", &r), AR_ERR_NONE);
	assert_int_equal(r.name, AR_ROUTE_HEALTH);
	assert_int_equal(find("GET", "/ready", &r), AR_ERR_NONE);
	assert_int_equal(r.name, AR_ROUTE_READY);
	assert_int_equal(find("GET", "/v1/nodes", &r), AR_ERR_NONE);
	assert_int_equal(r.name, AR_ROUTE_NODES);
	assert_int_equal(find("POST", "/v1/nodes/drain", &r), AR_ERR_NONE);
	assert_int_equal(r.name, AR_ROUTE_DRAIN);
	assert_int_equal(find("GET", "/v1/nodes/drain", &r), AR_ERR_METHOD_NOT_ALLOWED);
	assert_string_equal(r.allow, "POST");
	assert_int_equal(find("POST", "/v1/verify", &r), AR_ERR_NONE);
	assert_int_equal(r.name, AR_ROUTE_VERIFY);
	assert_int_equal(find("GET", "/v1/verify", &r), AR_ERR_METHOD_NOT_ALLOWED);
}

static void takes_parameters_from_the_path(void **state AR_UNUSED)
{
	struct ar_http_route r;

	assert_int_equal(find("GET", "/v1/sessions/s%201/threads/t", &r), AR_ERR_NONE);
	assert_int_equal(r.param_count, 2);
	assert_true(ar_str_is(r.params[0].name, "sessionId"));
	assert_true(ar_str_is(r.params[0].value, "s%201"));
	assert_true(ar_str_is(r.params[1].name, "threadId"));
	assert_true(ar_str_is(r.params[1].value, "t"));
}

static void refuses_the_rest(void **state AR_UNUSED)
{
	static const struct {
		const char *method, *path;
		uint16_t code;
		const char *allow;
	} cases[] = {
		{ "GET", "/", AR_ERR_NOT_FOUND, NULL },
		{ "POST", "/v1/", AR_ERR_NOT_FOUND, NULL },
		{ "POST", "/v1/submit_turn/", AR_ERR_NOT_FOUND, NULL },
		{ "POST", "/v1/submit_tur", AR_ERR_NOT_FOUND, NULL },
		{ "POST", "/V1/submit_turn", AR_ERR_NOT_FOUND, NULL },
		{ "GET", "/v1/sessions/", AR_ERR_NOT_FOUND, NULL },
		{ "GET", "/v1/sessions//events", AR_ERR_NOT_FOUND, NULL },
		{ "GET", "/v1/sessions/a/events/b", AR_ERR_NOT_FOUND, NULL },
		{ "GET", "/v1/submit_turn", AR_ERR_METHOD_NOT_ALLOWED, "POST" },
		{ "POST", "/v1/sessions", AR_ERR_METHOD_NOT_ALLOWED, "GET" },
		{ "HEAD", "/health", AR_ERR_METHOD_NOT_ALLOWED, "GET" },
		{ "get", "/health", AR_ERR_METHOD_NOT_ALLOWED, "GET" },
		{ "OPTIONS", "/v1/submit_turn", AR_ERR_METHOD_NOT_ALLOWED, "POST" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_http_route r;

		assert_int_equal(find(cases[i].method, cases[i].path, &r), cases[i].code);
		assert_true(ar_str_eq(ar_str_from(r.allow), ar_str_from(cases[i].allow)));
	}
}

/* Only what is public itself says that it does not know the method to callers without credentials. */
static void everything_has_an_access(void **state AR_UNUSED)
{
	static const struct {
		const char *method, *path;
		enum ar_route_access access;
	} cases[] = {
		{ "GET", "/health", AR_ACCESS_PUBLIC },	      { "POST", "/health", AR_ACCESS_PUBLIC },
		{ "GET", "/openapi.json", AR_ACCESS_PUBLIC }, { "GET", "/ready", AR_ACCESS_ANY },
		{ "GET", "/metrics", AR_ACCESS_READ },	      { "POST", "/v1/nodes/drain", AR_ACCESS_ADMIN },
		{ "POST", "/v1/audit", AR_ACCESS_NODE },      { "POST", "/v1/submit_turn", AR_ACCESS_ANY },
		{ "GET", "/v1/submit_turn", AR_ACCESS_ANY },  { "GET", "/v1/nodes/drain", AR_ACCESS_ANY },
		{ "GET", "/nothing", AR_ACCESS_ANY },	      { "GET", "/v1/sessions", AR_ACCESS_ANY },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_http_route r;

		find(cases[i].method, cases[i].path, &r);
		assert_int_equal(r.access, cases[i].access);
	}
}

static void splits_targets(void **state AR_UNUSED)
{
	struct ar_target t;

	assert_true(ar_target_parse(AR_STR("/a/b?c=d?e"), &t));
	assert_true(ar_str_is(t.path, "/a/b"));
	assert_true(ar_str_is(t.query, "c=d?e"));
	assert_true(ar_str_absent(t.authority));
	assert_true(ar_target_parse(AR_STR("HTTP://localhost:1/a"), &t));
	assert_true(ar_str_is(t.authority, "localhost:1"));
	assert_true(ar_str_is(t.path, "/a"));
	assert_true(ar_str_absent(t.query));
	assert_false(ar_target_parse(AR_STR("*"), &t));
	assert_false(ar_target_parse(AR_STR("localhost:80"), &t));
	assert_false(ar_target_parse(AR_STR("http://localhost"), &t));
	assert_false(ar_target_parse(AR_STR("https://localhost/"), &t));
	assert_false(ar_target_parse(AR_STR("?a"), &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_commands),   cmocka_unit_test(takes_parameters_from_the_path),
		cmocka_unit_test(refuses_the_rest), cmocka_unit_test(everything_has_an_access),
		cmocka_unit_test(splits_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
