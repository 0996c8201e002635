/* From JSON to structs: one walk over the members of the object, each looked up in the field
 * table (members mostly come in table order, so the search starts where the last one ended).
 * Text is copied to the caller's arena. */
#include "codec.h"
#include "clock.h"
#include "describe.h"
#include "invalid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_FIELDS 64
#define ELSEWHERE SIZE_MAX /* offset of a member that the walk checks off but does not store */
#define EXACT 9007199254740992.0 /* 2^53: integers up to here are exact in a double */

/* One object being read. */
struct walk {
	const struct ar_struct_desc *desc;
	struct ar_arena *arena;
	struct ar_error *err;
	void *ret;
	struct ar_str *ids; /* AR_SCOPE_COUNT scope ids to fill as well, or NULL */
	struct ar_buf *extra; /* unknown members go here, or NULL */
	struct ar_buf scratch; /* raw JSON before it is copied */
	uint64_t seen;
	size_t next; /* field index to look at first */
	struct ar_json *values; /* MAX_FIELDS, by field index: what was given for those that were seen */
	const char *within; /* member that the object is the value of, or NULL */
	bool is_lenient; /* what a shape cannot hold is kept among its other members: logs stay readable */
};

static enum ar_status walk_shape(const struct walk *outer, const struct ar_field_desc *f, struct ar_json v,
				 void *ret);

/* Name of the member as the caller sees it: with the member that it is in. */
#define IN_MEMBER(w) (w)->within ? (w)->within : "", (w)->within ? "." : ""

static enum ar_status wrong_word(const struct walk *w, const struct ar_field_desc *f, struct ar_json v)
{
	char words[160] = "";
	struct ar_str given;
	size_t len = 0;
	int i = 1;

	for (; i < f->values->count && len + strlen(f->values->names[i]) + sizeof(", , ...") <= sizeof(words);
	     i++)
		len += (size_t)snprintf(words + len, sizeof(words) - len, "%s%s", i > 1 ? ", " : "",
					f->values->names[i]);
	if (i < f->values->count)
		memcpy(words + len, ", ...", sizeof(", ..."));
	if (!ar_json_str(v, &given))
		return INVALID(w->err, "'%s%s%s' must be one of: %s", IN_MEMBER(w), f->name, words);
	given = ar_str_utf8_prefix(given, 32);
	return INVALID(w->err, "'%s%s%s' has no '%.*s'; use one of: %s", IN_MEMBER(w), f->name,
		       AR_STR_ARG(given), words);
}

static enum ar_status wrong_type(const struct walk *w, const struct ar_field_desc *f, struct ar_json v)
{
	static const char *const wanted[] = {
		[AR_F_STRING] = "a string",
		[AR_F_REF] = "a string",
		[AR_F_INT] = "an integer",
		[AR_F_NUM] = "a number",
		[AR_F_BOOL] = "true or false",
		[AR_F_TIME] = "an RFC 3339 time",
		[AR_F_OBJECT] = "an object",
		[AR_F_ARRAY] = "an array",
		[AR_F_JSON] = "a value other than null",
		[AR_F_TEXTS] = "an array of strings",
	};

	if (f->kind == AR_F_ENUM)
		return wrong_word(w, f, v);
	return INVALID(w->err, "'%s%s%s' must be %s", IN_MEMBER(w), f->name, wanted[f->kind]);
}

/* ---- values ---- */

static struct ar_str copy_raw(struct walk *w, struct ar_json v)
{
	ar_buf_clear(&w->scratch);
	ar_json_print(v, &w->scratch);
	return ar_arena_str(w->arena, ar_buf_str(&w->scratch));
}

static bool read_text(struct walk *w, struct ar_json v, struct ar_str *ret)
{
	struct ar_str s;

	if (!ar_json_str(v, &s))
		return false;
	*ret = ar_arena_str(w->arena, s);
	return true;
}

static bool read_raw(struct walk *w, const struct ar_field_desc *f, struct ar_json v, struct ar_str *ret)
{
	enum ar_json_type type = ar_json_type(v);

	if ((f->kind == AR_F_OBJECT && type != AR_JSON_OBJECT) ||
	    (f->kind == AR_F_ARRAY && type != AR_JSON_ARRAY))
		return false;
	if (type == AR_JSON_NULL)
		return false;
	*ret = copy_raw(w, v);
	return true;
}

/* 3.0 is an integer in JSON Schema, so it is one here. */
static bool read_whole(struct ar_json v, int64_t *ret)
{
	double num;

	if (ar_json_i64(v, ret))
		return true;
	if (!ar_json_num(v, &num) || !(fabs(num) <= EXACT) || num != floor(num))
		return false;
	*ret = (int64_t)num;
	return true;
}

static bool read_int(const struct ar_field_desc *f, struct ar_json v, void *at)
{
	struct ar_opt_int *opt = at;

	if (f->required)
		return read_whole(v, at);
	opt->set = read_whole(v, &opt->v);
	return opt->set;
}

static bool read_num(const struct ar_field_desc *f, struct ar_json v, void *at)
{
	struct ar_opt_num *opt = at;

	if (f->required)
		return ar_json_num(v, at);
	opt->set = ar_json_num(v, &opt->v);
	return opt->set;
}

static bool read_bool(const struct ar_field_desc *f, struct ar_json v, void *at)
{
	struct ar_opt_bool *opt = at;

	if (f->required)
		return ar_json_bool(v, at);
	opt->set = ar_json_bool(v, &opt->v);
	return opt->set;
}

static bool read_enum(const struct ar_field_desc *f, struct ar_json v, int *ret)
{
	struct ar_str s;

	if (!ar_json_str(v, &s))
		return false;
	*ret = ar_enum_find(f->values, s);
	return *ret != 0;
}

static bool read_time(struct ar_json v, ar_usec *ret)
{
	struct ar_str s;

	return ar_json_str(v, &s) && ar_time_parse(s, ret);
}

static size_t entry_count(struct ar_json array)
{
	size_t count = 0;

	for (struct ar_json_iter it = ar_json_iter(array); ar_json_next(&it);)
		count++;
	return count;
}

/* An entry has two bytes and a comma at least. Without this a small text would take the memory
 * of many structs before its size is checked. */
static bool is_too_long(const struct walk *w, const struct ar_field_desc *f, size_t count)
{
	return !w->is_lenient && f->max && count > f->max / 3 + 1;
}

static enum ar_status too_long(const struct walk *w, const struct ar_field_desc *f, size_t count)
{
	return INVALID(w->err, "'%s%s%s' has %zu entries and may have at most %u bytes", IN_MEMBER(w),
		       f->name, count, f->max);
}

/* An empty array is not absent, so there is always an entry to point at. */
static void *entry_room(struct walk *w, size_t count, size_t size)
{
	return ar_arena_alloc(w->arena, (count ? count : 1) * size);
}

static bool read_texts(struct walk *w, struct ar_json v, struct ar_texts *ret)
{
	struct ar_str *at;

	if (ar_json_type(v) != AR_JSON_ARRAY)
		return false;
	*ret = (struct ar_texts){ .count = entry_count(v) };
	ret->at = at = entry_room(w, ret->count, sizeof(*at));
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it); at++) {
		if (read_text(w, it.value, at))
			continue;
		if (!w->is_lenient)
			return false;
		*at = copy_raw(w, it.value);
	}
	return true;
}

static enum ar_status read_shape(struct walk *w, const struct ar_field_desc *f, struct ar_json v,
				 const void **ret)
{
	void *made = ar_arena_alloc(w->arena, f->of->size);
	enum ar_status rc = walk_shape(w, f, v, made);

	if (rc == AR_OK)
		*ret = made;
	return rc;
}

static enum ar_status read_shapes(struct walk *w, const struct ar_field_desc *f, struct ar_json v, void *ret)
{
	struct ar_items items = { .count = entry_count(v) };
	enum ar_status rc = AR_OK;
	char *at;

	if (ar_json_type(v) != AR_JSON_ARRAY)
		return wrong_type(w, f, v);
	if (is_too_long(w, f, items.count))
		return too_long(w, f, items.count);
	items.at = at = entry_room(w, items.count, f->of->size);
	for (struct ar_json_iter it = ar_json_iter(v); rc == AR_OK && ar_json_next(&it); at += f->of->size)
		rc = walk_shape(w, f, it.value, at);
	if (rc == AR_OK)
		memcpy(ret, &items, sizeof(items));
	return rc;
}

static bool read_scalar(struct walk *w, const struct ar_field_desc *f, struct ar_json v, void *at)
{
	switch (f->kind) {
	case AR_F_STRING:
	case AR_F_REF:
		return read_text(w, v, at);
	case AR_F_OBJECT:
	case AR_F_ARRAY:
	case AR_F_JSON:
		return read_raw(w, f, v, at);
	case AR_F_INT:
		return read_int(f, v, at);
	case AR_F_NUM:
		return read_num(f, v, at);
	case AR_F_BOOL:
		return read_bool(f, v, at);
	case AR_F_ENUM:
		return read_enum(f, v, at);
	case AR_F_TIME:
		return read_time(v, at);
	case AR_F_TEXTS:
		return read_texts(w, v, at);
	}
	return false;
}

static enum ar_status read_value(struct walk *w, const struct ar_field_desc *f, struct ar_json v, void *at)
{
	if (f->of)
		return f->kind == AR_F_ARRAY ? read_shapes(w, f, v, at) : read_shape(w, f, v, at);
	if (f->kind == AR_F_TEXTS && is_too_long(w, f, entry_count(v)))
		return too_long(w, f, entry_count(v));
	return read_scalar(w, f, v, at) ? AR_OK : wrong_type(w, f, v);
}

/* ---- members ---- */

/* Index of the field of that name, desc->count when there is none. */
static size_t field_index(const struct walk *w, struct ar_str name)
{
	const struct ar_struct_desc *d = w->desc;

	for (size_t i = w->next; i < d->count; i++)
		if (ar_field_named(d->fields[i].name, name))
			return i;
	for (size_t i = 0; i < w->next; i++)
		if (ar_field_named(d->fields[i].name, name))
			return i;
	return d->count;
}

static bool same_value(struct walk *w, struct ar_json a, struct ar_json b)
{
	size_t half;

	ar_buf_clear(&w->scratch);
	ar_json_print(a, &w->scratch);
	half = w->scratch.len;
	ar_json_print(b, &w->scratch);
	return ar_str_eq(ar_str_sub(ar_buf_str(&w->scratch), 0, half),
			 ar_str_sub(ar_buf_str(&w->scratch), half, SIZE_MAX));
}

static void decode_unknown(struct walk *w, struct ar_str name, struct ar_json v)
{
	struct ar_jw out = { w->extra, w->extra && w->extra->len > 0 };

	if (!w->extra)
		return;
	ar_jw_str(&out, name);
	ar_buf_addc(w->extra, ':');
	ar_json_print(v, w->extra);
}

/* Null is a value of its own in what a standard defines, and means absent in a shape. */
static bool is_absent(const struct walk *w, const struct ar_field_desc *f, struct ar_json v)
{
	return ar_json_type(v) == AR_JSON_NULL && (f->nullable || (w->desc->is_shape && !f->required));
}

/* What a log has and a shape, or a list of one, cannot hold is kept among the other members. */
static enum ar_status keep_misfit(struct walk *w, const struct ar_field_desc *f, struct ar_str name,
				  struct ar_json v, enum ar_status refused)
{
	bool is_list = f->of && f->kind == AR_F_ARRAY && ar_json_type(v) == AR_JSON_ARRAY;

	if (!w->is_lenient || !(w->desc->is_shape || is_list))
		return refused;
	decode_unknown(w, name, v);
	return AR_OK;
}

static enum ar_status decode_known(struct walk *w, size_t index, struct ar_str name, struct ar_json v)
{
	const struct ar_field_desc *f = &w->desc->fields[index];
	uint64_t bit = UINT64_C(1) << index;
	enum ar_status rc;

	if (w->seen & bit) {
		if (same_value(w, w->values[index], v))
			return AR_OK;
		return keep_misfit(w, f, name, v,
				   INVALID(w->err, "'%s' is given in two spellings with different values",
					   f->name));
	}
	w->seen |= bit;
	w->values[index] = v;
	w->next = index + 1;
	if (f->offset == ELSEWHERE || is_absent(w, f, v))
		return AR_OK;
	rc = read_value(w, f, v, (char *)w->ret + f->offset);
	return rc == AR_OK ? AR_OK : keep_misfit(w, f, name, v, rc);
}

static int scope_index(const struct walk *w, struct ar_str name)
{
	if (!w->ids)
		return -1;
	for (int i = 0; i < AR_SCOPE_COUNT; i++)
		if (ar_field_named(ar_scope_names[i], name))
			return i;
	return -1;
}

static enum ar_status decode_scope(struct walk *w, int scope, struct ar_json v)
{
	struct ar_str s;

	if (!ar_json_str(v, &s))
		return INVALID(w->err, "'%s' must be a string", ar_scope_names[scope]);
	if (!ar_str_absent(w->ids[scope]) && !ar_str_eq(w->ids[scope], s))
		return INVALID(w->err, "'%s' is given in two spellings with different values",
			       ar_scope_names[scope]);
	w->ids[scope] = ar_arena_str(w->arena, s);
	return AR_OK;
}

static enum ar_status walk_members(struct walk *w, struct ar_json v)
{
	enum ar_status rc = AR_OK;

	if (ar_json_type(v) != AR_JSON_OBJECT)
		return INVALID(w->err, "a JSON object is expected");
	for (struct ar_json_iter it = ar_json_iter(v); rc == AR_OK && ar_json_next(&it);) {
		size_t index = field_index(w, it.name);
		int scope;

		if (index < w->desc->count) {
			rc = decode_known(w, index, it.name, it.value);
			continue;
		}
		scope = scope_index(w, it.name);
		if (scope >= 0)
			rc = decode_scope(w, scope, it.value);
		else
			decode_unknown(w, it.name, it.value);
	}
	return rc;
}

/* Runs the walk and hands the unknown members over as one string (absent when there were none). */
static enum ar_status run(struct walk *w, struct ar_json v, struct ar_str *ret_extra)
{
	struct ar_json values[MAX_FIELDS];
	struct ar_buf extra = { 0 };
	enum ar_status rc;

	AR_ASSERT(w->desc->count <= MAX_FIELDS);
	w->values = values;
	w->extra = ret_extra ? &extra : NULL;
	rc = walk_members(w, v);
	if (rc == AR_OK && ret_extra)
		*ret_extra = extra.len ? ar_arena_str(w->arena, ar_buf_str(&extra)) : AR_STR_NONE;
	w->values = NULL;
	ar_buf_fini(&extra);
	ar_buf_fini(&w->scratch);
	return rc;
}

/* ---- shapes ---- */

static enum ar_status no_member(const struct walk *w, struct ar_str extra)
{
	struct ar_str name = AR_STR_NONE;
	struct ar_meant near;

	ar_str_split(ar_str_sub(extra, 1, SIZE_MAX), '"', &name);
	near = ar_meant(name);
	for (size_t i = 0; i < w->desc->count; i++)
		ar_meant_try(&near, ar_str_from(w->desc->fields[i].name));
	name = ar_str_utf8_prefix(name, 64);
	if (near.found.p)
		return INVALID(w->err, "%s has no member '%.*s'; did you mean '%s'?", w->within,
			       AR_STR_ARG(name), near.found.p);
	return INVALID(w->err, "%s has no member '%.*s'", w->within, AR_STR_ARG(name));
}

/* Required numbers and flags have no absent value, so whether they came is known here only. */
static enum ar_status check_seen(const struct walk *w)
{
	for (size_t i = 0; i < w->desc->count; i++) {
		const struct ar_field_desc *f = &w->desc->fields[i];
		bool is_scalar = f->kind == AR_F_INT || f->kind == AR_F_NUM || f->kind == AR_F_BOOL;

		if (is_scalar && f->required && !(w->seen >> i & 1))
			return INVALID(w->err, "'%s.%s' is required", w->within, f->name);
	}
	return AR_OK;
}

/* The text that may stand instead of an object; what a log has instead of both is kept as the
 * text of its JSON. */
static bool read_instead(struct walk *w, struct ar_json v, struct ar_str *ret)
{
	if (read_text(w, v, ret))
		return true;
	if (!w->is_lenient || ar_json_type(v) == AR_JSON_OBJECT)
		return false;
	*ret = copy_raw(w, v);
	ar_buf_fini(&w->scratch);
	return true;
}

static enum ar_status walk_shape(const struct walk *outer, const struct ar_field_desc *f, struct ar_json v,
				 void *ret)
{
	struct walk w = { .desc = f->of,
			  .arena = outer->arena,
			  .err = outer->is_lenient ? NULL : outer->err,
			  .ret = ret,
			  .within = f->name,
			  .is_lenient = outer->is_lenient };
	struct ar_str extra = AR_STR_NONE;
	enum ar_status rc;

	if (f->of->text && read_instead(&w, v, (struct ar_str *)(void *)((char *)ret + f->of->text)))
		return AR_OK;
	if (ar_json_type(v) != AR_JSON_OBJECT)
		return INVALID(outer->err, "'%s%s%s' must be %s", IN_MEMBER(outer), f->name,
			       f->kind == AR_F_ARRAY ? "an array of objects" : "an object");
	rc = run(&w, v, &extra);
	if (rc)
		return rc;
	if (f->of->extra)
		*(struct ar_str *)(void *)((char *)ret + f->of->extra) = extra;
	else if (!ar_str_absent(extra) && !w.is_lenient)
		return no_member(&w, extra);
	return w.is_lenient ? AR_OK : check_seen(&w);
}

enum ar_status ar_struct_decode(const struct ar_struct_desc *d, struct ar_json v, struct ar_arena *a,
				void *ret, struct ar_str *ret_extra, struct ar_error *err)
{
	struct walk w = { .desc = d, .arena = a, .err = err, .ret = ret, .is_lenient = true };

	return run(&w, v, ret_extra);
}

enum ar_status ar_struct_decode_strict(const struct ar_struct_desc *d, struct ar_json v, struct ar_arena *a,
				       void *ret, struct ar_str *ret_extra, struct ar_error *err)
{
	struct walk w = { .desc = d, .arena = a, .err = err, .ret = ret };

	return run(&w, v, ret_extra);
}

/* ---- events ---- */

#define AT(member) offsetof(struct ar_event, member)

static const struct ar_field_desc envelope_fields[] = {
	{ .name = "type", .kind = AR_F_STRING, .offset = ELSEWHERE },
	{ .name = "eventId", .kind = AR_F_STRING, .offset = AT(event_id) },
	{ .name = "timestamp", .kind = AR_F_TIME, .offset = AT(time) },
	{ .name = "schemaVersion", .kind = AR_F_STRING, .offset = ELSEWHERE },
	{ .name = "runtimeId", .kind = AR_F_STRING, .offset = AT(runtime_id) },
	{ .name = "sessionId", .kind = AR_F_STRING, .offset = AT(session_id) },
	{ .name = "sequence", .kind = AR_F_INT, .required = true, .offset = AT(sequence) },
	{ .name = "payload", .kind = AR_F_OBJECT, .offset = ELSEWHERE },
};

static const struct ar_struct_desc envelope = { .fields = envelope_fields,
						.count = AR_ARRAY_LEN(envelope_fields),
						.size = sizeof(struct ar_event) };

static enum ar_status decode_payload(struct ar_json v, struct ar_arena *a, struct ar_event *e,
				     struct ar_error *err)
{
	const struct ar_struct_desc *d = &ar_event_descs[e->type].payload;
	void *payload = ar_arena_alloc(a, d->size);

	e->payload = payload;
	if (ar_json_type(v) == AR_JSON_NONE)
		return AR_OK;
	return ar_struct_decode(d, v, a, payload, &e->payload_extra, err);
}

enum ar_status ar_event_decode(struct ar_json v, struct ar_arena *a, struct ar_event *ret,
			       struct ar_error *err)
{
	struct ar_event e = { 0 };
	struct walk w = { .desc = &envelope, .arena = a, .err = err, .ret = &e, .ids = e.ids };
	const struct ar_event_desc *d;
	struct ar_str name = AR_STR_NONE;
	enum ar_status rc;

	if (!ar_json_str(ar_json_get(v, "type"), &name))
		return INVALID(err, "an event needs a type");
	d = ar_event_find(name);
	if (!d)
		return INVALID(err, "no event is called '%.*s'", (int)(name.len > 64 ? 64 : name.len),
			       name.p);
	e.type = d->type;
	rc = run(&w, v, &e.extra);
	if (rc == AR_OK && (int64_t)e.sequence < 0)
		rc = INVALID(err, "'sequence' may not be negative");
	if (rc == AR_OK)
		rc = decode_payload(ar_json_get(v, "payload"), a, &e, err);
	if (rc == AR_OK)
		*ret = e;
	return rc;
}
