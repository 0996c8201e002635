/* What a server asks a person, and the answer as it wants it. */
#include "unit.h"

#include "question.h"

static struct ar_json_parser *parser;

static bool read_question(struct ar_arena *a, const char *text, struct ar_tool_question *q)
{
	struct ar_json root;

	assert_int_equal(ar_json_parse(parser, ar_str_from(text), &root, NULL), AR_OK);
	return ar_mcp_question_read(a, root, q);
}

static void assert_answer(const char *question, enum ar_tool_answer_kind kind, struct ar_str content,
			  const char *want)
{
	struct ar_arena a = { 0 };
	struct ar_buf out = { 0 };
	struct ar_tool_question q;
	struct ar_tool_answer answer = { .kind = kind, .content = content };

	assert_true(read_question(&a, question, &q));
	ar_mcp_question_answer(parser, &q, &answer, &out);
	assert_str(ar_buf_str(&out), want);
	ar_buf_fini(&out);
	ar_arena_fini(&a);
}

#define FORM \
	"{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":" \
	"\"string\"}," \
	"\"b \\\"q\\\"\":{\"type\":\"integer\",\"default\":3}}}}"
#define PAGE "{\"mode\":\"url\",\"message\":\"m\",\"url\":\"https://example.org/\",\"elicitationId\":\"e\"}"

static void test_answers(void **state AR_UNUSED)
{
	assert_answer(FORM, AR_TOOL_ANSWER_DECLINE, AR_STR_NONE, "{\"action\":\"decline\"}");
	assert_answer(FORM, AR_TOOL_ANSWER_CANCEL, AR_STR("{\"a\":1}"), "{\"action\":\"cancel\"}");
	assert_answer(FORM, AR_TOOL_ANSWER_ACCEPT, AR_STR("{\"a\":\"x\"}"),
		      "{\"action\":\"accept\",\"content\":{\"a\":\"x\",\"b \\\"q\\\"\":3}}");
	assert_answer(FORM, AR_TOOL_ANSWER_ACCEPT, AR_STR("{\"b \\\"q\\\"\":4}"),
		      "{\"action\":\"accept\",\"content\":{\"b \\\"q\\\"\":4}}");
	assert_answer(FORM, AR_TOOL_ANSWER_ACCEPT, AR_STR_NONE,
		      "{\"action\":\"accept\",\"content\":{\"b \\\"q\\\"\":3}}");
	assert_answer(FORM, AR_TOOL_ANSWER_ACCEPT, AR_STR("[1"), "{\"action\":\"accept\",\"content\":{}}");
	assert_answer(PAGE, AR_TOOL_ANSWER_ACCEPT, AR_STR_NONE, "{\"action\":\"accept\"}");
}

static void test_refused(void **state AR_UNUSED)
{
	static const char *const bad[] = {
		"{}",
		"{\"message\":\"m\"}",
		"{\"message\":\"m\",\"requestedSchema\":[]}",
		"{\"mode\":\"url\",\"message\":\"m\"}",
		"{\"mode\":\"url\",\"message\":\"m\",\"url\":\"javascript:alert(1)\"}",
		"{\"mode\":\"url\",\"message\":\"m\",\"url\":\"https://bank.example@evil.example/\"}",
		"{\"mode\":\"url\",\"message\":\"m\",\"url\":\"https://bank.example:443@evil.example/\"}",
		"{\"mode\":\"voice\",\"message\":\"m\",\"requestedSchema\":{}}",
	};
	struct ar_arena a = { 0 };
	struct ar_tool_question q;

	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++)
		assert_false(read_question(&a, bad[i], &q));
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_refused),
	};
	int failed;

	parser = ar_json_parser_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	ar_json_parser_free(parser);
	return failed;
}
