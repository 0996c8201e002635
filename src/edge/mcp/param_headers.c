/* See param_headers.h. Pure. */
#include "param_headers.h"

#include "base64.h"

#include <string.h>
#include <strings.h>

#define PARAMS_MAX 32
#define SCHEMA_DEPTH 32
#define MARK "x-mcp-header"

struct reading {
	struct ar_arena *arena;
	struct ar_mcp_params *params;
	struct ar_str path[SCHEMA_DEPTH];
	struct ar_error *err;
};

/* What a keyword of a schema holds. */
enum holds { SCHEMAS_BY_NAME = 1, SCHEMA, SCHEMAS };

static const struct {
	const char *word;
	enum holds holds;
	bool reaches; /* an argument can be found by walking down here */
} keywords[] = {
	{ "properties", SCHEMAS_BY_NAME, true },
	{ "patternProperties", SCHEMAS_BY_NAME, false },
	{ "dependentSchemas", SCHEMAS_BY_NAME, false },
	{ "$defs", SCHEMAS_BY_NAME, false },
	{ "definitions", SCHEMAS_BY_NAME, false },
	{ "items", SCHEMA, false },
	{ "contains", SCHEMA, false },
	{ "additionalProperties", SCHEMA, false },
	{ "propertyNames", SCHEMA, false },
	{ "not", SCHEMA, false },
	{ "if", SCHEMA, false },
	{ "then", SCHEMA, false },
	{ "else", SCHEMA, false },
	{ "prefixItems", SCHEMAS, false },
	{ "allOf", SCHEMAS, false },
	{ "anyOf", SCHEMAS, false },
	{ "oneOf", SCHEMAS, false },
};

static bool is_token(struct ar_str s)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];
		bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!alnum && (c == 0 || !strchr(others, c)))
			return false;
	}
	return s.len > 0 && s.len <= 64;
}

static bool is_used(const struct ar_mcp_params *params, struct ar_str header)
{
	for (size_t i = 0; i < params->count; i++) {
		struct ar_str other = params->list[i].header;

		if (other.len == header.len && strncasecmp(other.p, header.p, header.len) == 0)
			return true;
	}
	return false;
}

static bool is_sendable(struct ar_json schema)
{
	struct ar_str type = AR_STR("");

	ar_json_str(ar_json_get(schema, "type"), &type);
	return ar_str_is(type, "string") || ar_str_is(type, "integer") || ar_str_is(type, "boolean");
}

static enum ar_status read_mark(struct reading *r, struct ar_json schema, struct ar_json mark, size_t depth)
{
	struct ar_mcp_params *params = r->params;
	struct ar_mcp_param *p;
	struct ar_str header = AR_STR("");

	ar_json_str(mark, &header);
	if (!is_token(header) || is_used(params, header) || !is_sendable(schema) || depth == 0 ||
	    depth > AR_MCP_PARAM_DEPTH || params->count == PARAMS_MAX)
		return ar_fail(r->err, AR_E_INVALID,
			       "its " MARK " '%.*s' is not one that the protocol allows",
			       AR_STR_ARG(ar_str_utf8_prefix(header, 64)));
	if (!params->list)
		params->list = ar_arena_alloc(r->arena, PARAMS_MAX * sizeof(*params->list));
	p = &params->list[params->count++];
	p->header = ar_arena_str(r->arena, header);
	p->depth = depth;
	for (size_t i = 0; i < depth; i++)
		p->path[i] = ar_arena_str(r->arena, r->path[i]);
	return AR_OK;
}

static enum ar_status walk(struct reading *r, struct ar_json schema, bool reached, size_t depth,
			   size_t level);

static enum ar_status walk_many(struct reading *r, struct ar_json schemas, bool reached, size_t depth,
				size_t level)
{
	for (struct ar_json_iter it = ar_json_iter(schemas); ar_json_next(&it);) {
		enum ar_status st;

		if (reached && depth < SCHEMA_DEPTH)
			r->path[depth] = it.name;
		st = walk(r, it.value, reached, reached ? depth + 1 : 0, level + 1);
		if (st != AR_OK)
			return st;
	}
	return AR_OK;
}

static enum ar_status walk(struct reading *r, struct ar_json schema, bool reached, size_t depth, size_t level)
{
	struct ar_json mark = ar_json_get(schema, MARK);
	enum ar_status st = AR_OK;

	if (ar_json_type(schema) != AR_JSON_OBJECT)
		return AR_OK;
	if (level >= SCHEMA_DEPTH)
		return ar_fail(r->err, AR_E_INVALID, "its schema is nested too deeply");
	if (ar_json_type(mark) != AR_JSON_NONE)
		st = read_mark(r, schema, mark, reached ? depth : 0);
	for (size_t i = 0; st == AR_OK && i < AR_ARRAY_LEN(keywords); i++) {
		struct ar_json part = ar_json_get(schema, keywords[i].word);

		if (keywords[i].holds == SCHEMA)
			st = walk(r, part, false, 0, level + 1);
		else
			st = walk_many(r, part, reached && keywords[i].reaches, depth, level);
	}
	return st;
}

enum ar_status ar_mcp_params_read(struct ar_arena *a, struct ar_json schema, struct ar_mcp_params *ret,
				  struct ar_error *err)
{
	struct ar_mcp_params params = { 0 };
	struct reading r = { .arena = a, .params = &params, .err = err };
	enum ar_status st = walk(&r, schema, true, 0, 0);

	if (st == AR_OK)
		*ret = params;
	return st;
}

static bool is_plain(struct ar_str v)
{
	if (ar_str_starts(v, AR_STR("=?base64?")) || (v.len > 0 && (v.p[0] == ' ' || v.p[v.len - 1] == ' ')))
		return false;
	for (size_t i = 0; i < v.len; i++) {
		if (v.p[i] < ' ' || v.p[i] > '~')
			return false;
	}
	return true;
}

void ar_mcp_header_value(struct ar_str value, struct ar_buf *out)
{
	struct ar_arena arena = { 0 };

	if (is_plain(value)) {
		ar_buf_adds(out, value);
		return;
	}
	ar_buf_addz(out, "=?base64?");
	ar_buf_adds(out, ar_base64(&arena, value));
	ar_buf_addz(out, "?=");
	ar_arena_fini(&arena);
}

static struct ar_json value_of(const struct ar_mcp_param *p, struct ar_json args)
{
	char name[256];

	for (size_t i = 0; i < p->depth; i++) {
		if (p->path[i].len >= sizeof(name))
			return (struct ar_json){ 0 };
		memcpy(name, p->path[i].p, p->path[i].len);
		name[p->path[i].len] = '\0';
		args = ar_json_get(args, name);
	}
	return args;
}

void ar_mcp_params_write(const struct ar_mcp_params *params, struct ar_json args, struct ar_buf *out)
{
	for (size_t i = 0; i < params->count; i++) {
		const struct ar_mcp_param *p = &params->list[i];
		struct ar_json v = value_of(p, args);
		enum ar_json_type type = ar_json_type(v);
		struct ar_str text;

		if (type == AR_JSON_NONE || type == AR_JSON_NULL)
			continue;
		ar_buf_addf(out, "Mcp-Param-%.*s: ", AR_STR_ARG(p->header));
		if (ar_json_str(v, &text))
			ar_mcp_header_value(text, out);
		else if (type != AR_JSON_ARRAY && type != AR_JSON_OBJECT)
			ar_json_print(v, out);
		ar_buf_addc(out, '\n');
	}
}
