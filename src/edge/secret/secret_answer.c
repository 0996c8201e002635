/* See secret_priv.h. */
#include "json.h"
#include "secret_priv.h"

#include <string.h>

/* One step of the pointer, with ~1 and ~0 written out. False: it is not one. */
static bool read_step(struct ar_str from, struct ar_buf *out)
{
	ar_buf_clear(out);
	for (size_t i = 0; i < from.len; i++) {
		if (from.p[i] != '~') {
			ar_buf_addc(out, from.p[i]);
			continue;
		}
		if (i + 1 == from.len || (from.p[i + 1] != '0' && from.p[i + 1] != '1'))
			return false;
		ar_buf_addc(out, from.p[++i] == '0' ? '~' : '/');
	}
	ar_buf_addc(out, '\0');
	return true;
}

static struct ar_json step(struct ar_json from, const char *name)
{
	int64_t index;

	if (ar_json_type(from) != AR_JSON_ARRAY)
		return ar_json_get(from, name);
	if (!ar_str_to_i64(ar_str_from(name), &index) || index < 0)
		return (struct ar_json){ 0 };
	return ar_json_at(from, (size_t)index);
}

static struct ar_json find_field(struct ar_json doc, const char *field)
{
	AR_AUTO(ar_buf_fini) struct ar_buf name = { 0 };
	struct ar_str rest = ar_str_from(field), part;

	rest = ar_str_sub(rest, 1, rest.len); /* the first slash */
	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, '/', &part);
		if (!read_step(part, &name))
			return (struct ar_json){ 0 };
		doc = step(doc, name.p);
	}
	return doc;
}

enum ar_status ar_secret_answer(struct ar_str answer, const char *field, struct ar_buf *out,
				struct ar_error *err)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	enum ar_status st = AR_OK;
	struct ar_json doc;
	struct ar_str text;

	/* The parser's own sentence may quote the answer. */
	if (ar_json_parse(parser, answer, &doc, NULL) != AR_OK)
		st = ar_fail(err, AR_E_INVALID, "the store's answer is not JSON");
	else if (!ar_json_str(find_field(doc, field), &text))
		st = ar_fail(err, AR_E_NOT_FOUND,
			     "the store's answer has no text at field '%s'; check the JSON pointer", field);
	else
		ar_buf_adds(out, text);
	ar_json_parser_free(parser);
	return st;
}
