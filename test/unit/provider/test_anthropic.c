/* Events of the Messages API, regular and odd, as outputs and outcomes. */
#include "unit.h"

#include "transcript.h"

#define FORMAT "anthropic"
#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define START \
	EVENT("message_start", \
	      ",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\"," \
	      "\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10," \
	      "\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":4,\"output_tokens\":1}}")
#define PING EVENT("ping", "")
#define OPEN(index, block) EVENT("content_block_start", ",\"index\":" index ",\"content_block\":" block)
#define DELTA(index, delta) EVENT("content_block_delta", ",\"index\":" index ",\"delta\":" delta)
#define TEXT(index, text) DELTA(index, "{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define THINK(index, text) DELTA(index, "{\"type\":\"thinking_delta\",\"thinking\":\"" text "\"}")
#define SIGN(index, text) DELTA(index, "{\"type\":\"signature_delta\",\"signature\":\"" text "\"}")
#define JSON(index, text) DELTA(index, "{\"type\":\"input_json_delta\",\"partial_json\":\"" text "\"}")
#define CLOSE(index) EVENT("content_block_stop", ",\"index\":" index)
#define TOOL(index, id, name) \
	OPEN(index, "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":{}}")
#define FINISH(reason) \
	EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"" reason \
			       "\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":9}")
#define STOP EVENT("message_stop", "")
#define TEXT_BLOCK OPEN("0", "{\"type\":\"text\",\"text\":\"\"}")

static const struct transcript streams[] = {
	{ "text", START PING TEXT_BLOCK TEXT("0", "Hel") TEXT("0", "lo") CLOSE("0") FINISH("end_turn") STOP,
	  "T(Hel)T(lo)", AR_MODEL_COMPLETED, "stop", NULL },
	{ "thinking, then text",
	  START OPEN("0", "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}") THINK("0", "hm")
		  SIGN("0", "c2ln") CLOSE("0") OPEN("1", "{\"type\":\"text\",\"text\":\"\"}") TEXT("1", "x")
			  CLOSE("1") FINISH("end_turn") STOP,
	  "R(hm)T(x)", AR_MODEL_COMPLETED, "stop", NULL },
	{ "two tools, pieces mixed",
	  START TOOL("0", "a", "f") TOOL("1", "b", "g") JSON("1", "{\\\"x\\\":") JSON("0", "{}")
		  JSON("1", "1}") CLOSE("0") CLOSE("1") FINISH("tool_use") STOP,
	  "C0(a,f)C1(b,g)A1({\"x\":)A0({})A1(1})", AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "a tool without arguments",
	  START TOOL("0", "a", "f") JSON("0", "") CLOSE("0") FINISH("tool_use") STOP, "C0(a,f)A0({})",
	  AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "a tool with whole arguments",
	  START OPEN("0", "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{\"x\": 1}}")
		  CLOSE("0") FINISH("tool_use") STOP,
	  "C0(a,f)A0({\"x\":1})", AR_MODEL_COMPLETED, "tool_calls", NULL },
	{ "a tool of the provider's own",
	  START OPEN("0", "{\"type\":\"server_tool_use\",\"id\":\"a\",\"name\":\"web_search\",\"input\":{}}")
		  JSON("0", "{}") CLOSE("0") FINISH("end_turn") STOP,
	  "", AR_MODEL_COMPLETED, "stop", NULL },
	{ "length", START TEXT_BLOCK TEXT("0", "x") CLOSE("0") FINISH("max_tokens") STOP, "T(x)",
	  AR_MODEL_COMPLETED, "length", NULL },
	{ "refusal", START FINISH("refusal") STOP, "", AR_MODEL_COMPLETED, "content_filter", NULL },
	{ "a reason of tomorrow", START FINISH("pause_turn") STOP, "", AR_MODEL_COMPLETED, "pause_turn",
	  NULL },
	{ "an event of tomorrow",
	  START EVENT("sparkle", ",\"x\":1") TEXT_BLOCK TEXT("0", "x") FINISH("end_turn") STOP, "T(x)",
	  AR_MODEL_COMPLETED, "stop", NULL },
	{ "no end mark", START TEXT_BLOCK TEXT("0", "x") FINISH("end_turn"), "T(x)", AR_MODEL_COMPLETED,
	  "stop", NULL },
	{ "no stop reason", START TEXT_BLOCK TEXT("0", "x") STOP, "T(x)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "neither", START TEXT_BLOCK TEXT("0", "x") CLOSE("0"), "T(x)", AR_MODEL_CUT, NULL, "network" },
	{ "nothing", "", "", AR_MODEL_CUT, NULL, "network" },
	{ "names only in the data",
	  "data: "
	  "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}"
	  "\n\n"
	  "data: {\"type\":\"message_stop\"}\n\n",
	  "T(x)", AR_MODEL_COMPLETED, NULL, NULL },
	{ "after the end", START STOP TEXT("0", "late") "data: junk\n\n", "", AR_MODEL_COMPLETED, NULL,
	  NULL },
	{ "overloaded in the stream",
	  START TEXT_BLOCK TEXT("0", "x")
		  EVENT("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":"
				 "\"Overloaded\"},\"request_id\":null"),
	  "T(x)", AR_MODEL_FAILED, NULL, "overloaded" },
	{ "refused in the stream",
	  START EVENT("error", ",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}"), "",
	  AR_MODEL_FAILED, NULL, "invalid_request" },
	{ "not JSON", START "event: message_delta\ndata: {oops\n\n", "", AR_MODEL_GARBLED, NULL, "protocol" },
	{ "odd types",
	  EVENT("message_start", ",\"message\":7") OPEN("\"x\"", "[]") DELTA("-1", "null") JSON("9", "{}")
		  CLOSE("{}") EVENT("message_delta", ",\"delta\":{\"stop_reason\":5},\"usage\":3") STOP,
	  "", AR_MODEL_COMPLETED, NULL, NULL },
};

static void test_streams(void **state AR_UNUSED)
{
	assert_transcripts(FORMAT, streams, AR_ARRAY_LEN(streams));
}

#define BEFORE \
	START PING OPEN("0", "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}") \
		THINK("0", "h\xc3\xa9") SIGN("0", "c2ln") CLOSE("0") TOOL("1", "a", "f") \
			JSON("1", "{\\\"x\\\":1}") CLOSE("1")

static void test_every_cut(void **state AR_UNUSED)
{
	/* The line of the stop reason is enough; its blank line need not come. */
	assert_every_cut(FORMAT, BEFORE FINISH("tool_use") STOP, sizeof(BEFORE FINISH("tool_use")) - 2);
	assert_every_damage(FORMAT, BEFORE FINISH("tool_use") STOP);
}

static void test_usage(void **state AR_UNUSED)
{
	struct reading f;
	struct ar_model_result *r;

	reading_open(&f, FORMAT, 1024);
	r = reading_feed(&f,
			 AR_STR(START EVENT("message_delta",
					    ",\"delta\":{},\"usage\":{\"output_tokens\":9,"
					    "\"output_tokens_details\":{\"thinking_tokens\":2}}") STOP),
			 9);
	assert_true(r->has_usage);
	assert_int_equal(r->input_tokens, 17);
	assert_int_equal(r->cached_tokens, 4);
	assert_int_equal(r->cache_write_tokens, 3);
	assert_int_equal(r->output_tokens, 9);
	assert_int_equal(r->reasoning_tokens, 2);
	assert_str(r->model, "m");
	assert_str(f.answer.answer_id, "msg_1");
	assert_true(ar_str_absent(r->echo));
	reading_close(&f);
}

/* Signed reasoning comes out as it went in, redacted too; unsigned reasoning would be refused and stays
 * here. */
static void test_echo(void **state AR_UNUSED)
{
	struct reading f;
	struct ar_model_result *r;

	reading_open(&f, FORMAT, 1024);
	r = reading_feed(&f,
			 AR_STR(BEFORE OPEN("2", "{\"type\":\"redacted_thinking\",\"data\":\"ZZ\"}")
					CLOSE("2") OPEN("3", "{\"type\":\"thinking\",\"thinking\":\"\"}")
						THINK("3", "free") CLOSE("3") FINISH("tool_use") STOP),
			 33);
	assert_str(r->echo, "[{\"type\":\"thinking\",\"thinking\":\"h\xc3\xa9\",\"signature\":\"c2ln\"},"
			    "{\"type\":\"redacted_thinking\",\"data\":\"ZZ\"}]");
	reading_close(&f);
}

static void test_caps(void **state AR_UNUSED)
{
	struct ar_buf bytes = { 0 };

	assert_cap(FORMAT, START TEXT("0", "12345") THINK("0", "12345") TEXT("0", "x") STOP, 10,
		   "T(12345)R(12345)");
	for (int i = 0; i < 3000; i++)
		ar_buf_addz(&bytes, SIGN("0", "0123456789012345678901234567890123456789"));
	ar_buf_addz(&bytes, CLOSE("0") STOP);
	ar_buf_addc(&bytes, '\0');
	assert_cap(FORMAT, bytes.p, 10, "");
	ar_buf_fini(&bytes);
}

static void test_whole_answer(void **state AR_UNUSED)
{
	assert_whole(FORMAT,
		     "{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"r\","
		     "\"signature\":\"s\"},"
		     "{\"type\":\"text\",\"text\":\"hi\"},{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\","
		     "\"input\":{}}],"
		     "\"stop_reason\":\"tool_use\"}",
		     "R(r)T(hi)C0(c,f)A0({})", AR_MODEL_COMPLETED);
	assert_whole(FORMAT, "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"x\"}}", "",
		     AR_MODEL_FAILED);
	assert_whole(FORMAT, "{\"hello\":1}", "", AR_MODEL_GARBLED);
	assert_whole(FORMAT, "[]", "", AR_MODEL_GARBLED);
	assert_whole(FORMAT, "<html>", "", AR_MODEL_GARBLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams), cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_usage),	cmocka_unit_test(test_echo),
		cmocka_unit_test(test_caps),	cmocka_unit_test(test_whole_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
