/* Reading of parts, schemas, arguments and options. Pure. */
#include "wire/parts.h"

#include <string.h>

void ar_write_json(struct ar_jw *w, struct ar_json v)
{
	struct ar_buf text = { 0 };

	ar_json_print(v, &text);
	ar_jw_raw(w, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* ---- parts ---- */

static bool is_text(struct ar_json part, struct ar_str *ret)
{
	struct ar_str type = AR_STR("text");

	ar_json_str(ar_json_get(part, "type"), &type);
	return ar_str_is(type, "text") && ar_json_str(ar_json_get(part, "text"), ret);
}

/* "data:image/png;base64,iVBO..." is bytes with a media type; every other URL stays one. */
static void set_url(struct ar_part *p, struct ar_str url)
{
	static const char mark[] = ";base64,";
	const char *at =
		ar_str_starts(url, AR_STR("data:")) ? memmem(url.p, url.len, mark, sizeof(mark) - 1) : NULL;

	if (!at) {
		p->url = url;
		return;
	}
	p->media_type = (struct ar_str){ url.p + 5, (size_t)(at - url.p) - 5 };
	p->bytes = ar_str_sub(url, (size_t)(at - url.p) + sizeof(mark) - 1, url.len);
}

static bool is_image(struct ar_json part, struct ar_part *ret)
{
	struct ar_json inner = ar_json_get(part, "image_url");
	struct ar_str type = AR_STR(""), url = AR_STR("");

	ar_json_str(ar_json_get(part, "type"), &type);
	if (!ar_str_is(type, "image") && !ar_str_is(type, "image_url"))
		return false;
	ar_json_str(ar_json_get(part, "url"), &url);
	ar_json_str(inner, &url);
	ar_json_str(ar_json_get(inner, "url"), &url);
	ar_json_str(ar_json_get(inner, "detail"), &ret->detail);
	ret->media_type = AR_STR("image/png");
	ar_json_str(ar_json_get(part, "mimeType"), &ret->media_type);
	if (!ar_json_str(ar_json_get(part, "data"), &ret->bytes))
		set_url(ret, url);
	ret->is_image = ret->url.len > 0 || ret->bytes.len > 0;
	return ret->is_image;
}

static void write_part(struct ar_jw *w, struct ar_json value, ar_part_writer write)
{
	struct ar_part part = { 0 };
	struct ar_buf json = { 0 };

	if (!is_image(value, &part) && !is_text(value, &part.text)) {
		ar_json_print(value, &json);
		part = (struct ar_part){ .text = ar_buf_str(&json) };
	}
	if (part.is_image || part.text.len > 0)
		write(w, &part);
	ar_buf_fini(&json);
}

enum ar_status ar_parts_write(struct ar_jw *w, const struct ar_message *m, struct ar_json_parser *json,
			      ar_part_writer write, struct ar_error *err)
{
	struct ar_json doc;

	if (!m->is_parts) {
		if (m->text.len > 0)
			write(w, &(struct ar_part){ .text = m->text });
		return AR_OK;
	}
	if (ar_json_parse(json, m->text, &doc, err) != AR_OK)
		return ar_fail_wrap(err, "parts of a message");
	if (ar_json_type(doc) != AR_JSON_ARRAY)
		return ar_fail(err, AR_E_INVALID, "parts of a message are no JSON array");
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it);)
		write_part(w, it.value, write);
	return AR_OK;
}

size_t ar_parts_images(struct ar_jw *w, const struct ar_message *m, struct ar_json_parser *json,
		       ar_part_writer write)
{
	struct ar_json doc;
	size_t count = 0;

	if (!m->is_parts || ar_json_parse(json, m->text, &doc, NULL) != AR_OK)
		return 0;
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it);) {
		struct ar_part part = { 0 };

		if (!is_image(it.value, &part))
			continue;
		count++;
		if (write)
			write(w, &part);
	}
	return count;
}

void ar_parts_text(const struct ar_message *m, struct ar_json_parser *json, struct ar_buf *out)
{
	struct ar_json doc;

	if (!m->is_parts) {
		ar_buf_adds(out, m->text);
		return;
	}
	if (ar_json_parse(json, m->text, &doc, NULL) != AR_OK)
		return;
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it);) {
		struct ar_str text;

		if (!is_text(it.value, &text))
			continue;
		if (out->len > 0)
			ar_buf_addc(out, '\n');
		ar_buf_adds(out, text);
	}
}

bool ar_parts_plain(const struct ar_message *m, struct ar_json_parser *json, struct ar_str *ret)
{
	struct ar_json doc;

	if (!m->is_parts) {
		*ret = ar_str_absent(m->text) ? AR_STR("") : m->text;
		return true;
	}
	return ar_json_parse(json, m->text, &doc, NULL) == AR_OK && ar_json_len(doc) == 1 &&
	       is_text(ar_json_at(doc, 0), ret);
}

void ar_part_url(const struct ar_part *part, struct ar_buf *out)
{
	if (part->url.len > 0)
		ar_buf_adds(out, part->url);
	else
		ar_buf_addf(out, "data:%.*s;base64,%.*s", AR_STR_ARG(part->media_type),
			    AR_STR_ARG(part->bytes));
}

/* ---- tools ---- */

enum ar_status ar_write_schema(struct ar_jw *w, struct ar_str schema, struct ar_json_parser *json,
			       struct ar_error *err)
{
	struct ar_json doc;

	if (schema.len == 0)
		schema = AR_STR("{\"type\":\"object\",\"properties\":{}}");
	if (ar_json_parse(json, schema, &doc, err) != AR_OK)
		return ar_fail_wrap(err, "schema of a tool");
	if (ar_json_type(doc) != AR_JSON_OBJECT)
		return ar_fail(err, AR_E_INVALID, "the schema of a tool is no JSON object");
	ar_write_json(w, doc);
	return AR_OK;
}

void ar_write_args(struct ar_jw *w, struct ar_str args, struct ar_json_parser *json)
{
	struct ar_json doc = { 0 };

	if (args.len > 0 && ar_json_parse(json, args, &doc, NULL) == AR_OK &&
	    ar_json_type(doc) == AR_JSON_OBJECT) {
		ar_write_json(w, doc);
		return;
	}
	ar_jw_open(w);
	if (args.len > 0)
		ar_jw_mstr(w, "arguments", args);
	ar_jw_close(w);
}

/* ---- options ---- */

enum ar_status ar_options_read(struct ar_str text, struct ar_json_parser *json, struct ar_json *ret,
			       struct ar_error *err)
{
	*ret = (struct ar_json){ 0 };
	if (text.len == 0)
		return AR_OK;
	if (ar_json_parse(json, text, ret, err) != AR_OK)
		return ar_fail_wrap(err, "options of the turn");
	if (ar_json_type(*ret) != AR_JSON_OBJECT)
		return ar_fail(err, AR_E_INVALID, "options of the turn are no JSON object");
	return AR_OK;
}

void ar_options_write(struct ar_jw *w, struct ar_json options, const struct ar_option *table)
{
	for (; table->ours; table++) {
		struct ar_json v = ar_json_get(options, table->ours);
		bool wrap = table->in_array && ar_json_type(v) != AR_JSON_ARRAY;

		if (!(AR_OPTION(ar_json_type(v)) & table->types))
			continue;
		ar_jw_key(w, table->theirs);
		if (wrap)
			ar_jw_open_array(w);
		ar_write_json(w, v);
		if (wrap)
			ar_jw_close_array(w);
	}
}

struct ar_json ar_echo_read(const struct ar_message *m, struct ar_json_parser *json)
{
	struct ar_json doc = { 0 };

	if (m->echo.len == 0 || ar_json_parse(json, m->echo, &doc, NULL) != AR_OK ||
	    ar_json_type(doc) != AR_JSON_ARRAY)
		return (struct ar_json){ 0 };
	return doc;
}
