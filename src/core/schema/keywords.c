/* Keywords that judge a value by itself: type, enum, const, numbers, sizes, patterns, required. A table
 * of them; each row reads its value and adds one rule. A keyword with a value that it cannot have is
 * refused: guessing would let pass what its author meant to forbid. Keywords that nobody knows, format,
 * and everything that only describes are ignored. */
#include "schema_priv.h"

#include <string.h>

struct keyword {
	const char *name;
	enum ar_status (*add)(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
			      struct ar_json v, struct ar_error *err);
	ar_rule_check *check;
	unsigned types;
};

static enum ar_status wrong(const struct keyword *w, const char *must, struct ar_error *err)
{
	return ar_fail(err, AR_E_INVALID, "%s must be %s", w->name, must);
}

static bool type_bit(struct ar_json v, unsigned *bits)
{
	static const struct {
		const char *name;
		unsigned bit;
	} types[] = {
		{ "null", AR_IS_NULL },	    { "boolean", AR_IS_BOOL },	{ "integer", AR_IS_INTEGER },
		{ "number", AR_IS_NUMBER }, { "string", AR_IS_STRING }, { "array", AR_IS_ARRAY },
		{ "object", AR_IS_OBJECT },
	};
	struct ar_str name;

	if (!ar_json_str(v, &name))
		return false;
	for (size_t i = 0; i < AR_ARRAY_LEN(types); i++) {
		if (ar_str_is(name, types[i].name)) {
			*bits |= types[i].bit;
			return true;
		}
	}
	return false;
}

static enum ar_status add_type(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
			       struct ar_json v, struct ar_error *err)
{
	static const char *const must =
		"null, boolean, integer, number, string, array, object, or an array of these";
	unsigned bits = 0;
	bool is_list = ar_json_type(v) == AR_JSON_ARRAY;

	for (struct ar_json_iter it = ar_json_iter(v); is_list && ar_json_next(&it);) {
		if (!type_bit(it.value, &bits))
			return wrong(w, must, err);
	}
	if (!is_list && !type_bit(v, &bits))
		return wrong(w, must, err);
	ar_compile_rule(k, n, w->check, w->types)->u.allowed = bits;
	return AR_OK;
}

static void keep_container(struct ar_compile *k, struct ar_literal *l, struct ar_json v)
{
	ar_buf_addc(&k->containers, k->container_list ? ',' : '[');
	ar_json_print(v, &k->containers);
	*k->container_end = l;
	k->container_end = &l->next;
}

static void read_literal(struct ar_compile *k, struct ar_literal *l, struct ar_json v)
{
	struct ar_str text;

	l->type = ar_json_type(v);
	if (l->type == AR_JSON_INT || l->type == AR_JSON_NUM)
		l->num = ar_number_of(v);
	if (ar_json_str(v, &text))
		l->text = ar_arena_str(&k->s->arena, text);
	if (ar_json_bool(v, &l->truth))
		return;
	if (l->type == AR_JSON_ARRAY || l->type == AR_JSON_OBJECT)
		keep_container(k, l, v);
}

static enum ar_status add_const(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
				struct ar_json v, struct ar_error *err AR_UNUSED)
{
	struct ar_rule *r = ar_compile_rule(k, n, w->check, w->types);

	r->u.literals.list = ar_arena_alloc(&k->s->arena, sizeof(struct ar_literal));
	r->u.literals.count = 1;
	read_literal(k, r->u.literals.list, v);
	return AR_OK;
}

static enum ar_status add_enum(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
			       struct ar_json v, struct ar_error *err)
{
	struct ar_rule *r;

	if (ar_json_type(v) != AR_JSON_ARRAY)
		return wrong(w, "an array", err);
	r = ar_compile_rule(k, n, w->check, w->types);
	r->u.literals.list = ar_arena_alloc(&k->s->arena, (ar_json_len(v) + 1) * sizeof(struct ar_literal));
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);)
		read_literal(k, &r->u.literals.list[r->u.literals.count++], it.value);
	return AR_OK;
}

/* Draft-04 and OpenAPI 3.0: `exclusiveMinimum: true` beside `minimum` makes it exclusive. */
static ar_rule_check *with_old_exclusive(const struct ar_node *n, const struct keyword *w)
{
	bool is_exclusive = false;

	if (w->check == ar_check_minimum &&
	    ar_json_bool(ar_json_get(n->schema, "exclusiveMinimum"), &is_exclusive))
		return is_exclusive ? ar_check_above : w->check;
	if (w->check == ar_check_maximum &&
	    ar_json_bool(ar_json_get(n->schema, "exclusiveMaximum"), &is_exclusive))
		return is_exclusive ? ar_check_below : w->check;
	return w->check;
}

static enum ar_status add_number(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
				 struct ar_json v, struct ar_error *err)
{
	enum ar_json_type type = ar_json_type(v);
	bool is_exclusive = w->check == ar_check_above || w->check == ar_check_below;

	if (type == AR_JSON_BOOL && is_exclusive)
		return AR_OK;
	if (type != AR_JSON_INT && type != AR_JSON_NUM)
		return wrong(w, "a number", err);
	if (w->check == ar_check_multiple && ar_number_of(v).d <= 0)
		return wrong(w, "a number above 0", err);
	ar_compile_rule(k, n, with_old_exclusive(n, w), w->types)->u.number = ar_number_of(v);
	return AR_OK;
}

static bool read_count(struct ar_json v, uint64_t *ret)
{
	struct ar_number num;

	if (ar_json_type(v) != AR_JSON_INT && ar_json_type(v) != AR_JSON_NUM)
		return false;
	num = ar_number_of(v);
	if (num.d < 0 || num.d > 1e15 || !ar_number_is_integral(num))
		return false;
	*ret = (uint64_t)num.d;
	return true;
}

static enum ar_status add_size(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
			       struct ar_json v, struct ar_error *err)
{
	struct ar_rule *r;
	uint64_t count;

	if (!read_count(v, &count))
		return wrong(w, "a whole number, not negative", err);
	r = ar_compile_rule(k, n, w->check, w->types);
	r->u.size.max = UINT64_MAX;
	if (w->name[1] == 'i')
		r->u.size.min = count;
	else
		r->u.size.max = count;
	return AR_OK;
}

static enum ar_status add_pattern(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
				  struct ar_json v, struct ar_error *err)
{
	struct ar_regex *regex;
	struct ar_str text;
	struct ar_rule *r;
	enum ar_status status;

	if (!ar_json_str(v, &text))
		return wrong(w, "a string", err);
	status = ar_compile_regex(k, text, &regex, err);
	if (status)
		return status;
	r = ar_compile_rule(k, n, w->check, w->types);
	r->u.pattern.regex = regex;
	r->u.pattern.text = ar_arena_str(&k->s->arena, text);
	return AR_OK;
}

static enum ar_status add_names(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
				struct ar_json v, struct ar_str when, struct ar_error *err)
{
	struct ar_rule *r;
	struct ar_str name;

	if (ar_json_type(v) != AR_JSON_ARRAY)
		return wrong(w, "an array of names", err);
	r = ar_compile_rule(k, n, w->check, w->types);
	r->u.names.list = ar_arena_alloc(&k->s->arena, (ar_json_len(v) + 1) * sizeof(struct ar_str));
	r->u.names.when = ar_arena_str(&k->s->arena, when);
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (!ar_json_str(it.value, &name))
			return wrong(w, "an array of names", err);
		r->u.names.list[r->u.names.count++] = ar_arena_str(&k->s->arena, name);
	}
	return AR_OK;
}

static enum ar_status add_required(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
				   struct ar_json v, struct ar_error *err)
{
	/* Draft-03 wrote `required: true` at the member itself; servers in the wild
	 * still do, and mean no harm. */
	if (ar_json_type(v) == AR_JSON_BOOL)
		return AR_OK;
	return add_names(k, n, w, v, AR_STR_NONE, err);
}

/* dependentRequired, and those members of dependencies that are arrays. */
static enum ar_status add_dependent(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
				    struct ar_json v, struct ar_error *err)
{
	bool is_mixed = strcmp(w->name, "dependencies") == 0;

	if (ar_json_type(v) != AR_JSON_OBJECT)
		return wrong(w, "an object", err);
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		enum ar_status status = AR_OK;

		if (!is_mixed || ar_json_type(it.value) == AR_JSON_ARRAY)
			status = add_names(k, n, w, it.value, it.name, err);
		if (status)
			return status;
	}
	return AR_OK;
}

static enum ar_status add_unique(struct ar_compile *k, struct ar_node *n, const struct keyword *w,
				 struct ar_json v, struct ar_error *err)
{
	bool is_wanted;

	if (!ar_json_bool(v, &is_wanted))
		return wrong(w, "true or false", err);
	if (is_wanted)
		ar_compile_rule(k, n, w->check, w->types);
	return AR_OK;
}

static enum ar_status add_unsupported(struct ar_compile *k AR_UNUSED, struct ar_node *n AR_UNUSED,
				      const struct keyword *w, struct ar_json v AR_UNUSED,
				      struct ar_error *err)
{
	return ar_fail(err, AR_E_INVALID, "%s is not supported; write the schema with $ref", w->name);
}

static const struct keyword keywords[] = {
	{ "$dynamicRef", add_unsupported, NULL, 0 },
	{ "$recursiveRef", add_unsupported, NULL, 0 },
	{ "type", add_type, ar_check_type, AR_IS_ANY },
	{ "const", add_const, ar_check_literal, AR_IS_ANY },
	{ "enum", add_enum, ar_check_literal, AR_IS_ANY },
	{ "minimum", add_number, ar_check_minimum, AR_IS_NUMBER },
	{ "maximum", add_number, ar_check_maximum, AR_IS_NUMBER },
	{ "exclusiveMinimum", add_number, ar_check_above, AR_IS_NUMBER },
	{ "exclusiveMaximum", add_number, ar_check_below, AR_IS_NUMBER },
	{ "multipleOf", add_number, ar_check_multiple, AR_IS_NUMBER },
	{ "minLength", add_size, ar_check_length, AR_IS_STRING },
	{ "maxLength", add_size, ar_check_length, AR_IS_STRING },
	{ "pattern", add_pattern, ar_check_pattern, AR_IS_STRING },
	{ "minItems", add_size, ar_check_count, AR_IS_ARRAY },
	{ "maxItems", add_size, ar_check_count, AR_IS_ARRAY },
	{ "uniqueItems", add_unique, ar_check_unique, AR_IS_ARRAY },
	{ "required", add_required, ar_check_required, AR_IS_OBJECT },
	{ "dependentRequired", add_dependent, ar_check_required, AR_IS_OBJECT },
	{ "dependencies", add_dependent, ar_check_required, AR_IS_OBJECT },
	{ "minProperties", add_size, ar_check_count, AR_IS_OBJECT },
	{ "maxProperties", add_size, ar_check_count, AR_IS_OBJECT },
};

enum ar_status ar_compile_keywords(struct ar_compile *k, struct ar_node *n, struct ar_error *err)
{
	/* Up to draft-07 a schema with $ref is that reference and nothing else. */
	if (k->is_legacy && ar_json_get(n->schema, "$ref").doc)
		return AR_OK;
	for (size_t i = 0; i < AR_ARRAY_LEN(keywords); i++) {
		struct ar_json v = ar_json_get(n->schema, keywords[i].name);
		enum ar_status status = v.doc ? keywords[i].add(k, n, &keywords[i], v, err) : AR_OK;

		if (status)
			return status;
	}
	return AR_OK;
}
