/* Inputs of commands: the strict way through the codec, for bytes that a caller wrote by hand
 * and may have mistyped. */
#include "codec.h"
#include "describe.h"
#include "invalid.h"

static bool has_member(struct ar_json v, const char *name)
{
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);)
		if (ar_field_named(name, it.name))
			return true;
	return false;
}

/* Required scalars have no absent value in the struct, so they are looked for in the JSON itself. */
static enum ar_status check_scalars(const struct ar_struct_desc *d, struct ar_json v, struct ar_error *err)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct ar_field_desc *f = &d->fields[i];
		bool scalar = f->kind == AR_F_INT || f->kind == AR_F_NUM || f->kind == AR_F_BOOL;

		if (scalar && f->required && !has_member(v, f->name))
			return INVALID(err, "'%s' is required", f->name);
	}
	return AR_OK;
}

/* `extra` is `"name":value,...`; the first name is enough to find the mistake. */
static enum ar_status unknown_member(const struct ar_command_desc *c, struct ar_str extra,
				     struct ar_error *err)
{
	struct ar_str name = AR_STR_NONE;

	ar_str_split(ar_str_sub(extra, 1, 64), '"', &name);
	return INVALID(err, "%s has no input called '%.*s'", c->name, AR_STR_ARG(name));
}

/* ---- objects whose members are declared ---- */

static bool is_kind(struct ar_json v, enum ar_field_kind kind)
{
	enum ar_json_type type = ar_json_type(v);

	switch (kind) {
	case AR_F_STRING:
	case AR_F_REF:
		return type == AR_JSON_STR;
	case AR_F_INT:
		return type == AR_JSON_INT;
	case AR_F_NUM:
		return type == AR_JSON_INT || type == AR_JSON_NUM;
	case AR_F_BOOL:
		return type == AR_JSON_BOOL;
	case AR_F_OBJECT:
		return type == AR_JSON_OBJECT;
	case AR_F_ARRAY:
		return type == AR_JSON_ARRAY;
	default:
		return true;
	}
}

static enum ar_status no_such_member(const struct ar_field_desc *f, struct ar_str name, struct ar_error *err)
{
	struct ar_meant near = ar_meant(name);

	for (const struct ar_member_desc *m = f->members; m->name; m++)
		ar_meant_try(&near, ar_str_from(m->name));
	name = ar_str_utf8_prefix(name, 64);
	if (near.found.p)
		return INVALID(err, "%s has no member '%.*s'; did you mean '%s'?", f->name, AR_STR_ARG(name),
			       near.found.p);
	return INVALID(err, "%s has no member '%.*s'", f->name, AR_STR_ARG(name));
}

static enum ar_status check_object(const struct ar_field_desc *f, struct ar_json v, struct ar_error *err)
{
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		const struct ar_member_desc *m = f->members;

		while (m->name && !ar_str_is(it.name, m->name))
			m++;
		if (!m->name)
			return no_such_member(f, it.name, err);
		if (!is_kind(it.value, m->kind) && ar_json_type(it.value) != AR_JSON_NULL)
			return INVALID(err, "%s.%s has the wrong type", f->name, m->name);
	}
	return AR_OK;
}

/* Their text is kept and read as it came, so names are exact here. */
static enum ar_status check_objects(const struct ar_struct_desc *d, struct ar_json v, struct ar_error *err)
{
	for (size_t i = 0; i < d->count; i++) {
		for (struct ar_json_iter it = ar_json_iter(v); d->fields[i].members && ar_json_next(&it);) {
			enum ar_status rc = AR_OK;

			if (ar_field_named(d->fields[i].name, it.name))
				rc = check_object(&d->fields[i], it.value, err);
			if (rc)
				return rc;
		}
	}
	return AR_OK;
}

enum ar_status ar_input_decode(const struct ar_command_desc *c, struct ar_json v, struct ar_arena *a,
			       void *ret, struct ar_error *err)
{
	struct ar_str extra = AR_STR_NONE;
	enum ar_status rc = ar_struct_decode_strict(&c->in, v, a, ret, &extra, err);

	if (rc)
		return rc;
	if (!ar_str_absent(extra))
		return unknown_member(c, extra, err);
	rc = check_scalars(&c->in, v, err);
	if (rc)
		return rc;
	rc = check_objects(&c->in, v, err);
	if (rc)
		return rc;
	return ar_struct_validate(&c->in, ret, err);
}
