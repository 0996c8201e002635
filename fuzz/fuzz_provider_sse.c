/* Fuzz target: any bytes, split anywhere, through the event stream reader and the chunk mapping. The first byte chooses
 * the output cap, the second the splits. Whatever comes: the same bytes give the same outputs and outcome however they
 * are split, outputs are UTF-8 and within the cap, tool arguments follow their tool. */
#include "openai_stream.h"

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
static enum ar_model_outcome run(struct ar_str input, size_t cap, uint8_t step, struct seen *seen)
{
	struct ar_openai_sink sink = { on_tool, on_output, seen };
	struct ar_openai_stream stream;
	enum ar_model_outcome outcome;
	size_t n = step ? step : input.len + 1;

	ar_openai_stream_init(&stream, parser, &sink, cap);
	for (size_t at = 0; at < input.len; at += n) {
		if (!ar_openai_stream_feed(&stream, ar_str_sub(input, at, n)))
			break;
	}
	outcome = ar_openai_stream_end(&stream)->outcome;
	ar_openai_stream_fini(&stream);
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct seen whole = { 0 }, split = { 0 };
	struct ar_str input;
	size_t cap;

	if (len < 2)
		return 0;
	input = (struct ar_str){ (const char *)bytes + 2, len - 2 };
	cap = 1 + (size_t)bytes[0] * 16;
	AR_ASSERT(run(input, cap, 0, &whole) == run(input, cap, bytes[1], &split));
	AR_ASSERT(ar_str_eq(ar_buf_str(&whole.outputs), ar_buf_str(&split.outputs)));
	AR_ASSERT(whole.bytes <= cap);
	ar_buf_fini(&whole.outputs);
	ar_buf_fini(&split.outputs);
	return 0;
}
