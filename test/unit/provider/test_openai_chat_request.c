/* The body of a Chat Completions request, byte for byte. */
#include "unit.h"

#include "transcript.h"

#define FORMAT "openai-chat"
#define TAIL "\"stream\":true,\"stream_options\":{\"include_usage\":true}"

static void test_conversation_with_tools(void **state AR_UNUSED)
{
	const struct ar_tool_use uses[] = {
		{ AR_STR("c1"), AR_STR("add"), AR_STR("{\"a\":1}") },
		{ AR_STR("c2"), AR_STR("now"), AR_STR_NONE },
	};
	const struct ar_message messages[] = {
		{ .role = AR_ROLE_SYSTEM, .text = AR_STR("be \"brief\"\n") },
		{ .role = AR_ROLE_USER, .text = AR_STR("1+1?") },
		{ .role = AR_ROLE_ASSISTANT, .uses = uses, .use_count = 2 },
		{ .role = AR_ROLE_TOOL, .text = AR_STR("2"), .tool_call_id = AR_STR("c1") },
		{ .role = AR_ROLE_TOOL, .tool_call_id = AR_STR("c2") },
		{ .role = AR_ROLE_ASSISTANT, .text = AR_STR("2") },
	};
	const struct ar_model_request r = { .model = AR_STR("m"),
					    .messages = messages,
					    .count = AR_ARRAY_LEN(messages) };

	assert_body(
		FORMAT, &r,
		"{\"model\":\"m\",\"messages\":["
		"{\"role\":\"system\",\"content\":\"be \\\"brief\\\"\\n\"},"
		"{\"role\":\"user\",\"content\":\"1+1?\"},"
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
		"{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"add\",\"arguments\":\"{"
		"\\\"a\\\":1}\"}},"
		"{\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":\"now\",\"arguments\":\"\"}}]},"
		"{\"role\":\"tool\",\"content\":\"2\",\"tool_call_id\":\"c1\"},"
		"{\"role\":\"tool\",\"content\":\"\",\"tool_call_id\":\"c2\"},"
		"{\"role\":\"assistant\",\"content\":\"2\"}]," TAIL "}");
}

static void test_parts(void **state AR_UNUSED)
{
	const struct ar_message messages[] = {
		{ .role = AR_ROLE_USER,
		  .is_parts = true,
		  .text = AR_STR("[{\"type\":\"text\",\"text\":\"only\"}]") },
		{ .role = AR_ROLE_USER,
		  .is_parts = true,
		  .text = AR_STR("[{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"image\",\"url\":\"https:/"
				 "/x/y.png\"},"
				 "{\"type\":\"image_url\",\"image_url\":{\"url\":\"u\",\"detail\":\"low\"}},"
				 "{\"type\":\"file\",\"name\":\"a\"}]") },
	};
	const struct ar_model_request r = { .model = AR_STR("m"), .messages = messages, .count = 2 };

	assert_body(
		FORMAT, &r,
		"{\"model\":\"m\",\"messages\":["
		"{\"role\":\"user\",\"content\":\"only\"},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},"
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://x/y.png\"}},"
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"u\",\"detail\":\"low\"}},"
		"{\"type\":\"text\",\"text\":\"{\\\"type\\\":\\\"file\\\",\\\"name\\\":\\\"a\\\"}\"}]}]," TAIL
		"}");
}

static void test_options(void **state AR_UNUSED)
{
	struct ar_model_request r = { .model = AR_STR("m") };

	r.options = AR_STR("{\"seed\":7,\"stop\":[\"a\"],\"topP\":0.5,\"temperature\":0,\"maxOutputTokens\":"
			   "64,\"mode\":\"x\"}");
	assert_body(FORMAT, &r,
		    "{\"model\":\"m\",\"messages\":[]," TAIL
		    ",\"temperature\":0,\"max_tokens\":64,\"top_p\":0.5,"
		    "\"stop\":[\"a\"],\"seed\":7}");
	r.options = AR_STR("{\"temperature\":\"hot\",\"maxOutputTokens\":null,\"seed\":1.5}");
	assert_body(FORMAT, &r, "{\"model\":\"m\",\"messages\":[]," TAIL "}");
}

static void test_refuses_what_is_no_json(void **state AR_UNUSED)
{
	const struct ar_message parts = { .role = AR_ROLE_USER,
					  .is_parts = true,
					  .text = AR_STR("{\"a\":1}") };
	const struct ar_message broken = { .role = AR_ROLE_USER, .is_parts = true, .text = AR_STR("[") };
	const struct ar_tool tool = { .name = AR_STR("t"), .schema = AR_STR("[]") };
	const struct ar_model_request requests[] = {
		{ .model = AR_STR("m"), .options = AR_STR("[]") },
		{ .model = AR_STR("m"), .options = AR_STR("{") },
		{ .model = AR_STR("m"), .messages = &parts, .count = 1 },
		{ .model = AR_STR("m"), .messages = &broken, .count = 1 },
		{ .model = AR_STR("m"), .tools = &tool, .tool_count = 1 },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(requests); i++)
		assert_refused(FORMAT, &requests[i]);
}

static void test_tools_and_schema(void **state AR_UNUSED)
{
	const struct ar_tool tools[] = {
		{ .name = AR_STR("add"),
		  .description = AR_STR("adds"),
		  .schema = AR_STR("{\"type\": \"object\"}") },
		{ .name = AR_STR("now") },
	};
	const struct ar_model_request r = {
		.model = AR_STR("m"),
		.options = AR_STR("{\"outputSchema\":{\"type\":\"object\"},\"reasoningEffort\":\"low\"}"),
		.tools = tools,
		.tool_count = 2,
	};

	assert_body(
		FORMAT, &r,
		"{\"model\":\"m\",\"messages\":[],\"tools\":["
		"{\"type\":\"function\",\"function\":{\"name\":\"add\",\"description\":\"adds\","
		"\"parameters\":{"
		"\"type\":\"object\"}}},"
		"{\"type\":\"function\",\"function\":{\"name\":\"now\",\"parameters\":{\"type\":\"object\","
		"\"properties\":{}}}}]," TAIL ",\"reasoning_effort\":\"low\",\"response_format\":{\"type\":"
		"\"json_schema\",\"json_schema\":{"
		"\"name\":\"answer\",\"schema\":{\"type\":\"object\"}}}}");
}

static void test_image_bytes(void **state AR_UNUSED)
{
	const struct ar_message m = {
		.role = AR_ROLE_USER,
		.is_parts = true,
		.text = AR_STR("[{\"type\":\"image\",\"data\":\"QUJD\",\"mimeType\":\"image/jpeg\"}]"),
	};
	const struct ar_model_request r = { .model = AR_STR("m"), .messages = &m, .count = 1 };

	assert_body(FORMAT, &r,
		    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
		    "\"image_url\":{\"url\":\"data:image/jpeg;base64,QUJD\"}}]}]," TAIL "}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversation_with_tools),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_refuses_what_is_no_json),
		cmocka_unit_test(test_tools_and_schema),
		cmocka_unit_test(test_image_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
