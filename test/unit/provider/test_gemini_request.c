/* The path and the body of a generateContent request, byte for byte. */
#include "unit.h"

#include "sample_request.h"
#include "transcript.h"

#define FORMAT "gemini"

static void assert_conversation(struct ar_str echo, const char *signature)
{
	struct ar_buf want = { 0 };

	ar_buf_addf(
		&want,
		"{\"systemInstruction\":{\"parts\":[{\"text\":\"be "
		"\\\"brief\\\"\"},{\"text\":\"hurry\"}]},\"contents\":["
		"{\"role\":\"user\",\"parts\":[{\"text\":\"see\"},"
		"{\"inlineData\":{\"mimeType\":\"image/jpeg\",\"data\":\"QUJD\"}},"
		"{\"fileData\":{\"mimeType\":\"image/png\",\"fileUri\":\"https://x/y.png\"}},"
		"{\"text\":\"{\\\"type\\\":\\\"file\\\",\\\"name\\\":\\\"a\\\"}\"}]},"
		"{\"role\":\"model\",\"parts\":[{\"text\":\"let me\"},"
		"{\"functionCall\":{\"id\":\"c1\",\"name\":\"add\",\"args\":{\"a\":1}},\"thoughtSignature\":"
		"\"%s\"},"
		"{\"functionCall\":{\"id\":\"c2\",\"name\":\"now\",\"args\":{\"arguments\":\"{oops\"}}}]},"
		"{\"role\":\"user\",\"parts\":["
		"{\"functionResponse\":{\"id\":\"c1\",\"name\":\"add\",\"response\":{\"result\":\"2\"}}},"
		"{\"functionResponse\":{\"id\":\"c2\",\"name\":\"now\",\"response\":{\"result\":\"\"}}},"
		"{\"text\":\"and?\"}]}],"
		"\"tools\":[{\"functionDeclarations\":[{\"name\":\"add\",\"description\":\"adds\","
		"\"parametersJsonSchema\":{"
		"\"type\":\"object\",\"required\":[\"a\"]}},{\"name\":\"now\",\"parametersJsonSchema\":{"
		"\"type\":\"object\","
		"\"properties\":{}}}]}],\"generationConfig\":{\"temperature\":0,\"topP\":0.5,"
		"\"stopSequences\":[\"a\"],"
		"\"seed\":1}}",
		signature);
	ar_buf_addc(&want, '\0');
	assert_body(FORMAT,
		    sample_request(echo,
				   AR_STR("{\"temperature\":0,\"topP\":0.5,\"stop\":\"a\",\"seed\":1}")),
		    want.p);
	ar_buf_fini(&want);
}

static void test_conversation(void **state AR_UNUSED)
{
	assert_conversation(AR_STR("[\"c2ln\",null]"), "c2ln");
	assert_conversation(AR_STR_NONE, "skip_thought_signature_validator");
}

static void test_options(void **state AR_UNUSED)
{
	const struct ar_model_request r = {
		.model = AR_STR("m"),
		.options = AR_STR("{\"maxOutputTokens\":64,\"outputSchema\":{\"type\":\"object\"},"
				  "\"reasoningEffort\":\"high\"}"),
	};

	assert_body(
		FORMAT, &r,
		"{\"contents\":[],\"generationConfig\":{\"maxOutputTokens\":64,\"responseMimeType\":"
		"\"application/json\","
		"\"responseJsonSchema\":{\"type\":\"object\"},\"thinkingConfig\":{\"includeThoughts\":true,"
		"\"thinkingLevel\":\"high\"}}}");
}

/* A turn may name the model; it must not thereby choose another path. */
static void test_path(void **state AR_UNUSED)
{
	static const struct {
		const char *model, *path;
	} paths[] = {
		{ "gemini-2.5-flash", "models/gemini-2.5-flash" },
		{ "models/gemini-2.5-flash", "models/gemini-2.5-flash" },
		{ "tunedModels/mine", "tunedModels/mine" },
		{ "../../x?y#z", "models/..%2F..%2Fx%3Fy%23z" },
		{ "", "models/" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(paths); i++) {
		const struct ar_model_request r = { .model = ar_str_from(paths[i].model) };
		struct ar_buf got = { 0 }, want = { 0 };

		ar_wire_find(AR_STR(FORMAT))->path(&r, &got);
		ar_buf_addf(&want, "/v1beta/%s:streamGenerateContent?alt=sse", paths[i].path);
		assert_true(ar_str_eq(ar_buf_str(&got), ar_buf_str(&want)));
		ar_buf_fini(&got);
		ar_buf_fini(&want);
	}
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
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_refuses_what_is_no_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
