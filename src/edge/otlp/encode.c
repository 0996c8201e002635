/* See encode.h. */
#include "encode.h"
#include "proto.h"

#include <string.h>

#define NANO 1000 /* of one microsecond */

/* Fields of Export...ServiceRequest, Resource..., Scope...: the same for the three signals. */
enum { REQUEST_RESOURCE = 1, RESOURCE_RESOURCE = 1, RESOURCE_SCOPE = 2, RESOURCE_SCHEMA = 3 };
enum { SCOPE_SCOPE = 1, SCOPE_RECORDS = 2, SCOPE_SCHEMA = 3, SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum { RESOURCE_ATTRIBUTES = 1, KEY = 1, VALUE = 2 };
enum { VALUE_TEXT = 1, VALUE_INT = 3, VALUE_DOUBLE = 4, VALUE_ARRAY = 5, ARRAY_VALUES = 1 };
enum {
	SPAN_TRACE = 1,
	SPAN_ID = 2,
	SPAN_PARENT = 4,
	SPAN_NAME = 5,
	SPAN_KIND = 6,
	SPAN_START = 7,
	SPAN_END = 8,
	SPAN_ATTRIBUTES = 9,
	SPAN_LINKS = 13,
	SPAN_STATUS = 15,
	SPAN_FLAGS = 16,
};
enum { LINK_TRACE = 1, LINK_SPAN = 2, LINK_FLAGS = 6, STATUS_CODE = 3, STATUS_ERROR = 2 };
enum {
	LOG_TIME = 1,
	LOG_SEVERITY = 2,
	LOG_SEVERITY_TEXT = 3,
	LOG_BODY = 5,
	LOG_ATTRIBUTES = 6,
	LOG_FLAGS = 8,
	LOG_TRACE = 9,
	LOG_SPAN = 10,
	LOG_OBSERVED = 11,
	LOG_EVENT = 12,
};

#define FLAG_REMOTE_KNOWN 0x100u /* it is known whether the parent is in another process ... */
#define FLAG_REMOTE 0x200u /* ... and it is */

/* ---- attributes ---- */

static void add_list(struct ar_buf *out, struct ar_str text)
{
	size_t array = ar_proto_open(out, VALUE_ARRAY), item = ar_proto_open(out, ARRAY_VALUES);

	ar_proto_text(out, VALUE_TEXT, text);
	ar_proto_close(out, item);
	ar_proto_close(out, array);
}

static void add_value(struct ar_buf *out, unsigned field, const struct ar_attr *a)
{
	size_t mark = ar_proto_open(out, field);

	switch (a->kind) {
	case AR_ATTR_IS_TEXT:
		ar_proto_text(out, VALUE_TEXT, a->text);
		break;
	case AR_ATTR_IS_TEXTS:
		add_list(out, a->text);
		break;
	case AR_ATTR_IS_INT:
		ar_proto_uint(out, VALUE_INT, (uint64_t)a->number);
		break;
	case AR_ATTR_IS_NUM:
		ar_proto_double(out, VALUE_DOUBLE, a->num);
		break;
	}
	ar_proto_close(out, mark);
}

/* Bytes of a text field with a number below 16. */
static size_t text_len(size_t len)
{
	return 1 + ar_proto_varint_len(len) + len;
}

/* Nearly all attributes are texts: their lengths are known before they are written. */
static void add_text_attribute(struct ar_buf *out, unsigned field, struct ar_str name, struct ar_str text)
{
	size_t value = text_len(text.len);
	char *begin = ar_buf_room(out, 4 * AR_PROTO_HEAD_MAX + name.len + text.len), *at = begin;

	if (!at)
		return;
	at = ar_proto_put_head(at, field, text_len(name.len) + text_len(value));
	at = ar_proto_put_text(at, KEY, name);
	at = ar_proto_put_head(at, VALUE, value);
	at = ar_proto_put_text(at, VALUE_TEXT, text);
	out->len += (size_t)(at - begin);
}

static void add_attribute(struct ar_buf *out, unsigned field, const struct ar_attr *a)
{
	size_t mark;

	if (a->kind == AR_ATTR_IS_TEXT) {
		add_text_attribute(out, field, ar_str_from(a->name), a->text);
		return;
	}
	mark = ar_proto_open(out, field);
	ar_proto_text(out, KEY, ar_str_from(a->name));
	add_value(out, VALUE, a);
	ar_proto_close(out, mark);
}

static void add_attributes(struct ar_buf *out, unsigned field, struct ar_attrs attrs)
{
	for (size_t i = 0; i < attrs.count; i++)
		add_attribute(out, field, &attrs.at[i]);
}

/* ---- spans and log records ---- */

static void add_link(struct ar_buf *out, const struct ar_trace_context *link)
{
	size_t mark = ar_proto_open(out, SPAN_LINKS);

	ar_proto_bytes(out, LINK_TRACE, link->trace, sizeof(link->trace));
	ar_proto_bytes(out, LINK_SPAN, link->span, sizeof(link->span));
	ar_proto_fixed32(out, LINK_FLAGS, link->flags | FLAG_REMOTE_KNOWN | FLAG_REMOTE);
	ar_proto_close(out, mark);
}

void ar_otlp_span(struct ar_buf *out, const struct ar_span *s)
{
	size_t mark = ar_proto_open(out, SCOPE_RECORDS), status;

	ar_proto_bytes(out, SPAN_TRACE, s->of.trace, sizeof(s->of.trace));
	ar_proto_bytes(out, SPAN_ID, s->of.span, sizeof(s->of.span));
	if (s->has_parent)
		ar_proto_bytes(out, SPAN_PARENT, s->parent, sizeof(s->parent));
	ar_proto_text(out, SPAN_NAME, s->name);
	ar_proto_uint(out, SPAN_KIND, s->kind);
	ar_proto_fixed64(out, SPAN_START, (uint64_t)s->start * NANO);
	ar_proto_fixed64(out, SPAN_END, (uint64_t)s->end * NANO);
	add_attributes(out, SPAN_ATTRIBUTES, s->attrs);
	if (s->link)
		add_link(out, s->link);
	if (s->is_failed) {
		status = ar_proto_open(out, SPAN_STATUS);
		ar_proto_uint(out, STATUS_CODE, STATUS_ERROR);
		ar_proto_close(out, status);
	}
	ar_proto_fixed32(out, SPAN_FLAGS, s->of.flags | FLAG_REMOTE_KNOWN);
	ar_proto_close(out, mark);
}

static const char *severity_text(enum ar_severity s)
{
	return s >= AR_SEVERITY_ERROR ? "ERROR" : s >= AR_SEVERITY_WARN ? "WARN" : "INFO";
}

void ar_otlp_record(struct ar_buf *out, const struct ar_record *r, ar_usec observed)
{
	size_t mark = ar_proto_open(out, SCOPE_RECORDS);

	ar_proto_fixed64(out, LOG_TIME, (uint64_t)r->time * NANO);
	ar_proto_fixed64(out, LOG_OBSERVED, (uint64_t)observed * NANO);
	ar_proto_uint(out, LOG_SEVERITY, r->severity);
	ar_proto_text(out, LOG_SEVERITY_TEXT, ar_str_from(severity_text(r->severity)));
	add_value(out, LOG_BODY, &(struct ar_attr){ .kind = AR_ATTR_IS_TEXT, .text = r->body });
	add_attributes(out, LOG_ATTRIBUTES, r->attrs);
	if (r->has_trace) {
		ar_proto_fixed32(out, LOG_FLAGS, r->of.flags);
		ar_proto_bytes(out, LOG_TRACE, r->of.trace, sizeof(r->of.trace));
		ar_proto_bytes(out, LOG_SPAN, r->of.span, sizeof(r->of.span));
	}
	ar_proto_text(out, LOG_EVENT, ar_str_from(r->event));
	ar_proto_close(out, mark);
}

/* ---- around them ---- */

struct ar_otlp_marks ar_otlp_begin(struct ar_buf *out, const struct ar_otlp_source *s)
{
	struct ar_otlp_marks r = { .all = ar_proto_open(out, REQUEST_RESOURCE) };
	size_t resource = ar_proto_open(out, RESOURCE_RESOURCE), name;

	add_attributes(out, RESOURCE_ATTRIBUTES, s->resource);
	ar_proto_close(out, resource);
	r.scope = ar_proto_open(out, RESOURCE_SCOPE);
	name = ar_proto_open(out, SCOPE_SCOPE);
	ar_proto_text(out, SCOPE_NAME, ar_str_from(s->scope));
	ar_proto_text(out, SCOPE_VERSION, ar_str_from(s->version));
	ar_proto_close(out, name);
	return r;
}

void ar_otlp_end(struct ar_buf *out, const struct ar_otlp_source *s, struct ar_otlp_marks r)
{
	ar_proto_text(out, SCOPE_SCHEMA, ar_str_from(s->schema_url));
	ar_proto_close(out, r.scope);
	ar_proto_text(out, RESOURCE_SCHEMA, ar_str_from(s->schema_url));
	ar_proto_close(out, r.all);
}

/* ---- the answer ---- */

enum { RESPONSE_PARTIAL = 1, PARTIAL_REJECTED = 1 };

uint64_t ar_otlp_rejected(struct ar_str answer)
{
	struct ar_proto_field f;

	while (ar_proto_next(&answer, &f)) {
		if (f.number != RESPONSE_PARTIAL || ar_str_absent(f.bytes))
			continue;
		for (struct ar_str inside = f.bytes; ar_proto_next(&inside, &f);) {
			if (f.number == PARTIAL_REJECTED && ar_str_absent(f.bytes))
				return f.value;
		}
	}
	return 0;
}

/* ---- pairs of the environment ---- */

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* False: a percent sign without two digits behind it, or a control character. */
static bool decode(struct ar_str text, struct ar_arena *a, struct ar_str *ret)
{
	char *out = ar_arena_room(a, text.len + 1);
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];

		if (c == '%') {
			int high = i + 2 < text.len ? hex_of(text.p[i + 1]) : -1;
			int low = high >= 0 ? hex_of(text.p[i + 2]) : -1;

			if (low < 0)
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return false;
		out[len++] = c;
	}
	out[len] = '\0';
	*ret = (struct ar_str){ out, len };
	return true;
}

bool ar_otlp_pairs(struct ar_str text, struct ar_arena *a,
		   void (*each)(void *arg, struct ar_str name, struct ar_str value), void *arg)
{
	struct ar_str one, name, value;

	while (!ar_str_empty(text)) {
		text = ar_str_split(text, ',', &one);
		one = ar_str_trim(one, " \t");
		if (ar_str_empty(one))
			continue;
		value = ar_str_split(one, '=', &name);
		name = ar_str_trim(name, " \t");
		if (ar_str_absent(value) || ar_str_empty(name) || !decode(name, a, &name) ||
		    !decode(ar_str_trim(value, " \t"), a, &value))
			return false;
		each(arg, name, value);
	}
	return true;
}
