/* From structs to JSON: one pass over the field table straight into the buffer, no allocation of
 * its own. This is on the path of every fact and every frame. */
#include "codec.h"
#include "describe.h"

#include <string.h>

static void write_text(const struct ar_field_desc *f, const struct ar_str *s, struct ar_jw *w)
{
	if (ar_str_absent(*s)) {
		if (!f->nullable || !f->required)
			return;
		ar_jw_key(w, f->name);
		ar_jw_null(w);
		return;
	}
	ar_jw_key(w, f->name);
	if (f->kind == AR_F_STRING || f->kind == AR_F_REF)
		ar_jw_str(w, *s);
	else
		ar_jw_raw(w, *s);
}

static void write_time(const struct ar_field_desc *f, ar_usec t, struct ar_jw *w)
{
	if (t != 0) {
		ar_jw_mtime(w, f->name, t);
		return;
	}
	if (!f->nullable || !f->required)
		return;
	ar_jw_key(w, f->name);
	ar_jw_null(w);
}

static void write_int(const struct ar_field_desc *f, const void *at, struct ar_jw *w)
{
	const struct ar_opt_int *opt = at;

	if (f->required)
		ar_jw_mint(w, f->name, *(const int64_t *)at);
	else if (opt->set)
		ar_jw_mint(w, f->name, opt->v);
}

static void write_num(const struct ar_field_desc *f, const void *at, struct ar_jw *w)
{
	const struct ar_opt_num *opt = at;

	if (!f->required && !opt->set)
		return;
	ar_jw_key(w, f->name);
	ar_jw_num(w, f->required ? *(const double *)at : opt->v);
}

static void write_bool(const struct ar_field_desc *f, const void *at, struct ar_jw *w)
{
	const struct ar_opt_bool *opt = at;

	if (f->required)
		ar_jw_mbool(w, f->name, *(const bool *)at);
	else if (opt->set)
		ar_jw_mbool(w, f->name, opt->v);
}

/* Whether there is something to write after the name of an object or list. */
static bool write_name(const struct ar_field_desc *f, const void *at, struct ar_jw *w)
{
	if (at || (f->nullable && f->required))
		ar_jw_key(w, f->name);
	if (!at && f->nullable && f->required)
		ar_jw_null(w);
	return at != NULL;
}

static void write_texts(const struct ar_field_desc *f, const struct ar_texts *texts, struct ar_jw *w)
{
	if (write_name(f, texts->at, w))
		ar_jw_texts(w, *texts);
}

static void write_shape(const struct ar_struct_desc *d, const char *s, struct ar_jw *w)
{
	const struct ar_str none = AR_STR_NONE;
	const struct ar_str *text = d->text ? (const void *)(s + d->text) : &none;
	const struct ar_str *extra = d->extra ? (const void *)(s + d->extra) : &none;

	if (!ar_str_absent(*text))
		ar_jw_str(w, *text);
	else
		ar_struct_encode(d, s, *extra, w);
}

void ar_list_encode(const struct ar_struct_desc *d, const void *list, struct ar_jw *w)
{
	struct ar_items items;

	memcpy(&items, list, sizeof(items));
	ar_jw_open_array(w);
	for (size_t i = 0; i < items.count; i++)
		write_shape(d, (const char *)items.at + i * d->size, w);
	ar_jw_close_array(w);
}

static void write_shapes(const struct ar_field_desc *f, const void *at, struct ar_jw *w)
{
	struct ar_items items;

	memcpy(&items, at, sizeof(items));
	if (write_name(f, items.at, w))
		ar_list_encode(f->of, at, w);
}

static void write_nested(const struct ar_field_desc *f, const void *at, struct ar_jw *w)
{
	const void *object;

	if (f->kind == AR_F_ARRAY) {
		write_shapes(f, at, w);
		return;
	}
	memcpy(&object, at, sizeof(object));
	if (write_name(f, object, w))
		write_shape(f->of, object, w);
}

static void write_field(const struct ar_field_desc *f, const void *at, struct ar_jw *w)
{
	switch (f->kind) {
	case AR_F_OBJECT:
	case AR_F_ARRAY:
		if (f->of) {
			write_nested(f, at, w);
			return;
		}
		/* fallthrough */
	case AR_F_STRING:
	case AR_F_REF:
	case AR_F_JSON:
		write_text(f, at, w);
		return;
	case AR_F_TEXTS:
		write_texts(f, at, w);
		return;
	case AR_F_INT:
		write_int(f, at, w);
		return;
	case AR_F_NUM:
		write_num(f, at, w);
		return;
	case AR_F_BOOL:
		write_bool(f, at, w);
		return;
	case AR_F_ENUM:
		ar_jw_mstr(w, f->name, ar_str_from(ar_enum_name(f->values, *(const int *)at)));
		return;
	case AR_F_TIME:
		write_time(f, *(const ar_usec *)at, w);
		return;
	}
}

static void write_extra(struct ar_str extra, struct ar_jw *w)
{
	if (!ar_str_empty(extra))
		ar_jw_raw(w, extra);
}

void ar_struct_encode(const struct ar_struct_desc *d, const void *s, struct ar_str extra, struct ar_jw *w)
{
	ar_jw_open(w);
	for (size_t i = 0; i < d->count; i++)
		write_field(&d->fields[i], (const char *)s + d->fields[i].offset, w);
	write_extra(extra, w);
	ar_jw_close(w);
}

void ar_shape_write(struct ar_jw *w, const char *name, const struct ar_struct_desc *d, const void *s)
{
	if (!s)
		return;
	ar_jw_key(w, name);
	write_shape(d, s, w);
}

bool ar_struct_equal(const struct ar_struct_desc *d, const void *a, const void *b)
{
	struct ar_buf one = { 0 }, two = { 0 };
	struct ar_jw w = ar_jw(&one);
	bool is_equal;

	write_shape(d, a, &w);
	w = ar_jw(&two);
	write_shape(d, b, &w);
	is_equal = ar_str_eq(ar_buf_str(&one), ar_buf_str(&two));
	ar_buf_fini(&one);
	ar_buf_fini(&two);
	return is_equal;
}

struct ar_str ar_extra_name(struct ar_str extra)
{
	struct ar_str name = AR_STR_NONE;

	if (!ar_str_empty(extra))
		ar_str_split(ar_str_sub(extra, 1, SIZE_MAX), '"', &name);
	return name;
}

bool ar_list_equal(const struct ar_struct_desc *d, const void *a, const void *b)
{
	struct ar_items one, two;
	bool is_equal;

	memcpy(&one, a, sizeof(one));
	memcpy(&two, b, sizeof(two));
	is_equal = one.count == two.count;
	for (size_t i = 0; is_equal && i < one.count; i++)
		is_equal = ar_struct_equal(d, (const char *)one.at + i * d->size,
					   (const char *)two.at + i * d->size);
	return is_equal;
}

/* Each member that this is for begins with a pointer: of a text, an object or a list. */
static bool is_change(const struct ar_field_desc *f, const void *now, const void *before)
{
	struct ar_field_desc alone = *f;
	const struct ar_struct_desc d = { .fields = &alone, .count = 1 };

	alone.offset = 0;
	return *(const void *const *)now && !ar_struct_equal(&d, now, before);
}

bool ar_struct_keep_changes(const struct ar_struct_desc *d, void *now, void *before)
{
	bool is_changed = false;

	for (size_t i = 0; i < d->count; i++) {
		const struct ar_field_desc *f = &d->fields[i];
		size_t size = f->of && f->kind == AR_F_OBJECT ? sizeof(void *) : sizeof(struct ar_str);
		char *given = (char *)now + f->offset, *old = (char *)before + f->offset;

		if (is_change(f, given, old)) {
			is_changed = true;
			continue;
		}
		memset(given, 0, size);
		memset(old, 0, size);
	}
	return is_changed;
}

void ar_event_encode(const struct ar_event *e, struct ar_buf *out)
{
	const struct ar_event_desc *d = ar_event_describe(e->type);
	struct ar_jw w = ar_jw(out);

	AR_ASSERT(d && e->payload);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "type", ar_str_from(d->name));
	ar_jw_mstr(&w, "eventId", e->event_id);
	ar_jw_mtime(&w, "timestamp", e->time);
	ar_jw_mstr(&w, "schemaVersion", AR_STR(AR_SCHEMA_VERSION));
	ar_jw_mstr(&w, "runtimeId", e->runtime_id);
	ar_jw_mstr(&w, "sessionId", e->session_id);
	for (int i = 0; i < AR_SCOPE_COUNT; i++)
		ar_jw_mstr(&w, ar_scope_names[i], e->ids[i]);
	ar_jw_mint(&w, "sequence", (int64_t)e->sequence);
	ar_jw_key(&w, "payload");
	ar_struct_encode(&d->payload, e->payload, e->payload_extra, &w);
	write_extra(e->extra, &w);
	ar_jw_close(&w);
}
