/* See result.h. Pure. */
#include "result.h"

#define IMAGES_MAX 64
#define MESSAGE_MAX 1000 /* bytes of a server's sentence that become ours */

struct reading {
	struct ar_arena *arena;
	struct ar_buf text;
	struct ar_tool_image *images;
	size_t image_count;
};

static struct ar_str member(struct ar_json v, const char *name)
{
	struct ar_str s = AR_STR("");

	ar_json_str(ar_json_get(v, name), &s);
	return s;
}

static void begin_part(struct reading *r)
{
	if (r->text.len > 0)
		ar_buf_addc(&r->text, '\n');
}

static void add_text(struct reading *r, struct ar_str s)
{
	begin_part(r);
	ar_buf_adds(&r->text, s);
}

static void add_image(struct reading *r, struct ar_str mime, struct ar_str base64)
{
	if (r->image_count == IMAGES_MAX) {
		add_text(r, AR_STR("[an image is left out: there are too many]"));
		return;
	}
	if (!r->images)
		r->images = ar_arena_alloc(r->arena, IMAGES_MAX * sizeof(*r->images));
	r->images[r->image_count++] =
		(struct ar_tool_image){ ar_arena_str(r->arena, mime), ar_arena_str(r->arena, base64) };
}

/* What a model cannot take is named, so that it knows that there was something. */
static void add_note(struct reading *r, const char *what, struct ar_str mime, size_t base64_len)
{
	begin_part(r);
	ar_buf_addf(&r->text, "[%s, %.*s, %zu bytes]", what, AR_STR_ARG(ar_str_utf8_prefix(mime, 128)),
		    base64_len / 4 * 3);
}

static void convert_text(struct reading *r, struct ar_json block)
{
	add_text(r, member(block, "text"));
}

static void convert_image(struct reading *r, struct ar_json block)
{
	add_image(r, member(block, "mimeType"), member(block, "data"));
}

static void convert_audio(struct reading *r, struct ar_json block)
{
	add_note(r, "audio", member(block, "mimeType"), member(block, "data").len);
}

static void convert_link(struct reading *r, struct ar_json block)
{
	struct ar_str name = ar_str_utf8_prefix(member(block, "name"), 256);

	begin_part(r);
	ar_buf_addf(&r->text, "[resource %.*s: %.*s]", AR_STR_ARG(name), AR_STR_ARG(member(block, "uri")));
}

static void convert_resource(struct reading *r, struct ar_json block)
{
	struct ar_json resource = ar_json_get(block, "resource");
	struct ar_str mime = member(resource, "mimeType"), blob = member(resource, "blob"), text;

	begin_part(r);
	ar_buf_addf(&r->text, "[resource %.*s]", AR_STR_ARG(member(resource, "uri")));
	if (ar_json_str(ar_json_get(resource, "text"), &text))
		add_text(r, text);
	else if (ar_str_starts(mime, AR_STR("image/")))
		add_image(r, mime, blob);
	else
		add_note(r, "binary", mime, blob.len);
}

static const struct {
	const char *type;
	void (*convert)(struct reading *r, struct ar_json block);
} blocks[] = {
	{ "text", convert_text },	   { "image", convert_image },	     { "audio", convert_audio },
	{ "resource_link", convert_link }, { "resource", convert_resource },
};

static void convert_block(struct reading *r, struct ar_json block)
{
	struct ar_str type = member(block, "type");

	for (size_t i = 0; i < AR_ARRAY_LEN(blocks); i++) {
		if (ar_str_is(type, blocks[i].type)) {
			blocks[i].convert(r, block);
			return;
		}
	}
	begin_part(r);
	ar_buf_addf(&r->text, "[content of an unknown kind: %.*s]", AR_STR_ARG(ar_str_utf8_prefix(type, 64)));
}

/* The port carries an object; another value can only be shown as text. */
static void convert_structured(struct reading *r, struct ar_json v, struct ar_tool_result *ret)
{
	struct ar_buf text = { 0 };

	if (ar_json_type(v) == AR_JSON_NONE)
		return;
	ar_json_print(v, &text);
	if (ar_json_type(v) == AR_JSON_OBJECT)
		ret->structured = ar_arena_str(r->arena, ar_buf_str(&text));
	if (r->text.len == 0)
		ar_buf_adds(&r->text, ar_buf_str(&text));
	ar_buf_fini(&text);
}

void ar_mcp_result_read(struct ar_arena *a, struct ar_json result, struct ar_tool_result *ret)
{
	struct reading r = { .arena = a };
	bool is_error = false;

	*ret = (struct ar_tool_result){ .outcome = AR_TOOL_OK };
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(result, "content")); ar_json_next(&it);)
		convert_block(&r, it.value);
	convert_structured(&r, ar_json_get(result, "structuredContent"), ret);
	ret->text = ar_arena_str(a, ar_buf_str(&r.text));
	ret->images = r.images;
	ret->image_count = r.image_count;
	ar_buf_fini(&r.text);
	ar_json_bool(ar_json_get(result, "isError"), &is_error);
	if (!is_error)
		return;
	ret->outcome = AR_TOOL_ERROR;
	ret->category = AR_STR("tool_error");
	ret->message = ar_str_utf8_prefix(ret->text, MESSAGE_MAX);
	if (ret->message.len == 0)
		ret->message = AR_STR("the tool failed and did not say why");
	ret->advice = AR_STR("correct the arguments or try another way");
}

/* Codes with which a server says that nothing was run; any other may come from the middle of the work. */
static const struct {
	int code;
	const char *category, *advice;
} not_run[] = {
	{ AR_MCP_ERR_PARAMS, "invalid_arguments", "check the name of the tool and its arguments" },
	{ AR_MCP_ERR_METHOD, "not_found", "the server has no tools; check its configuration" },
	{ AR_MCP_ERR_REQUEST, "protocol", "set the era of the server in the configuration" },
	{ AR_MCP_ERR_PARSE, "protocol", "set the era of the server in the configuration" },
	{ AR_MCP_ERR_HEADERS, "protocol", "try again: the list of its tools is read again" },
	{ AR_MCP_ERR_CAPABILITY, "unsupported",
	  "the server requires a feature that this client does not support" },
	{ AR_MCP_ERR_VERSION, "protocol", "set the era of the server in the configuration" },
	{ AR_MCP_ERR_URL_REQUIRED, "auth", "open the page that the server names, then try again" },
};

void ar_mcp_result_refused(struct ar_arena *a, const struct ar_mcp_message *m, struct ar_tool_result *ret)
{
	struct ar_str sentence =
		m->error.len > 0 ? ar_str_utf8_prefix(m->error, MESSAGE_MAX) : AR_STR("no reason given");

	*ret = (struct ar_tool_result){ .outcome = AR_TOOL_ERROR, .category = AR_STR("tool_error") };
	ret->message = ar_arena_fmt(a, "the server refused the call: %.*s (code %lld)", AR_STR_ARG(sentence),
				    (long long)m->code);
	ret->text = ret->message;
	for (size_t i = 0; i < AR_ARRAY_LEN(not_run); i++) {
		if (not_run[i].code != m->code)
			continue;
		ret->outcome = AR_TOOL_NOT_RUN;
		ret->category = ar_str_from(not_run[i].category);
		ret->advice = ar_str_from(not_run[i].advice);
		ret->retryable = m->code == AR_MCP_ERR_HEADERS;
	}
}

static const struct {
	const char *advice;
	bool retryable;
} ends[] = {
	[AR_TOOL_NOT_RUN] = { "nothing was run; it can be called again", true },
	[AR_TOOL_TIMEOUT] = { "it may have run in part: look at its effects before calling it again", false },
	[AR_TOOL_CANCELLED] = { NULL, false },
	[AR_TOOL_LOST] = { "it is not known whether it ran: look at its effects before calling it again",
			   false },
	[AR_TOOL_ERROR] = { NULL, false },
};

void ar_mcp_result_end(struct ar_arena *a, enum ar_tool_outcome outcome, const char *category,
		       const char *why, struct ar_tool_result *ret)
{
	*ret = (struct ar_tool_result){
		.outcome = outcome,
		.category = ar_str_from(category),
		.message = ar_arena_fmt(a, "%s", why),
		.advice = ar_str_from(ends[outcome].advice),
		.retryable = ends[outcome].retryable,
	};
}
