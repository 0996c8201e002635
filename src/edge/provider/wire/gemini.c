/* Chunks of streamGenerateContent to outputs. Every chunk is a whole response with the next parts in it;
 * function calls come whole; a call ends with the same reason as a text; there is no end mark, so the reason
 * is the end. Pure. */
#include "outputs.h"
#include "wire/formats.h"
#include "wire/gemini_request.h"

static const struct ar_out_word stop_words[] = {
	{ "STOP", "stop" },
	{ "MAX_TOKENS", "length" },
	{ "SAFETY", "content_filter" },
	{ "RECITATION", "content_filter" },
	{ "BLOCKLIST", "content_filter" },
	{ "PROHIBITED_CONTENT", "content_filter" },
	{ "SPII", "content_filter" },
	{ "IMAGE_SAFETY", "content_filter" },
	{ 0 },
};

/* One entry for each call, in order: its signature, or null. */
static void echo_signature(struct ar_answer *a, struct ar_json signature)
{
	struct ar_buf json = { 0 };

	ar_json_print(signature, &json);
	ar_out_echo(a, ar_buf_str(&json));
	ar_buf_fini(&json);
}

static void read_call(struct ar_answer *a, struct ar_json call, struct ar_json signature)
{
	struct ar_json args = ar_json_get(call, "args");
	struct ar_str id = AR_STR(""), name = AR_STR("");
	struct ar_answer_tool *t = ar_out_tool_new(a, AR_OUT_NO_INDEX);

	if (!t)
		return;
	ar_json_str(ar_json_get(call, "id"), &id);
	ar_json_str(ar_json_get(call, "name"), &name);
	ar_out_tool_id(a, t, id);
	ar_out_announce(a, t, name);
	ar_out_args(a, t, args);
	if (!t->has_args)
		ar_out_put(a, AR_OUT_TOOL_ARGS, (uint32_t)(t - a->tools), AR_STR("{}"));
	echo_signature(a, signature);
}

static void read_part(struct ar_answer *a, struct ar_json part)
{
	struct ar_json call = ar_json_get(part, "functionCall");
	bool is_thought = false;

	ar_json_bool(ar_json_get(part, "thought"), &is_thought);
	if (ar_out_put_member(a, is_thought ? AR_OUT_REASONING : AR_OUT_TEXT, part, "text") && is_thought)
		a->result.is_summary = true; /* a thought is the vendor's summary of the thinking */
	if (ar_json_type(call) == AR_JSON_OBJECT)
		read_call(a, call, ar_json_get(part, "thoughtSignature"));
}

static void read_reason(struct ar_answer *a, struct ar_json v)
{
	struct ar_str reason;

	if (!ar_json_str(v, &reason) || reason.len == 0 || ar_str_is(reason, "FINISH_REASON_UNSPECIFIED"))
		return;
	if (ar_str_is(reason, "STOP") && a->tool_count > 0)
		reason = AR_STR("tool_calls");
	ar_out_stop(a, reason, stop_words);
}

static void read_candidate(struct ar_answer *a, struct ar_json candidate)
{
	struct ar_json parts = ar_json_get(ar_json_get(candidate, "content"), "parts");
	int64_t index = 0;

	/* One answer was asked for. */
	ar_json_i64(ar_json_get(candidate, "index"), &index);
	if (index != 0)
		return;
	if (ar_json_type(parts) == AR_JSON_ARRAY) {
		for (struct ar_json_iter it = ar_json_iter(parts); ar_json_next(&it);)
			read_part(a, it.value);
	}
	read_reason(a, ar_json_get(candidate, "finishReason"));
}

/* The prompt was refused: there is no answer, and there will be none. */
static void read_feedback(struct ar_answer *a, struct ar_json feedback)
{
	struct ar_str reason;

	if (a->result.outcome || !ar_json_str(ar_json_get(feedback, "blockReason"), &reason))
		return;
	a->result.outcome = AR_MODEL_FAILED;
	a->result.category = AR_STR("content_filter");
	a->result.retryable = false;
	a->result.message = ar_arena_fmt(&a->arena, "the model server blocked the prompt: %.*s",
					 AR_STR_ARG(ar_str_utf8_prefix(reason, 256)));
}

/* Every chunk counts anew. Their output leaves out the thoughts, their prompt what tools added; ours count
 * both. */
static void read_usage(struct ar_model_result *r, struct ar_json usage)
{
	int64_t prompt = 0, tool_prompt = 0, candidates = 0;

	if (ar_json_type(usage) != AR_JSON_OBJECT)
		return;
	r->has_usage = true;
	ar_out_count(ar_json_get(usage, "promptTokenCount"), &prompt);
	ar_out_count(ar_json_get(usage, "toolUsePromptTokenCount"), &tool_prompt);
	ar_out_count(ar_json_get(usage, "candidatesTokenCount"), &candidates);
	ar_out_count(ar_json_get(usage, "thoughtsTokenCount"), &r->reasoning_tokens);
	ar_out_count(ar_json_get(usage, "cachedContentTokenCount"), &r->cached_tokens);
	r->input_tokens = prompt + tool_prompt;
	r->output_tokens = candidates + r->reasoning_tokens;
}

static void read_chunk(struct ar_answer *a, struct ar_json doc)
{
	struct ar_json candidates = ar_json_get(doc, "candidates");

	ar_out_copy_first(a, ar_json_get(doc, "responseId"), &a->answer_id);
	ar_out_copy_first(a, ar_json_get(doc, "modelVersion"), &a->result.model);
	if (ar_json_type(candidates) == AR_JSON_ARRAY) {
		for (struct ar_json_iter it = ar_json_iter(candidates); ar_json_next(&it);)
			read_candidate(a, it.value);
	}
	read_feedback(a, ar_json_get(doc, "promptFeedback"));
	read_usage(&a->result, ar_json_get(doc, "usageMetadata"));
}

static bool is_response(struct ar_json doc)
{
	return ar_json_type(ar_json_get(doc, "candidates")) == AR_JSON_ARRAY ||
	       ar_json_type(ar_json_get(doc, "promptFeedback")) == AR_JSON_OBJECT;
}

/* A server that knows no "alt=sse" sends the chunks as one array. */
static bool read_whole(struct ar_answer *a, struct ar_json doc)
{
	bool is_ours = is_response(doc);

	if (ar_json_type(doc) != AR_JSON_ARRAY) {
		read_chunk(a, doc);
		return is_ours;
	}
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it);) {
		is_ours = is_ours || is_response(it.value);
		read_chunk(a, it.value);
	}
	return is_ours;
}

static const struct ar_wire_event events[] = { { NULL, read_chunk }, { 0 } };

const struct ar_wire ar_wire_gemini = {
	.name = "gemini",
	.base_url = "https://generativelanguage.googleapis.com",
	.model = "gemini-flash-latest",
	.key_header = "x-goog-api-key: ",
	.request_id_header = "x-request-id",
	.events = events,
	.path = ar_gemini_path,
	.write = ar_gemini_write,
	.read_whole = read_whole,
};
