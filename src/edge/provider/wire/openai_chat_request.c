/* The Chat Completions body: messages, tool calls, tool results, content parts, tools, options. Pure. */
#include "wire/openai_chat_request.h"

#include "wire/parts.h"

static const char *const role_names[] = {
	[AR_ROLE_SYSTEM] = "system",
	[AR_ROLE_USER] = "user",
	[AR_ROLE_ASSISTANT] = "assistant",
	[AR_ROLE_TOOL] = "tool",
};

static const struct ar_option options[] = {
	{ "temperature", "temperature", AR_OPTION_NUMBER, false },
	{ "maxOutputTokens", "max_tokens", AR_OPTION(AR_JSON_INT), false },
	{ "topP", "top_p", AR_OPTION_NUMBER, false },
	{ "stop", "stop", AR_OPTION(AR_JSON_STR) | AR_OPTION(AR_JSON_ARRAY), false },
	{ "seed", "seed", AR_OPTION(AR_JSON_INT), false },
	{ "reasoningEffort", "reasoning_effort", AR_OPTION(AR_JSON_STR), false },
	{ 0 },
};

/* ---- messages ---- */

static void write_image(struct ar_jw *w, const struct ar_part *part)
{
	struct ar_buf url = { 0 };

	ar_part_url(part, &url);
	ar_jw_mstr(w, "type", AR_STR("image_url"));
	ar_jw_key(w, "image_url");
	ar_jw_open(w);
	ar_jw_mstr(w, "url", ar_buf_str(&url));
	ar_jw_mstr(w, "detail", part->detail);
	ar_jw_close(w);
	ar_buf_fini(&url);
}

static void write_part(struct ar_jw *w, const struct ar_part *part)
{
	ar_jw_open(w);
	if (part->is_image) {
		write_image(w, part);
	} else {
		ar_jw_mstr(w, "type", AR_STR("text"));
		ar_jw_mstr(w, "text", part->text);
	}
	ar_jw_close(w);
}

/* What a tool says is text there. */
static void write_answer(struct ar_jw *w, const struct ar_message *m, struct ar_json_parser *json)
{
	struct ar_buf text = { 0 };

	ar_parts_text(m, json, &text);
	ar_jw_mstr(w, "content", text.len > 0 ? ar_buf_str(&text) : AR_STR(""));
	ar_buf_fini(&text);
}

/* The plain form is understood by more servers than the array. */
static enum ar_status write_content(struct ar_jw *w, const struct ar_message *m, struct ar_json_parser *json,
				    struct ar_error *err)
{
	struct ar_str text;
	enum ar_status st;

	ar_jw_key(w, "content");
	if (ar_parts_plain(m, json, &text)) {
		ar_jw_str(w, text.len == 0 && m->use_count > 0 ? AR_STR_NONE : text);
		return AR_OK;
	}
	ar_jw_open_array(w);
	st = ar_parts_write(w, m, json, write_part, err);
	ar_jw_close_array(w);
	return st;
}

static void write_use(struct ar_jw *w, const struct ar_tool_use *use)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "id", use->id);
	ar_jw_mstr(w, "type", AR_STR("function"));
	ar_jw_key(w, "function");
	ar_jw_open(w);
	ar_jw_mstr(w, "name", use->name);
	ar_jw_mstr(w, "arguments", ar_str_absent(use->args) ? AR_STR("") : use->args);
	ar_jw_close(w);
	ar_jw_close(w);
}

static enum ar_status write_message(struct ar_jw *w, const struct ar_message *m, struct ar_json_parser *json,
				    struct ar_error *err)
{
	enum ar_status st = AR_OK;

	ar_jw_open(w);
	ar_jw_mstr(w, "role", ar_str_from(role_names[m->role]));
	if (m->role == AR_ROLE_TOOL) {
		write_answer(w, m, json);
		ar_jw_mstr(w, "tool_call_id", m->tool_call_id);
	} else {
		st = write_content(w, m, json, err);
	}
	if (m->use_count > 0) {
		ar_jw_key(w, "tool_calls");
		ar_jw_open_array(w);
		for (size_t i = 0; i < m->use_count; i++)
			write_use(w, &m->uses[i]);
		ar_jw_close_array(w);
	}
	ar_jw_close(w);
	return st;
}

/* Images of the answers from `first` to before `end`, as said by the user behind them: the answers themselves
 * must not be parted. */
static void write_seen(struct ar_jw *w, const struct ar_message *first, const struct ar_message *end,
		       struct ar_json_parser *json)
{
	size_t count = 0;

	for (const struct ar_message *m = first; m < end; m++)
		count += ar_parts_images(w, m, json, NULL);
	if (count == 0)
		return;
	ar_jw_open(w);
	ar_jw_mstr(w, "role", AR_STR("user"));
	ar_jw_key(w, "content");
	ar_jw_open_array(w);
	write_part(w, &(struct ar_part){ .text = AR_STR("[Images of the tool results above:]") });
	for (const struct ar_message *m = first; m < end; m++)
		ar_parts_images(w, m, json, write_part);
	ar_jw_close_array(w);
	ar_jw_close(w);
}

static enum ar_status write_messages(struct ar_jw *w, const struct ar_model_request *r,
				     struct ar_json_parser *json, struct ar_error *err)
{
	const struct ar_message *end = r->messages + r->count, *answers = NULL;
	enum ar_status st = AR_OK;

	ar_jw_key(w, "messages");
	ar_jw_open_array(w);
	for (const struct ar_message *m = r->messages; st == AR_OK && m < end; m++) {
		if (m->role == AR_ROLE_TOOL && !answers)
			answers = m;
		st = write_message(w, m, json, err);
		if (!answers || (m + 1 < end && m[1].role == AR_ROLE_TOOL))
			continue;
		write_seen(w, answers, m + 1, json);
		answers = NULL;
	}
	ar_jw_close_array(w);
	return st;
}

/* ---- tools and options ---- */

static enum ar_status write_tool(struct ar_jw *w, const struct ar_tool *tool, struct ar_json_parser *json,
				 struct ar_error *err)
{
	enum ar_status st;

	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("function"));
	ar_jw_key(w, "function");
	ar_jw_open(w);
	ar_jw_mstr(w, "name", tool->name);
	ar_jw_mstr(w, "description", tool->description);
	ar_jw_key(w, "parameters");
	st = ar_write_schema(w, tool->schema, json, err);
	ar_jw_close(w);
	ar_jw_close(w);
	return st;
}

static enum ar_status write_tools(struct ar_jw *w, const struct ar_model_request *r,
				  struct ar_json_parser *json, struct ar_error *err)
{
	enum ar_status st = AR_OK;

	if (r->tool_count == 0)
		return AR_OK;
	ar_jw_key(w, "tools");
	ar_jw_open_array(w);
	for (size_t i = 0; st == AR_OK && i < r->tool_count; i++)
		st = write_tool(w, &r->tools[i], json, err);
	ar_jw_close_array(w);
	return st;
}

static void write_format(struct ar_jw *w, struct ar_json schema)
{
	if (ar_json_type(schema) != AR_JSON_OBJECT)
		return;
	ar_jw_key(w, "response_format");
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("json_schema"));
	ar_jw_key(w, "json_schema");
	ar_jw_open(w);
	ar_jw_mstr(w, "name", AR_STR("answer"));
	ar_jw_key(w, "schema");
	ar_write_json(w, schema);
	ar_jw_close(w);
	ar_jw_close(w);
}

enum ar_status ar_openai_chat_write(const struct ar_model_request *r, struct ar_str version AR_UNUSED,
				    struct ar_json_parser *json, struct ar_buf *out, struct ar_error *err)
{
	struct ar_jw w = ar_jw(out);
	struct ar_json chosen;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "model", r->model);
	if (write_messages(&w, r, json, err) != AR_OK || write_tools(&w, r, json, err) != AR_OK)
		return AR_E_INVALID;
	ar_jw_mbool(&w, "stream", true);
	ar_jw_key(&w, "stream_options");
	ar_jw_open(&w);
	ar_jw_mbool(&w, "include_usage", true);
	ar_jw_close(&w);
	if (ar_options_read(r->options, json, &chosen, err) != AR_OK)
		return AR_E_INVALID;
	ar_options_write(&w, chosen, options);
	write_format(&w, ar_json_get(chosen, "outputSchema"));
	ar_jw_close(&w);
	return out->failed ? ar_fail(err, AR_E_LIMIT, "the request is too large") : AR_OK;
}
