/* Chunks of streamGenerateContent, regular and odd, as outputs and outcomes. */
#include "unit.h"

#include "transcript.h"

#define FORMAT "gemini"
#define CHUNK(json) "data: {" json "}\r\n\r\n"
#define PARTS(json) \
	CHUNK("\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[" json \
	      "]},\"index\":0}],\"modelVersion\":\"m\"," \
	      "\"responseId\":\"r1\"")
#define TEXT(text) PARTS("{\"text\":\"" text "\"}")
#define THINK(text) PARTS("{\"text\":\"" text "\",\"thought\":true}")
#define CALL(call) PARTS("{\"functionCall\":" call "}")
#define FINISH(reason) CHUNK("\"candidates\":[{\"finishReason\":\"" reason "\"}]")

static const struct transcript streams[] = {
	{ "text", TEXT("Hel") TEXT("") TEXT("lo") FINISH("STOP"), "T(Hel)T(lo)", AR_MODEL_COMPLETED, "stop",
	  NULL },
	{ "thoughts, then text", THINK("hm") TEXT("x") FINISH("STOP"), "R(hm)T(x)", AR_MODEL_COMPLETED,
	  "stop", NULL },
	{ "text and its end in one",
	  CHUNK("\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]},\"finishReason\":\"STOP\"}]"),
	  "T(x)", AR_MODEL_COMPLETED, "stop", NULL },
	{ "two calls in one chunk",
	  PARTS("{\"functionCall\":{\"id\":\"a\",\"name\":\"f\",\"args\":{\"x\": "
		"1}}},{\"functionCall\":{\"name\":\"g\"}}") FINISH("STOP"),
	  "C0(a,f)A0({\"x\":1})C1(call_r1_1,g)A1({})", AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "the same function twice",
	  CALL("{\"name\":\"f\",\"args\":{}}") CALL("{\"name\":\"f\",\"args\":{}}") FINISH("STOP"),
	  "C0(call_r1_0,f)A0({})C1(call_r1_1,f)A1({})", AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "length", TEXT("x") FINISH("MAX_TOKENS"), "T(x)", AR_MODEL_COMPLETED, "length", NULL },
	{ "filtered", TEXT("x") FINISH("SAFETY"), "T(x)", AR_MODEL_COMPLETED, "content_filter", NULL },
	{ "a reason of tomorrow", FINISH("MALFORMED_FUNCTION_CALL"), "", AR_MODEL_COMPLETED,
	  "MALFORMED_FUNCTION_CALL", NULL },
	{ "no reason", TEXT("x") FINISH("FINISH_REASON_UNSPECIFIED"), "T(x)", AR_MODEL_CUT, NULL, "network" },
	{ "nothing", "", "", AR_MODEL_CUT, NULL, "network" },
	{ "usage after the end", TEXT("x") FINISH("STOP") CHUNK("\"usageMetadata\":{\"promptTokenCount\":1}"),
	  "T(x)", AR_MODEL_COMPLETED, "stop", NULL },
	{ "the prompt is blocked", CHUNK("\"promptFeedback\":{\"blockReason\":\"SAFETY\"}"), "",
	  AR_MODEL_FAILED, NULL, "content_filter" },
	{ "overloaded in the stream",
	  TEXT("x") CHUNK("\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\",\"message\":\"busy\"}"), "T(x)",
	  AR_MODEL_FAILED, NULL, "overloaded" },
	{ "second candidate",
	  CHUNK("\"candidates\":[{\"index\":1,\"content\":{\"parts\":[{\"text\":\"b\"}]}}]") TEXT("a")
		  FINISH("STOP"),
	  "T(a)", AR_MODEL_COMPLETED, "stop", NULL },
	{ "not JSON", TEXT("x") "data: {oops\r\n\r\n", "T(x)", AR_MODEL_GARBLED, NULL, "protocol" },
	{ "odd types",
	  CHUNK("\"candidates\":7,\"usageMetadata\":[],\"promptFeedback\":3") PARTS("5") CALL("[]")
		  CHUNK("\"candidates\":[{\"content\":{\"parts\":{}},\"finishReason\":9}]") FINISH("STOP"),
	  "", AR_MODEL_COMPLETED, "stop", NULL },
};

static void test_streams(void **state AR_UNUSED)
{
	assert_transcripts(FORMAT, streams, AR_ARRAY_LEN(streams));
}

#define BEFORE THINK("h\xc3\xa9") TEXT("x") CALL("{\"id\":\"a\",\"name\":\"f\",\"args\":{\"x\":1}}")

static void test_every_cut(void **state AR_UNUSED)
{
	/* The carriage return ends the line; the rest of the end need not come. */
	assert_every_cut(FORMAT, BEFORE FINISH("STOP"), sizeof(BEFORE FINISH("STOP")) - 4);
	assert_every_damage(FORMAT, BEFORE FINISH("STOP"));
}

static void test_usage_and_echo(void **state AR_UNUSED)
{
	struct reading f;
	struct ar_model_result *r;

	reading_open(&f, FORMAT, 1024);
	r = reading_feed(&f,
			 AR_STR(PARTS("{\"functionCall\":{\"name\":\"f\"},\"thoughtSignature\":\"c2ln\"},{"
				      "\"functionCall\":{\"name\":"
				      "\"g\"}}") CHUNK("\"usageMetadata\":{\"promptTokenCount\":10}")
					FINISH("STOP")
						CHUNK("\"usageMetadata\":{\"promptTokenCount\":10,"
						      "\"cachedContentTokenCount\":3,"
						      "\"candidatesTokenCount\":4,\"thoughtsTokenCount\":2,"
						      "\"toolUsePromptTokenCount\":1}")),
			 11);
	assert_int_equal(r->input_tokens, 11);
	assert_int_equal(r->output_tokens, 6);
	assert_int_equal(r->cached_tokens, 3);
	assert_int_equal(r->reasoning_tokens, 2);
	assert_str(r->model, "m");
	assert_str(f.answer.answer_id, "r1");
	assert_str(r->echo, "[\"c2ln\",null]");
	reading_close(&f);
}

static void test_caps(void **state AR_UNUSED)
{
	assert_cap(FORMAT, TEXT("12345") THINK("12345") TEXT("x") FINISH("STOP"), 10, "T(12345)R(12345)");
}

static void test_whole_answer(void **state AR_UNUSED)
{
	assert_whole(FORMAT,
		     "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"r\",\"thought\":true},{\"text\":"
		     "\"hi\"}]},"
		     "\"finishReason\":\"STOP\"}]}",
		     "R(r)T(hi)", AR_MODEL_COMPLETED);
	assert_whole(
		FORMAT,
		"[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]},"
		"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"b\"}]},\"finishReason\":\"STOP\"}]}]",
		"T(a)T(b)", AR_MODEL_COMPLETED);
	assert_whole(FORMAT, "{\"error\":{\"code\":500,\"message\":\"x\"}}", "", AR_MODEL_FAILED);
	assert_whole(FORMAT, "{\"hello\":1}", "", AR_MODEL_GARBLED);
	assert_whole(FORMAT, "[]", "", AR_MODEL_GARBLED);
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
