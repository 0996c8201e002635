/* The generateContent body. Two sides take turns; tool results are parts of the user's side and name the
 * function, not only the call; the system's words stand apart; options lie in an object of their own.
 * Pure. */
#include "wire/gemini_request.h"

#include "wire/parts.h"
#include "wire/turns.h"

#include <ctype.h>

/* Documented for calls whose signature is not known, as those that another model made; without any the newer
 * models refuse the conversation. */
#define NO_SIGNATURE "skip_thought_signature_validator"

static const struct ar_option options[] = {
	{ "temperature", "temperature", AR_OPTION_NUMBER, false },
	{ "topP", "topP", AR_OPTION_NUMBER, false },
	{ "maxOutputTokens", "maxOutputTokens", AR_OPTION(AR_JSON_INT), false },
	{ "stop", "stopSequences", AR_OPTION(AR_JSON_STR) | AR_OPTION(AR_JSON_ARRAY), true },
	{ "seed", "seed", AR_OPTION(AR_JSON_INT), false },
	{ 0 },
};

struct writing {
	struct ar_jw w;
	const struct ar_model_request *r;
	struct ar_json_parser *json;
	struct ar_error *err;
};

/* ---- parts ---- */

static void write_image(struct ar_jw *w, const struct ar_part *part)
{
	bool has_url = part->url.len > 0;

	ar_jw_key(w, has_url ? "fileData" : "inlineData");
	ar_jw_open(w);
	ar_jw_mstr(w, "mimeType", part->media_type);
	ar_jw_mstr(w, has_url ? "fileUri" : "data", has_url ? part->url : part->bytes);
	ar_jw_close(w);
}

static void write_part(struct ar_jw *w, const struct ar_part *part)
{
	ar_jw_open(w);
	if (part->is_image)
		write_image(w, part);
	else
		ar_jw_mstr(w, "text", part->text);
	ar_jw_close(w);
}

static enum ar_status write_parts(struct writing *x, const struct ar_message *m)
{
	return ar_parts_write(&x->w, m, x->json, write_part, x->err);
}

/* The function that a call named; the newest call of that id, as ids may come again. */
static struct ar_str function_of(const struct writing *x, const struct ar_message *result)
{
	for (const struct ar_message *m = result; m-- > x->r->messages;) {
		for (size_t i = 0; i < m->use_count; i++) {
			if (ar_str_eq(m->uses[i].id, result->tool_call_id))
				return m->uses[i].name;
		}
	}
	return AR_STR("unknown");
}

/* A result is an object there; images stay beside it. */
static enum ar_status write_result(struct writing *x, const struct ar_message *m)
{
	struct ar_buf text = { 0 };

	ar_parts_text(m, x->json, &text);
	ar_jw_open(&x->w);
	ar_jw_key(&x->w, "functionResponse");
	ar_jw_open(&x->w);
	ar_jw_mstr(&x->w, "id", m->tool_call_id);
	ar_jw_mstr(&x->w, "name", function_of(x, m));
	ar_jw_key(&x->w, "response");
	ar_jw_open(&x->w);
	ar_jw_mstr(&x->w, "result", text.len > 0 ? ar_buf_str(&text) : AR_STR(""));
	ar_jw_close(&x->w);
	ar_jw_close(&x->w);
	ar_jw_close(&x->w);
	ar_buf_fini(&text);
	ar_parts_images(&x->w, m, x->json, write_part);
	return AR_OK;
}

/* The signature of the call: the echo has one entry for each call, in order. */
static void write_signature(struct writing *x, const struct ar_message *m, size_t i)
{
	struct ar_str signature = AR_STR_NONE;

	ar_json_str(ar_json_at(ar_echo_read(m, x->json), i), &signature);
	if (ar_str_absent(signature) && i == 0)
		signature = AR_STR(NO_SIGNATURE);
	if (signature.len > 0)
		ar_jw_mstr(&x->w, "thoughtSignature", signature);
}

static void write_use(struct writing *x, const struct ar_message *m, size_t i)
{
	ar_jw_open(&x->w);
	ar_jw_key(&x->w, "functionCall");
	ar_jw_open(&x->w);
	ar_jw_mstr(&x->w, "id", m->uses[i].id);
	ar_jw_mstr(&x->w, "name", m->uses[i].name);
	ar_jw_key(&x->w, "args");
	ar_write_args(&x->w, m->uses[i].args, x->json);
	ar_jw_close(&x->w);
	write_signature(x, m, i);
	ar_jw_close(&x->w);
}

static enum ar_status write_model(struct writing *x, const struct ar_message *m)
{
	enum ar_status st = write_parts(x, m);

	for (size_t i = 0; i < m->use_count; i++)
		write_use(x, m, i);
	return st;
}

/* ---- contents ---- */

static const struct {
	const char *role; /* NULL: stands apart */
	enum ar_status (*write)(struct writing *x, const struct ar_message *m);
} sides[] = {
	[AR_ROLE_SYSTEM] = { NULL, write_parts },
	[AR_ROLE_USER] = { "user", write_parts },
	[AR_ROLE_ASSISTANT] = { "model", write_model },
	[AR_ROLE_TOOL] = { "user", write_result },
};

static bool is_empty(const struct ar_message *m)
{
	return m->text.len == 0 && m->use_count == 0 && m->role != AR_ROLE_TOOL;
}

static enum ar_status write_contents(struct writing *x)
{
	struct ar_turns turns = { .w = &x->w, .list = "parts" };
	enum ar_status st = AR_OK;

	ar_jw_key(&x->w, "contents");
	ar_jw_open_array(&x->w);
	for (size_t i = 0; st == AR_OK && i < x->r->count; i++) {
		const struct ar_message *m = &x->r->messages[i];

		if (is_empty(m) || !sides[m->role].role)
			continue;
		ar_turns_role(&turns, sides[m->role].role);
		st = sides[m->role].write(x, m);
	}
	ar_turns_end(&turns);
	ar_jw_close_array(&x->w);
	return st;
}

static enum ar_status write_system(struct writing *x)
{
	enum ar_status st = AR_OK;
	bool is_open = false;

	for (size_t i = 0; st == AR_OK && i < x->r->count; i++) {
		const struct ar_message *m = &x->r->messages[i];

		if (m->role != AR_ROLE_SYSTEM || is_empty(m))
			continue;
		if (!is_open) {
			ar_jw_key(&x->w, "systemInstruction");
			ar_jw_open(&x->w);
			ar_jw_key(&x->w, "parts");
			ar_jw_open_array(&x->w);
		}
		is_open = true;
		st = write_parts(x, m);
	}
	if (is_open) {
		ar_jw_close_array(&x->w);
		ar_jw_close(&x->w);
	}
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
	ar_jw_open(&x->w);
	ar_jw_key(&x->w, "functionDeclarations");
	ar_jw_open_array(&x->w);
	for (size_t i = 0; st == AR_OK && i < x->r->tool_count; i++) {
		ar_jw_open(&x->w);
		ar_jw_mstr(&x->w, "name", x->r->tools[i].name);
		ar_jw_mstr(&x->w, "description", x->r->tools[i].description);
		ar_jw_key(&x->w, "parametersJsonSchema");
		st = ar_write_schema(&x->w, x->r->tools[i].schema, x->json, x->err);
		ar_jw_close(&x->w);
	}
	ar_jw_close_array(&x->w);
	ar_jw_close(&x->w);
	ar_jw_close_array(&x->w);
	return st;
}

static enum ar_status write_config(struct writing *x)
{
	struct ar_json chosen, schema;
	struct ar_str effort;

	if (ar_options_read(x->r->options, x->json, &chosen, x->err) != AR_OK)
		return AR_E_INVALID;
	schema = ar_json_get(chosen, "outputSchema");
	ar_jw_key(&x->w, "generationConfig");
	ar_jw_open(&x->w);
	ar_options_write(&x->w, chosen, options);
	if (ar_json_type(schema) == AR_JSON_OBJECT) {
		ar_jw_mstr(&x->w, "responseMimeType", AR_STR("application/json"));
		ar_jw_key(&x->w, "responseJsonSchema");
		ar_write_json(&x->w, schema);
	}
	if (ar_json_str(ar_json_get(chosen, "reasoningEffort"), &effort)) {
		ar_jw_key(&x->w, "thinkingConfig");
		ar_jw_open(&x->w);
		ar_jw_mbool(&x->w, "includeThoughts", true);
		ar_jw_mstr(&x->w, "thinkingLevel", effort);
		ar_jw_close(&x->w);
	}
	ar_jw_close(&x->w);
	return AR_OK;
}

enum ar_status ar_gemini_write(const struct ar_model_request *r, struct ar_str version AR_UNUSED,
			       struct ar_json_parser *json, struct ar_buf *out, struct ar_error *err)
{
	struct writing x = { .w = ar_jw(out), .r = r, .json = json, .err = err };

	ar_jw_open(&x.w);
	if (write_system(&x) != AR_OK || write_contents(&x) != AR_OK || write_tools(&x) != AR_OK ||
	    write_config(&x) != AR_OK)
		return AR_E_INVALID;
	ar_jw_close(&x.w);
	return out->failed ? ar_fail(err, AR_E_LIMIT, "the request is too large") : AR_OK;
}

/* ---- the path ---- */

static void add_escaped(struct ar_buf *out, struct ar_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if ((c < 0x80 && isalnum(c)) || c == '-' || c == '_' || c == '.')
			ar_buf_addc(out, (char)c);
		else
			ar_buf_addf(out, "%%%02X", c);
	}
}

void ar_gemini_path(const struct ar_model_request *r, struct ar_buf *out)
{
	struct ar_str name = r->model, family = AR_STR("models/");

	if (ar_str_starts(name, AR_STR("tunedModels/")))
		family = AR_STR("tunedModels/");
	if (ar_str_starts(name, family))
		name = ar_str_sub(name, family.len, name.len);
	ar_buf_addf(out, "/v1beta/%.*s", AR_STR_ARG(family));
	add_escaped(out, name);
	ar_buf_addz(out, ":streamGenerateContent?alt=sse");
}
