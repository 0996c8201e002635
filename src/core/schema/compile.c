/* Compiling: one node for each schema of the document that the root reaches, made when something refers
 * to it and filled from a queue, so that neither recursive schemas nor long chains of references
 * recurse here. What a keyword means is in keywords.c and keywords_in.c. */
#include "schema_priv.h"

#include "mem.h"

#include <string.h>

enum {
	NODE_STEPS = 20, /* every keyword is looked for in a schema */
	PATTERN_STEPS = 100, /* of compiling one */
	BYTES_PER_STEP = 4, /* of a compiled pattern: all of a schema have 4 MB at most */
	TEXT_PER_STEP = 16, /* bytes of a schema */
};

static struct ar_node *node_new(struct ar_compile *k, struct ar_json schema)
{
	struct ar_node *n = ar_arena_alloc(&k->s->arena, sizeof(*n));

	n->at = schema.at;
	n->schema = schema;
	n->last = &n->rules;
	return n;
}

struct ar_node *ar_compile_node(struct ar_compile *k, struct ar_json schema, const struct ar_resource *near)
{
	struct ar_str key = { (const char *)&schema.at, sizeof(schema.at) };
	struct ar_node *n = ar_map_get(&k->nodes, key);

	if (n)
		return n;
	n = node_new(k, schema);
	n->resource = ar_refs_resource(k, schema, near);
	ar_map_put(&k->nodes, (struct ar_str){ (const char *)&n->at, sizeof(n->at) }, n);
	*k->queue_end = n;
	k->queue_end = &n->next;
	return n;
}

struct ar_rule *ar_compile_rule(struct ar_compile *k, struct ar_node *n, ar_rule_check *check, unsigned types)
{
	struct ar_rule *r = ar_arena_alloc(&k->s->arena, sizeof(*r));

	r->check = check;
	r->types = types;
	*n->last = r;
	n->last = &r->next;
	return r;
}

enum ar_status ar_compile_regex(struct ar_compile *k, struct ar_str pattern, struct ar_regex **ret,
				struct ar_error *err)
{
	struct ar_schema_regex *kept;
	enum ar_status status = ar_regex_compile(pattern, ret, err);

	ar_compile_spend(k, PATTERN_STEPS + pattern.len / BYTES_PER_STEP);
	if (status)
		return status;
	ar_compile_spend(k, ar_regex_size(*ret) / BYTES_PER_STEP);
	kept = ar_arena_alloc(&k->s->arena, sizeof(*kept));
	*kept = (struct ar_schema_regex){ *ret, k->s->regexes };
	k->s->regexes = kept;
	return AR_OK;
}

static enum ar_status fill_node(struct ar_compile *k, struct ar_node *n, struct ar_error *err)
{
	bool truth;
	enum ar_status status;

	if (ar_json_bool(n->schema, &truth)) {
		n->refuses_all = !truth;
		return AR_OK;
	}
	if (ar_json_type(n->schema) != AR_JSON_OBJECT)
		return ar_fail(err, AR_E_INVALID, "a schema must be an object, true or false");
	/* Cheap rules first: most wrong values are found by their type. */
	status = ar_compile_keywords(k, n, err);
	return status ? status : ar_compile_applicators(k, n, err);
}

static enum ar_status fill_all(struct ar_compile *k, struct ar_error *err)
{
	enum ar_status status = AR_OK;

	for (struct ar_node *n = k->queue; n && !status; n = n->next) {
		ar_compile_spend(k, NODE_STEPS + ar_json_len(n->schema));
		status = fill_node(k, n, err);
		if (!k->steps)
			return ar_fail(err, AR_E_LIMIT,
				       "the schema takes too long to compile; use fewer or shorter "
				       "references and patterns");
	}
	return status;
}

/* The containers among the literals become one document that the schema keeps. */
static enum ar_status keep_containers(struct ar_compile *k, struct ar_error *err)
{
	struct ar_json_iter it;
	struct ar_json all;
	enum ar_status status;

	if (!k->container_list)
		return AR_OK;
	ar_buf_addc(&k->containers, ']');
	k->s->containers = ar_json_parser_new();
	status = ar_json_parse(k->s->containers, ar_buf_str(&k->containers), &all, err);
	if (status)
		return status;
	it = ar_json_iter(all);
	for (struct ar_literal *l = k->container_list; l && ar_json_next(&it); l = l->next)
		l->container = it.value;
	return AR_OK;
}

static bool is_legacy(struct ar_json document)
{
	static const char *const drafts[] = { "draft-07", "draft-06", "draft-04" };
	struct ar_str dialect;

	if (!ar_json_str(ar_json_get(document, "$schema"), &dialect))
		return false;
	for (size_t i = 0; i < AR_ARRAY_LEN(drafts); i++) {
		if (memmem(dialect.p, dialect.len, drafts[i], strlen(drafts[i])))
			return true;
	}
	return false;
}

static enum ar_status compile(struct ar_compile *k, struct ar_json document, struct ar_error *err)
{
	enum ar_status status;

	k->queue_end = &k->queue;
	k->container_end = &k->container_list;
	k->is_legacy = is_legacy(document);
	ar_refs_find(k, document);
	k->s->root = ar_compile_node(k, document, k->resources);
	status = fill_all(k, err);
	return status ? status : keep_containers(k, err);
}

enum ar_status ar_schema_compile(struct ar_str text, struct ar_json_parser *p, uint64_t *steps,
				 struct ar_schema **ret, struct ar_error *err)
{
	struct ar_compile k = { .steps = steps ? *steps : AR_SCHEMA_STEPS_MAX };
	struct ar_json document;
	enum ar_status status;

	if (text.len > AR_SCHEMA_TEXT_MAX)
		return ar_fail(err, AR_E_LIMIT, "the schema has %zu bytes; at most %d are allowed", text.len,
			       AR_SCHEMA_TEXT_MAX);
	status = ar_json_parse(p, text, &document, err);
	if (status)
		return status;
	k.s = ar_new0(sizeof(*k.s));
	ar_compile_spend(&k, text.len / TEXT_PER_STEP);
	status = compile(&k, document, err);
	if (steps)
		*steps = k.steps;
	ar_map_fini(&k.nodes);
	ar_buf_fini(&k.containers);
	ar_arena_fini(&k.scratch);
	if (status) {
		ar_schema_free(k.s);
		return status;
	}
	*ret = k.s;
	return AR_OK;
}

void ar_schema_free(struct ar_schema *s)
{
	if (!s)
		return;
	for (struct ar_schema_regex *r = s->regexes; r; r = r->next)
		ar_regex_free(r->regex);
	ar_json_parser_free(s->containers);
	ar_arena_fini(&s->arena);
	ar_free(s);
}
