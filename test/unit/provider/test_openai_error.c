/* What a refusal means: category, retry or not, waiting time, and that a key never shows. */
#include "unit.h"

#include "openai_error.h"

#define SECOND 1000000

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
};

static void test_rejections(void **state AR_UNUSED)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_arena arena = { 0 };

	for (size_t i = 0; i < AR_ARRAY_LEN(answers); i++) {
		struct ar_model_result r = { 0 };

		ar_openai_reject(&arena, json, answers[i].http, ar_str_from(answers[i].body), &r);
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

	ar_openai_reject(&arena, json, 500, AR_STR("{\"error\":\"just text\"}"), &r);
	assert_str(r.message, "the model server answered 500: just text");
	ar_openai_reject(&arena, json, 502, AR_STR("<h1>Bad Gateway</h1>"), &r);
	assert_str(r.message, "the model server answered 502: <h1>Bad Gateway</h1>");
	ar_openai_reject(&arena, json, 503, AR_STR(""), &r);
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
		ar_openai_fail(&arena, doc, &r);
		assert_int_equal(r.outcome, AR_MODEL_FAILED);
		assert_str(r.category, errors[i].category);
		assert_int_equal(r.retryable, errors[i].retryable);
	}
	ar_arena_fini(&arena);
	ar_json_parser_free(json);
}

static void test_retry_after(void **state AR_UNUSED)
{
	/* Sun, 06 Nov 1994 08:49:37 GMT */
	const ar_usec then = INT64_C(784111777) * SECOND;

	assert_int_equal(ar_openai_retry_after(AR_STR_NONE, AR_STR_NONE, then), 0);
	assert_int_equal(ar_openai_retry_after(AR_STR_NONE, AR_STR("2"), then), 2000);
	assert_int_equal(ar_openai_retry_after(AR_STR_NONE, AR_STR("0.25"), then), 250);
	assert_int_equal(ar_openai_retry_after(AR_STR("30"), AR_STR("2"), then), 30);
	assert_int_equal(ar_openai_retry_after(AR_STR("soon"), AR_STR("2"), then), 2000);
	assert_int_equal(ar_openai_retry_after(AR_STR_NONE, AR_STR("Sun, 06 Nov 1994 08:49:47 GMT"), then),
			 10000);
	assert_int_equal(ar_openai_retry_after(AR_STR_NONE, AR_STR("Sun, 06 Nov 1994 08:49:27 GMT"), then),
			 0);
	assert_int_equal(ar_openai_retry_after(AR_STR_NONE, AR_STR("99999999999"), then), 24 * 3600 * 1000);
	assert_int_equal(ar_openai_retry_after(AR_STR_NONE, AR_STR("-5"), then), 0);
	assert_int_equal(ar_openai_retry_after(AR_STR_NONE, AR_STR("nan"), then), 0);
}

static void test_mask(void **state AR_UNUSED)
{
	struct ar_arena arena = { 0 };
	struct ar_buf text = { 0 };
	struct ar_str masked;

	assert_str(ar_openai_mask(&arena, AR_STR("key sk-secret, sk-secret"), AR_STR("sk-secret")),
		   "key ***, ***");
	assert_str(ar_openai_mask(&arena, AR_STR("aaa"), AR_STR("a")), "aaa");
	assert_str(ar_openai_mask(&arena, AR_STR("plain"), AR_STR_NONE), "plain");
	/* A key that lies across the cut must not survive in part. */
	for (int i = 0; i < AR_OPENAI_EXCERPT - 4; i++)
		ar_buf_addc(&text, '.');
	ar_buf_addz(&text, "sk-secret and more");
	masked = ar_openai_mask(&arena, ar_buf_str(&text), AR_STR("sk-secret"));
	assert_int_equal(masked.len, AR_OPENAI_EXCERPT);
	assert_true(ar_str_ends(masked, AR_STR("...*** ")));
	ar_buf_fini(&text);
	ar_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rejections),
		cmocka_unit_test(test_message_of_a_rejection),
		cmocka_unit_test(test_errors_in_the_answer),
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
