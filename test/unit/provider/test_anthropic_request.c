/* The body of a Messages request, byte for byte, in both versions of the API. */
#include "unit.h"

#include "sample_request.h"
#include "transcript.h"

#define FORMAT "anthropic"
#define THOUGHT "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"c2ln\"}"
#define ASKED \
	"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"}," \
	"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/" \
	"jpeg\",\"data\":\"QUJD\"}}," \
	"{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://x/y.png\"}}," \
	"{\"type\":\"text\",\"text\":\"{\\\"type\\\":\\\"file\\\",\\\"name\\\":\\\"a\\\"}\"}]},"
#define ANSWERED \
	"{\"role\":\"assistant\",\"content\":[" THOUGHT ",{\"type\":\"text\",\"text\":\"let me\"}," \
	"{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"add\",\"input\":{\"a\":1}}," \
	"{\"type\":\"tool_use\",\"id\":\"c2\",\"name\":\"now\",\"input\":{\"arguments\":\"{oops\"}}]}," \
	"{\"role\":\"user\",\"content\":[" \
	"{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":[{\"type\":\"text\",\"text\":\"2\"}]}" \
	"," \
	"{\"type\":\"tool_result\",\"tool_use_id\":\"c2\",\"content\":[]}"
#define TOOLS \
	"\"tools\":[{\"name\":\"add\",\"description\":\"adds\",\"input_schema\":{\"type\":\"object\"," \
	"\"required\":[\"a\"]}}," \
	"{\"name\":\"now\",\"input_schema\":{\"type\":\"object\",\"properties\":{}}}],"
#define BRIEF "{\"type\":\"text\",\"text\":\"be \\\"brief\\\"\"}"

static void test_conversation(void **state AR_UNUSED)
{
	assert_body(FORMAT,
		    sample_request(AR_STR("[" THOUGHT "]"),
				   AR_STR("{\"temperature\":0,\"topP\":0.5,\"stop\":\"a\",\"seed\":1}")),
		    "{\"model\":\"m\",\"system\":[" BRIEF
		    ",{\"type\":\"text\",\"text\":\"hurry\"}],\"messages\":[" ASKED ANSWERED
		    ",{\"type\":\"text\",\"text\":\"and?\"}]}]," TOOLS
		    "\"temperature\":0,\"top_p\":0.5,\"stop_sequences\":[\"a\"],\"max_tokens\":8192,"
		    "\"stream\":true}");
}

/* No sampling any more, and the system may speak where it spoke. */
static void test_newer_version(void **state AR_UNUSED)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_buf out = { 0 };
	const struct ar_model_request *r =
		sample_request(AR_STR("[" THOUGHT "]"), AR_STR("{\"temperature\":0,\"topP\":0.5}"));

	assert_int_equal(ar_wire_find(AR_STR(FORMAT))->write(r, AR_STR("2026-10-21"), json, &out, NULL),
			 AR_OK);
	assert_str(ar_buf_str(&out),
		   "{\"model\":\"m\",\"system\":[" BRIEF "],\"messages\":[" ASKED ANSWERED
		   "]},{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"hurry\"}]},"
		   "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"and?\"}]}]," TOOLS
		   "\"max_tokens\":8192,\"stream\":true}");
	ar_buf_fini(&out);
	ar_json_parser_free(json);
}

/* Bytes in a data: URL are bytes; a part that is only called an image stays what it is. */
static void test_images(void **state AR_UNUSED)
{
	const struct ar_message m = {
		.role = AR_ROLE_USER,
		.is_parts = true,
		.text = AR_STR(
			"[{\"type\":\"image\",\"url\":\"data:image/webp;base64,QUJD\"},"
			"{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://x\",\"detail\":\"low\"}},"
			"{\"type\":\"image\"}]"),
	};
	const struct ar_model_request r = { .model = AR_STR("m"), .messages = &m, .count = 1 };

	assert_body(FORMAT, &r,
		    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":["
		    "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
		    "webp\",\"data\":\"QUJD\"}},"
		    "{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://x\"}},"
		    "{\"type\":\"text\",\"text\":\"{\\\"type\\\":\\\"image\\\"}\"}]}],\"max_tokens\":8192,"
		    "\"stream\":true}");
}

static void test_options(void **state AR_UNUSED)
{
	const struct ar_model_request r = {
		.model = AR_STR("m"),
		.options = AR_STR("{\"maxOutputTokens\":64,\"outputSchema\":{\"type\":\"object\"},"
				  "\"reasoningEffort\":\"high\"}"),
	};

	assert_body(FORMAT, &r,
		    "{\"model\":\"m\",\"messages\":[],\"max_tokens\":64,\"thinking\":{\"type\":\"adaptive\"},"
		    "\"output_config\":{\"effort\":\"high\",\"format\":{\"type\":\"json_schema\",\"schema\":{"
		    "\"type\":\"object\"}}},\"stream\":true}");
}

static void test_refuses_what_is_no_json(void **state AR_UNUSED)
{
	assert_sample_refused(FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversation),
		cmocka_unit_test(test_newer_version),
		cmocka_unit_test(test_images),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_refuses_what_is_no_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
