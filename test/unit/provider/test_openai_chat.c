/* Chunks of Chat Completions servers, regular and odd, as outputs and outcomes. Each stream is also given
 * byte by byte. */
#include "unit.h"

#include "transcript.h"

#define DELTA(json) "data: {\"id\":\"a1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":" json "}]}\n\n"
#define FINISH(reason) "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" reason "\"}]}\n\n"
#define DONE "data: [DONE]\n\n"
#define CALL(json) DELTA("{\"tool_calls\":[" json "]}")

#define FORMAT "openai-chat"

static const struct transcript streams[] = {
	{ "text",
	  DELTA("{\"role\":\"assistant\",\"content\":\"\"}") DELTA("{\"content\":\"Hel\"}")
		  DELTA("{\"content\":\"lo\"}") FINISH("stop") DONE,
	  "T(Hel)T(lo)", AR_MODEL_COMPLETED, "stop", NULL },
	{ "null content", DELTA("{\"content\":null}") DELTA("{\"content\":\"x\"}") FINISH("length") DONE,
	  "T(x)", AR_MODEL_COMPLETED, "length", NULL },
	{ "reasoning by both names",
	  DELTA("{\"reasoning_content\":\"a\"}") DELTA("{\"reasoning\":\"b\"}")
		  DELTA("{\"reasoning_content\":\"c\",\"reasoning\":\"c\"}") FINISH("stop") DONE,
	  "R(a)R(b)R(c)", AR_MODEL_COMPLETED, "stop", NULL },
	{ "refusal is text", DELTA("{\"refusal\":\"no\"}") FINISH("stop") DONE, "T(no)", AR_MODEL_COMPLETED,
	  "stop", NULL },
	{ "no end mark", DELTA("{\"content\":\"x\"}") FINISH("stop"), "T(x)", AR_MODEL_COMPLETED, "stop",
	  NULL },
	{ "no stop reason", DELTA("{\"content\":\"x\"}") DONE, "T(x)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "neither", DELTA("{\"content\":\"x\"}"), "T(x)", AR_MODEL_CUT, NULL, NULL },
	{ "nothing", "", "", AR_MODEL_CUT, NULL, NULL },
	{ "end mark without its blank line", DELTA("{\"content\":\"x\"}") "data: [DONE]\n", "T(x)",
	  AR_MODEL_COMPLETED, NULL, NULL },
	{ "cut inside a chunk", DELTA("{\"content\":\"x\"}") "data: {\"choices\":[{\"del\n", "T(x)",
	  AR_MODEL_CUT, NULL, NULL },
	{ "after the end mark",
	  DELTA("{\"content\":\"x\"}") DONE DELTA("{\"content\":\"y\"}") "data: junk\n\n", "T(x)",
	  AR_MODEL_COMPLETED, NULL, NULL },
	{ "not JSON", DELTA("{\"content\":\"x\"}") "data: {oops\n\n" DONE, "T(x)", AR_MODEL_GARBLED, NULL,
	  NULL },
	{ "not an object", "data: 17\n\n" DONE, "", AR_MODEL_GARBLED, NULL, NULL },
	{ "invalid UTF-8", DELTA("{\"content\":\"\xff\"}") DONE, "", AR_MODEL_GARBLED, NULL, NULL },
	{ "error in the stream",
	  DELTA("{\"content\":\"x\"}") "data: {\"error\":{\"message\":\"boom\"}}\n\n" DONE, "T(x)",
	  AR_MODEL_FAILED, NULL, NULL },
	{ "error event", "event: error\ndata: {\"message\":\"boom\"}\n\n", "", AR_MODEL_FAILED, NULL, NULL },
	{ "error null is none", "data: {\"error\":null,\"choices\":[]}\n\n" DONE, "", AR_MODEL_COMPLETED,
	  NULL, NULL },
	{ "second choice",
	  "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n" DELTA("{\"content\":\"a\"}")
		  DONE,
	  "T(a)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "odd types",
	  "data: {\"choices\":{\"a\":1},\"usage\":[],\"model\":5}\n\n" DELTA("7") DELTA("{\"tool_calls\":{}}")
		  DELTA("{\"content\":[1]}") CALL("3") DONE,
	  "", AR_MODEL_COMPLETED, NULL, NULL },
	{ "duplicate chunks", DELTA("{\"content\":\"a\"}") DELTA("{\"content\":\"a\"}") DONE, "T(a)T(a)",
	  AR_MODEL_COMPLETED, NULL, NULL },
	{ "tool call",
	  CALL("{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"add\",\"arguments\":"
	       "\"\"}}") CALL("{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\"\"}}")
		  CALL("{\"index\":0,\"function\":{\"arguments\":\":1}\"}}") FINISH("tool_calls") DONE,
	  "C0(c,add)A0({\"a\")A0(:1})", AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "two calls, mixed pieces",
	  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\"}},{\"index\":1,\"id\":\"d\","
	       "\"function\":{\"name\":\"g\"}}") CALL("{\"index\":1,\"function\":{\"arguments\":\"1\"}}")
		  CALL("{\"index\":0,\"function\":{\"arguments\":\"0\"}}") DONE,
	  "C0(c,f)C1(d,g)A1(1)A0(0)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "id repeated in each piece",
	  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}")
		  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"2\"}}") DONE,
	  "C0(c,f)A0(1)A0(2)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "no index, ids",
	  CALL("{\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}")
		  CALL("{\"id\":\"d\",\"function\":{\"name\":\"f\",\"arguments\":\"2\"}}")
			  CALL("{\"function\":{\"arguments\":\"3\"}}") DONE,
	  "C0(c,f)A0(1)C1(d,f)A1(2)A1(3)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "no id", CALL("{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}") DONE,
	  "C0(call_a1_0,f)A0(1)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "neither id nor index",
	  CALL("{\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}")
		  CALL("{\"function\":{\"name\":\"g\",\"arguments\":\"2\"}}") DONE,
	  "C0(call_a1_0,f)A0(1)C1(call_a1_1,g)A1(2)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "index reused for a second call",
	  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}")
		  CALL("{\"index\":0,\"id\":\"d\",\"function\":{\"name\":\"g\",\"arguments\":\"2\"}}")
			  CALL("{\"index\":0,\"function\":{\"arguments\":\"3\"}}") DONE,
	  "C0(c,f)A0(1)C1(d,g)A1(2)A1(3)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "new id without name continues",
	  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}")
		  CALL("{\"index\":0,\"id\":\"z\",\"function\":{\"arguments\":\"2\"}}") DONE,
	  "C0(c,f)A0(1)A0(2)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "id before name",
	  CALL("{\"index\":0,\"id\":\"c\"}") CALL("{\"index\":0,\"function\":{\"name\":\"f\"}}") DONE,
	  "C0(c,f)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "arguments as object",
	  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\": [1, 2]}}}") DONE,
	  "C0(c,f)A0({\"a\":[1,2]})", AR_MODEL_COMPLETED, NULL, NULL },
	{ "sparse index",
	  CALL("{\"index\":5,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}") DONE,
	  "C0(c,f)A0(1)", AR_MODEL_COMPLETED, NULL, NULL },
};

static void test_streams(void **state AR_UNUSED)
{
	assert_transcripts(FORMAT, streams, AR_ARRAY_LEN(streams));
}

static void test_usage_and_names(void **state AR_UNUSED)
{
	struct reading f;
	struct ar_model_result *r;

	reading_open(&f, FORMAT, 1024);
	r = reading_feed(
		&f,
		AR_STR(DELTA(
			"{}") "data: {\"model\":\"other\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,"
			      "\"completion_tokens\":5,\"prompt_tokens_details\":{\"cached_tokens\":3}}}"
			      "\n\n" DONE),
		9);
	assert_true(r->has_usage);
	assert_int_equal(r->input_tokens, 10);
	assert_int_equal(r->output_tokens, 5);
	assert_int_equal(r->cached_tokens, 3);
	assert_str(r->model, "m");
	reading_close(&f);
}

static void test_usage_never_negative(void **state AR_UNUSED)
{
	struct reading f;
	struct ar_model_result *r;

	reading_open(&f, FORMAT, 1024);
	r = reading_feed(
		&f, AR_STR("data: {\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":null}}\n\n" DONE),
		1024);
	assert_int_equal(r->input_tokens, 0);
	assert_int_equal(r->output_tokens, 0);
	reading_close(&f);
}

/* Text, reasoning, arguments and names all count; what fits is passed, what does not ends the stream. */
static void test_output_cap(void **state AR_UNUSED)
{
	assert_cap(FORMAT,
		   DELTA("{\"content\":\"12345\"}") DELTA("{\"reasoning\":\"12345\"}")
			   DELTA("{\"content\":\"x\"}") DONE,
		   10, "T(12345)R(12345)");
}

static void test_every_cut(void **state AR_UNUSED)
{
	static const char before[] = DELTA("{\"content\":\"h\xc3\xa9\"}")
		CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}");
	static const char all[] = DELTA("{\"content\":\"h\xc3\xa9\"}")
		CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}")
			FINISH("tool_calls") DONE;

	assert_every_cut(FORMAT, all, sizeof(before) - 1 + sizeof(FINISH("tool_calls")) - 2);
	assert_every_damage(FORMAT, all);
}

static void test_tool_flood(void **state AR_UNUSED)
{
	struct reading f;
	struct ar_buf bytes = { 0 };
	struct ar_model_result *r;

	reading_open(&f, FORMAT, 1 << 20);
	for (int i = 0; i < 200; i++)
		ar_buf_addf(&bytes, CALL("{\"index\":%d,\"id\":\"c\",\"function\":{\"name\":\"f\"}}"), i);
	r = reading_feed(&f, ar_buf_str(&bytes), 4096);
	assert_int_equal(r->outcome, AR_MODEL_GARBLED);
	assert_str(r->category, "too_large");
	ar_buf_fini(&bytes);
	reading_close(&f);
}

static void test_event_cap(void **state AR_UNUSED)
{
	struct reading f;
	struct ar_buf bytes = { 0 };
	struct ar_model_result *r;

	reading_open(&f, FORMAT, 1);
	ar_buf_addz(&bytes, "data: ");
	for (int i = 0; i < (2 << 20); i++)
		ar_buf_addc(&bytes, ' ');
	r = reading_feed(&f, ar_buf_str(&bytes), 16384);
	assert_str(r->category, "too_large");
	ar_buf_fini(&bytes);
	reading_close(&f);
}

static void test_whole_answer(void **state AR_UNUSED)
{
	static const struct {
		const char *body, *outputs;
		enum ar_model_outcome outcome;
	} bodies[] = {
		{ "{\"choices\":[{\"message\":{\"content\":\"hi\",\"reasoning\":\"r\"},\"finish_reason\":"
		  "\"stop\"}]}",
		  "R(r)T(hi)", AR_MODEL_COMPLETED },
		{ "{\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"function\":"
		  "{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}",
		  "C0(c,f)A0({})", AR_MODEL_COMPLETED },
		{ "{\"error\":{\"message\":\"x\"}}", "", AR_MODEL_FAILED },
		{ "{\"hello\":1}", "", AR_MODEL_GARBLED },
		{ "<html>", "", AR_MODEL_GARBLED },
		{ "", "", AR_MODEL_GARBLED },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(bodies); i++)
		assert_whole(FORMAT, bodies[i].body, bodies[i].outputs, bodies[i].outcome);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_usage_and_names),
		cmocka_unit_test(test_usage_never_negative),
		cmocka_unit_test(test_output_cap),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_tool_flood),
		cmocka_unit_test(test_event_cap),
		cmocka_unit_test(test_whole_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
