/* The body of a Responses request, byte for byte. */
#include "unit.h"

#include "sample_request.h"
#include "transcript.h"

#define FORMAT "openai-responses"
#define TAIL "\"store\":false,\"stream\":true}"

static void test_conversation(void **state AR_UNUSED)
{
	const char *reasoning =
		"[{\"type\":\"reasoning\",\"id\":\"rs\",\"summary\":[],\"encrypted_content\":\"ZZ\"}]";

	assert_body(
		FORMAT,
		sample_request(ar_str_from(reasoning),
			       AR_STR("{\"temperature\":0,\"topP\":0.5,\"stop\":\"a\",\"seed\":1}")),
		"{\"model\":\"m\",\"input\":["
		"{\"type\":\"message\",\"role\":\"system\",\"content\":\"be \\\"brief\\\"\"},"
		"{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"
		"\"see\"},"
		"{\"type\":\"input_image\",\"image_url\":\"data:image/"
		"jpeg;base64,QUJD\",\"detail\":\"auto\"},"
		"{\"type\":\"input_image\",\"image_url\":\"https://x/y.png\",\"detail\":\"auto\"},"
		"{\"type\":\"input_text\",\"text\":\"{\\\"type\\\":\\\"file\\\",\\\"name\\\":\\\"a\\\"}\"}]},"
		"{\"type\":\"reasoning\",\"id\":\"rs\",\"summary\":[],\"encrypted_content\":\"ZZ\"},"
		"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"let me\"},"
		"{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"add\",\"arguments\":\"{\\\"a\\\": "
		"1}\"},"
		"{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"now\",\"arguments\":\"{oops\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"2\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"c2\",\"output\":\"\"},"
		"{\"type\":\"message\",\"role\":\"system\",\"content\":\"hurry\"},"
		"{\"type\":\"message\",\"role\":\"user\",\"content\":\"and?\"}],"
		"\"tools\":[{\"type\":\"function\",\"name\":\"add\",\"description\":\"adds\",\"parameters\":{"
		"\"type\":\"object\","
		"\"required\":[\"a\"]},\"strict\":false},{\"type\":\"function\",\"name\":\"now\","
		"\"parameters\":{\"type\":\"object\","
		"\"properties\":{}},\"strict\":false}],\"temperature\":0,\"top_p\":0.5," TAIL);
}

static void test_options(void **state AR_UNUSED)
{
	const struct ar_model_request r = {
		.model = AR_STR("m"),
		.options = AR_STR("{\"maxOutputTokens\":64,\"outputSchema\":{\"type\":\"object\"},"
				  "\"reasoningEffort\":\"high\"}"),
	};

	assert_body(FORMAT, &r,
		    "{\"model\":\"m\",\"input\":[],\"max_output_tokens\":64,\"reasoning\":{\"effort\":"
		    "\"high\",\"summary\":\"auto\"},"
		    "\"include\":[\"reasoning.encrypted_content\"],\"text\":{\"format\":{\"type\":\"json_"
		    "schema\",\"name\":\"answer\","
		    "\"schema\":{\"type\":\"object\"}}}," TAIL);
}

static void test_refuses_what_is_no_json(void **state AR_UNUSED)
{
	assert_sample_refused(FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversation),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_refuses_what_is_no_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
