/* Joins: which ids a fact introduces, which it carries that have to join, and what it lacks. */
#include "codec_fixture.h"
#include "joins.h"

#include <stdio.h>

#define ROOM 512

static void note(void *arg, const struct ar_join *j)
{
	char *text = arg;
	size_t len = strlen(text);

	snprintf(text + len, ROOM - len, "%s%s%.*s ", ar_scope_names[j->scope], j->is_ahead ? "~" : "=",
		 AR_STR_ARG(j->id));
}

static const struct ar_event_desc *type_of(struct ar_json fact)
{
	struct ar_str type;

	assert_true(ar_json_str(ar_json_get(fact, "type"), &type));
	return ar_event_find(type);
}

static void test_introduced(void **state)
{
	static const struct {
		const char *fact, *ids;
	} cases[] = {
		{ "{\"type\":\"thread.started\",\"threadId\":\"a\"}", "threadId=a " },
		{ "{\"type\":\"thread.updated\",\"threadId\":\"a\"}", "" },
		{ "{\"type\":\"turn.submitted\",\"threadId\":\"a\",\"turnId\":\"b\",\"taskId\":\"c\"}",
		  "turnId=b taskId~c " },
		/* those of a list in the payload, not the one that it is about */
		{ "{\"type\":\"model.completed\",\"stepId\":\"s\",\"payload\":{\"toolCalls\":[{"
		  "\"toolCallId\":"
		  "\"x\"},{\"id\":\"-\"},{\"toolCallId\":\"y\"}]}}",
		  "toolCallId=x toolCallId=y " },
		{ "{\"type\":\"run.status\",\"stepId\":\"s\",\"payload\":{\"metadata\":{\"toolCalls\":[{"
		  "\"toolCallId\":\"x\"}]}}}",
		  "stepId=s toolCallId=x " },
		{ "{\"type\":\"run.status\",\"payload\":{\"metadata\":{}}}", "" },
		/* under a condition */
		{ "{\"type\":\"tool.started\",\"toolCallId\":\"x\",\"payload\":{}}", "" },
		{ "{\"type\":\"tool.started\",\"toolCallId\":\"x\",\"payload\":{\"retryOf\":\"w\"}}",
		  "toolCallId=x " },
		{ "{\"type\":\"permission.evaluated\",\"toolCallId\":\"act_1\",\"actionId\":\"q\"}",
		  "toolCallId~act_1 actionId~q " },
		{ "{\"type\":\"permission.evaluated\",\"toolCallId\":\"tool_1\"}", "" },
		/* what is no text is no id */
		{ "{\"type\":\"thread.started\",\"threadId\":[\"a\"]}", "" },
		{ "{\"type\":\"model.completed\",\"payload\":{\"toolCalls\":\"x\"}}", "" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_json fact = parse(f, ar_str_from(cases[i].fact));
		char ids[ROOM] = "";

		ar_joins_introduced(type_of(fact), fact, note, ids);
		assert_string_equal(ids, cases[i].ids);
	}
}

static void test_carried(void **state)
{
	struct fixture *f = *state;
	struct ar_json fact =
		parse(f, AR_STR("{\"type\":\"tool.result\",\"sessionId\":\"z\",\"threadId\":\"a\","
				"\"parentTaskId\":\"p\",\"toolCallId\":\"x\",\"requestId\":\"r\","
				"\"outputRef\":\"o\",\"traceId\":\"t\",\"jobId\":7}"));
	char ids[ROOM] = "";

	ar_joins_carried(fact, note, ids);
	assert_string_equal(ids, "threadId=a parentTaskId=p toolCallId=x ");
	assert_int_equal(ar_scope_descs[AR_SCOPE_PARENT_TASK].of, AR_SCOPE_TASK);
}

static const char *lacking(struct fixture *f, const char *text)
{
	struct ar_json fact = parse(f, ar_str_from(text));
	const char *name = ar_joins_lacking(type_of(fact), fact);

	return name ? name : "";
}

static void test_lacking(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(lacking(f, "{\"type\":\"turn.started\",\"threadId\":\"a\",\"turnId\":\"b\"}"),
			    "");
	assert_string_equal(lacking(f, "{\"type\":\"turn.started\",\"threadId\":\"a\"}"), "turnId");
	assert_string_equal(lacking(f, "{\"type\":\"turn.started\",\"threadId\":\"\",\"turnId\":\"b\"}"),
			    "threadId");
	assert_string_equal(lacking(f, "{\"type\":\"sandbox.applied\",\"threadId\":\"a\",\"turnId\":\"b\"}"),
			    "scope id");
	assert_string_equal(lacking(f, "{\"type\":\"sandbox.applied\",\"threadId\":\"a\",\"turnId\":\"b\","
				       "\"processId\":\"p\"}"),
			    "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		codec_test(test_introduced),
		codec_test(test_carried),
		codec_test(test_lacking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
