/* Chunks of Chat Completions servers, regular and odd, as outputs and outcomes. Each stream is also given byte by byte. */
#include "unit.h"

#include "openai_stream.h"

#define DELTA(json) "data: {\"id\":\"a1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":" json "}]}\n\n"
#define FINISH(reason) "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" reason "\"}]}\n\n"
#define DONE "data: [DONE]\n\n"
#define CALL(json) DELTA("{\"tool_calls\":[" json "]}")

/* Outputs are written as T(text) R(reasoning) C<index>(id,name) A<index>(arguments). */
static const struct {
	const char *name, *bytes, *outputs;
	enum ar_model_outcome outcome;
	const char *stop_reason;
} streams[] = {
	{ "text",
	  DELTA("{\"role\":\"assistant\",\"content\":\"\"}") DELTA("{\"content\":\"Hel\"}")
		  DELTA("{\"content\":\"lo\"}") FINISH("stop") DONE,
	  "T(Hel)T(lo)", AR_MODEL_COMPLETED, "stop" },
	{ "null content", DELTA("{\"content\":null}") DELTA("{\"content\":\"x\"}") FINISH("length") DONE,
	  "T(x)", AR_MODEL_COMPLETED, "length" },
	{ "reasoning by both names",
	  DELTA("{\"reasoning_content\":\"a\"}") DELTA("{\"reasoning\":\"b\"}")
		  DELTA("{\"reasoning_content\":\"c\",\"reasoning\":\"c\"}") FINISH("stop") DONE,
	  "R(a)R(b)R(c)", AR_MODEL_COMPLETED, "stop" },
	{ "refusal is text", DELTA("{\"refusal\":\"no\"}") FINISH("stop") DONE, "T(no)", AR_MODEL_COMPLETED,
	  "stop" },
	{ "no end mark", DELTA("{\"content\":\"x\"}") FINISH("stop"), "T(x)", AR_MODEL_COMPLETED, "stop" },
	{ "no stop reason", DELTA("{\"content\":\"x\"}") DONE, "T(x)", AR_MODEL_COMPLETED, NULL },
	{ "neither", DELTA("{\"content\":\"x\"}"), "T(x)", AR_MODEL_CUT, NULL },
	{ "nothing", "", "", AR_MODEL_CUT, NULL },
	{ "end mark without its blank line", DELTA("{\"content\":\"x\"}") "data: [DONE]\n", "T(x)",
	  AR_MODEL_COMPLETED, NULL },
	{ "cut inside a chunk", DELTA("{\"content\":\"x\"}") "data: {\"choices\":[{\"del\n", "T(x)",
	  AR_MODEL_CUT, NULL },
	{ "after the end mark",
	  DELTA("{\"content\":\"x\"}") DONE DELTA("{\"content\":\"y\"}") "data: junk\n\n", "T(x)",
	  AR_MODEL_COMPLETED, NULL },
	{ "not JSON", DELTA("{\"content\":\"x\"}") "data: {oops\n\n" DONE, "T(x)", AR_MODEL_GARBLED, NULL },
	{ "not an object", "data: 17\n\n" DONE, "", AR_MODEL_GARBLED, NULL },
	{ "invalid UTF-8", DELTA("{\"content\":\"\xff\"}") DONE, "", AR_MODEL_GARBLED, NULL },
	{ "error in the stream",
	  DELTA("{\"content\":\"x\"}") "data: {\"error\":{\"message\":\"boom\"}}\n\n" DONE, "T(x)",
	  AR_MODEL_FAILED, NULL },
	{ "error event", "event: error\ndata: {\"message\":\"boom\"}\n\n", "", AR_MODEL_FAILED, NULL },
	{ "error null is none", "data: {\"error\":null,\"choices\":[]}\n\n" DONE, "", AR_MODEL_COMPLETED,
	  NULL },
	{ "second choice",
	  "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]}\n\n" DELTA("{\"content\":\"a\"}")
		  DONE,
	  "T(a)", AR_MODEL_COMPLETED, NULL },
	{ "odd types",
	  "data: {\"choices\":{\"a\":1},\"usage\":[],\"model\":5}\n\n" DELTA("7") DELTA("{\"tool_calls\":{}}")
		  DELTA("{\"content\":[1]}") CALL("3") DONE,
	  "", AR_MODEL_COMPLETED, NULL },
	{ "duplicate chunks", DELTA("{\"content\":\"a\"}") DELTA("{\"content\":\"a\"}") DONE, "T(a)T(a)",
	  AR_MODEL_COMPLETED, NULL },
	{ "tool call",
	  CALL("{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"add\",\"arguments\":"
	       "\"\"}}") CALL("{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\"\"}}")
		  CALL("{\"index\":0,\"function\":{\"arguments\":\":1}\"}}") FINISH("tool_calls") DONE,
	  "C0(c,add)A0({\"a\")A0(:1})", AR_MODEL_COMPLETED, "tool_calls" },
	{ "two calls, mixed pieces",
	  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\"}},{\"index\":1,\"id\":\"d\","
	       "\"function\":{\"name\":\"g\"}}") CALL("{\"index\":1,\"function\":{\"arguments\":\"1\"}}")
		  CALL("{\"index\":0,\"function\":{\"arguments\":\"0\"}}") DONE,
	  "C0(c,f)C1(d,g)A1(1)A0(0)", AR_MODEL_COMPLETED, NULL },
	{ "id repeated in each piece",
	  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}")
		  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"2\"}}") DONE,
	  "C0(c,f)A0(1)A0(2)", AR_MODEL_COMPLETED, NULL },
	{ "no index, ids",
	  CALL("{\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}")
		  CALL("{\"id\":\"d\",\"function\":{\"name\":\"f\",\"arguments\":\"2\"}}")
			  CALL("{\"function\":{\"arguments\":\"3\"}}") DONE,
	  "C0(c,f)A0(1)C1(d,f)A1(2)A1(3)", AR_MODEL_COMPLETED, NULL },
	{ "no id", CALL("{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}") DONE,
	  "C0(call_a1_0,f)A0(1)", AR_MODEL_COMPLETED, NULL },
	{ "neither id nor index",
	  CALL("{\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}")
		  CALL("{\"function\":{\"name\":\"g\",\"arguments\":\"2\"}}") DONE,
	  "C0(call_a1_0,f)A0(1)C1(call_a1_1,g)A1(2)", AR_MODEL_COMPLETED, NULL },
	{ "index reused for a second call",
	  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}")
		  CALL("{\"index\":0,\"id\":\"d\",\"function\":{\"name\":\"g\",\"arguments\":\"2\"}}")
			  CALL("{\"index\":0,\"function\":{\"arguments\":\"3\"}}") DONE,
	  "C0(c,f)A0(1)C1(d,g)A1(2)A1(3)", AR_MODEL_COMPLETED, NULL },
	{ "new id without name continues",
	  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}")
		  CALL("{\"index\":0,\"id\":\"z\",\"function\":{\"arguments\":\"2\"}}") DONE,
	  "C0(c,f)A0(1)A0(2)", AR_MODEL_COMPLETED, NULL },
	{ "id before name",
	  CALL("{\"index\":0,\"id\":\"c\"}") CALL("{\"index\":0,\"function\":{\"name\":\"f\"}}") DONE,
	  "C0(c,f)", AR_MODEL_COMPLETED, NULL },
	{ "arguments as object",
	  CALL("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\": [1, 2]}}}") DONE,
	  "C0(c,f)A0({\"a\":[1,2]})", AR_MODEL_COMPLETED, NULL },
	{ "sparse index",
	  CALL("{\"index\":5,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"1\"}}") DONE,
	  "C0(c,f)A0(1)", AR_MODEL_COMPLETED, NULL },
};

struct seen {
	struct ar_buf outputs;
};

static void on_tool(void *owner, uint32_t index, struct ar_str id, struct ar_str name)
{
	struct seen *s = owner;

	ar_buf_addf(&s->outputs, "C%u(%.*s,%.*s)", index, AR_STR_ARG(id), AR_STR_ARG(name));
}

static void on_output(void *owner, enum ar_output_kind kind, uint32_t index, struct ar_str bytes)
{
	struct seen *s = owner;

	assert_true(bytes.len > 0);
	if (kind == AR_OUT_TOOL_ARGS)
		ar_buf_addf(&s->outputs, "A%u", index);
	else
		ar_buf_addc(&s->outputs, kind == AR_OUT_TEXT ? 'T' : 'R');
	ar_buf_addf(&s->outputs, "(%.*s)", AR_STR_ARG(bytes));
}

struct fixture {
	struct ar_json_parser *json;
	struct ar_openai_stream stream;
	struct seen seen;
};

static void open_stream(struct fixture *f, size_t output_max)
{
	struct ar_openai_sink sink = { on_tool, on_output, &f->seen };

	*f = (struct fixture){ .json = ar_json_parser_new() };
	ar_openai_stream_init(&f->stream, f->json, &sink, output_max);
}

static void close_stream(struct fixture *f)
{
	ar_openai_stream_fini(&f->stream);
	ar_json_parser_free(f->json);
	ar_buf_fini(&f->seen.outputs);
}

static struct ar_model_result *feed_all(struct fixture *f, struct ar_str bytes, size_t step)
{
	for (size_t at = 0; at < bytes.len; at += step) {
		if (!ar_openai_stream_feed(&f->stream, ar_str_sub(bytes, at, step)))
			break;
	}
	return ar_openai_stream_end(&f->stream);
}

static void assert_stream(size_t i, size_t step)
{
	struct fixture f;
	struct ar_model_result *r;

	open_stream(&f, 1 << 20);
	r = feed_all(&f, ar_str_from(streams[i].bytes), step);
	if (r->outcome != streams[i].outcome || !ar_str_is(ar_buf_str(&f.seen.outputs), streams[i].outputs))
		print_error("stream '%s' in steps of %zu\n", streams[i].name, step);
	assert_str(ar_buf_str(&f.seen.outputs), streams[i].outputs);
	assert_int_equal(r->outcome, streams[i].outcome);
	assert_true(ar_str_eq(r->stop_reason, ar_str_from(streams[i].stop_reason)));
	assert_int_equal(ar_str_absent(r->category), r->outcome == AR_MODEL_COMPLETED);
	close_stream(&f);
}

static void test_streams(void **state AR_UNUSED)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(streams); i++) {
		assert_stream(i, SIZE_MAX / 2);
		assert_stream(i, 1);
		assert_stream(i, 7);
	}
}

static void test_usage_and_names(void **state AR_UNUSED)
{
	struct fixture f;
	struct ar_model_result *r;

	open_stream(&f, 1024);
	r = feed_all(
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
	close_stream(&f);
}

static void test_usage_never_negative(void **state AR_UNUSED)
{
	struct fixture f;
	struct ar_model_result *r;

	open_stream(&f, 1024);
	r = feed_all(&f,
		     AR_STR("data: {\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":null}}\n\n" DONE),
		     1024);
	assert_int_equal(r->input_tokens, 0);
	assert_int_equal(r->output_tokens, 0);
	close_stream(&f);
}

/* Text, reasoning, arguments and names all count; what fits is passed, what does not ends the stream. */
static void test_output_cap(void **state AR_UNUSED)
{
	struct fixture f;
	struct ar_model_result *r;

	open_stream(&f, 10);
	r = feed_all(&f,
		     AR_STR(DELTA("{\"content\":\"12345\"}") DELTA("{\"reasoning\":\"12345\"}")
				    DELTA("{\"content\":\"x\"}") DONE),
		     64);
	assert_str(ar_buf_str(&f.seen.outputs), "T(12345)R(12345)");
	assert_int_equal(r->outcome, AR_MODEL_GARBLED);
	assert_str(r->category, "too_large");
	assert_false(r->retryable);
	close_stream(&f);
}

static void test_tool_flood(void **state AR_UNUSED)
{
	struct fixture f;
	struct ar_buf bytes = { 0 };
	struct ar_model_result *r;

	open_stream(&f, 1 << 20);
	for (int i = 0; i < 200; i++)
		ar_buf_addf(&bytes, CALL("{\"index\":%d,\"id\":\"c\",\"function\":{\"name\":\"f\"}}"), i);
	r = feed_all(&f, ar_buf_str(&bytes), 4096);
	assert_int_equal(r->outcome, AR_MODEL_GARBLED);
	assert_str(r->category, "too_large");
	ar_buf_fini(&bytes);
	close_stream(&f);
}

static void test_event_cap(void **state AR_UNUSED)
{
	struct fixture f;
	struct ar_buf bytes = { 0 };
	struct ar_model_result *r;

	open_stream(&f, 1);
	ar_buf_addz(&bytes, "data: ");
	for (int i = 0; i < (2 << 20); i++)
		ar_buf_addc(&bytes, ' ');
	r = feed_all(&f, ar_buf_str(&bytes), 16384);
	assert_str(r->category, "too_large");
	ar_buf_fini(&bytes);
	close_stream(&f);
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

	for (size_t i = 0; i < AR_ARRAY_LEN(bodies); i++) {
		struct fixture f;

		open_stream(&f, 1024);
		ar_openai_stream_whole(&f.stream, ar_str_from(bodies[i].body));
		assert_int_equal(ar_openai_stream_end(&f.stream)->outcome, bodies[i].outcome);
		assert_str(ar_buf_str(&f.seen.outputs), bodies[i].outputs);
		close_stream(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_usage_and_names),
		cmocka_unit_test(test_usage_never_negative),
		cmocka_unit_test(test_output_cap),
		cmocka_unit_test(test_tool_flood),
		cmocka_unit_test(test_event_cap),
		cmocka_unit_test(test_whole_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
