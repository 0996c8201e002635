/* Messages of JSON-RPC: what is one, what is not, and what ours look like; and lines, cut anywhere. */
#include "unit.h"

#include "line_reader.h"
#include "rpc.h"

static struct ar_json_parser *parser;

static enum ar_status read_text(const char *text, struct ar_mcp_message *m)
{
	return ar_mcp_read(parser, ar_str_from(text), m, NULL);
}

static void test_kinds(void **state AR_UNUSED)
{
	static const struct {
		const char *text;
		enum ar_mcp_kind kind;
	} good[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", AR_MCP_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"params\":{}}", AR_MCP_REQUEST },
		{ "{\"method\":\"x\"}", AR_MCP_NOTIFICATION },
		{ "{\"id\":1,\"result\":{}}", AR_MCP_RESULT },
		{ "{\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}", AR_MCP_ERROR },
		{ "{\"id\":null,\"error\":{}}", AR_MCP_ERROR },
	};
	static const char *const bad[] = {
		"",
		"x",
		"[]",
		"7",
		"{}",
		"{\"id\":1}",
		"{\"id\":1,\"result\":7}",
		"{\"id\":null,\"method\":\"x\"}",
		"{\"id\":1.5,\"method\":\"x\"}",
		"{\"id\":{},\"method\":\"x\"}",
		"{\"method\":\"x\",\"params\":[]}",
		"{\"id\":1,\"id\":2,\"result\":{}}",
		"{\"id\":1,\"result\":{}}{}",
	};
	struct ar_mcp_message m;

	for (size_t i = 0; i < AR_ARRAY_LEN(good); i++) {
		assert_int_equal(read_text(good[i].text, &m), AR_OK);
		assert_int_equal(m.kind, good[i].kind);
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++)
		assert_int_not_equal(read_text(bad[i], &m), AR_OK);
}

static void test_answers(void **state AR_UNUSED)
{
	struct ar_mcp_message m;

	assert_int_equal(read_text("{\"id\":7,\"result\":{}}", &m), AR_OK);
	assert_int_equal(m.answers, 7);
	assert_int_equal(read_text("{\"id\":\"7\",\"result\":{}}", &m), AR_OK);
	assert_int_equal(m.answers, 0);
	assert_int_equal(
		read_text("{\"id\":7,\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":{\"a\":1}}}", &m),
		AR_OK);
	assert_int_equal(m.code, AR_MCP_ERR_VERSION);
	assert_str(m.error, "no");
	assert_int_equal(ar_json_type(m.error_data), AR_JSON_OBJECT);
}

static void test_written(void **state AR_UNUSED)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_mcp_open(&out, 3, "tools/call", &(struct ar_mcp_meta){ .progress_token = 3 });

	ar_jw_mstr(&w, "name", AR_STR("n"));
	ar_mcp_close(&w);
	assert_str(ar_buf_str(&out),
		   "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"_meta\":"
		   "{\"progressToken\":3},\"name\":\"n\"}}");
	ar_buf_clear(&out);
	w = ar_mcp_open(&out, 0, "notifications/x", &(struct ar_mcp_meta){ 0 });
	ar_mcp_close(&w);
	assert_str(ar_buf_str(&out), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{}}");
	ar_buf_clear(&out);
	ar_mcp_write_result(&out, AR_STR("\"q\""), AR_STR("{\"action\":\"decline\"}"));
	assert_str(ar_buf_str(&out),
		   "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"action\":\"decline\"}}");
	ar_buf_clear(&out);
	ar_mcp_write_error(&out, AR_STR("4"), -32601, AR_STR("no"));
	assert_str(ar_buf_str(&out),
		   "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32601,\"message\":\"no\"}}");
	ar_buf_fini(&out);
}

static bool on_line(void *owner, struct ar_str line)
{
	ar_buf_adds(owner, line);
	ar_buf_addc(owner, '|');
	return true;
}

static void test_lines_at_every_cut(void **state AR_UNUSED)
{
	struct ar_str text = AR_STR("a\n\nbc\r\n\r\nd e\nrest");

	for (size_t cut = 0; cut <= text.len; cut++) {
		struct ar_buf seen = { 0 };
		struct ar_mcp_lines lines = { on_line, &seen, { .cap = 16 } };

		assert_int_equal(ar_mcp_lines_feed(&lines, ar_str_sub(text, 0, cut)), AR_OK);
		assert_int_equal(ar_mcp_lines_feed(&lines, ar_str_sub(text, cut, text.len)), AR_OK);
		assert_str(ar_buf_str(&seen), "a|bc|d e|");
		ar_buf_fini(&seen);
		ar_buf_fini(&lines.rest);
	}
}

static void test_line_cap(void **state AR_UNUSED)
{
	struct ar_buf seen = { 0 };
	struct ar_mcp_lines lines = { on_line, &seen, { .cap = 4 } };

	assert_int_equal(ar_mcp_lines_feed(&lines, AR_STR("1234\n12")), AR_OK);
	assert_int_equal(ar_mcp_lines_feed(&lines, AR_STR("345\n")), AR_E_LIMIT);
	ar_buf_fini(&lines.rest);
	lines.rest = (struct ar_buf){ .cap = 4 };
	assert_int_equal(ar_mcp_lines_feed(&lines, AR_STR("12345\n")), AR_E_LIMIT);
	ar_buf_fini(&lines.rest);
	ar_buf_fini(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),	 cmocka_unit_test(test_answers),
		cmocka_unit_test(test_written),	 cmocka_unit_test(test_lines_at_every_cut),
		cmocka_unit_test(test_line_cap),
	};
	int failed;

	parser = ar_json_parser_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	ar_json_parser_free(parser);
	return failed;
}
