/* Whether a struct keeps the promises of its field table. Looks at the values alone; what they
 * refer to is the core's business. */
#include "codec.h"
#include "describe.h"
#include "invalid.h"

#include <math.h>
#include <string.h>

#define ID_MAX 128
#define REF_MAX 512

static enum ar_status within(const char *event, struct ar_error *err)
{
	return err ? ar_fail_wrap(err, event) : AR_E_INVALID;
}

static bool is_present(const struct ar_field_desc *f, const void *at)
{
	switch (f->kind) {
	case AR_F_INT:
		return f->required || ((const struct ar_opt_int *)at)->set;
	case AR_F_NUM:
		return f->required || ((const struct ar_opt_num *)at)->set;
	case AR_F_BOOL:
		return f->required || ((const struct ar_opt_bool *)at)->set;
	case AR_F_ENUM:
		return *(const int *)at != 0;
	case AR_F_TIME:
		return *(const ar_usec *)at != 0;
	default:
		return *(const void *const *)at != NULL; /* each of the others begins with a pointer */
	}
}

static enum ar_status check_only(const struct ar_field_desc *f, int64_t v, struct ar_error *err)
{
	if (f->only.set && f->only.v != v)
		return INVALID(err, "'%s' can only be %lld", f->name, (long long)f->only.v);
	return AR_OK;
}

static enum ar_status check_int(const struct ar_field_desc *f, int64_t v, struct ar_error *err)
{
	if (v < 0 && !f->is_signed)
		return INVALID(err, "'%s' may not be negative", f->name);
	if (f->max && v > (int64_t)f->max)
		return INVALID(err, "'%s' may be at most %u", f->name, f->max);
	return check_only(f, v, err);
}

static enum ar_status check_text(const struct ar_field_desc *f, struct ar_str s, struct ar_error *err)
{
	if (s.len < f->min)
		return INVALID(err, "'%s' may not be empty", f->name);
	if (f->max && s.len > f->max)
		return INVALID(err, "'%s' has %zu bytes and may have at most %u", f->name, s.len, f->max);
	return AR_OK;
}

static enum ar_status check_shape(const struct ar_field_desc *f, const char *s, struct ar_error *err)
{
	if (f->of->text && !ar_str_absent(*(const struct ar_str *)(const void *)(s + f->of->text)))
		return AR_OK;
	return ar_struct_validate(f->of, s, err) ? within(f->name, err) : AR_OK;
}

static enum ar_status check_entries(const struct ar_field_desc *f, const void *at, struct ar_error *err)
{
	enum ar_status rc = AR_OK;
	struct ar_items items;

	memcpy(&items, at, sizeof(items));
	for (size_t i = 0; rc == AR_OK && i < items.count; i++)
		rc = check_shape(f, (const char *)items.at + i * f->of->size, err);
	return rc;
}

/* Its size is that of its JSON, as for what is kept as text. */
static enum ar_status check_size(const struct ar_field_desc *f, const void *at, struct ar_error *err)
{
	struct ar_field_desc alone = *f;
	const struct ar_struct_desc d = { .fields = &alone, .count = 1 };
	struct ar_buf json = { 0 };
	struct ar_jw w = ar_jw(&json);
	size_t len;

	alone.offset = 0;
	ar_struct_encode(&d, at, AR_STR_NONE, &w);
	len = json.len - strlen(f->name) - strlen("{\"\":}");
	ar_buf_fini(&json);
	if (f->max && len > f->max)
		return INVALID(err, "'%s' has %zu bytes and may have at most %u", f->name, len, f->max);
	return AR_OK;
}

static enum ar_status check_nested(const struct ar_field_desc *f, const void *at, struct ar_error *err)
{
	enum ar_status rc = check_size(f, at, err);

	if (rc || f->kind == AR_F_TEXTS)
		return rc;
	return f->kind == AR_F_ARRAY ? check_entries(f, at, err)
				     : check_shape(f, *(const void *const *)at, err);
}

/* An optional scalar starts with its value, so both forms are read the same way. */
static enum ar_status check_value(const struct ar_field_desc *f, const void *at, struct ar_error *err)
{
	switch (f->kind) {
	case AR_F_INT:
		return check_int(f, *(const int64_t *)at, err);
	case AR_F_NUM:
		if (!isfinite(*(const double *)at))
			return INVALID(err, "'%s' is not a finite number", f->name);
		return AR_OK;
	case AR_F_BOOL:
		return check_only(f, *(const bool *)at, err);
	case AR_F_ENUM:
		if (!ar_enum_name(f->values, *(const int *)at))
			return INVALID(err, "'%s' has no value %d", f->name, *(const int *)at);
		return AR_OK;
	case AR_F_TIME:
		return AR_OK;
	case AR_F_TEXTS:
		return check_nested(f, at, err);
	default:
		if (f->of)
			return check_nested(f, at, err);
		return check_text(f, *(const struct ar_str *)at, err);
	}
}

static enum ar_status check_oneofs(const struct ar_struct_desc *d, uint64_t present, struct ar_error *err)
{
	for (size_t i = 0; i < d->oneof_count; i++) {
		unsigned first = (unsigned)__builtin_ctzll(d->oneofs[i]);
		unsigned last = 63u - (unsigned)__builtin_clzll(d->oneofs[i]);

		if (!(present & d->oneofs[i]))
			return INVALID(err, "one of '%s' ... '%s' is required", d->fields[first].name,
				       d->fields[last].name);
	}
	return AR_OK;
}

enum ar_status ar_struct_validate(const struct ar_struct_desc *d, const void *s, struct ar_error *err)
{
	uint64_t present = 0;
	enum ar_status rc;

	for (size_t i = 0; i < d->count; i++) {
		const struct ar_field_desc *f = &d->fields[i];
		const void *at = (const char *)s + f->offset;

		if (!is_present(f, at)) {
			if (f->required && !f->nullable)
				return INVALID(err, "'%s' is required", f->name);
			continue;
		}
		present |= UINT64_C(1) << i;
		rc = check_value(f, at, err);
		if (rc)
			return rc;
	}
	return check_oneofs(d, present, err);
}

static enum ar_status check_id(const char *name, struct ar_str id, size_t max, struct ar_error *err)
{
	if (ar_str_empty(id))
		return INVALID(err, "'%s' is required", name);
	if (id.len > max)
		return INVALID(err, "'%s' has %zu bytes and may have at most %zu", name, id.len, max);
	return AR_OK;
}

static enum ar_status check_scope(const struct ar_event *e, const struct ar_event_desc *d,
				  struct ar_error *err)
{
	uint32_t present = 0;

	for (int i = 0; i < AR_SCOPE_COUNT; i++) {
		size_t max = i == AR_SCOPE_OUTPUT ? REF_MAX : ID_MAX;
		bool required = (d->scope_required >> i & 1) != 0;

		if (!required && ar_str_absent(e->ids[i]))
			continue;
		if (check_id(ar_scope_names[i], e->ids[i], max, err))
			return within(d->name, err);
		present |= 1u << i;
	}
	if (d->scope_any && !(present & d->scope_any))
		return INVALID(err, "%s: it has no scope id", d->name);
	return AR_OK;
}

enum ar_status ar_event_validate(const struct ar_event *e, struct ar_error *err)
{
	const struct ar_event_desc *d = ar_event_describe(e->type);
	enum ar_status rc;

	if (!d || !e->payload)
		return INVALID(err, "event without a type or payload");
	if (check_id("eventId", e->event_id, ID_MAX, err) ||
	    check_id("runtimeId", e->runtime_id, ID_MAX, err) ||
	    check_id("sessionId", e->session_id, ID_MAX, err))
		return within(d->name, err);
	if (e->time <= 0)
		return INVALID(err, "%s: 'timestamp' is required", d->name);
	rc = check_scope(e, d, err);
	if (rc)
		return rc;
	if (ar_struct_validate(&d->payload, e->payload, err))
		return within(d->name, err);
	return AR_OK;
}
