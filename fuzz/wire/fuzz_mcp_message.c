/* Fuzz target: any bytes as what an MCP server writes. They are split into lines (the first byte chooses
 * where the bytes are cut), and each line that is a message is read as everything that a message can be.
 * However they are cut, the same lines come; what is made of them is UTF-8 and within its caps, and an answer
 * that is written for a question is JSON again. */
#include "inventory.h"
#include "line_reader.h"
#include "question.h"
#include "result.h"
#include "rpc.h"

static struct ar_json_parser *parser, *second;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	parser = ar_json_parser_new();
	second = ar_json_parser_new();
	return 0;
}

static void try_inventory(struct ar_json result)
{
	struct ar_mcp_reading how = { .server = AR_STR("s"), .trusted = true, .sends_headers = true };
	struct ar_mcp_inventory *v = ar_mcp_inventory_new();
	struct ar_buf headers = { 0 };

	if (ar_mcp_inventory_add(v, &how, result, NULL) == AR_OK) {
		for (size_t i = 0; i < v->count; i++) {
			AR_ASSERT(v->tools[i].name.len > 0 && v->tools[i].name.len <= AR_TOOL_NAME_MAX);
			AR_ASSERT(ar_mcp_inventory_find(v, v->tools[i].name) == (ptrdiff_t)i);
			AR_ASSERT(ar_str_is_utf8(v->tools[i].description) &&
				  v->tools[i].schema.len <= AR_TOOL_SCHEMA_MAX);
			ar_mcp_params_write(&v->remotes[i].params, result, &headers);
		}
	}
	ar_buf_fini(&headers);
	ar_mcp_inventory_unref(v);
}

static void try_result(struct ar_json result)
{
	struct ar_arena a = { 0 };
	struct ar_tool_result r;

	ar_mcp_result_read(&a, result, &r);
	AR_ASSERT(ar_str_is_utf8(r.text) && ar_str_is_utf8(r.message));
	ar_arena_fini(&a);
}

static void try_question(struct ar_json params, struct ar_str content)
{
	struct ar_arena a = { 0 };
	struct ar_buf out = { 0 };
	struct ar_tool_question q;
	struct ar_tool_answer answer = { .kind = AR_TOOL_ANSWER_ACCEPT, .content = content };
	struct ar_json root;

	if (ar_mcp_question_read(&a, params, &q)) {
		ar_mcp_question_answer(second, &q, &answer, &out);
		AR_ASSERT(ar_json_parse(second, ar_buf_str(&out), &root, NULL) == AR_OK);
	}
	ar_buf_fini(&out);
	ar_arena_fini(&a);
}

static bool on_line(void *owner, struct ar_str line)
{
	struct ar_arena a = { 0 };
	struct ar_mcp_message m;
	struct ar_tool_result r;

	ar_buf_adds(owner, line);
	ar_buf_addc(owner, '\n');
	if (ar_mcp_read(parser, line, &m, NULL) != AR_OK)
		return true;
	AR_ASSERT(m.kind != 0);
	if (m.kind == AR_MCP_ERROR) {
		ar_mcp_result_refused(&a, &m, &r);
		AR_ASSERT(r.outcome != 0 && ar_str_is_utf8(r.message));
	}
	try_inventory(m.result);
	try_result(m.result);
	try_question(m.params, line);
	ar_arena_fini(&a);
	return true;
}

/* `step` 0: all at once. */
static enum ar_status run(struct ar_str input, uint8_t step, struct ar_buf *seen)
{
	struct ar_mcp_lines lines = { on_line, seen, { .cap = 4096 } };
	enum ar_status st = AR_OK;
	size_t n = step ? step : input.len + 1;

	for (size_t at = 0; at < input.len && st == AR_OK; at += n)
		st = ar_mcp_lines_feed(&lines, ar_str_sub(input, at, n));
	ar_buf_fini(&lines.rest);
	return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_buf whole = { 0 }, split = { 0 };
	struct ar_str input;

	if (len < 1)
		return 0;
	input = (struct ar_str){ (const char *)bytes + 1, len - 1 };
	AR_ASSERT(run(input, 0, &whole) == run(input, bytes[0], &split));
	AR_ASSERT(ar_str_eq(ar_buf_str(&whole), ar_buf_str(&split)));
	ar_buf_fini(&whole);
	ar_buf_fini(&split);
	return 0;
}
