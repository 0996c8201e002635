/* Chat Completions chunks to outputs. Written against what servers send rather than what the reference promises: ids and
 * indices of tool calls may be missing or repeated, content may be null, arguments may be an object, the end mark or the
 * stop reason may be missing. A repeated chunk cannot be told from a repeated word and is passed on. Pure. */
#include "openai_stream.h"

#include "mem.h"
#include "openai_error.h"

#define FRAMING_MAX ((size_t)1 << 20)
#define NAME_MAX_BYTES 256
#define TOOLS_MAX 128
#define NO_INDEX (-1)

static void garble(struct ar_openai_stream *s, const char *category, bool retryable, struct ar_str message)
{
	if (s->result.outcome)
		return;
	s->result.outcome = AR_MODEL_GARBLED;
	s->result.category = ar_str_from(category);
	s->result.retryable = retryable;
	s->result.message = message;
}

static void garble_protocol(struct ar_openai_stream *s, const char *what, struct ar_str bytes)
{
	struct ar_str excerpt = ar_str_utf8_prefix(bytes, NAME_MAX_BYTES);

	garble(s, "protocol", true, ar_arena_fmt(&s->arena, "%s: %.*s", what, AR_STR_ARG(excerpt)));
}

static void garble_size(struct ar_openai_stream *s)
{
	garble(s, "too_large", false,
	       AR_STR("the answer of the model is larger than the configured maximum"));
}

/* Charges bytes that the peer makes us keep or pass on. */
static bool charge(struct ar_openai_stream *s, size_t len)
{
	if (s->result.outcome)
		return false;
	if (len > s->output_left) {
		garble_size(s);
		return false;
	}
	s->output_left -= len;
	return true;
}

static void put(struct ar_openai_stream *s, enum ar_output_kind kind, uint32_t index, struct ar_str bytes)
{
	if (bytes.len > 0 && charge(s, bytes.len))
		s->sink.on_output(s->sink.owner, kind, index, bytes);
}

static bool put_member(struct ar_openai_stream *s, enum ar_output_kind kind, struct ar_json object,
		       const char *name)
{
	struct ar_str text;

	if (!ar_json_str(ar_json_get(object, name), &text) || text.len == 0)
		return false;
	put(s, kind, 0, text);
	return true;
}

/* ---- tool calls ---- */

static struct ar_openai_tool *tool_new(struct ar_openai_stream *s, int64_t wire_index)
{
	struct ar_openai_tool *t;

	if (s->tool_count == TOOLS_MAX) {
		garble_size(s);
		return NULL;
	}
	s->tools = ar_grow(s->tools, s->tool_count + 1, sizeof(*s->tools));
	t = &s->tools[s->tool_count++];
	*t = (struct ar_openai_tool){ .wire_index = wire_index };
	return t;
}

/* The newest tool call that fits; newest, because servers reuse an index for a second call. */
static struct ar_openai_tool *tool_find(struct ar_openai_stream *s, int64_t wire_index, struct ar_str id)
{
	for (size_t i = s->tool_count; i-- > 0;) {
		struct ar_openai_tool *t = &s->tools[i];

		if (wire_index != NO_INDEX ? t->wire_index == wire_index : id.len > 0 && ar_str_eq(t->id, id))
			return t;
	}
	return NULL;
}

/* Which call a piece belongs to. The index decides where there is one, then the id; a name with a new id (or without id
 * and index) opens another call, a piece without either continues the last one. */
static struct ar_openai_tool *tool_of(struct ar_openai_stream *s, struct ar_json piece, struct ar_str id,
				      bool named)
{
	struct ar_openai_tool *t;
	int64_t wire_index = NO_INDEX;

	if (ar_json_i64(ar_json_get(piece, "index"), &wire_index) && wire_index < 0)
		wire_index = NO_INDEX;
	t = tool_find(s, wire_index, id);
	if (!t && wire_index == NO_INDEX && !named && s->tool_count > 0)
		return &s->tools[s->tool_count - 1];
	if (t && named && t->announced && id.len > 0 && !ar_str_eq(t->id, id))
		t = NULL;
	return t ? t : tool_new(s, wire_index);
}

/* A server that gives no id still needs one for the tool's result to name. */
static void announce(struct ar_openai_stream *s, struct ar_openai_tool *t, struct ar_str name)
{
	uint32_t index = (uint32_t)(t - s->tools);

	if (t->announced || !charge(s, name.len))
		return;
	t->announced = true;
	if (t->id.len == 0)
		t->id = ar_arena_fmt(&s->arena, "call_%.*s_%u", AR_STR_ARG(s->answer_id), index);
	s->sink.on_tool(s->sink.owner, index, t->id, name);
}

static void put_arguments(struct ar_openai_stream *s, struct ar_openai_tool *t, struct ar_json arguments)
{
	uint32_t index = (uint32_t)(t - s->tools);
	struct ar_str text = AR_STR("");

	if (ar_json_type(arguments) == AR_JSON_OBJECT) {
		ar_buf_clear(&s->scratch);
		ar_json_print(arguments, &s->scratch);
		text = ar_buf_str(&s->scratch);
	}
	ar_json_str(arguments, &text);
	if (text.len > 0)
		announce(s, t, AR_STR(""));
	put(s, AR_OUT_TOOL_ARGS, index, text);
}

static void take_tool_piece(struct ar_openai_stream *s, struct ar_json piece)
{
	struct ar_json function = ar_json_get(piece, "function");
	struct ar_str id = AR_STR(""), name = AR_STR("");
	struct ar_openai_tool *t;

	ar_json_str(ar_json_get(piece, "id"), &id);
	ar_json_str(ar_json_get(function, "name"), &name);
	t = tool_of(s, piece, id, name.len > 0);
	if (!t)
		return;
	/* An id that comes before its name is kept for the announcement. */
	if (t->id.len == 0 && id.len > 0 && charge(s, id.len))
		t->id = ar_arena_str(&s->arena, id);
	if (name.len > 0)
		announce(s, t, name);
	put_arguments(s, t, ar_json_get(function, "arguments"));
}

/* ---- one chunk ---- */

static void take_message(struct ar_openai_stream *s, struct ar_json m)
{
	struct ar_json calls = ar_json_get(m, "tool_calls");

	if (!put_member(s, AR_OUT_REASONING, m, "reasoning_content"))
		put_member(s, AR_OUT_REASONING, m, "reasoning");
	put_member(s, AR_OUT_TEXT, m, "content");
	put_member(s, AR_OUT_TEXT, m, "refusal");
	if (ar_json_type(calls) != AR_JSON_ARRAY)
		return;
	for (struct ar_json_iter it = ar_json_iter(calls); ar_json_next(&it);)
		take_tool_piece(s, it.value);
}

static void take_choice(struct ar_openai_stream *s, struct ar_json choice, const char *message_name)
{
	struct ar_str reason;
	int64_t index = 0;

	/* One answer was asked for; a server that gives several gives us its first. */
	ar_json_i64(ar_json_get(choice, "index"), &index);
	if (index != 0)
		return;
	take_message(s, ar_json_get(choice, message_name));
	if (!ar_json_str(ar_json_get(choice, "finish_reason"), &reason) || reason.len == 0)
		return;
	if (!ar_str_eq(s->result.stop_reason, reason) && charge(s, reason.len))
		s->result.stop_reason = ar_arena_str(&s->arena, ar_str_utf8_prefix(reason, NAME_MAX_BYTES));
}

/* Whatever a server counts, a negative number of tokens would corrupt sums. */
static void take_count(struct ar_json v, int64_t *ret)
{
	int64_t n;

	if (ar_json_i64(v, &n) && n >= 0)
		*ret = n;
}

static void take_usage(struct ar_openai_stream *s, struct ar_json usage)
{
	struct ar_model_result *r = &s->result;

	if (ar_json_type(usage) != AR_JSON_OBJECT)
		return;
	r->has_usage = true;
	take_count(ar_json_get(usage, "prompt_tokens"), &r->input_tokens);
	take_count(ar_json_get(usage, "completion_tokens"), &r->output_tokens);
	take_count(ar_json_get(ar_json_get(usage, "prompt_tokens_details"), "cached_tokens"),
		   &r->cached_tokens);
}

static void keep_first(struct ar_openai_stream *s, struct ar_json v, struct ar_str *keep)
{
	struct ar_str text;

	if (keep->len == 0 && ar_json_str(v, &text) && text.len > 0)
		*keep = ar_arena_str(&s->arena, ar_str_utf8_prefix(text, NAME_MAX_BYTES));
}

static void take_object(struct ar_openai_stream *s, struct ar_json doc, const char *message_name)
{
	struct ar_json error = ar_json_get(doc, "error"), choices = ar_json_get(doc, "choices");

	if (ar_json_type(error) > AR_JSON_NULL) {
		ar_openai_fail(&s->arena, error, &s->result);
		return;
	}
	keep_first(s, ar_json_get(doc, "id"), &s->answer_id);
	keep_first(s, ar_json_get(doc, "model"), &s->result.model);
	if (ar_json_type(choices) == AR_JSON_ARRAY) {
		for (struct ar_json_iter it = ar_json_iter(choices); ar_json_next(&it);)
			take_choice(s, it.value, message_name);
	}
	take_usage(s, ar_json_get(doc, "usage"));
}

static bool take_event(void *owner, struct ar_str name, struct ar_str text)
{
	struct ar_openai_stream *s = owner;
	struct ar_json doc;

	if (ar_str_is(text, "[DONE]")) {
		s->done = true;
		return false;
	}
	if (text.len == 0)
		return true;
	if (ar_json_parse(s->json, text, &doc, NULL) != AR_OK || ar_json_type(doc) != AR_JSON_OBJECT) {
		/* The last event of a broken connection is more likely cut than wrong. */
		if (!s->ending)
			garble_protocol(s, "an event of the answer is not a JSON object", text);
		return false;
	}
	if (ar_str_is(name, "error") && ar_json_type(ar_json_get(doc, "error")) <= AR_JSON_NULL)
		ar_openai_fail(&s->arena, doc, &s->result);
	else
		take_object(s, doc, "delta");
	return s->result.outcome == 0;
}

/* ---- the stream ---- */

void ar_openai_stream_init(struct ar_openai_stream *s, struct ar_json_parser *json,
			   const struct ar_openai_sink *sink, size_t output_max)
{
	*s = (struct ar_openai_stream){ .sink = *sink, .json = json, .output_left = output_max };
	s->answer_id = AR_STR("");
	ar_sse_init(&s->sse, output_max + FRAMING_MAX, take_event, s);
}

void ar_openai_stream_fini(struct ar_openai_stream *s)
{
	ar_sse_fini(&s->sse);
	ar_buf_fini(&s->scratch);
	ar_arena_fini(&s->arena);
	ar_free(s->tools);
}

bool ar_openai_stream_feed(struct ar_openai_stream *s, struct ar_str bytes)
{
	if (!s->done && !s->result.outcome && ar_sse_feed(&s->sse, bytes) == AR_E_LIMIT)
		garble_size(s);
	return s->result.outcome == 0;
}

void ar_openai_stream_whole(struct ar_openai_stream *s, struct ar_str body)
{
	struct ar_json doc;

	s->done = true;
	if (ar_json_parse(s->json, body, &doc, NULL) != AR_OK || ar_json_type(doc) != AR_JSON_OBJECT) {
		garble_protocol(s, "the answer is neither an event stream nor a JSON object", body);
		return;
	}
	take_object(s, doc, "message");
	if (s->result.outcome == 0 && ar_json_type(ar_json_get(doc, "choices")) != AR_JSON_ARRAY)
		garble_protocol(s, "the answer is JSON but not a chat completion", body);
}

bool ar_openai_stream_is_whole(const struct ar_openai_stream *s)
{
	return s->result.outcome == 0 && (s->done || s->result.stop_reason.len > 0);
}

struct ar_model_result *ar_openai_stream_end(struct ar_openai_stream *s)
{
	struct ar_model_result *r = &s->result;

	s->ending = true;
	if (!s->done && !r->outcome && ar_sse_end(&s->sse) == AR_E_LIMIT)
		garble_size(s);
	if (ar_openai_stream_is_whole(s)) {
		r->outcome = AR_MODEL_COMPLETED;
	} else if (r->outcome == 0) {
		r->outcome = AR_MODEL_CUT;
		r->category = AR_STR("network");
		r->retryable = true;
		r->message = AR_STR("the answer of the model ended in the middle");
	}
	return r;
}
