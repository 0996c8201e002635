/* Fuzz target: any bytes, split anywhere, through the event stream reader and a wire format. The first byte
 * chooses the format, the second the output cap, the third the splits. Whatever comes: the same bytes give
 * the same outputs and outcome however they are split, outputs are UTF-8 and within the cap, tool arguments
 * follow their tool. The same bytes are also taken as the answer of a server that does not stream. */
#include "answer.h"
#include "wire.h"

static const char *const formats[] = { "openai-chat", "anthropic", "openai-responses", "gemini" };

static struct ar_json_parser *parser;

struct seen {
	struct ar_buf outputs;
	size_t bytes;
	uint32_t tools;
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	parser = ar_json_parser_new();
	return 0;
}

static void on_tool(void *owner, uint32_t index, struct ar_str id, struct ar_str name)
{
	struct seen *s = owner;

	AR_ASSERT(id.len > 0);
	if (index >= s->tools)
		s->tools = index + 1;
	ar_buf_addf(&s->outputs, "C%u(%.*s,%.*s)", index, AR_STR_ARG(id), AR_STR_ARG(name));
}

static void on_output(void *owner, enum ar_output_kind kind, uint32_t index, struct ar_str bytes)
{
	struct seen *s = owner;

	AR_ASSERT(bytes.len > 0 && ar_str_is_utf8(bytes));
	AR_ASSERT(kind != AR_OUT_TOOL_ARGS || index < s->tools);
	s->bytes += bytes.len;
	ar_buf_addf(&s->outputs, "%d.%u(%.*s)", (int)kind, index, AR_STR_ARG(bytes));
}

/* `step` 0: all at once. */
static enum ar_model_outcome run(const struct ar_wire *wire, struct ar_str input, size_t cap, uint8_t step,
				 struct seen *seen)
{
	struct ar_answer_sink sink = { on_tool, on_output, seen };
	struct ar_answer answer;
	enum ar_model_outcome outcome;
	size_t n = step ? step : input.len + 1;

	ar_answer_init(&answer, wire, parser, &sink, cap);
	for (size_t at = 0; at < input.len; at += n) {
		if (!ar_answer_feed(&answer, ar_str_sub(input, at, n)))
			break;
	}
	outcome = ar_answer_end(&answer)->outcome;
	ar_answer_fini(&answer);
	return outcome;
}

static void run_whole(const struct ar_wire *wire, struct ar_str input, size_t cap)
{
	struct seen seen = { 0 };
	struct ar_answer_sink sink = { on_tool, on_output, &seen };
	struct ar_answer answer;

	ar_answer_init(&answer, wire, parser, &sink, cap);
	ar_answer_whole(&answer, input);
	AR_ASSERT(ar_answer_end(&answer)->outcome != 0);
	AR_ASSERT(seen.bytes <= cap);
	ar_answer_fini(&answer);
	ar_buf_fini(&seen.outputs);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct seen whole = { 0 }, split = { 0 };
	const struct ar_wire *wire;
	struct ar_str input;
	size_t cap;

	if (len < 3)
		return 0;
	wire = ar_wire_find(ar_str_from(formats[bytes[0] % AR_ARRAY_LEN(formats)]));
	input = (struct ar_str){ (const char *)bytes + 3, len - 3 };
	cap = 1 + (size_t)bytes[1] * 16;
	AR_ASSERT(run(wire, input, cap, 0, &whole) == run(wire, input, cap, bytes[2], &split));
	AR_ASSERT(ar_str_eq(ar_buf_str(&whole.outputs), ar_buf_str(&split.outputs)));
	AR_ASSERT(whole.bytes <= cap);
	run_whole(wire, input, cap);
	ar_buf_fini(&whole.outputs);
	ar_buf_fini(&split.outputs);
	return 0;
}
