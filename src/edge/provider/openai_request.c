/* The Chat Completions body: messages, tool calls, tool results, content parts, options. Pure; everything a caller gave
 * goes through the JSON writer, nothing is pasted. */
#include "openai_request.h"

static const char *const role_names[] = {
	[AR_ROLE_SYSTEM] = "system",
	[AR_ROLE_USER] = "user",
	[AR_ROLE_ASSISTANT] = "assistant",
	[AR_ROLE_TOOL] = "tool",
};

/* Our option names and theirs; `types` are the JSON types that are passed on. */
#define TYPE(t) (1u << (t))
static const struct {
	const char *ours, *theirs;
	unsigned types;
} options[] = {
	{ "temperature", "temperature", TYPE(AR_JSON_INT) | TYPE(AR_JSON_NUM) },
	{ "maxOutputTokens", "max_tokens", TYPE(AR_JSON_INT) },
	{ "topP", "top_p", TYPE(AR_JSON_INT) | TYPE(AR_JSON_NUM) },
	{ "stop", "stop", TYPE(AR_JSON_STR) | TYPE(AR_JSON_ARRAY) },
	{ "seed", "seed", TYPE(AR_JSON_INT) },
};

/* Relays a parsed value. */
static void write_value(struct ar_jw *w, struct ar_json v)
{
	struct ar_buf text = { 0 };

	ar_json_print(v, &text);
	ar_jw_raw(w, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* ---- content ---- */

static bool is_text_part(struct ar_json part, struct ar_str *ret)
{
	struct ar_str type = AR_STR("text");

	ar_json_str(ar_json_get(part, "type"), &type);
	return ar_str_is(type, "text") && ar_json_str(ar_json_get(part, "text"), ret);
}

static void write_text_part(struct ar_jw *w, struct ar_str text)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("text"));
	ar_jw_mstr(w, "text", text);
	ar_jw_close(w);
}

static void write_image_part(struct ar_jw *w, struct ar_str url)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("image_url"));
	ar_jw_key(w, "image_url");
	ar_jw_open(w);
	ar_jw_mstr(w, "url", url);
	ar_jw_close(w);
	ar_jw_close(w);
}

/* What the wire format has no word for is shown to the model as JSON text rather than dropped unseen. */
static void write_part(struct ar_jw *w, struct ar_json part)
{
	struct ar_str text, type = AR_STR("");
	struct ar_buf json = { 0 };

	ar_json_str(ar_json_get(part, "type"), &type);
	if (is_text_part(part, &text)) {
		write_text_part(w, text);
		return;
	}
	if (ar_str_is(type, "image") && ar_json_str(ar_json_get(part, "url"), &text)) {
		write_image_part(w, text);
		return;
	}
	if (ar_str_is(type, "image_url")) {
		write_value(w, part);
		return;
	}
	ar_json_print(part, &json);
	write_text_part(w, ar_buf_str(&json));
	ar_buf_fini(&json);
}

static enum ar_status write_parts(struct ar_jw *w, struct ar_str parts, struct ar_json_parser *json,
				  struct ar_error *err)
{
	struct ar_json doc;
	struct ar_str text;

	if (ar_json_parse(json, parts, &doc, err) != AR_OK)
		return ar_fail_wrap(err, "parts of a message");
	if (ar_json_type(doc) != AR_JSON_ARRAY)
		return ar_fail(err, AR_E_INVALID, "parts of a message are no JSON array");
	/* The plain form is understood by more servers than the array. */
	if (ar_json_len(doc) == 1 && is_text_part(ar_json_at(doc, 0), &text)) {
		ar_jw_str(w, text);
		return AR_OK;
	}
	ar_jw_open_array(w);
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it);)
		write_part(w, it.value);
	ar_jw_close_array(w);
	return AR_OK;
}

static enum ar_status write_content(struct ar_jw *w, const struct ar_message *m, struct ar_json_parser *json,
				    struct ar_error *err)
{
	ar_jw_key(w, "content");
	if (m->is_parts)
		return write_parts(w, m->text, json, err);
	if (m->text.len == 0 && m->use_count > 0)
		ar_jw_null(w);
	else
		ar_jw_str(w, ar_str_absent(m->text) ? AR_STR("") : m->text);
	return AR_OK;
}

/* ---- messages ---- */

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
	enum ar_status st;

	ar_jw_open(w);
	ar_jw_mstr(w, "role", ar_str_from(role_names[m->role]));
	st = write_content(w, m, json, err);
	if (m->role == AR_ROLE_TOOL)
		ar_jw_mstr(w, "tool_call_id", m->tool_call_id);
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

static enum ar_status write_options(struct ar_jw *w, struct ar_str text, struct ar_json_parser *json,
				    struct ar_error *err)
{
	struct ar_json doc;

	if (text.len == 0)
		return AR_OK;
	if (ar_json_parse(json, text, &doc, err) != AR_OK)
		return ar_fail_wrap(err, "options of the turn");
	if (ar_json_type(doc) != AR_JSON_OBJECT)
		return ar_fail(err, AR_E_INVALID, "options of the turn are no JSON object");
	for (size_t i = 0; i < AR_ARRAY_LEN(options); i++) {
		struct ar_json v = ar_json_get(doc, options[i].ours);

		if (!(TYPE(ar_json_type(v)) & options[i].types))
			continue;
		ar_jw_key(w, options[i].theirs);
		write_value(w, v);
	}
	return AR_OK;
}

enum ar_status ar_openai_request_write(const struct ar_model_request *r, struct ar_json_parser *json,
				       struct ar_buf *out, struct ar_error *err)
{
	struct ar_jw w = ar_jw(out);
	enum ar_status st;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "model", r->model);
	ar_jw_key(&w, "messages");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < r->count; i++) {
		st = write_message(&w, &r->messages[i], json, err);
		if (st != AR_OK)
			return st;
	}
	ar_jw_close_array(&w);
	ar_jw_mbool(&w, "stream", true);
	ar_jw_key(&w, "stream_options");
	ar_jw_open(&w);
	ar_jw_mbool(&w, "include_usage", true);
	ar_jw_close(&w);
	st = write_options(&w, r->options, json, err);
	if (st != AR_OK)
		return st;
	ar_jw_close(&w);
	return out->failed ? ar_fail(err, AR_E_LIMIT, "the request is too large") : AR_OK;
}
