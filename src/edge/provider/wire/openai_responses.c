/* Responses events to outputs. An answer is a list of items; their pieces name them by place and by id, but
 * not every server gives both. One event ends it and says how. Tools that the provider runs itself are not
 * ours. Pure. */
#include "outputs.h"
#include "wire/formats.h"
#include "wire/openai_responses_request.h"

static const struct ar_out_word stop_words[] = {
	{ "max_output_tokens", "length" },
	{ 0 },
};

static int64_t index_of(struct ar_json doc)
{
	int64_t index = AR_OUT_NO_INDEX;

	if (ar_json_i64(ar_json_get(doc, "output_index"), &index) && index < 0)
		return AR_OUT_NO_INDEX;
	return index;
}

static bool is_type(struct ar_json item, const char *type)
{
	struct ar_str text;

	return ar_json_str(ar_json_get(item, "type"), &text) && ar_str_is(text, type);
}

/* ---- items ---- */

/* By place, else by id; a server that gives neither means the last one. */
static struct ar_answer_tool *tool_of(struct ar_answer *a, int64_t index, struct ar_json id)
{
	struct ar_str key = AR_STR("");
	struct ar_answer_tool *t = NULL;

	ar_json_str(id, &key);
	if (index != AR_OUT_NO_INDEX)
		t = ar_out_tool_find(a, index, AR_STR_NONE);
	if (!t)
		t = ar_out_tool_find(a, AR_OUT_NO_INDEX, key);
	if (!t && index == AR_OUT_NO_INDEX && key.len == 0 && a->tool_count > 0)
		t = &a->tools[a->tool_count - 1];
	return t;
}

static struct ar_answer_tool *open_tool(struct ar_answer *a, int64_t index, struct ar_json item)
{
	struct ar_str id = AR_STR(""), name = AR_STR("");
	struct ar_answer_tool *t = ar_out_tool_new(a, index);

	if (!t)
		return NULL;
	ar_json_str(ar_json_get(item, "call_id"), &id);
	ar_json_str(ar_json_get(item, "name"), &name);
	ar_out_copy_first(a, ar_json_get(item, "id"), &t->key);
	ar_out_tool_id(a, t, id);
	ar_out_announce(a, t, name);
	return t;
}

/* What came in pieces comes once more as a whole, which counts only where no piece came. */
static void finish_args(struct ar_answer *a, struct ar_answer_tool *t, struct ar_json args)
{
	if (t && !t->has_args)
		ar_out_args(a, t, args);
}

static void finish_tool(struct ar_answer *a, int64_t index, struct ar_json item)
{
	struct ar_json id = ar_json_get(item, "id");
	struct ar_answer_tool *t = tool_of(a, index, id);

	finish_args(a, t ? t : open_tool(a, index, item), ar_json_get(item, "arguments"));
}

static void echo_reasoning(struct ar_answer *a, struct ar_json item)
{
	struct ar_buf json = { 0 };

	/* Without the encrypted content it would be a reference to something that was not stored. */
	if (ar_json_type(ar_json_get(item, "encrypted_content")) == AR_JSON_STR) {
		ar_json_print(item, &json);
		ar_out_echo(a, ar_buf_str(&json));
	}
	ar_buf_fini(&json);
}

/* ---- events ---- */

static void read_head(struct ar_answer *a, struct ar_json response)
{
	ar_out_copy_first(a, ar_json_get(response, "id"), &a->answer_id);
	ar_out_copy_first(a, ar_json_get(response, "model"), &a->result.model);
}

static void read_created(struct ar_answer *a, struct ar_json doc)
{
	read_head(a, ar_json_get(doc, "response"));
}

static void read_item_added(struct ar_answer *a, struct ar_json doc)
{
	struct ar_json item = ar_json_get(doc, "item");
	struct ar_answer_tool *t;

	if (!is_type(item, "function_call"))
		return;
	t = open_tool(a, index_of(doc), item);
	if (t)
		ar_out_args(a, t, ar_json_get(item, "arguments"));
}

static void read_item_done(struct ar_answer *a, struct ar_json doc)
{
	struct ar_json item = ar_json_get(doc, "item");

	if (is_type(item, "function_call"))
		finish_tool(a, index_of(doc), item);
	if (is_type(item, "reasoning"))
		echo_reasoning(a, item);
}

static void read_text(struct ar_answer *a, struct ar_json doc)
{
	ar_out_put_member(a, AR_OUT_TEXT, doc, "delta");
}

static void read_reasoning(struct ar_answer *a, struct ar_json doc)
{
	if (ar_out_put_member(a, AR_OUT_REASONING, doc, "delta"))
		a->has_thoughts = true;
}

static void read_summary(struct ar_answer *a, struct ar_json doc)
{
	if (ar_out_put_member(a, AR_OUT_REASONING, doc, "delta"))
		a->result.is_summary = true;
}

static void read_args(struct ar_answer *a, struct ar_json doc)
{
	struct ar_answer_tool *t = tool_of(a, index_of(doc), ar_json_get(doc, "item_id"));

	if (t)
		ar_out_args(a, t, ar_json_get(doc, "delta"));
}

static void read_args_done(struct ar_answer *a, struct ar_json doc)
{
	finish_args(a, tool_of(a, index_of(doc), ar_json_get(doc, "item_id")), ar_json_get(doc, "arguments"));
}

/* ---- the end ---- */

static void read_usage(struct ar_model_result *r, struct ar_json usage)
{
	struct ar_json in = ar_json_get(usage, "input_tokens_details");
	struct ar_json out = ar_json_get(usage, "output_tokens_details");

	if (ar_json_type(usage) != AR_JSON_OBJECT)
		return;
	r->has_usage = true;
	ar_out_count(ar_json_get(usage, "input_tokens"), &r->input_tokens);
	ar_out_count(ar_json_get(usage, "output_tokens"), &r->output_tokens);
	ar_out_count(ar_json_get(in, "cached_tokens"), &r->cached_tokens);
	ar_out_count(ar_json_get(in, "cache_write_tokens"), &r->cache_write_tokens);
	ar_out_count(ar_json_get(out, "reasoning_tokens"), &r->reasoning_tokens);
}

static void end_response(struct ar_answer *a, struct ar_json response)
{
	struct ar_str reason = a->tool_count > 0 ? AR_STR("tool_calls") : AR_STR("stop");

	ar_json_str(ar_json_get(ar_json_get(response, "incomplete_details"), "reason"), &reason);
	read_head(a, response);
	read_usage(&a->result, ar_json_get(response, "usage"));
	ar_out_stop(a, reason, stop_words);
	a->result.is_summary = a->result.is_summary && !a->has_thoughts;
	a->done = true;
}

static void read_end(struct ar_answer *a, struct ar_json doc)
{
	end_response(a, ar_json_get(doc, "response"));
}

static void read_failed(struct ar_answer *a, struct ar_json doc)
{
	ar_out_fail(a, ar_json_get(ar_json_get(doc, "response"), "error"));
}

/* ---- without a stream ---- */

static void read_content(struct ar_answer *a, enum ar_output_kind kind, struct ar_json list)
{
	if (ar_json_type(list) != AR_JSON_ARRAY)
		return;
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		ar_out_put_member(a, kind, it.value, "text");
		ar_out_put_member(a, kind, it.value, "refusal");
	}
}

static void read_whole_item(struct ar_answer *a, int64_t index, struct ar_json item)
{
	if (is_type(item, "message"))
		read_content(a, AR_OUT_TEXT, ar_json_get(item, "content"));
	if (is_type(item, "function_call"))
		finish_tool(a, index, item);
	if (is_type(item, "reasoning")) {
		read_content(a, AR_OUT_REASONING, ar_json_get(item, "summary"));
		a->result.is_summary = ar_json_len(ar_json_get(item, "summary")) > 0;
		echo_reasoning(a, item);
	}
}

static bool read_whole(struct ar_answer *a, struct ar_json doc)
{
	struct ar_json output = ar_json_get(doc, "output");
	int64_t index = 0;

	if (ar_json_type(output) != AR_JSON_ARRAY)
		return false;
	for (struct ar_json_iter it = ar_json_iter(output); ar_json_next(&it); index++)
		read_whole_item(a, index, it.value);
	end_response(a, doc);
	return true;
}

static void add_path(const struct ar_model_request *r AR_UNUSED, struct ar_buf *out)
{
	ar_buf_addz(out, "/responses");
}

static const struct ar_wire_event events[] = {
	{ "response.created", read_created },
	{ "response.in_progress", read_created },
	{ "response.output_item.added", read_item_added },
	{ "response.output_item.done", read_item_done },
	{ "response.output_text.delta", read_text },
	{ "response.refusal.delta", read_text },
	{ "response.reasoning_summary_text.delta", read_summary },
	{ "response.reasoning_text.delta", read_reasoning },
	{ "response.function_call_arguments.delta", read_args },
	{ "response.function_call_arguments.done", read_args_done },
	{ "response.completed", read_end },
	{ "response.incomplete", read_end },
	{ "response.failed", read_failed },
	{ 0 },
};

const struct ar_wire ar_wire_openai_responses = {
	.name = "openai-responses",
	.base_url = "https://api.openai.com/v1",
	.model = "gpt-4.1-mini",
	.key_header = "Authorization: Bearer ",
	.request_id_header = "x-request-id",
	.events = events,
	.path = add_path,
	.write = ar_openai_responses_write,
	.read_whole = read_whole,
};
