/* Messages events to outputs. An answer is a list of blocks; each is opened, filled and closed under its
 * index. Blocks of tools that the provider runs itself are not ours and are passed over. Pure. */
#include "outputs.h"
#include "wire/anthropic_request.h"
#include "wire/formats.h"

static const struct ar_out_word stop_words[] = {
	{ "end_turn", "stop" },
	{ "stop_sequence", "stop" },
	{ "max_tokens", "length" },
	{ "model_context_window_exceeded", "length" },
	{ "tool_use", "tool_calls" },
	{ "refusal", "content_filter" },
	{ 0 },
};

static int64_t index_of(struct ar_json doc)
{
	int64_t index = AR_OUT_NO_INDEX;

	if (ar_json_i64(ar_json_get(doc, "index"), &index) && index < 0)
		return AR_OUT_NO_INDEX;
	return index;
}

/* ---- usage ---- */

/* Their input leaves out what the cache gave or took; ours counts it. Later counts replace earlier ones. */
static void read_usage(struct ar_model_result *r, struct ar_json usage)
{
	int64_t fresh = r->input_tokens - r->cached_tokens - r->cache_write_tokens;
	struct ar_json details = ar_json_get(usage, "output_tokens_details");

	if (ar_json_type(usage) != AR_JSON_OBJECT)
		return;
	r->has_usage = true;
	ar_out_count(ar_json_get(usage, "input_tokens"), &fresh);
	ar_out_count(ar_json_get(usage, "cache_read_input_tokens"), &r->cached_tokens);
	ar_out_count(ar_json_get(usage, "cache_creation_input_tokens"), &r->cache_write_tokens);
	ar_out_count(ar_json_get(usage, "output_tokens"), &r->output_tokens);
	ar_out_count(ar_json_get(details, "thinking_tokens"), &r->reasoning_tokens);
	r->input_tokens = fresh + r->cached_tokens + r->cache_write_tokens;
}

/* ---- reasoning that wants to come back ---- */

static void put_thought(struct ar_answer *a, struct ar_json object, const char *name)
{
	struct ar_str text;

	if (!ar_json_str(ar_json_get(object, name), &text))
		return;
	ar_buf_adds(&a->thought, text);
	a->has_thoughts = a->has_thoughts || text.len > 0;
	ar_out_put(a, AR_OUT_REASONING, 0, text);
}

static void put_signature(struct ar_answer *a, struct ar_json object)
{
	struct ar_str text;

	if (ar_json_str(ar_json_get(object, "signature"), &text))
		ar_buf_adds(&a->signature, text);
}

/* Reasoning without a signature would be refused when it came back. */
static void echo_thought(struct ar_answer *a)
{
	struct ar_buf block = { 0 };
	struct ar_jw w = ar_jw(&block);

	if (a->signature.len > 0) {
		ar_jw_open(&w);
		ar_jw_mstr(&w, "type", AR_STR("thinking"));
		ar_jw_mstr(&w, "thinking", ar_buf_str(&a->thought));
		ar_jw_mstr(&w, "signature", ar_buf_str(&a->signature));
		ar_jw_close(&w);
		ar_out_echo(a, ar_buf_str(&block));
	}
	ar_buf_clear(&a->thought);
	ar_buf_clear(&a->signature);
	ar_buf_fini(&block);
}

static void echo_block(struct ar_answer *a, struct ar_json block)
{
	struct ar_buf json = { 0 };

	ar_json_print(block, &json);
	ar_out_echo(a, ar_buf_str(&json));
	ar_buf_fini(&json);
}

/* ---- blocks ---- */

static void open_tool(struct ar_answer *a, int64_t index, struct ar_json block)
{
	struct ar_json input = ar_json_get(block, "input");
	struct ar_str id = AR_STR(""), name = AR_STR("");
	struct ar_answer_tool *t = ar_out_tool_new(a, index);

	if (!t)
		return;
	ar_json_str(ar_json_get(block, "id"), &id);
	ar_json_str(ar_json_get(block, "name"), &name);
	ar_out_tool_id(a, t, id);
	ar_out_announce(a, t, name);
	/* In a stream this is an empty object, and the arguments follow. */
	if (ar_json_len(input) > 0)
		ar_out_args(a, t, input);
}

static void open_block(struct ar_answer *a, int64_t index, struct ar_json block)
{
	struct ar_str type = AR_STR("");

	ar_json_str(ar_json_get(block, "type"), &type);
	if (ar_str_is(type, "tool_use"))
		open_tool(a, index, block);
	if (ar_str_is(type, "text"))
		ar_out_put_member(a, AR_OUT_TEXT, block, "text");
	if (ar_str_is(type, "redacted_thinking"))
		echo_block(a, block);
	if (ar_str_is(type, "thinking")) {
		put_thought(a, block, "thinking");
		put_signature(a, block);
	}
}

/* A tool without arguments is called with an empty object. */
static void close_block(struct ar_answer *a, int64_t index)
{
	struct ar_answer_tool *t = ar_out_tool_find(a, index, AR_STR_NONE);

	if (t && t->announced && !t->has_args) {
		t->has_args = true;
		ar_out_put(a, AR_OUT_TOOL_ARGS, (uint32_t)(t - a->tools), AR_STR("{}"));
	}
	echo_thought(a);
}

/* ---- events ---- */

static void read_message_start(struct ar_answer *a, struct ar_json doc)
{
	struct ar_json message = ar_json_get(doc, "message");

	ar_out_copy_first(a, ar_json_get(message, "id"), &a->answer_id);
	ar_out_copy_first(a, ar_json_get(message, "model"), &a->result.model);
	read_usage(&a->result, ar_json_get(message, "usage"));
}

static void read_block_start(struct ar_answer *a, struct ar_json doc)
{
	open_block(a, index_of(doc), ar_json_get(doc, "content_block"));
}

static void read_block_delta(struct ar_answer *a, struct ar_json doc)
{
	struct ar_json delta = ar_json_get(doc, "delta");
	struct ar_answer_tool *t = ar_out_tool_find(a, index_of(doc), AR_STR_NONE);

	ar_out_put_member(a, AR_OUT_TEXT, delta, "text");
	put_thought(a, delta, "thinking");
	put_signature(a, delta);
	if (t)
		ar_out_args(a, t, ar_json_get(delta, "partial_json"));
}

/* The vendor's models from version 4 on show a summary of their thinking, those before it the thinking
 * itself; of a model of someone else it is not known. */
static bool shows_summaries(struct ar_str model)
{
	return ar_str_starts(model, AR_STR("claude-")) && !ar_str_starts(model, AR_STR("claude-3"));
}

static void read_block_stop(struct ar_answer *a, struct ar_json doc)
{
	close_block(a, index_of(doc));
}

static void read_stop_reason(struct ar_answer *a, struct ar_json object)
{
	struct ar_str reason;

	if (ar_json_str(ar_json_get(object, "stop_reason"), &reason) && reason.len > 0)
		ar_out_stop(a, reason, stop_words);
}

static void read_message_delta(struct ar_answer *a, struct ar_json doc)
{
	read_usage(&a->result, ar_json_get(doc, "usage"));
	read_stop_reason(a, ar_json_get(doc, "delta"));
}

static void read_message_stop(struct ar_answer *a, struct ar_json doc AR_UNUSED)
{
	a->result.is_summary = a->has_thoughts && shows_summaries(a->result.model);
	a->done = true;
}

static bool read_whole(struct ar_answer *a, struct ar_json doc)
{
	struct ar_json content = ar_json_get(doc, "content");
	int64_t index = 0;

	if (ar_json_type(content) != AR_JSON_ARRAY)
		return false;
	ar_out_copy_first(a, ar_json_get(doc, "id"), &a->answer_id);
	ar_out_copy_first(a, ar_json_get(doc, "model"), &a->result.model);
	for (struct ar_json_iter it = ar_json_iter(content); ar_json_next(&it); index++) {
		open_block(a, index, it.value);
		close_block(a, index);
	}
	read_usage(&a->result, ar_json_get(doc, "usage"));
	read_stop_reason(a, doc);
	a->result.is_summary = a->has_thoughts && shows_summaries(a->result.model);
	return true;
}

static void add_path(const struct ar_model_request *r AR_UNUSED, struct ar_buf *out)
{
	ar_buf_addz(out, "/v1/messages");
}

static const struct ar_wire_event events[] = {
	{ "message_start", read_message_start },
	{ "content_block_start", read_block_start },
	{ "content_block_delta", read_block_delta },
	{ "content_block_stop", read_block_stop },
	{ "message_delta", read_message_delta },
	{ "message_stop", read_message_stop },
	{ 0 },
};

const struct ar_wire ar_wire_anthropic = {
	.name = "anthropic",
	.base_url = "https://api.anthropic.com",
	.model = "claude-sonnet-5",
	.key_header = "x-api-key: ",
	.version_header = "anthropic-version: ",
	.version = "2023-06-01",
	.request_id_header = "request-id",
	.events = events,
	.path = add_path,
	.write = ar_anthropic_write,
	.read_whole = read_whole,
};
