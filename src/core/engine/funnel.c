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

/* ---- what is told of it ---- */

struct ar_masked ar_funnel_masked(const struct ar_redact_counts *counts, struct ar_arena *a)
{
	struct ar_masked masked = { 0 };
	struct ar_buf rules = { 0 };
	struct ar_jw w = ar_jw(&rules);

	ar_jw_open_array(&w);
	for (size_t i = 0; i < AR_REDACT_RULES; i++) {
		if (counts->by[i] > 0)
			ar_jw_str(&w, ar_str_from(ar_redact_rule_name((enum ar_redact_rule)i)));
		masked.count += counts->by[i];
	}
	ar_jw_close_array(&w);
	masked.rules = masked.count > 0 ? ar_arena_str(a, ar_buf_str(&rules)) : AR_STR_NONE;
	ar_buf_fini(&rules);
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

static bool is_text(const struct ar_field_desc *f)
{
	return f->kind == AR_F_STRING || f->kind == AR_F_REF || f->kind == AR_F_OBJECT ||
	       f->kind == AR_F_ARRAY || f->kind == AR_F_JSON;
}

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

/* The members of `args`, a copy of the caller's. */
static enum ar_status mask_args(struct ar_engine *e, const struct ar_struct_desc *d, char *args,
				struct ar_funnel *funnel, struct ar_arena *a, struct ar_error *err)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct ar_field_desc *f = &d->fields[i];
		struct ar_str *text = (struct ar_str *)(void *)(args + f->offset);
		struct ar_str clean;

		if (!is_text(f) || ar_str_empty(*text))
			continue;
		clean = ar_redact(funnel->redactor, *text, a, &funnel->counts);
		if (clean.p != text->p && check_masked(e, f, clean, err) != AR_OK)
			return AR_E_REFUSED;
		*text = clean;
	}
	return AR_OK;
}

enum ar_status ar_funnel_command(struct ar_engine *e, struct ar_engine_request *r, struct ar_arena *a)
{
	struct ar_funnel funnel = { .redactor = e->o.redactor };
	const struct ar_struct_desc *d;
	char *args;

	if (r->input.kind != AR_IN_COMMAND || !e->o.redactor)
		return AR_OK;
	d = &ar_command_describe(r->input.command.id)->in;
	args = ar_arena_alloc(a, d->size);
	memcpy(args, r->input.command.args, d->size);
	if (mask_args(e, d, args, &funnel, a, &r->err) != AR_OK)
		return AR_E_REFUSED;
	r->input.command.args = args;
	r->input.command.masked = ar_funnel_masked(&funnel.counts, a);
	/* A mask may be longer than what it hides. */
	if (r->input.command.masked.count == 0 || ar_struct_validate(d, args, &r->err) == AR_OK)
		return AR_OK;
	r->err.code = AR_ERR_INVALID_INPUT;
	return r->err.status = AR_E_REFUSED;
}
