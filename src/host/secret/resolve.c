/* See resolve.h. */
#include "secret/resolve.h"

#include "clock.h"
#include "mem.h"

#include <string.h>

#define START_S 60 /* for all references together, so that a start ends */

void ar_secret_mask_known(const struct ar_secret_refs *refs, struct ar_redactor *r)
{
	for (const struct ar_secret_known *k = refs->known; k; k = k->next)
		ar_redactor_add(r, ar_str_from(k->value));
	for (size_t i = 0; i < refs->renewed_count; i++)
		ar_redactor_add(r, ar_str_from(refs->renewed[i]));
}

enum ar_status ar_secret_check_value(const struct ar_secret_ref *ref, const char *value, struct ar_error *err)
{
	for (const char *c = value; *c && !ref->key->lines; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return ar_fail(
				err, AR_E_INVALID,
				"the value has several lines or control characters, which this setting "
				"cannot carry");
	}
	return AR_OK;
}

static void know(struct ar_secret_refs *refs, struct ar_str value, struct ar_arena *a)
{
	struct ar_secret_known *k = ar_arena_alloc(a, sizeof(*k));

	*k = (struct ar_secret_known){ refs->known, ar_arena_str(a, value).p };
	refs->known = k;
}

void ar_secret_resolve_one(struct ar_secret_refs *refs, struct ar_secret_ref *ref, struct ar_problems *p)
{
	struct ar_secret_got got = { 0 };
	struct ar_error err = { 0 };

	if (ar_secret_get(&ref->source, NULL, &got, &err) == AR_OK &&
	    ar_secret_check_value(ref, got.value.p, &err) == AR_OK) {
		know(refs, ar_buf_str(&got.value), p->arena);
		if (got.token.len > 0)
			know(refs, ar_buf_str(&got.token), p->arena);
		*ref->at = ar_arena_fmt(p->arena, "%s%s", ref->prefix, got.value.p).p;
		ref->is_there = true;
	} else {
		ar_problem(p, &ref->origin, ref->path, "%s", err.msg);
	}
	ar_secret_got_fini(&got);
}

static bool is_asked(const struct ar_secret_source *s)
{
	return s->kind == AR_SECRET_COMMAND || s->kind == AR_SECRET_HTTP;
}

void ar_secret_resolve(struct ar_secret_refs *refs, bool is_asking, struct ar_problems *p)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec deadline = clock->mono(clock) + (ar_usec)START_S * 1000000;

	for (struct ar_secret_ref *ref = refs->first; ref && !ar_problems_are_full(p); ref = ref->next) {
		if (ref->is_there || (is_asked(&ref->source) && !is_asking))
			continue;
		if (clock->mono(clock) > deadline) {
			ar_problem(p, &ref->origin, ref->path,
				   "it was not resolved: the references before it took more than %d seconds",
				   START_S);
			return;
		}
		ar_secret_resolve_one(refs, ref, p);
	}
}

void ar_secret_refs_fini(struct ar_secret_refs *refs)
{
	for (struct ar_secret_ref *ref = refs->first; ref; ref = ref->next) {
		ar_free(ref->text);
		ar_free(ref->trouble);
	}
	for (size_t i = 0; i < refs->renewed_count; i++)
		ar_free(refs->renewed[i]);
	ar_free(refs->renewed);
	*refs = (struct ar_secret_refs){ 0 };
}
