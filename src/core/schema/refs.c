/* References: which parts of the document have an address ($id, $anchor), and which part a $ref names.
 * Only places where a schema may stand are searched for addresses: a property called $id or an example
 * that has one is none. Nothing outside the document is ever asked for. */
#include "schema_priv.h"

#include <string.h>

enum holds {
	HOLDS_SCHEMA = 1, /* a schema, or an array of them */
	HOLDS_NAMED, /* an object whose members are schemas */
};

static const struct {
	const char *name;
	enum holds holds;
} places[] = {
	{ "$defs", HOLDS_NAMED },
	{ "definitions", HOLDS_NAMED },
	{ "properties", HOLDS_NAMED },
	{ "patternProperties", HOLDS_NAMED },
	{ "dependentSchemas", HOLDS_NAMED },
	{ "dependencies", HOLDS_NAMED },
	{ "additionalProperties", HOLDS_SCHEMA },
	{ "propertyNames", HOLDS_SCHEMA },
	{ "items", HOLDS_SCHEMA },
	{ "prefixItems", HOLDS_SCHEMA },
	{ "additionalItems", HOLDS_SCHEMA },
	{ "contains", HOLDS_SCHEMA },
	{ "allOf", HOLDS_SCHEMA },
	{ "anyOf", HOLDS_SCHEMA },
	{ "oneOf", HOLDS_SCHEMA },
	{ "not", HOLDS_SCHEMA },
	{ "if", HOLDS_SCHEMA },
	{ "then", HOLDS_SCHEMA },
	{ "else", HOLDS_SCHEMA },
	{ "unevaluatedItems", HOLDS_SCHEMA },
	{ "unevaluatedProperties", HOLDS_SCHEMA },
};

struct ar_json ar_member(struct ar_json object, struct ar_str name)
{
	if (ar_json_type(object) != AR_JSON_OBJECT)
		return (struct ar_json){ 0 };
	for (struct ar_json_iter it = ar_json_iter(object); ar_json_next(&it);) {
		if (ar_str_eq(it.name, name))
			return it.value;
	}
	return (struct ar_json){ 0 };
}

static void add_anchor(struct ar_compile *k, const struct ar_resource *in, struct ar_str name,
		       struct ar_json schema)
{
	struct ar_anchor *a = ar_arena_alloc(&k->scratch, sizeof(*a));

	*a = (struct ar_anchor){ in, ar_arena_str(&k->scratch, name), schema, k->anchors };
	k->anchors = a;
	k->anchor_count++;
}

static const struct ar_resource *add_resource(struct ar_compile *k, struct ar_str uri, struct ar_json schema)
{
	struct ar_resource *r = ar_arena_alloc(&k->scratch, sizeof(*r));

	*r = (struct ar_resource){ uri, schema, k->resources };
	k->resources = r;
	k->resource_count++;
	return r;
}

static struct ar_str resolve_uri(struct ar_compile *k, const struct ar_resource *in, struct ar_str uri)
{
	ar_compile_spend(k, 1 + (in->uri.len + uri.len) / 16);
	return ar_uri_resolve(&k->scratch, in->uri, uri);
}

/* The resource that this schema opens, or the one it stands in. Draft-07 writes anchors as $id too. */
static const struct ar_resource *enter(struct ar_compile *k, struct ar_json schema,
				       const struct ar_resource *in)
{
	struct ar_str id, fragment, uri;

	if (k->is_legacy && ar_json_get(schema, "$ref").doc)
		return in;
	if (ar_json_str(ar_json_get(schema, "$id"), &id)) {
		fragment = ar_str_split(id, '#', &uri);
		if (uri.len)
			in = add_resource(k, resolve_uri(k, in, uri), schema);
		if (fragment.len)
			add_anchor(k, in, fragment, schema);
	}
	if (ar_json_str(ar_json_get(schema, "$anchor"), &id) ||
	    ar_json_str(ar_json_get(schema, "$dynamicAnchor"), &id))
		add_anchor(k, in, id, schema);
	return in;
}

static void find_in(struct ar_compile *k, struct ar_json v, const struct ar_resource *in);

static void find_in_children(struct ar_compile *k, struct ar_json v, const struct ar_resource *in)
{
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);)
		find_in(k, it.value, in);
}

/* Recursion is bounded by the depth that the parser allows. */
static void find_in(struct ar_compile *k, struct ar_json v, const struct ar_resource *in)
{
	if (ar_json_type(v) == AR_JSON_ARRAY)
		return find_in_children(k, v, in);
	ar_compile_spend(k, 5 + ar_json_len(v) / 2);
	if (ar_json_type(v) != AR_JSON_OBJECT || !k->steps)
		return;
	in = enter(k, v, in);
	for (size_t i = 0; i < AR_ARRAY_LEN(places); i++) {
		struct ar_json held = ar_json_get(v, places[i].name);

		if (places[i].holds == HOLDS_SCHEMA)
			find_in(k, held, in);
		else
			find_in_children(k, held, in);
	}
}

void ar_refs_find(struct ar_compile *k, struct ar_json document)
{
	find_in(k, document, add_resource(k, AR_STR(""), document));
}

/* The newest comes first: a document with an $id is two, and goes by that. */
const struct ar_resource *ar_refs_resource(struct ar_compile *k, struct ar_json schema,
					   const struct ar_resource *near)
{
	ar_compile_spend(k, k->resource_count / AR_LOOKS_PER_STEP);
	for (const struct ar_resource *r = k->resources; r; r = r->next) {
		if (r->schema.at == schema.at)
			return r;
	}
	return near;
}

static const struct ar_resource *resource_of(struct ar_compile *k, struct ar_str uri)
{
	ar_compile_spend(k, 1 + k->resource_count / AR_LOOKS_PER_STEP * (1 + uri.len / 256));
	for (const struct ar_resource *r = k->resources; r; r = r->next) {
		if (ar_str_eq(r->uri, uri))
			return r;
	}
	return NULL;
}

/* ~1 is a slash, ~0 a tilde. In place: the text only gets shorter. */
static struct ar_str unescape(char *p, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		bool is_code = p[i] == '~' && i + 1 < len && (p[i + 1] == '0' || p[i + 1] == '1');

		p[n++] = is_code ? "~/"[p[i + 1] - '0'] : p[i];
		i += is_code;
	}
	return (struct ar_str){ p, n };
}

static struct ar_json step_into(struct ar_json v, struct ar_str segment)
{
	uint64_t index;

	if (ar_json_type(v) == AR_JSON_ARRAY && ar_str_to_u64(segment, &index))
		return ar_json_at(v, index);
	return ar_member(v, segment);
}

/* Follows a JSON pointer; *at is the resource of what it arrives at. */
static struct ar_json follow(struct ar_compile *k, struct ar_str pointer, const struct ar_resource **at)
{
	struct ar_json v = (*at)->schema;
	struct ar_str segment;

	pointer = ar_str_sub(pointer, 1, pointer.len);
	while (!ar_str_absent(pointer) && v.doc) {
		char *copy;

		pointer = ar_str_split(pointer, '/', &segment);
		ar_compile_spend(k, 1 + ar_json_len(v) / AR_LOOKS_PER_STEP);
		copy = ar_arena_alloc(&k->scratch, segment.len + 1);
		memcpy(copy, segment.p, segment.len);
		v = step_into(v, unescape(copy, segment.len));
		*at = ar_refs_resource(k, v, *at);
	}
	return v;
}

static struct ar_json find_anchor(struct ar_compile *k, const struct ar_resource *in, struct ar_str name)
{
	ar_compile_spend(k, 1 + k->anchor_count / AR_LOOKS_PER_STEP);
	for (const struct ar_anchor *a = k->anchors; a; a = a->next) {
		if (a->resource == in && ar_str_eq(a->name, name))
			return a->schema;
	}
	return (struct ar_json){ 0 };
}

enum ar_status ar_refs_resolve(struct ar_compile *k, const struct ar_resource *from, struct ar_str ref,
			       struct ar_node **ret, struct ar_error *err)
{
	struct ar_str shown = ar_str_utf8_prefix(ref, 100), uri, fragment = ar_str_split(ref, '#', &uri);
	const struct ar_resource *at = resource_of(k, resolve_uri(k, from, uri));
	struct ar_json target;

	if (!at)
		return ar_fail(
			err, AR_E_INVALID,
			"$ref '%.*s' points outside the schema, which is not supported; put it into $defs",
			AR_STR_ARG(shown));
	fragment = ar_uri_decode(&k->scratch, fragment);
	if (fragment.len == 0)
		target = at->schema;
	else if (fragment.p[0] == '/')
		target = follow(k, fragment, &at);
	else
		target = find_anchor(k, at, fragment);
	if (!target.doc)
		return ar_fail(err, AR_E_INVALID, "$ref '%.*s' names nothing in the schema",
			       AR_STR_ARG(shown));
	*ret = ar_compile_node(k, target, at);
	return AR_OK;
}
