/* The Responses body: a flat list of items, in which tool calls and their results stand beside the messages.
 * Nothing is to be stored there, because the history is ours; reasoning therefore goes back and forth
 * encrypted. Pure. */
#include "wire/openai_responses_request.h"

#include "wire/parts.h"

static const char *const role_names[] = {
	[AR_ROLE_SYSTEM] = "system",
	[AR_ROLE_USER] = "user",
	[AR_ROLE_ASSISTANT] = "assistant",
};

static const struct ar_option options[] = {
	{ "temperature", "temperature", AR_OPTION_NUMBER, false },
	{ "topP", "top_p", AR_OPTION_NUMBER, false },
	{ "maxOutputTokens", "max_output_tokens", AR_OPTION(AR_JSON_INT), false },
	{ 0 },
};

struct writing {
	struct ar_jw w;
	const struct ar_model_request *r;
	struct ar_json_parser *json;
	struct ar_error *err;
};

/* ---- items ---- */

static void write_part(struct ar_jw *w, const struct ar_part *part)
{
	struct ar_buf url = { 0 };

	ar_jw_open(w);
	ar_jw_mstr(w, "type", part->is_image ? AR_STR("input_image") : AR_STR("input_text"));
	if (part->is_image) {
		ar_part_url(part, &url);
		ar_jw_mstr(w, "image_url", ar_buf_str(&url));
		ar_jw_mstr(w, "detail", ar_str_absent(part->detail) ? AR_STR("auto") : part->detail);
	} else {
		ar_jw_mstr(w, "text", part->text);
	}
	ar_jw_close(w);
	ar_buf_fini(&url);
}

/* One text as it is, anything else as a list. */
static enum ar_status write_content(struct writing *x, const char *name, const struct ar_message *m)
{
	struct ar_str text;
	enum ar_status st;

	ar_jw_key(&x->w, name);
	if (ar_parts_plain(m, x->json, &text)) {
		ar_jw_str(&x->w, text);
		return AR_OK;
	}
	ar_jw_open_array(&x->w);
	st = ar_parts_write(&x->w, m, x->json, write_part, x->err);
	ar_jw_close_array(&x->w);
	return st;
}

static enum ar_status write_result(struct writing *x, const struct ar_message *m)
{
	enum ar_status st;

	ar_jw_open(&x->w);
	ar_jw_mstr(&x->w, "type", AR_STR("function_call_output"));
	ar_jw_mstr(&x->w, "call_id", m->tool_call_id);
	st = write_content(x, "output", m);
	ar_jw_close(&x->w);
	return st;
}

static void write_use(struct ar_jw *w, const struct ar_tool_use *use)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("function_call"));
	ar_jw_mstr(w, "call_id", use->id);
	ar_jw_mstr(w, "name", use->name);
	ar_jw_mstr(w, "arguments", use->args.len > 0 ? use->args : AR_STR("{}"));
	ar_jw_close(w);
}

/* Reasoning comes before what it led to, as it came from the model. */
static enum ar_status write_message(struct writing *x, const struct ar_message *m)
{
	enum ar_status st = AR_OK;

	for (struct ar_json_iter it = ar_json_iter(ar_echo_read(m, x->json)); ar_json_next(&it);)
		ar_write_json(&x->w, it.value);
	if (m->text.len > 0) {
		ar_jw_open(&x->w);
		ar_jw_mstr(&x->w, "type", AR_STR("message"));
		ar_jw_mstr(&x->w, "role", ar_str_from(role_names[m->role]));
		st = write_content(x, "content", m);
		ar_jw_close(&x->w);
	}
	for (size_t i = 0; i < m->use_count; i++)
		write_use(&x->w, &m->uses[i]);
	return st;
}

static enum ar_status write_input(struct writing *x)
{
	enum ar_status st = AR_OK;

	ar_jw_key(&x->w, "input");
	ar_jw_open_array(&x->w);
	for (size_t i = 0; st == AR_OK && i < x->r->count; i++) {
		const struct ar_message *m = &x->r->messages[i];

		st = m->role == AR_ROLE_TOOL ? write_result(x, m) : write_message(x, m);
	}
	ar_jw_close_array(&x->w);
	return st;
}

/* ---- tools and options ---- */

static enum ar_status write_tools(struct writing *x)
{
	enum ar_status st = AR_OK;

	if (x->r->tool_count == 0)
		return AR_OK;
	ar_jw_key(&x->w, "tools");
	ar_jw_open_array(&x->w);
	for (size_t i = 0; st == AR_OK && i < x->r->tool_count; i++) {
		ar_jw_open(&x->w);
		ar_jw_mstr(&x->w, "type", AR_STR("function"));
		ar_jw_mstr(&x->w, "name", x->r->tools[i].name);
		ar_jw_mstr(&x->w, "description", x->r->tools[i].description);
		ar_jw_key(&x->w, "parameters");
		st = ar_write_schema(&x->w, x->r->tools[i].schema, x->json, x->err);
		/* Strict is the default there and refuses most schemas. */
		ar_jw_mbool(&x->w, "strict", false);
		ar_jw_close(&x->w);
	}
	ar_jw_close_array(&x->w);
	return st;
}

/* Only a model that reasons takes these. */
static void write_reasoning(struct ar_jw *w, struct ar_json effort)
{
	struct ar_str text;

	if (!ar_json_str(effort, &text))
		return;
	ar_jw_key(w, "reasoning");
	ar_jw_open(w);
	ar_jw_mstr(w, "effort", text);
	ar_jw_mstr(w, "summary", AR_STR("auto"));
	ar_jw_close(w);
	ar_jw_mraw(w, "include", AR_STR("[\"reasoning.encrypted_content\"]"));
}

static void write_format(struct ar_jw *w, struct ar_json schema)
{
	if (ar_json_type(schema) != AR_JSON_OBJECT)
		return;
	ar_jw_key(w, "text");
	ar_jw_open(w);
	ar_jw_key(w, "format");
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("json_schema"));
	ar_jw_mstr(w, "name", AR_STR("answer"));
	ar_jw_key(w, "schema");
	ar_write_json(w, schema);
	ar_jw_close(w);
	ar_jw_close(w);
}

enum ar_status ar_openai_responses_write(const struct ar_model_request *r, struct ar_str version AR_UNUSED,
					 struct ar_json_parser *json, struct ar_buf *out,
					 struct ar_error *err)
{
	struct writing x = { .w = ar_jw(out), .r = r, .json = json, .err = err };
	struct ar_json chosen;

	ar_jw_open(&x.w);
	ar_jw_mstr(&x.w, "model", r->model);
	if (write_input(&x) != AR_OK || write_tools(&x) != AR_OK ||
	    ar_options_read(r->options, json, &chosen, err) != AR_OK)
		return AR_E_INVALID;
	ar_options_write(&x.w, chosen, options);
	write_reasoning(&x.w, ar_json_get(chosen, "reasoningEffort"));
	write_format(&x.w, ar_json_get(chosen, "outputSchema"));
	ar_jw_mbool(&x.w, "store", false);
	ar_jw_mbool(&x.w, "stream", true);
	ar_jw_close(&x.w);
	return out->failed ? ar_fail(err, AR_E_LIMIT, "the request is too large") : AR_OK;
}
