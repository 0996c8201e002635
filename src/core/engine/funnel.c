/* See funnel.h. What a secret is: core/redact. */
#include "funnel.h"
#include "describe.h"
#include "engine_priv.h"

#include <string.h>

struct ar_funnel_stream {
	uint8_t kind;
	uint32_t index;
	struct ar_redact_stream text;
};

/* ---- what a model says ---- */

static struct ar_redact_stream *stream_of(struct ar_funnel *f, uint8_t kind, uint32_t index)
{
	struct ar_funnel_stream *s;

	for (size_t i = 0; i < f->count; i++) {
		if (f->streams[i].kind == kind && f->streams[i].index == index)
			return &f->streams[i].text;
	}
	f->streams = ar_grow(f->streams, f->count + 1, sizeof(*f->streams));
	s = &f->streams[f->count++];
	*s = (struct ar_funnel_stream){ kind, index, { .redactor = f->redactor } };
	return &s->text;
}

static void add_counts(struct ar_redact_counts *to, const struct ar_redact_counts *more)
{
	for (size_t i = 0; i < AR_REDACT_RULES; i++)
		to->by[i] += more->by[i];
}

struct ar_str ar_funnel_feed(struct ar_funnel *f, uint8_t kind, uint32_t index, struct ar_str bytes)
{
	return f->redactor ? ar_redact_feed(stream_of(f, kind, index), bytes) : bytes;
}

bool ar_funnel_next_held(struct ar_funnel *f, struct ar_funnel_piece *ret)
{
	for (size_t i = 0; i < f->count; i++) {
		struct ar_funnel_stream *s = &f->streams[i];

		*ret = (struct ar_funnel_piece){ s->kind, s->index, ar_redact_end(&s->text) };
		add_counts(&f->counts, &s->text.counts);
		s->text.counts = (struct ar_redact_counts){ 0 };
		if (ret->bytes.len > 0)
			return true;
	}
	return false;
}

void ar_funnel_fini(struct ar_funnel *f)
{
	for (size_t i = 0; i < f->count; i++)
		ar_redact_stream_fini(&f->streams[i].text);
	ar_free(f->streams);
}

struct ar_str ar_engine_mask(const struct ar_engine *e, struct ar_str text, struct ar_arena *a)
{
	struct ar_redact_counts counts = { 0 };

	return e->o.redactor && !ar_str_absent(text) ? ar_redact(e->o.redactor, text, a, &counts) : text;
}

struct ar_str ar_funnel_text(struct ar_funnel *f, struct ar_str text, struct ar_arena *a)
{
	return ar_arena_str(a, ar_redact(f->redactor, text, a, &f->counts));
}

struct ar_str ar_funnel_id(struct ar_funnel *f, struct ar_str id, struct ar_arena *a)
{
	struct ar_str clean = ar_funnel_text(f, id, a);

	return ar_str_eq(clean, id) ? clean : AR_STR_NONE;
}

static struct ar_str maybe(struct ar_funnel *f, struct ar_str text, struct ar_arena *a)
{
	return ar_str_absent(text) ? AR_STR_NONE : ar_funnel_text(f, text, a);
}

const struct ar_tool_artifact *ar_funnel_artifacts(struct ar_funnel *f, const struct ar_tool_artifact *files,
						   size_t count, struct ar_arena *a)
{
	struct ar_tool_artifact *kept = ar_arena_alloc(a, (count + 1) * sizeof(*kept));

	for (size_t i = 0; i < count; i++)
		kept[i] = (struct ar_tool_artifact){ .path = maybe(f, files[i].path, a),
						     .change = files[i].change,
						     .version = ar_arena_str(a, files[i].version),
						     .content = maybe(f, files[i].content, a),
						     .diff = maybe(f, files[i].diff, a),
						     .size = files[i].size };
	return kept;
}

/* ---- what is reported of it ---- */

struct ar_masked ar_funnel_masked(const struct ar_redact_counts *counts, struct ar_arena *a)
{
	struct ar_str names[AR_REDACT_RULES];
	struct ar_texts rules = { names, 0 };
	struct ar_masked masked = { 0 };

	for (size_t i = 0; i < AR_REDACT_RULES; i++) {
		if (counts->by[i] > 0)
			names[rules.count++] = ar_str_from(ar_redact_rule_name((enum ar_redact_rule)i));
		masked.count += counts->by[i];
	}
	if (masked.count > 0)
		masked.rules = ar_arena_texts(a, rules);
	return masked;
}

struct ar_masked ar_funnel_saved(const struct ar_step_output *out, struct ar_arena *a)
{
	struct ar_redact_counts counts = { 0 };

	ar_redact_count_masks(out->text, &counts);
	ar_redact_count_masks(out->reasoning, &counts);
	return ar_funnel_masked(&counts, a);
}

/* ---- commands ---- */

static bool is_name(const struct ar_field_desc *f)
{
	struct ar_str name = ar_str_from(f->name);

	return f->kind == AR_F_REF || ar_str_ends(name, AR_STR("Id")) || ar_str_ends(name, AR_STR("Key"));
}

static enum ar_status check_masked(struct ar_engine *e, const struct ar_field_desc *f, struct ar_str clean,
				   struct ar_error *err)
{
	struct ar_json v;

	if (is_name(f))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "%s contains a secret; choose another one",
				 f->name);
	if (f->kind != AR_F_STRING && ar_json_parse(e->json, clean, &v, NULL) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "%s contains a secret outside a string; leave it out", f->name);
	return AR_OK;
}

/* A command being masked: its arguments are a copy of the caller's. */
struct masking {
	struct ar_engine *engine;
	struct ar_funnel *funnel;
	struct ar_arena *arena;
	struct ar_error *err;
	bool is_nested; /* inside an object or list of the command */
};

static enum ar_status mask_struct(const struct masking *m, const struct ar_struct_desc *d, char *s);

/* A member is a whole text, as its quotes in JSON say: a name that a secret begins with is no secret that was
 * cut off. */
static struct ar_str mask_quoted(const struct masking *m, struct ar_str text)
{
	const struct ar_str parts[] = { AR_STR("\""), text, AR_STR("\"") };
	struct ar_str quoted =
		ar_arena_join(m->arena, parts, AR_ARRAY_LEN(parts)); /* a text may have a NUL */
	struct ar_str clean = ar_redact(m->funnel->redactor, quoted, m->arena, &m->funnel->counts);

	return clean.p == quoted.p ? text : ar_str_sub(clean, 1, clean.len - 2);
}

static enum ar_status mask_text(const struct masking *m, const struct ar_field_desc *f, char *at)
{
	struct ar_str *text = (struct ar_str *)(void *)at;
	struct ar_str clean;

	if (ar_str_empty(*text))
		return AR_OK;
	clean = m->is_nested ? mask_quoted(m, *text)
			     : ar_redact(m->funnel->redactor, *text, m->arena, &m->funnel->counts);
	if (clean.p != text->p && check_masked(m->engine, f, clean, m->err) != AR_OK)
		return AR_E_REFUSED;
	*text = clean;
	return AR_OK;
}

static enum ar_status mask_entries(const struct masking *m, const struct ar_field_desc *f, char *at)
{
	static const struct ar_field_desc entry = { .name = "a list", .kind = AR_F_STRING };
	struct masking inner = *m;
	enum ar_status rc = AR_OK;
	struct ar_items items;

	inner.is_nested = true;
	memcpy(&items, at, sizeof(items));
	for (size_t i = 0; rc == AR_OK && i < items.count; i++)
		rc = f->of ? mask_struct(&inner, f->of, (char *)(uintptr_t)items.at + i * f->of->size)
			   : mask_text(&inner, &entry,
				       (char *)(uintptr_t)items.at + i * sizeof(struct ar_str));
	return rc;
}

static enum ar_status mask_object(const struct masking *m, const struct ar_field_desc *f, char *at)
{
	struct masking inner = *m;
	char *object;

	inner.is_nested = true;
	memcpy(&object, at, sizeof(object));
	return object ? mask_struct(&inner, f->of, object) : AR_OK;
}

static enum ar_status mask_member(const struct masking *m, const struct ar_field_desc *f, char *at)
{
	switch (f->kind) {
	case AR_F_TEXTS:
		return mask_entries(m, f, at);
	case AR_F_ARRAY:
		return f->of ? mask_entries(m, f, at) : mask_text(m, f, at);
	case AR_F_OBJECT:
		return f->of ? mask_object(m, f, at) : mask_text(m, f, at);
	case AR_F_STRING:
	case AR_F_REF:
	case AR_F_JSON:
		return mask_text(m, f, at);
	case AR_F_INT:
	case AR_F_NUM:
	case AR_F_BOOL:
	case AR_F_ENUM:
	case AR_F_TIME:
		break;
	}
	return AR_OK;
}

/* The members that a shape does not declare are a part of an object; they are checked as a whole one. */
static enum ar_status mask_extra(const struct masking *m, const struct ar_struct_desc *d, char *s)
{
	static const struct ar_field_desc members = { .name = "an object", .kind = AR_F_OBJECT };
	struct ar_str *extra = (struct ar_str *)(void *)(s + d->extra);
	struct ar_str whole;

	if (!d->extra || ar_str_empty(*extra))
		return AR_OK;
	whole = ar_arena_fmt(m->arena, "{%.*s}", AR_STR_ARG(*extra));
	if (mask_text(m, &members, (char *)&whole) != AR_OK)
		return AR_E_REFUSED;
	*extra = ar_str_sub(whole, 1, whole.len - 2);
	return AR_OK;
}

static enum ar_status mask_struct(const struct masking *m, const struct ar_struct_desc *d, char *s)
{
	static const struct ar_field_desc text = { .name = "a text", .kind = AR_F_STRING };
	enum ar_status rc = AR_OK;

	for (size_t i = 0; rc == AR_OK && i < d->count; i++)
		rc = mask_member(m, &d->fields[i], s + d->fields[i].offset);
	if (rc == AR_OK && d->text)
		rc = mask_text(m, &text, s + d->text);
	return rc == AR_OK ? mask_extra(m, d, s) : rc;
}

enum ar_status ar_funnel_command(struct ar_engine *e, struct ar_engine_request *r, struct ar_arena *a)
{
	struct ar_funnel funnel = { .redactor = e->o.redactor };
	const struct ar_struct_desc *d;
	char *args;

	if (r->input.kind != AR_IN_COMMAND || !e->o.redactor)
		return AR_OK;
	d = &ar_command_describe(r->input.command.id)->in;
	args = ar_struct_copy(d, r->input.command.args, AR_COPY_BORROW, a);
	if (mask_struct(&(struct masking){ e, &funnel, a, &r->err, false }, d, args) != AR_OK)
		return AR_E_REFUSED;
	r->input.command.args = args;
	r->input.command.masked = ar_funnel_masked(&funnel.counts, a);
	/* A mask may be longer than what it hides. */
	if (r->input.command.masked.count == 0 || ar_struct_validate(d, args, &r->err) == AR_OK)
		return AR_OK;
	r->err.code = AR_ERR_INVALID_INPUT;
	return r->err.status = AR_E_REFUSED;
}
