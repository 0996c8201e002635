/* Turns `?limit=5&include=a,b` into `{"limit":5,"include":["a","b"]}` by the kinds of the command's input
 * members. Leaves every further rule (required, caps, enums) to the core. Pure functions over their
 * arguments, any thread. */
#include "input.h"
#include "describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBER_TEXT 64

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ar_percent_decode(struct ar_str text, bool is_query, struct ar_buf *out)
{
	size_t start = out->len;

	for (size_t i = 0; i < text.len; i++) {
		int high, low;

		if (text.p[i] != '%') {
			ar_buf_addc(out, is_query && text.p[i] == '+' ? ' ' : text.p[i]);
			continue;
		}
		if (text.len - i < 3)
			return false;
		high = hex_digit(text.p[i + 1]);
		low = hex_digit(text.p[i + 2]);
		if (high < 0 || low < 0)
			return false;
		ar_buf_addc(out, (char)(high << 4 | low));
		i += 2;
	}
	return ar_str_is_utf8(ar_str_sub(ar_buf_str(out), start, out->len));
}

static bool write_text(struct ar_jw *w, struct ar_str text)
{
	ar_jw_str(w, text);
	return true;
}

static bool write_int(struct ar_jw *w, struct ar_str text)
{
	int64_t v;

	if (!ar_str_to_i64(text, &v))
		return false;
	ar_jw_int(w, v);
	return true;
}

static bool write_num(struct ar_jw *w, struct ar_str text)
{
	char copy[MAX_NUMBER_TEXT], *end;
	double v;

	if (!text.len || text.len >= sizeof copy)
		return false;
	memcpy(copy, text.p, text.len);
	copy[text.len] = 0;
	if (strspn(copy, "0123456789+-.eE") != text.len)
		return false;
	v = strtod(copy, &end);
	if (*end || !isfinite(v))
		return false;
	ar_jw_num(w, v);
	return true;
}

static bool write_bool(struct ar_jw *w, struct ar_str text)
{
	bool v = ar_str_is(text, "true");

	if (!v && !ar_str_is(text, "false"))
		return false;
	ar_jw_bool(w, v);
	return true;
}

static bool write_array(struct ar_jw *w, struct ar_str text)
{
	struct ar_str part;

	ar_jw_open_array(w);
	while (text.len) {
		text = ar_str_split(text, ',', &part);
		ar_jw_str(w, part);
	}
	ar_jw_close_array(w);
	return true;
}

/* Objects and free JSON have no form in a query: POST the command instead. */
static bool (*const writers[])(struct ar_jw *w, struct ar_str text) = {
	[AR_F_STRING] = write_text, [AR_F_REF] = write_text,	[AR_F_INT] = write_int,
	[AR_F_NUM] = write_num,	    [AR_F_BOOL] = write_bool,	[AR_F_ENUM] = write_text,
	[AR_F_TIME] = write_text,   [AR_F_OBJECT] = NULL,	[AR_F_ARRAY] = write_array,
	[AR_F_JSON] = NULL,	    [AR_F_TEXTS] = write_array,
};

/* Members that say where to start; Last-Event-ID, the place that was reached, overrides both. */
static bool is_start(struct ar_str name)
{
	return ar_field_named("after", name) || ar_field_named("fromSequence", name);
}

struct input {
	const struct ar_struct_desc *in;
	struct ar_jw w;
	uint64_t seen; /* 1 << index of the member */
};

static enum ar_status invalid(struct ar_error *err, struct ar_str name, const char *what)
{
	return ar_refuse(err, AR_ERR_INVALID_INPUT, "parameter '%.*s' %s",
			 AR_STR_ARG(ar_str_sub(name, 0, 60)), what);
}

/* `name` and `text` are decoded. */
static enum ar_status add_member(struct input *in, struct ar_str name, struct ar_str text,
				 struct ar_error *err)
{
	const struct ar_field_desc *f = ar_field_find(in->in, name);
	uint64_t bit;

	if (!f)
		return invalid(err, name, "is unknown");
	bit = UINT64_C(1) << ((f - in->in->fields) & 63);
	if (in->seen & bit)
		return invalid(err, name, "comes twice");
	in->seen |= bit;
	if (!writers[f->kind])
		return invalid(err, name, "cannot be sent in a query; POST the command");
	ar_jw_key(&in->w, f->name);
	return writers[f->kind](&in->w, text) ? AR_OK : invalid(err, name, "is of the wrong type");
}

static enum ar_status add_encoded(struct input *in, struct ar_str name, struct ar_str text, bool is_query,
				  struct ar_error *err)
{
	struct ar_buf decoded = { 0 };
	enum ar_status st;
	size_t split;

	if (!ar_percent_decode(name, is_query, &decoded)) {
		ar_buf_fini(&decoded);
		return invalid(err, name, "is not percent-encoded UTF-8");
	}
	split = decoded.len;
	if (ar_percent_decode(text, is_query, &decoded)) {
		struct ar_str all = ar_buf_str(&decoded);

		st = add_member(in, ar_str_sub(all, 0, split), ar_str_sub(all, split, all.len), err);
	} else {
		st = invalid(err, name, "is not percent-encoded UTF-8");
	}
	ar_buf_fini(&decoded);
	return st;
}

static enum ar_status add_query(struct input *in, struct ar_str query, bool has_after, struct ar_error *err)
{
	enum ar_status st = AR_OK;

	while (query.len && st == AR_OK) {
		struct ar_str pair, name, value;

		query = ar_str_split(query, '&', &pair);
		value = ar_str_split(pair, '=', &name);
		if (ar_str_empty(pair) || (has_after && is_start(name)))
			continue;
		st = add_encoded(in, name, ar_str_absent(value) ? AR_STR("") : value, true, err);
	}
	return st;
}

enum ar_status ar_input_from_target(const struct ar_http_route *r, struct ar_str query, struct ar_str after,
				    struct ar_buf *out, struct ar_error *err)
{
	struct input in = { &r->command->in, ar_jw(out), 0 };
	enum ar_status st = AR_OK;

	ar_jw_open(&in.w);
	for (size_t i = 0; i < r->param_count && st == AR_OK; i++)
		st = add_encoded(&in, r->params[i].name, r->params[i].value, false, err);
	if (st == AR_OK && !ar_str_absent(after))
		st = add_member(&in, AR_STR("after"), after, err);
	if (st == AR_OK)
		st = add_query(&in, query, !ar_str_absent(after), err);
	ar_jw_close(&in.w);
	return st;
}

static enum ar_status parse_body(struct ar_json_parser *parser, struct ar_str body, struct ar_json *ret,
				 struct ar_error *err)
{
	if (ar_json_parse(parser, body.len ? body : AR_STR("{}"), ret, err) == AR_OK &&
	    ar_json_type(*ret) == AR_JSON_OBJECT)
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_JSON, "the body is not a JSON object");
}

/* All members but those that are left out, and one more. */
static void copy_with(struct ar_json doc, bool (*is_left_out)(struct ar_str name), struct ar_buf *out,
		      const char *name, struct ar_str value)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it);) {
		if (is_left_out(it.name))
			continue;
		ar_jw_str(&w, it.name);
		ar_buf_addc(out, ':');
		w.comma = false;
		ar_json_print(it.value, out);
		w.comma = true;
	}
	ar_jw_mstr(&w, name, value);
	ar_jw_close(&w);
}

enum ar_status ar_input_with_after(struct ar_json_parser *parser, struct ar_str body, struct ar_str after,
				   struct ar_buf *out, struct ar_error *err)
{
	struct ar_json doc;
	enum ar_status st = parse_body(parser, body, &doc, err);

	if (st == AR_OK)
		copy_with(doc, is_start, out, "after", after);
	return st;
}

static bool is_key(struct ar_str name)
{
	return ar_field_named("idempotencyKey", name);
}

/* The header may be a string in quotes (RFC 8941) or the plain text. */
static struct ar_str unquote(struct ar_str s)
{
	bool is_quoted = s.len >= 2 && s.p[0] == '"' && s.p[s.len - 1] == '"';

	return is_quoted ? ar_str_sub(s, 1, s.len - 2) : s;
}

enum ar_status ar_input_with_key(struct ar_json_parser *parser, struct ar_str body, struct ar_str key,
				 struct ar_buf *out, struct ar_error *err)
{
	struct ar_json doc;
	struct ar_str other;
	enum ar_status st = parse_body(parser, body, &doc, err);

	if (st != AR_OK)
		return st;
	key = unquote(key);
	if (!key.len || !ar_str_is_utf8(key))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "the Idempotency-Key header is not valid text");
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it);) {
		if (is_key(it.name) && (!ar_json_str(it.value, &other) || !ar_str_eq(other, key)))
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "the Idempotency-Key header and idempotencyKey of the body differ; "
					 "send one of them");
	}
	copy_with(doc, is_key, out, "idempotencyKey", key);
	return AR_OK;
}
