/* Events of the Responses API, regular and odd, as outputs and outcomes. */
#include "unit.h"

#include "transcript.h"

#define FORMAT "openai-responses"
#define EVENT(type, rest) "event: response." type "\ndata: {\"type\":\"response." type "\"" rest "}\n\n"
#define START \
	EVENT("created", ",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"model\":\"m\"," \
			 "\"status\":\"in_progress\"}")
#define ADDED(place, item) EVENT("output_item.added", place ",\"item\":" item)
#define ITEM_DONE(place, item) EVENT("output_item.done", place ",\"item\":" item)
#define CALL(id, call, name, args) \
	"{\"type\":\"function_call\",\"id\":\"" id "\",\"call_id\":\"" call "\",\"name\":\"" name \
	"\",\"arguments\":\"" args "\"}"
#define TEXT(text) EVENT("output_text.delta", ",\"delta\":\"" text "\"")
#define THINK(text) EVENT("reasoning_summary_text.delta", ",\"delta\":\"" text "\"")
#define ARGS(place, text) EVENT("function_call_arguments.delta", place ",\"delta\":\"" text "\"")
#define ARGS_DONE(place, text) EVENT("function_call_arguments.done", place ",\"arguments\":\"" text "\"")
#define AT(index) ",\"output_index\":" #index
#define COMPLETED \
	EVENT("completed", \
	      ",\"response\":{\"status\":\"completed\",\"error\":null,\"incomplete_details\":null}")

static const struct transcript streams[] = {
	{ "text",
	  START ADDED(AT(0), "{\"type\":\"message\"}") EVENT("content_part.added", "") TEXT("Hel") TEXT("lo")
		  EVENT("output_text.done", ",\"text\":\"Hello\"") COMPLETED,
	  "T(Hel)T(lo)", AR_MODEL_COMPLETED, "stop", NULL },
	{ "reasoning by both names, refusal as text",
	  START THINK("a") EVENT("reasoning_text.delta", ",\"delta\":\"b\"")
		  EVENT("refusal.delta", ",\"delta\":\"no\"") COMPLETED,
	  "R(a)R(b)T(no)", AR_MODEL_COMPLETED, "stop", NULL },
	{ "two calls, pieces mixed",
	  START ADDED(AT(0), CALL("i", "a", "f", "")) ADDED(AT(1), CALL("j", "b", "g", ""))
		  ARGS(AT(1), "{\\\"x\\\":") ARGS(AT(0), "{}") ARGS(AT(1), "1}")
			  ARGS_DONE(AT(1), "{\\\"x\\\":1}")
				  ITEM_DONE(AT(1), CALL("j", "b", "g", "{\\\"x\\\":1}")) COMPLETED,
	  "C0(a,f)C1(b,g)A1({\"x\":)A0({})A1(1})", AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "ids instead of places",
	  START ADDED("", CALL("i", "a", "f", "")) ADDED("", CALL("j", "b", "g", ""))
		  ARGS(",\"item_id\":\"i\"", "1") ARGS(",\"item_id\":\"j\"", "2") COMPLETED,
	  "C0(a,f)C1(b,g)A0(1)A1(2)", AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "neither ids nor places", START ADDED("", CALL("i", "a", "f", "")) ARGS("", "1") COMPLETED,
	  "C0(a,f)A0(1)", AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "arguments only as a whole",
	  START ADDED(AT(0), CALL("i", "a", "f", "")) ARGS_DONE(AT(0), "{}") COMPLETED, "C0(a,f)A0({})",
	  AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "a call only as a whole", START ITEM_DONE(AT(0), CALL("i", "a", "f", "{}")) COMPLETED,
	  "C0(a,f)A0({})", AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "arguments of nobody", START ARGS(AT(4), "1") ARGS_DONE(",\"item_id\":\"z\"", "1") COMPLETED, "",
	  AR_MODEL_COMPLETED, "stop", NULL },
	{ "length",
	  START TEXT("x") EVENT("incomplete",
				",\"response\":{\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}"),
	  "T(x)", AR_MODEL_COMPLETED, "length", NULL },
	{ "filtered",
	  START EVENT("incomplete", ",\"response\":{\"incomplete_details\":{\"reason\":\"content_filter\"}}"),
	  "", AR_MODEL_COMPLETED, "content_filter", NULL },
	{ "failed",
	  START TEXT("x")
		  EVENT("failed",
			",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\","
			"\"message\":\"slow\"}}"),
	  "T(x)", AR_MODEL_FAILED, NULL, "rate_limited" },
	{ "failed without a word", START EVENT("failed", ""), "", AR_MODEL_FAILED, NULL, "server_error" },
	{ "error event",
	  START "event: error\ndata: "
		"{\"type\":\"error\",\"code\":\"invalid_prompt\",\"message\":\"x\",\"param\":null}\n\n",
	  "", AR_MODEL_FAILED, NULL, "invalid_request" },
	{ "no end", START TEXT("x") EVENT("output_item.done", ",\"item\":{\"type\":\"message\"}"), "T(x)",
	  AR_MODEL_CUT, NULL, "network" },
	{ "an end mark of another format is no end", START TEXT("x") "data: [DONE]\n", "T(x)", AR_MODEL_CUT,
	  NULL, NULL },
	{ "after the end", START COMPLETED TEXT("late") "data: [DONE]\n\n", "", AR_MODEL_COMPLETED, "stop",
	  NULL },
	{ "not JSON", START "data: {oops\n\n", "", AR_MODEL_GARBLED, NULL, "protocol" },
	{ "odd types",
	  EVENT("created", ",\"response\":7") ADDED(",\"output_index\":-3", "[]") TEXT("x") ARGS("", "1")
		  EVENT("output_text.delta", ",\"delta\":{}") EVENT("completed", ",\"response\":[]"),
	  "T(x)", AR_MODEL_COMPLETED, "stop", NULL },
};

static void test_streams(void **state AR_UNUSED)
{
	assert_transcripts(FORMAT, streams, AR_ARRAY_LEN(streams));
}

#define BEFORE \
	START THINK("h\xc3\xa9") TEXT("x") ADDED(AT(1), CALL("i", "a", "f", "")) \
		ARGS(AT(1), "{\\\"x\\\":1}") ITEM_DONE(AT(1), CALL("i", "a", "f", "{\\\"x\\\":1}"))

static void test_every_cut(void **state AR_UNUSED)
{
	assert_every_cut(FORMAT, BEFORE COMPLETED, sizeof(BEFORE COMPLETED) - 2);
	assert_every_damage(FORMAT, BEFORE COMPLETED);
}

static void test_usage_and_echo(void **state AR_UNUSED)
{
	struct reading f;
	struct ar_model_result *r;

	reading_open(&f, FORMAT, 1024);
	r = reading_feed(
		&f,
		AR_STR(START ITEM_DONE(
			AT(0),
			"{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],"
			"\"encrypted_content\":\"ZZ\"}") ITEM_DONE(AT(1), "{\"type\":\"reasoning\",\"id\":"
									  "\"rs_2\",\"summary\":[]}")
			       EVENT("completed",
				     ",\"response\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":5,"
				     "\"input_tokens_details\":{\"cached_tokens\":3,\"cache_write_tokens\":2}"
				     ","
				     "\"output_tokens_details\":{\"reasoning_tokens\":4}}}")),
		11);
	assert_int_equal(r->input_tokens, 10);
	assert_int_equal(r->output_tokens, 5);
	assert_int_equal(r->cached_tokens, 3);
	assert_int_equal(r->cache_write_tokens, 2);
	assert_int_equal(r->reasoning_tokens, 4);
	assert_str(r->model, "m");
	assert_str(f.answer.answer_id, "resp_1");
	assert_str(r->echo,
		   "[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"ZZ\"}]");
	reading_close(&f);
}

static void test_caps(void **state AR_UNUSED)
{
	assert_cap(FORMAT, START TEXT("12345") THINK("12345") TEXT("x") COMPLETED, 10, "T(12345)R(12345)");
}

static void test_whole_answer(void **state AR_UNUSED)
{
	assert_whole(FORMAT,
		     "{\"object\":\"response\",\"error\":null,\"output\":["
		     "{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"r\"}]},"
		     "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]}," CALL(
			     "i", "c", "f", "{}") "]}",
		     "R(r)T(hi)C0(c,f)A0({})", AR_MODEL_COMPLETED);
	assert_whole(FORMAT, "{\"error\":{\"message\":\"x\"},\"output\":[]}", "", AR_MODEL_FAILED);
	assert_whole(FORMAT, "{\"hello\":1}", "", AR_MODEL_GARBLED);
	assert_whole(FORMAT, "", "", AR_MODEL_GARBLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),	       cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_usage_and_echo), cmocka_unit_test(test_caps),
		cmocka_unit_test(test_whole_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
