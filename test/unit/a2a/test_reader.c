/* What peers say: states in both spellings, tasks, updates, lists, errors, cards; and what is refused. */
#include "cmocka_unit.h"
#include "reader.h"

struct fixture {
	struct ar_json_parser *parser;
	struct ar_arena arena;
	struct ar_a2a_reading reading;
};

static int open_fixture(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .parser = ar_json_parser_new() };
	f.reading = (struct ar_a2a_reading){ .arena = &f.arena, .bytes_max = 64 };
	*state = &f;
	return 0;
}

static int close_fixture(void **state)
{
	struct fixture *f = *state;

	ar_json_parser_free(f->parser);
	ar_arena_fini(&f->arena);
	return 0;
}

static struct ar_json parse(struct fixture *f, const char *text)
{
	struct ar_json doc = { 0 };
	struct ar_error err;

	assert_int_equal(ar_json_parse(f->parser, ar_str_from(text), &doc, &err), AR_OK);
	f->reading.bytes = 0;
	return doc;
}

static enum ar_peer_error event(struct fixture *f, const char *text, struct ar_peer_update *ret)
{
	return ar_a2a_read_event(&f->reading, parse(f, text), ret);
}

static void states_are_read_in_both_spellings(void **state AR_UNUSED)
{
	static const struct {
		const char *word, *old;
		enum ar_peer_state state;
	} all[] = {
		{ "TASK_STATE_SUBMITTED", "submitted", AR_PEER_STATE_SUBMITTED },
		{ "TASK_STATE_WORKING", "working", AR_PEER_STATE_WORKING },
		{ "TASK_STATE_INPUT_REQUIRED", "input-required", AR_PEER_STATE_INPUT_REQUIRED },
		{ "TASK_STATE_AUTH_REQUIRED", "auth-required", AR_PEER_STATE_AUTH_REQUIRED },
		{ "TASK_STATE_COMPLETED", "completed", AR_PEER_STATE_COMPLETED },
		{ "TASK_STATE_FAILED", "failed", AR_PEER_STATE_FAILED },
		{ "TASK_STATE_CANCELED", "canceled", AR_PEER_STATE_CANCELED },
		{ "TASK_STATE_REJECTED", "rejected", AR_PEER_STATE_REJECTED },
		{ "TASK_STATE_UNSPECIFIED", "unknown", AR_PEER_STATE_UNKNOWN },
		{ "TASK_STATE_DONE", "", AR_PEER_STATE_UNKNOWN },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(all); i++) {
		assert_int_equal(ar_a2a_state(ar_str_from(all[i].word)), all[i].state);
		assert_int_equal(ar_a2a_state(ar_str_from(all[i].old)), all[i].state);
	}
	assert_false(ar_peer_state_is_end(AR_PEER_STATE_AUTH_REQUIRED));
	assert_true(ar_peer_state_is_end(AR_PEER_STATE_COMPLETED));
}

static void a_task_has_status_message_and_artifacts(void **state)
{
	struct ar_peer_update u;

	assert_int_equal(event(*state,
			       "{\"task\":{\"id\":\"T\",\"contextId\":\"C\",\"status\":{\"state\":"
			       "\"TASK_STATE_INPUT_REQUIRED\",\"timestamp\":\"1970-01-01T00:00:01Z\","
			       "\"message\":{\"messageId\":\"m\",\"role\":\"ROLE_AGENT\",\"parts\":["
			       "{\"text\":\"which\"},{\"data\":{}},{\"text\":\"one?\"}]}},"
			       "\"artifacts\":[{\"artifactId\":\"a\",\"name\":\"n\",\"parts\":["
			       "{\"raw\":\"AAE=\",\"mediaType\":\"x/y\",\"filename\":\"f\"},"
			       "{\"data\":{\"k\":1}}]}],\"unknown\":1}}",
			       &u),
			 AR_PEER_OK);
	assert_string_equal(u.task_id.p, "T");
	assert_string_equal(u.context_id.p, "C");
	assert_int_equal(u.state, AR_PEER_STATE_INPUT_REQUIRED);
	assert_string_equal(u.native_status.p, "TASK_STATE_INPUT_REQUIRED");
	assert_string_equal(u.message.p, "which\none?");
	assert_string_equal(u.message_id.p, "m");
	assert_int_equal(u.time, 1000000);
	assert_true(u.is_whole);
	assert_int_equal(u.artifact_count, 1);
	assert_string_equal(u.artifacts[0].id.p, "a");
	assert_int_equal(u.artifacts[0].part_count, 2);
	assert_int_equal(u.artifacts[0].parts[0].bytes.len, 2);
	assert_memory_equal(u.artifacts[0].parts[0].bytes.p, "\0\1", 2);
	assert_string_equal(u.artifacts[0].parts[0].media_type.p, "x/y");
	assert_string_equal(u.artifacts[0].parts[1].bytes.p, "{\"k\":1}");
}

static void updates_and_messages(void **state)
{
	struct ar_peer_update u;

	assert_int_equal(event(*state,
			       "{\"artifactUpdate\":{\"taskId\":\"T\",\"contextId\":\"C\",\"artifact\":"
			       "{\"artifactId\":\"a\",\"parts\":[{\"text\":\"hi\"}]},\"append\":true}}",
			       &u),
			 AR_PEER_OK);
	assert_int_equal(u.state, AR_PEER_STATE_NONE);
	assert_true(u.artifacts[0].is_append && !u.artifacts[0].is_last && !u.is_whole);
	assert_int_equal(event(*state,
			       "{\"statusUpdate\":{\"taskId\":\"T\",\"contextId\":\"C\",\"status\":"
			       "{\"state\":\"working\"}}}",
			       &u),
			 AR_PEER_OK);
	assert_int_equal(u.state, AR_PEER_STATE_WORKING);
	assert_string_equal(u.native_status.p, "working");
	assert_int_equal(event(*state, "{\"message\":{\"messageId\":\"m\",\"parts\":[{\"text\":\"x\"}]}}",
			       &u),
			 AR_PEER_OK);
	assert_true(ar_str_absent(u.task_id));
	assert_string_equal(u.message.p, "x");
}

static void what_contradicts_the_standard_is_refused(void **state)
{
	static const struct {
		const char *text;
		enum ar_peer_error error;
	} all[] = {
		{ "[]", AR_PEER_PROTOCOL },
		{ "{}", AR_PEER_PROTOCOL },
		{ "{\"task\":7}", AR_PEER_PROTOCOL },
		{ "{\"task\":{\"id\":\"\",\"status\":{\"state\":\"working\"}}}", AR_PEER_PROTOCOL },
		{ "{\"task\":{\"id\":\"a\\nb\",\"status\":{\"state\":\"working\"}}}", AR_PEER_PROTOCOL },
		{ "{\"task\":{\"id\":\"T\",\"status\":{}}}", AR_PEER_PROTOCOL },
		{ "{\"task\":{\"id\":\"T\"}}", AR_PEER_PROTOCOL },
		{ "{\"statusUpdate\":{\"status\":{\"state\":\"working\"}}}", AR_PEER_PROTOCOL },
		{ "{\"statusUpdate\":{},\"task\":{}}", AR_PEER_PROTOCOL },
		{ "{\"message\":{\"messageId\":\"m\"}}", AR_PEER_PROTOCOL },
		{ "{\"artifactUpdate\":{\"taskId\":\"T\",\"artifact\":{\"parts\":[]}}}", AR_PEER_PROTOCOL },
		{ "{\"artifactUpdate\":{\"taskId\":\"T\",\"artifact\":{\"artifactId\":\"a\",\"parts\":[{}]}}"
		  "}",
		  AR_PEER_PROTOCOL },
		{ "{\"artifactUpdate\":{\"taskId\":\"T\",\"artifact\":{\"artifactId\":\"a\",\"parts\":"
		  "[{\"text\":\"x\",\"url\":\"y\"}]}}}",
		  AR_PEER_PROTOCOL },
		{ "{\"artifactUpdate\":{\"taskId\":\"T\",\"artifact\":{\"artifactId\":\"a\",\"parts\":"
		  "[{\"raw\":\"!\"}]}}}",
		  AR_PEER_PROTOCOL },
		{ "{\"artifactUpdate\":{\"taskId\":\"T\",\"artifact\":{\"artifactId\":\"a\",\"parts\":"
		  "[{\"text\":\"\\u0000\"}]}}}",
		  AR_PEER_PROTOCOL },
		{ "{\"artifactUpdate\":{\"taskId\":\"T\",\"artifact\":{\"artifactId\":\"a\",\"parts\":"
		  "[{\"text\":\"0123456789012345678901234567890123\"},"
		  "{\"text\":\"0123456789012345678901234567890123\"}]}}}",
		  AR_PEER_TOO_LARGE },
		{ "{\"artifactUpdate\":{\"taskId\":\"T\",\"artifact\":{\"artifactId\":\"a\",\"parts\":"
		  "[{\"data\":\"01234567890123456789012345678901230123456789012345678901234567890123\"}]}}}",
		  AR_PEER_TOO_LARGE },
		{ "{\"task\":{\"id\":\"T\",\"status\":{\"state\":\"working\"},\"artifacts\":"
		  "[{\"artifactId\":\"a\",\"parts\":[]},{\"artifactId\":\"a\",\"parts\":[]}]}}",
		  AR_PEER_PROTOCOL },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(all); i++) {
		struct fixture *f = *state;
		struct ar_peer_update u;

		f->reading.why = NULL;
		if (event(f, all[i].text, &u) != all[i].error)
			fail_msg("not refused as it should be: %s", all[i].text);
		assert_non_null(f->reading.why);
	}
}

static void answers_of_json_rpc(void **state)
{
	static const struct {
		const char *text;
		enum ar_peer_error error;
	} all[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", AR_PEER_OK },
		{ "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}", AR_PEER_PROTOCOL },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}", AR_PEER_PROTOCOL },
		{ "{\"id\":7,\"result\":{}}", AR_PEER_PROTOCOL },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":null}", AR_PEER_PROTOCOL },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{},\"error\":{\"code\":1}}", AR_PEER_PROTOCOL },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32001}}", AR_PEER_NOT_FOUND },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32004}}", AR_PEER_UNSUPPORTED },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32601}}", AR_PEER_UNSUPPORTED },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700}}", AR_PEER_REFUSED },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{}}", AR_PEER_PROTOCOL },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(all); i++) {
		struct fixture *f = *state;
		struct ar_a2a_fault fault = { 0 };
		struct ar_json result;

		if (ar_a2a_read_rpc(&f->reading, parse(f, all[i].text), 7, &result, &fault) != all[i].error)
			fail_msg("read otherwise: %s", all[i].text);
	}
}

static void errors_of_http(void **state)
{
	struct fixture *f = *state;
	struct ar_json none = { 0 };
	struct ar_a2a_fault fault;

	assert_int_equal(ar_a2a_read_http_error(&f->reading, 401, none, &fault), AR_PEER_AUTH);
	assert_int_equal(ar_a2a_read_http_error(&f->reading, 302, none, &fault), AR_PEER_PROTOCOL);
	assert_int_equal(ar_a2a_read_http_error(&f->reading, 500, none, &fault), AR_PEER_REFUSED);
	assert_int_equal(ar_a2a_read_http_error(&f->reading, 404,
						parse(f,
						      "{\"error\":{\"code\":404,\"message\":\"no\\u001b[2J\","
						      "\"details\":[{\"reason\":\"TASK_NOT_FOUND\"}]}}"),
						&fault),
			 AR_PEER_NOT_FOUND);
	assert_int_equal(fault.code, -32001);
	assert_null(strchr(fault.reason.p, '\033'));
}

static void a_page_of_tasks(void **state)
{
	struct fixture *f = *state;
	struct ar_peer_update *at;
	struct ar_str next;
	size_t count;

	assert_int_equal(
		ar_a2a_read_list(&f->reading,
				 parse(f, "{\"tasks\":[{\"id\":\"T\",\"status\":{\"state\":\"working\"}}],"
					  "\"nextPageToken\":\"p\",\"pageSize\":1,\"totalSize\":2}"),
				 &at, &count, &next),
		AR_PEER_OK);
	assert_int_equal(count, 1);
	assert_string_equal(next.p, "p");
	assert_false(at[0].is_whole);
	assert_int_equal(ar_a2a_read_list(&f->reading, parse(f, "{\"tasks\":[],\"nextPageToken\":\"\"}"), &at,
					  &count, &next),
			 AR_PEER_OK);
	assert_true(ar_str_absent(next));
}

static void cards_of_both_versions(void **state)
{
	struct fixture *f = *state;
	struct ar_a2a_card c;

	assert_int_equal(
		ar_a2a_read_card(&f->reading,
				 parse(f, "{\"name\":\"n\",\"description\":\"d\",\"version\":\"1\","
					  "\"capabilities\":{\"streaming\":true},\"supportedInterfaces\":["
					  "{\"url\":\"https://h/r\",\"protocolBinding\":\"HTTP+JSON\","
					  "\"protocolVersion\":\"1.0\",\"tenant\":\"t\"}]}"),
				 &c),
		AR_PEER_OK);
	assert_int_equal(c.interface_count, 1);
	assert_true(c.has_streaming && !c.has_push && !c.is_repeat_safe);
	assert_string_equal(c.interfaces[0].tenant.p, "t");
	assert_int_equal(
		ar_a2a_read_card(&f->reading,
				 parse(f, "{\"name\":\"n\",\"url\":\"https://h/\",\"protocolVersion\":"
					  "\"0.3.0\",\"additionalInterfaces\":[{\"url\":\"https://h/2\","
					  "\"transport\":\"HTTP+JSON\"}],\"capabilities\":{\"extensions\":"
					  "[{\"uri\":\"urn:agentruntime:a2a:message-id:v1\"},"
					  "{\"uri\":\"urn:x\",\"required\":true}]}}"),
				 &c),
		AR_PEER_OK);
	assert_int_equal(c.interface_count, 2);
	assert_string_equal(c.interfaces[0].binding.p, "JSONRPC");
	assert_string_equal(c.interfaces[1].version.p, "0.3.0");
	assert_string_equal(c.required.p, "urn:x");
	assert_int_equal(ar_a2a_read_card(&f->reading, parse(f, "{\"name\":\"n\"}"), &c), AR_PEER_PROTOCOL);
	assert_int_equal(ar_a2a_read_card(&f->reading, parse(f, "{\"url\":\"https://h/\"}"), &c),
			 AR_PEER_PROTOCOL);
}

static void a_push_names_its_task(void **state)
{
	static const struct {
		const char *text, *task; /* NULL: it is no push */
	} all[] = {
		{ "{\"task\":{\"id\":\"t\",\"status\":{}}}", "t" },
		{ "{\"statusUpdate\":{\"taskId\":\"t\",\"id\":\"x\"}}", "t" },
		{ "{\"artifactUpdate\":{\"taskId\":\"t\"}}", "t" },
		{ "{\"message\":{\"messageId\":\"m\",\"taskId\":\"t\"}}", "t" },
		{ "{\"message\":{\"messageId\":\"m\"}}", "" },
		{ "{\"kind\":\"task\",\"id\":\"t\",\"status\":{\"state\":\"working\"}}", "t" },
		{ "{\"kind\":\"status-update\",\"taskId\":\"t\"}", "t" },
		{ "{\"task\":7,\"id\":\"t\"}", "t" },
		{ "{}", "" },
		{ "[]", NULL },
		{ "\"t\"", NULL },
		{ "{\"id\":7}", NULL },
		{ "{\"id\":null}", NULL },
		{ "{\"id\":\"\"}", NULL },
		{ "{\"task\":{\"id\":\"a\\nb\"}}", NULL },
	};
	struct fixture *f = *state;
	struct ar_str task;

	for (size_t i = 0; i < AR_ARRAY_LEN(all); i++) {
		bool is_push = ar_a2a_push_task(parse(f, all[i].text), &task);

		assert_int_equal(is_push, all[i].task != NULL);
		if (is_push)
			assert_true(ar_str_is(ar_str_absent(task) ? AR_STR("") : task, all[i].task));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_are_read_in_both_spellings),
		cmocka_unit_test_setup_teardown(a_task_has_status_message_and_artifacts, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(updates_and_messages, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(what_contradicts_the_standard_is_refused, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(answers_of_json_rpc, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(errors_of_http, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_page_of_tasks, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(cards_of_both_versions, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_push_names_its_task, open_fixture, close_fixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
