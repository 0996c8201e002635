/* Sample content by field kind; see sample.h. Values are fixed, so two runs give the same bytes. */
#include "sample.h"
#include "describe.h"

#include <string.h>

#define SAMPLE_TIME INT64_C(1778493600123456) /* 2026-05-11T10:00:00.123456Z */

static struct ar_str sample_text(const struct ar_field_desc *f, struct ar_arena *a)
{
	struct ar_str s;

	if (f->kind == AR_F_REF)
		s = ar_arena_fmt(a, "blob://%s/1", f->name);
	else if (f->min)
		s = ar_arena_fmt(a, "%s_1", f->name);
	else
		s = ar_arena_fmt(a,
				 "a \"%s\" of\tgr\xc3\xb6\xc3\x9f"
				 "e \xf0\x9f\x8c\xb1",
				 f->name);
	return ar_str_utf8_prefix(s, f->max);
}

static struct ar_str sample_raw(enum ar_field_kind kind)
{
	if (kind == AR_F_OBJECT)
		return AR_STR("{\"kind\":\"sample\",\"n\":[1,2.5,null,true]}");
	if (kind == AR_F_ARRAY)
		return AR_STR("[\"one\",{\"two\":2}]");
	return AR_STR("\"unknown\"");
}

static int64_t sample_int(const struct ar_field_desc *f)
{
	if (f->only.set)
		return f->only.v;
	return f->is_signed ? -7 : 7;
}

static void fill_scalar(const struct ar_field_desc *f, void *at)
{
	bool flag = f->only.set ? f->only.v != 0 : true;

	if (f->kind == AR_F_INT && f->required)
		*(int64_t *)at = sample_int(f);
	else if (f->kind == AR_F_INT)
		*(struct ar_opt_int *)at = AR_OPT_INT(sample_int(f));
	else if (f->kind == AR_F_NUM && f->required)
		*(double *)at = 0.25;
	else if (f->kind == AR_F_NUM)
		*(struct ar_opt_num *)at = (struct ar_opt_num){ 0.25, true };
	else if (f->required)
		*(bool *)at = flag;
	else
		*(struct ar_opt_bool *)at = AR_OPT_BOOL(flag);
}

static void fill_texts(struct ar_arena *a, struct ar_texts *ret)
{
	struct ar_str *at = ar_arena_alloc(a, 2 * sizeof(*at));

	at[0] = AR_STR("one");
	at[1] = AR_STR("two \"2\"");
	*ret = (struct ar_texts){ at, 2 };
}

/* One object, or a list with one. */
static void fill_nested(const struct ar_field_desc *f, bool full, struct ar_arena *a, void *at)
{
	struct ar_items items = { ar_arena_alloc(a, f->of->size), 1 };

	ar_sample_struct(f->of, full, a, (void *)(uintptr_t)items.at);
	memcpy(at, &items, f->kind == AR_F_ARRAY ? sizeof(items) : sizeof(items.at));
}

static void fill(const struct ar_field_desc *f, bool full, struct ar_arena *a, void *at)
{
	if (f->of) {
		fill_nested(f, full, a, at);
		return;
	}
	switch (f->kind) {
	case AR_F_TEXTS:
		fill_texts(a, at);
		return;
	case AR_F_STRING:
	case AR_F_REF:
		*(struct ar_str *)at = sample_text(f, a);
		return;
	case AR_F_OBJECT:
	case AR_F_ARRAY:
	case AR_F_JSON:
		*(struct ar_str *)at = sample_raw(f->kind);
		return;
	case AR_F_ENUM:
		*(int *)at = full ? f->values->count - 1 : 1;
		return;
	case AR_F_TIME:
		*(ar_usec *)at = SAMPLE_TIME;
		return;
	default:
		fill_scalar(f, at);
	}
}

static uint64_t wanted_fields(const struct ar_struct_desc *d, bool full)
{
	uint64_t wanted = 0;

	for (size_t i = 0; i < d->count; i++)
		if (full || (d->fields[i].required && !d->fields[i].nullable))
			wanted |= UINT64_C(1) << i;
	for (size_t i = 0; i < d->oneof_count; i++)
		wanted |= d->oneofs[i] & -d->oneofs[i];
	return wanted;
}

void ar_sample_struct(const struct ar_struct_desc *d, bool full, struct ar_arena *a, void *ret)
{
	uint64_t wanted = wanted_fields(d, full);

	for (size_t i = 0; i < d->count; i++)
		if (wanted >> i & 1)
			fill(&d->fields[i], full, a, (char *)ret + d->fields[i].offset);
	if (full && d->extra)
		*(struct ar_str *)(void *)((char *)ret + d->extra) = AR_STR("\"vendorNote\":[\"kept\"]");
}

/* The members that live beside the payload, such as `benchmark`. */
static struct ar_str sample_extra(const struct ar_event_desc *d, struct ar_arena *a)
{
	struct ar_str rest = ar_str_from(d->needs), word, out = AR_STR("");

	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ' ', &word);
		out = ar_arena_fmt(a, "%.*s%s\"%.*s\":{\"trialId\":\"trial_1\"}", AR_STR_ARG(out),
				   out.len ? "," : "", AR_STR_ARG(word));
	}
	return out.len ? out : AR_STR_NONE;
}

struct ar_event ar_sample_event(enum ar_event_type type, bool full, struct ar_arena *a)
{
	const struct ar_event_desc *d = ar_event_describe(type);
	void *payload = ar_arena_alloc(a, d->payload.size);
	uint32_t scope = full ? UINT32_MAX : d->scope_required | (d->scope_any & -d->scope_any);
	struct ar_event e = { .type = type, .sequence = 42, .time = SAMPLE_TIME, .payload = payload };

	e.event_id = ar_arena_fmt(a, "evt_sample_%d", type);
	e.runtime_id = AR_STR("runtime_sample");
	e.session_id = AR_STR("sess_sample");
	for (int i = 0; i < AR_SCOPE_COUNT; i++)
		if (scope >> i & 1)
			e.ids[i] = ar_arena_fmt(a, "%s_1", ar_scope_names[i]);
	ar_sample_struct(&d->payload, full, a, payload);
	e.extra = sample_extra(d, a);
	if (full)
		e.payload_extra = AR_STR("\"vendorNote\":\"kept\"");
	return e;
}
