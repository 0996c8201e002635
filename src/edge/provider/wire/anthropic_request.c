/* The Messages body. Two sides take turns, tool results are blocks of the user's side, the system's words
 * stand apart, and the length of the answer has to be given. Empty texts are refused there, so none is
 * written. Pure. */
#include "wire/anthropic_request.h"

#include "wire/parts.h"
#include "wire/turns.h"

#define DEFAULT_TOKENS 8192 /* what every model that is served today can give */

static const struct ar_option sampling[] = {
	{ "temperature", "temperature", AR_OPTION_NUMBER, false },
	{ "topP", "top_p", AR_OPTION_NUMBER, false },
	{ 0 },
};

static const struct ar_option options[] = {
	{ "maxOutputTokens", "max_tokens", AR_OPTION(AR_JSON_INT), false },
	{ "stop", "stop_sequences", AR_OPTION(AR_JSON_STR) | AR_OPTION(AR_JSON_ARRAY), true },
	{ 0 },
};

struct writing {
	struct ar_jw w;
	const struct ar_model_request *r;
	struct ar_json_parser *json;
	struct ar_error *err;
	bool is_newer; /* 2026-10-21 or later */
};

/* ---- blocks ---- */

static void write_source(struct ar_jw *w, const struct ar_part *part)
{
	bool has_url = part->url.len > 0;

	ar_jw_key(w, "source");
	ar_jw_open(w);
	ar_jw_mstr(w, "type", has_url ? AR_STR("url") : AR_STR("base64"));
	if (has_url) {
		ar_jw_mstr(w, "url", part->url);
	} else {
		ar_jw_mstr(w, "media_type", part->media_type);
		ar_jw_mstr(w, "data", part->bytes);
	}
	ar_jw_close(w);
}

static void write_part(struct ar_jw *w, const struct ar_part *part)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "type", part->is_image ? AR_STR("image") : AR_STR("text"));
	if (part->is_image)
		write_source(w, part);
	else
		ar_jw_mstr(w, "text", part->text);
	ar_jw_close(w);
}

static enum ar_status write_parts(struct writing *x, const struct ar_message *m)
{
	return ar_parts_write(&x->w, m, x->json, write_part, x->err);
}

static enum ar_status write_result(struct writing *x, const struct ar_message *m)
{
	enum ar_status st;

	ar_jw_open(&x->w);
	ar_jw_mstr(&x->w, "type", AR_STR("tool_result"));
	ar_jw_mstr(&x->w, "tool_use_id", m->tool_call_id);
	ar_jw_key(&x->w, "content");
	ar_jw_open_array(&x->w);
	st = write_parts(x, m);
	ar_jw_close_array(&x->w);
	ar_jw_close(&x->w);
	return st;
}

static void write_use(struct writing *x, const struct ar_tool_use *use)
{
	ar_jw_open(&x->w);
	ar_jw_mstr(&x->w, "type", AR_STR("tool_use"));
	ar_jw_mstr(&x->w, "id", use->id);
	ar_jw_mstr(&x->w, "name", use->name);
	ar_jw_key(&x->w, "input");
	ar_write_args(&x->w, use->args, x->json);
	ar_jw_close(&x->w);
}

/* Signed reasoning comes first, as it came from the model. */
static enum ar_status write_assistant(struct writing *x, const struct ar_message *m)
{
	enum ar_status st;

	for (struct ar_json_iter it = ar_json_iter(ar_echo_read(m, x->json)); ar_json_next(&it);)
		ar_write_json(&x->w, it.value);
	st = write_parts(x, m);
	for (size_t i = 0; i < m->use_count; i++)
		write_use(x, &m->uses[i]);
	return st;
}

/* ---- messages ---- */

static const struct {
	const char *role;
	enum ar_status (*write)(struct writing *x, const struct ar_message *m);
} sides[] = {
	[AR_ROLE_SYSTEM] = { "system", write_parts },
	[AR_ROLE_USER] = { "user", write_parts },
	[AR_ROLE_ASSISTANT] = { "assistant", write_assistant },
	[AR_ROLE_TOOL] = { "user", write_result },
};

/* How many messages at the front the system said. */
static size_t preamble(const struct ar_model_request *r)
{
	size_t n = 0;

	while (n < r->count && r->messages[n].role == AR_ROLE_SYSTEM)
		n++;
	return n;
}

/* Whether the message belongs into the member "system". */
static bool stands_apart(const struct writing *x, size_t i)
{
	return x->r->messages[i].role == AR_ROLE_SYSTEM && (!x->is_newer || i < preamble(x->r));
}

static enum ar_status write_system(struct writing *x)
{
	enum ar_status st = AR_OK;
	bool is_open = false;

	for (size_t i = 0; st == AR_OK && i < x->r->count; i++) {
		if (!stands_apart(x, i) || x->r->messages[i].text.len == 0)
			continue;
		if (!is_open) {
			ar_jw_key(&x->w, "system");
			ar_jw_open_array(&x->w);
		}
		is_open = true;
		st = write_parts(x, &x->r->messages[i]);
	}
	if (is_open)
		ar_jw_close_array(&x->w);
	return st;
}

static enum ar_status write_messages(struct writing *x)
{
	struct ar_turns turns = { .w = &x->w, .list = "content" };
	enum ar_status st = AR_OK;

	ar_jw_key(&x->w, "messages");
	ar_jw_open_array(&x->w);
	for (size_t i = 0; st == AR_OK && i < x->r->count; i++) {
		const struct ar_message *m = &x->r->messages[i];
		bool is_empty = m->text.len == 0 && m->use_count == 0 && m->role != AR_ROLE_TOOL;

		if (is_empty || stands_apart(x, i))
			continue;
		ar_turns_role(&turns, sides[m->role].role);
		st = sides[m->role].write(x, m);
	}
	ar_turns_end(&turns);
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
		ar_jw_mstr(&x->w, "name", x->r->tools[i].name);
		ar_jw_mstr(&x->w, "description", x->r->tools[i].description);
		ar_jw_key(&x->w, "input_schema");
		st = ar_write_schema(&x->w, x->r->tools[i].schema, x->json, x->err);
		ar_jw_close(&x->w);
	}
	ar_jw_close_array(&x->w);
	return st;
}

static void write_thinking(struct ar_jw *w)
{
	ar_jw_key(w, "thinking");
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("adaptive"));
	ar_jw_close(w);
}

static void write_format(struct ar_jw *w, struct ar_json schema)
{
	ar_jw_key(w, "format");
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("json_schema"));
	ar_jw_key(w, "schema");
	ar_write_json(w, schema);
	ar_jw_close(w);
}

static void write_output_config(struct ar_jw *w, struct ar_json chosen)
{
	struct ar_json schema = ar_json_get(chosen, "outputSchema");
	struct ar_str effort = AR_STR_NONE;
	bool has_schema = ar_json_type(schema) == AR_JSON_OBJECT;

	ar_json_str(ar_json_get(chosen, "reasoningEffort"), &effort);
	if (!has_schema && ar_str_absent(effort))
		return;
	if (!ar_str_absent(effort))
		write_thinking(w);
	ar_jw_key(w, "output_config");
	ar_jw_open(w);
	ar_jw_mstr(w, "effort", effort);
	if (has_schema)
		write_format(w, schema);
	ar_jw_close(w);
}

static enum ar_status write_options(struct writing *x)
{
	struct ar_json chosen;

	if (ar_options_read(x->r->options, x->json, &chosen, x->err) != AR_OK)
		return AR_E_INVALID;
	if (!x->is_newer)
		ar_options_write(&x->w, chosen, sampling);
	ar_options_write(&x->w, chosen, options);
	if (ar_json_type(ar_json_get(chosen, "maxOutputTokens")) != AR_JSON_INT)
		ar_jw_mint(&x->w, "max_tokens", DEFAULT_TOKENS);
	write_output_config(&x->w, chosen);
	return AR_OK;
}

enum ar_status ar_anthropic_write(const struct ar_model_request *r, struct ar_str version,
				  struct ar_json_parser *json, struct ar_buf *out, struct ar_error *err)
{
	struct writing x = { .w = ar_jw(out), .r = r, .json = json, .err = err };

	/* Versions are dates. */
	x.is_newer = ar_str_cmp(version, AR_STR("2026-10-21")) >= 0;
	ar_jw_open(&x.w);
	ar_jw_mstr(&x.w, "model", r->model);
	if (write_system(&x) != AR_OK || write_messages(&x) != AR_OK || write_tools(&x) != AR_OK ||
	    write_options(&x) != AR_OK)
		return AR_E_INVALID;
	ar_jw_mbool(&x.w, "stream", true);
	ar_jw_close(&x.w);
	return out->failed ? ar_fail(err, AR_E_LIMIT, "the request is too large") : AR_OK;
}
