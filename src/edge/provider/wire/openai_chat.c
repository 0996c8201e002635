/* Chat Completions chunks to outputs. Written against what servers send rather than what the reference
 * promises: ids and indices of tool calls may be missing or repeated, content may be null, arguments may be
 * an object, the end mark or the stop reason may be missing. A repeated chunk looks the same as a repeated
 * word and is passed on. Pure. */
#include "wire/formats.h"
#include "wire/openai_chat_request.h"
#include "outputs.h"

/* Which call a piece belongs to. The index decides where there is one, then the id; a name with a new id (or
 * without id and index) opens another call, a piece without either continues the last one. */
static struct ar_answer_tool *tool_of(struct ar_answer *a, struct ar_json piece, struct ar_str id, bool named)
{
	struct ar_answer_tool *t;
	int64_t wire_index = AR_OUT_NO_INDEX;

	if (ar_json_i64(ar_json_get(piece, "index"), &wire_index) && wire_index < 0)
		wire_index = AR_OUT_NO_INDEX;
	t = ar_out_tool_find(a, wire_index, id);
	if (!t && wire_index == AR_OUT_NO_INDEX && !named && a->tool_count > 0)
		return &a->tools[a->tool_count - 1];
	if (t && named && t->announced && id.len > 0 && !ar_str_eq(t->id, id))
		t = NULL;
	return t ? t : ar_out_tool_new(a, wire_index);
}

static void read_tool_piece(struct ar_answer *a, struct ar_json piece)
{
	struct ar_json function = ar_json_get(piece, "function");
	struct ar_str id = AR_STR(""), name = AR_STR("");
	struct ar_answer_tool *t;

	ar_json_str(ar_json_get(piece, "id"), &id);
	ar_json_str(ar_json_get(function, "name"), &name);
	t = tool_of(a, piece, id, name.len > 0);
	if (!t)
		return;
	/* An id that comes before its name is kept for the announcement. */
	ar_out_tool_id(a, t, id);
	t->key = t->id;
	if (name.len > 0)
		ar_out_announce(a, t, name);
	ar_out_args(a, t, ar_json_get(function, "arguments"));
}

static void read_message(struct ar_answer *a, struct ar_json m)
{
	struct ar_json calls = ar_json_get(m, "tool_calls");

	if (!ar_out_put_member(a, AR_OUT_REASONING, m, "reasoning_content"))
		ar_out_put_member(a, AR_OUT_REASONING, m, "reasoning");
	ar_out_put_member(a, AR_OUT_TEXT, m, "content");
	ar_out_put_member(a, AR_OUT_TEXT, m, "refusal");
	if (ar_json_type(calls) != AR_JSON_ARRAY)
		return;
	for (struct ar_json_iter it = ar_json_iter(calls); ar_json_next(&it);)
		read_tool_piece(a, it.value);
}

static void read_choice(struct ar_answer *a, struct ar_json choice, const char *message_name)
{
	struct ar_str reason;
	int64_t index = 0;

	/* One answer was asked for; a server that gives several gives us its first. */
	ar_json_i64(ar_json_get(choice, "index"), &index);
	if (index != 0)
		return;
	read_message(a, ar_json_get(choice, message_name));
	if (ar_json_str(ar_json_get(choice, "finish_reason"), &reason) && reason.len > 0)
		ar_out_stop(a, reason, NULL);
}

static void read_usage(struct ar_model_result *r, struct ar_json usage)
{
	struct ar_json in = ar_json_get(usage, "prompt_tokens_details");
	struct ar_json out = ar_json_get(usage, "completion_tokens_details");

	if (ar_json_type(usage) != AR_JSON_OBJECT)
		return;
	r->has_usage = true;
	ar_out_count(ar_json_get(usage, "prompt_tokens"), &r->input_tokens);
	ar_out_count(ar_json_get(usage, "completion_tokens"), &r->output_tokens);
	ar_out_count(ar_json_get(in, "cached_tokens"), &r->cached_tokens);
	ar_out_count(ar_json_get(in, "cache_write_tokens"), &r->cache_write_tokens);
	ar_out_count(ar_json_get(out, "reasoning_tokens"), &r->reasoning_tokens);
}

static void read_object(struct ar_answer *a, struct ar_json doc, const char *message_name)
{
	struct ar_json choices = ar_json_get(doc, "choices");

	ar_out_copy_first(a, ar_json_get(doc, "id"), &a->answer_id);
	ar_out_copy_first(a, ar_json_get(doc, "model"), &a->result.model);
	if (ar_json_type(choices) == AR_JSON_ARRAY) {
		for (struct ar_json_iter it = ar_json_iter(choices); ar_json_next(&it);)
			read_choice(a, it.value, message_name);
	}
	read_usage(&a->result, ar_json_get(doc, "usage"));
}

static void read_chunk(struct ar_answer *a, struct ar_json doc)
{
	read_object(a, doc, "delta");
}

static bool read_whole(struct ar_answer *a, struct ar_json doc)
{
	read_object(a, doc, "message");
	return ar_json_type(ar_json_get(doc, "choices")) == AR_JSON_ARRAY;
}

static void add_path(const struct ar_model_request *r AR_UNUSED, struct ar_buf *out)
{
	ar_buf_addz(out, "/chat/completions");
}

static const struct ar_wire_event events[] = { { NULL, read_chunk }, { 0 } };

const struct ar_wire ar_wire_openai_chat = {
	.name = "openai-chat",
	.base_url = "https://api.openai.com/v1",
	.model = "gpt-4.1-mini",
	.key_header = "Authorization: Bearer ",
	.request_id_header = "x-request-id",
	.end_mark = "[DONE]",
	.events = events,
	.path = add_path,
	.write = ar_openai_chat_write,
	.read_whole = read_whole,
};
