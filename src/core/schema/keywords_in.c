/* Keywords that hold schemas: references, branches, members, items, contains, names, what is left
 * over. Those that look at the same members or items become one rule (properties, patternProperties
 * and additionalProperties; prefixItems and items; contains and its counts). What asks which members
 * were looked at comes last. */
#include "schema_priv.h"

#include <stdlib.h>

typedef enum ar_status add_rule(struct ar_compile *k, struct ar_node *n, struct ar_error *err);

static struct ar_node *child_node(struct ar_compile *k, const struct ar_node *n, struct ar_json v)
{
	return v.doc ? ar_compile_node(k, v, n->resource) : NULL;
}

static struct ar_node *child(struct ar_compile *k, const struct ar_node *n, const char *name)
{
	return child_node(k, n, ar_json_get(n->schema, name));
}

static enum ar_status must_be(const char *keyword, const char *what, struct ar_error *err)
{
	return ar_fail(err, AR_E_INVALID, "%s must be %s", keyword, what);
}

static enum ar_status add_ref(struct ar_compile *k, struct ar_node *n, struct ar_error *err)
{
	struct ar_json v = ar_json_get(n->schema, "$ref");
	struct ar_node *target = NULL;
	struct ar_rule *r;
	struct ar_str ref;
	enum ar_status status;

	if (!v.doc)
		return AR_OK;
	if (!ar_json_str(v, &ref))
		return must_be("$ref", "a string", err);
	status = ar_refs_resolve(k, n->resource, ref, &target, err);
	if (status)
		return status;
	r = ar_compile_rule(k, n, ar_check_ref, AR_IS_ANY);
	r->kind = AR_RULE_REF;
	r->u.node = target;
	return AR_OK;
}

static struct ar_branches branches_of(struct ar_compile *k, const struct ar_node *n, struct ar_json list)
{
	struct ar_branches b = { 0 };

	b.nodes = ar_arena_alloc(&k->s->arena, (ar_json_len(list) + 1) * sizeof(*b.nodes));
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);)
		b.nodes[b.count++] = child_node(k, n, it.value);
	return b;
}

static enum ar_status add_branches(struct ar_compile *k, struct ar_node *n, struct ar_error *err)
{
	static const struct {
		const char *name;
		ar_rule_check *check;
		enum ar_rule_kind kind;
	} kinds[] = {
		{ "allOf", ar_check_all, AR_RULE_ALL },
		{ "anyOf", ar_check_any, AR_RULE_ANY },
		{ "oneOf", ar_check_one, AR_RULE_ANY },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		struct ar_json list = ar_json_get(n->schema, kinds[i].name);
		struct ar_rule *r;

		if (!list.doc)
			continue;
		if (ar_json_type(list) != AR_JSON_ARRAY || ar_json_len(list) == 0)
			return must_be(kinds[i].name, "an array of at least one schema", err);
		r = ar_compile_rule(k, n, kinds[i].check, AR_IS_ANY);
		r->kind = kinds[i].kind;
		r->u.branches = branches_of(k, n, list);
	}
	return AR_OK;
}

static enum ar_status add_not(struct ar_compile *k, struct ar_node *n, struct ar_error *err AR_UNUSED)
{
	struct ar_node *held = child(k, n, "not");

	if (held)
		ar_compile_rule(k, n, ar_check_not, AR_IS_ANY)->u.node = held;
	return AR_OK;
}

static enum ar_status add_if(struct ar_compile *k, struct ar_node *n, struct ar_error *err AR_UNUSED)
{
	struct ar_node *test = child(k, n, "if");
	struct ar_rule *r;

	if (!test)
		return AR_OK;
	r = ar_compile_rule(k, n, ar_check_if, AR_IS_ANY);
	r->kind = AR_RULE_IF;
	r->u.cond.test = test;
	r->u.cond.then = child(k, n, "then");
	r->u.cond.otherwise = child(k, n, "else");
	return AR_OK;
}

static enum ar_status add_dependents(struct ar_compile *k, struct ar_node *n, struct ar_error *err)
{
	static const char *const names[] = { "dependentSchemas", "dependencies" };

	for (size_t i = 0; i < AR_ARRAY_LEN(names); i++) {
		struct ar_json all = ar_json_get(n->schema, names[i]);

		if (all.doc && ar_json_type(all) != AR_JSON_OBJECT)
			return must_be(names[i], "an object", err);
		for (struct ar_json_iter it = ar_json_iter(all); ar_json_next(&it);) {
			struct ar_rule *r;

			if (i == 1 && ar_json_type(it.value) == AR_JSON_ARRAY)
				continue;
			r = ar_compile_rule(k, n, ar_check_dependent, AR_IS_OBJECT);
			r->kind = AR_RULE_DEPENDENT;
			r->u.dependent.name = ar_arena_str(&k->s->arena, it.name);
			r->u.dependent.node = child_node(k, n, it.value);
		}
	}
	return AR_OK;
}

static int by_name(const void *a, const void *b)
{
	return ar_str_cmp(((const struct ar_named_node *)a)->name, ((const struct ar_named_node *)b)->name);
}

static struct ar_named_node *named_nodes(struct ar_compile *k, const struct ar_node *n, struct ar_json all,
					 size_t *ret_count)
{
	struct ar_named_node *list = ar_arena_alloc(&k->s->arena, (ar_json_len(all) + 1) * sizeof(*list));
	size_t count = 0;

	for (struct ar_json_iter it = ar_json_iter(all); ar_json_next(&it); count++) {
		list[count].name = ar_arena_str(&k->s->arena, it.name);
		list[count].node = child_node(k, n, it.value);
	}
	*ret_count = count;
	return list;
}

static enum ar_status add_members(struct ar_compile *k, struct ar_node *n, struct ar_error *err)
{
	struct ar_json known = ar_json_get(n->schema, "properties"),
		       patterns = ar_json_get(n->schema, "patternProperties");
	struct ar_node *other = child(k, n, "additionalProperties");
	struct ar_members *m;
	struct ar_rule *r;

	if (!known.doc && !patterns.doc && !other)
		return AR_OK;
	if (known.doc && ar_json_type(known) != AR_JSON_OBJECT)
		return must_be("properties", "an object", err);
	if (patterns.doc && ar_json_type(patterns) != AR_JSON_OBJECT)
		return must_be("patternProperties", "an object", err);
	r = ar_compile_rule(k, n, ar_check_members, AR_IS_OBJECT);
	r->kind = AR_RULE_MEMBERS;
	m = &r->u.members;
	m->other = other;
	m->known = named_nodes(k, n, known, &m->known_count);
	qsort(m->known, m->known_count, sizeof(*m->known), by_name);
	m->patterns = named_nodes(k, n, patterns, &m->pattern_count);
	for (size_t i = 0; i < m->pattern_count; i++) {
		enum ar_status status =
			ar_compile_regex(k, m->patterns[i].name, &m->patterns[i].pattern, err);

		if (status)
			return status;
	}
	return AR_OK;
}

static enum ar_status add_names(struct ar_compile *k, struct ar_node *n, struct ar_error *err AR_UNUSED)
{
	struct ar_node *held = child(k, n, "propertyNames");

	if (held)
		ar_compile_rule(k, n, ar_check_names, AR_IS_OBJECT)->u.node = held;
	return AR_OK;
}

/* `items` as an array is how drafts up to 2019-09 wrote prefixItems, and additionalItems
 * was what items is now. */
static enum ar_status add_items(struct ar_compile *k, struct ar_node *n, struct ar_error *err)
{
	struct ar_json first = ar_json_get(n->schema, "prefixItems"), rest = ar_json_get(n->schema, "items");
	struct ar_branches b;
	struct ar_rule *r;

	if (!first.doc && ar_json_type(rest) == AR_JSON_ARRAY) {
		first = rest;
		rest = ar_json_get(n->schema, "additionalItems");
	}
	if (!first.doc && !rest.doc)
		return AR_OK;
	if (first.doc && ar_json_type(first) != AR_JSON_ARRAY)
		return must_be("prefixItems", "an array of schemas", err);
	b = branches_of(k, n, first);
	r = ar_compile_rule(k, n, ar_check_items, AR_IS_ARRAY);
	r->kind = AR_RULE_ITEMS;
	r->u.items.first = b.nodes;
	r->u.items.count = b.count;
	r->u.items.rest = child_node(k, n, rest);
	return AR_OK;
}

static bool count_of(const struct ar_node *n, const char *name, uint64_t fallback, uint64_t *ret)
{
	struct ar_json v = ar_json_get(n->schema, name);
	double num;

	*ret = fallback;
	if (!v.doc)
		return true;
	if (!ar_json_num(v, &num) || num < 0 || num > 1e15)
		return false;
	*ret = (uint64_t)num;
	return true;
}

static enum ar_status add_contains(struct ar_compile *k, struct ar_node *n, struct ar_error *err)
{
	struct ar_node *held = child(k, n, "contains");
	struct ar_rule *r;

	if (!held)
		return AR_OK;
	r = ar_compile_rule(k, n, ar_check_contains, AR_IS_ARRAY);
	r->kind = AR_RULE_CONTAINS;
	r->u.contains.node = held;
	if (!count_of(n, "minContains", 1, &r->u.contains.min) ||
	    !count_of(n, "maxContains", UINT64_MAX, &r->u.contains.max))
		return must_be("minContains and maxContains", "whole numbers, not negative", err);
	return AR_OK;
}

static enum ar_status add_unevaluated(struct ar_compile *k, struct ar_node *n, struct ar_error *err AR_UNUSED)
{
	static const struct {
		const char *name;
		ar_rule_check *check;
		unsigned types;
	} kinds[] = {
		{ "unevaluatedProperties", ar_check_rest_members, AR_IS_OBJECT },
		{ "unevaluatedItems", ar_check_rest_items, AR_IS_ARRAY },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		struct ar_node *held = child(k, n, kinds[i].name);
		struct ar_rule *r;

		if (!held)
			continue;
		r = ar_compile_rule(k, n, kinds[i].check, kinds[i].types);
		r->kind = AR_RULE_UNEVALUATED;
		r->u.rest.node = held;
		r->u.rest.of = n;
	}
	return AR_OK;
}

enum ar_status ar_compile_applicators(struct ar_compile *k, struct ar_node *n, struct ar_error *err)
{
	static add_rule *const adds[] = {
		add_ref, add_members, add_names,      add_items,    add_contains,
		add_if,	 add_not,     add_dependents, add_branches, add_unevaluated,
	};
	size_t count = k->is_legacy && ar_json_get(n->schema, "$ref").doc ? 1 : AR_ARRAY_LEN(adds);

	for (size_t i = 0; i < count; i++) {
		enum ar_status status = adds[i](k, n, err);

		if (status)
			return status;
	}
	return AR_OK;
}
