/* Inputs of commands: the strict way through the codec, for bytes that a caller wrote by hand
 * and may have mistyped. */
#include "codec.h"
#include "describe.h"
#include "invalid.h"
#include "text/json_depth.h"

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

enum ar_status ar_input_decode(const struct ar_command_desc *c, struct ar_json v, struct ar_arena *a,
			       void *ret, struct ar_error *err)
{
	struct ar_str extra = AR_STR_NONE;
	enum ar_status rc;

	if (ar_json_is_deeper(v, AR_JSON_LEVELS))
		return INVALID(err, "the input nests deeper than %d levels", AR_JSON_LEVELS);
	rc = ar_struct_decode_strict(&c->in, v, a, ret, &extra, err);
	if (rc)
		return rc;
	if (!ar_str_absent(extra))
		return unknown_member(c, extra, err);
	rc = check_scalars(&c->in, v, err);
	if (rc)
		return rc;
	return ar_struct_validate(&c->in, ret, err);
}
