/* What a refusal means, in the words of every vendor: category, retry or not, waiting time. */
#include "unit.h"

#include "refusal.h"

static const struct {
	int http;
	const char *body, *category;
	bool retryable;
} answers[] = {
	{ 400, "{\"error\":{\"message\":\"x\",\"type\":\"invalid_request_error\",\"code\":null}}",
	  "invalid_request", false },
	{ 400, "{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}", "context_length",
	  false },
	{ 400, "{\"error\":{\"message\":\"x\",\"type\":\"exceed_context_size_error\"}}", "context_length",
	  false },
	{ 400, "{\"message\":\"This model's maximum context length is 8 tokens\"}", "context_length", false },
	{ 422, "", "invalid_request", false },
	{ 401, "{\"error\":{\"message\":\"x\",\"type\":\"invalid_request_error\"}}", "auth", false },
	{ 402, "", "quota", false },
	{ 403, "nope", "auth", false },
	{ 404, "{}", "not_found", false },
	{ 408, "", "timeout", true },
	{ 409, "", "conflict", true },
	{ 418, "", "invalid_request", false },
	{ 429, "{\"error\":{\"message\":\"x\"}}", "rate_limited", true },
	{ 429, "{\"error\":{\"message\":\"x\",\"code\":\"insufficient_quota\"}}", "quota", false },
	{ 429, "{\"error\":{\"message\":\"x\",\"type\":\"insufficient_quota\"}}", "quota", false },
	{ 500, "<html>", "server_error", true },
	{ 502, "", "server_error", true },
	{ 503, "", "overloaded", true },
	{ 504, "", "timeout", true },
	{ 529, "", "overloaded", true },
	{ 302, "", "redirect", false },
	{ 400,
	  "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too "
	  "long: 9 > 8\"}}",
	  "context_length", false },
	{ 402, "{\"type\":\"error\",\"error\":{\"type\":\"billing_error\"}}", "quota", false },
	{ 413, "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\"}}", "invalid_request", false },
	{ 429, "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}", "rate_limited", true },
	{ 429, "{\"type\":\"error\",\"error\":{\"type\":\"enforced_spend_limit_reached\"}}", "quota", false },
	{ 529, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}", "overloaded", true },
	{ 504, "{\"type\":\"error\",\"error\":{\"type\":\"timeout_error\"}}", "timeout", true },
	{ 400,
	  "{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"details\":[{\"reason\":\"API_KEY_"
	  "INVALID\"}]}}",
	  "auth", false },
	{ 400,
	  "{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"The input token count (9) "
	  "exceeds the "
	  "maximum number of tokens allowed (8).\"}}",
	  "context_length", false },
	{ 400, "[{\"error\":{\"code\":400,\"status\":\"FAILED_PRECONDITION\"}}]", "invalid_request", false },
	{ 403, "{\"error\":{\"code\":403,\"status\":\"PERMISSION_DENIED\"}}", "auth", false },
	{ 429, "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\"}}", "rate_limited", true },
	{ 503, "{\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\"}}", "overloaded", true },
};

static void test_rejections(void **state AR_UNUSED)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_arena arena = { 0 };

	for (size_t i = 0; i < AR_ARRAY_LEN(answers); i++) {
		struct ar_model_result r = { 0 };

		ar_refusal_reject(&arena, json, answers[i].http, ar_str_from(answers[i].body), &r);
		assert_int_equal(r.outcome, AR_MODEL_REJECTED);
		assert_int_equal(r.http, answers[i].http);
		assert_str(r.category, answers[i].category);
		assert_int_equal(r.retryable, answers[i].retryable);
	}
	ar_arena_fini(&arena);
	ar_json_parser_free(json);
}

static void test_message_of_a_rejection(void **state AR_UNUSED)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_arena arena = { 0 };
	struct ar_model_result r = { 0 };

	ar_refusal_reject(&arena, json, 500, AR_STR("{\"error\":\"just text\"}"), &r);
	assert_str(r.message, "the model server answered 500: just text");
	ar_refusal_reject(&arena, json, 502, AR_STR("<h1>Bad Gateway</h1>"), &r);
	assert_str(r.message, "the model server answered 502: <h1>Bad Gateway</h1>");
	ar_refusal_reject(&arena, json, 503, AR_STR(""), &r);
	assert_str(r.message, "the model server answered 503");
	ar_arena_fini(&arena);
	ar_json_parser_free(json);
}

static void test_errors_in_the_answer(void **state AR_UNUSED)
{
	static const struct {
		const char *error, *category;
		bool retryable;
	} errors[] = {
		{ "{\"message\":\"x\"}", "server_error", true },
		{ "\"text only\"", "server_error", true },
		{ "{\"code\":429,\"message\":\"x\"}", "rate_limited", true },
		{ "{\"code\":400,\"message\":\"x\"}", "invalid_request", false },
		{ "{\"type\":\"overloaded_error\"}", "overloaded", true },
		{ "{\"type\":\"invalid_request_error\"}", "invalid_request", false },
		{ "{\"code\":\"content_filter\"}", "content_filter", false },
	};
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_arena arena = { 0 };

	for (size_t i = 0; i < AR_ARRAY_LEN(errors); i++) {
		struct ar_model_result r = { 0 };
		struct ar_json doc;

		assert_int_equal(ar_json_parse(json, ar_str_from(errors[i].error), &doc, NULL), AR_OK);
		ar_refusal_fail(&arena, doc, &r);
		assert_int_equal(r.outcome, AR_MODEL_FAILED);
		assert_str(r.category, errors[i].category);
		assert_int_equal(r.retryable, errors[i].retryable);
	}
	ar_arena_fini(&arena);
	ar_json_parser_free(json);
}

static void test_google_says_how_long(void **state AR_UNUSED)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_arena arena = { 0 };
	struct ar_model_result r = { 0 };
	struct ar_str body = AR_STR("{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"details\":["
				    "{\"@type\":\"QuotaFailure\"},{\"retryDelay\":\"34s\"}]}}");

	ar_refusal_reject(&arena, json, 429, body, &r);
	assert_int_equal(r.retry_after_ms, 34000);
	assert_true(ar_str_eq(r.payload, body));
	ar_arena_fini(&arena);
	ar_json_parser_free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rejections),
		cmocka_unit_test(test_message_of_a_rejection),
		cmocka_unit_test(test_errors_in_the_answer),
		cmocka_unit_test(test_google_says_how_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
