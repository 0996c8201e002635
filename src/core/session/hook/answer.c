/* What a handler said, read strictly: a word that means nothing here is an error, so that a slip
 * in a handler never passes for consent. Pure. */
#include "describe.h"
#include "hook/hooks.h"

#define REASON_MAX 1024
#define AUDIT_REFS_MAX 32

#define AT(point) (1u << AR_AT_##point)

/* An answer while it is read. */
struct reading {
	struct ar_decision *d;
	enum ar_hook_point point;
	struct ar_hook_answer *ret;
	bool has_to_stop;
};

/* Whether something has a meaning at this point; `points` are bits of 1 << point, 0: all. */
static bool means_something(unsigned points, enum ar_hook_point point)
{
	return points == 0 || (points & 1u << point);
}

static struct ar_str trimmed(struct ar_str s)
{
	static const char blank[] = " \t\r\n";

	while (s.len > 0 && __builtin_strchr(blank, s.p[0]))
		s = ar_str_sub(s, 1, s.len);
	while (s.len > 0 && __builtin_strchr(blank, s.p[s.len - 1]))
		s.len--;
	return s;
}

static struct ar_str printed(struct ar_decision *d, struct ar_json v)
{
	ar_decide_json(d);
	ar_json_print(v, &d->scratch);
	return ar_decide_json_end(d);
}

/* ---- member by member; each false when the value is not what it should be ---- */

static bool read_decision(struct reading *r, struct ar_json v)
{
	struct ar_str word = AR_STR_NONE;

	ar_json_str(v, &word);
	r->ret->decision = ar_enum_find(&ar_hook_completed_decision_desc, word);
	if (r->ret->decision == AR_HOOK_COMPLETED_DECISION_ASK)
		return means_something(AT(PRE_TOOL_USE) | AT(PERMISSION_REQUEST), r->point);
	return r->ret->decision != 0;
}

static bool read_continue(struct reading *r, struct ar_json v)
{
	bool goes_on = false;

	if (!ar_json_bool(v, &goes_on))
		return false;
	r->has_to_stop = !goes_on;
	return true;
}

void ar_hook_reason(struct ar_decision *d, struct ar_str text, struct ar_hook_answer *ret)
{
	struct ar_str whole = ar_arena_str(d->arena, text);

	ret->reason = ar_str_utf8_prefix(whole, REASON_MAX);
	ret->long_reason = ret->reason.len < whole.len ? whole : AR_STR_NONE;
}

static bool read_reason(struct reading *r, struct ar_json v)
{
	struct ar_str text;

	if (!ar_json_str(v, &text))
		return false;
	ar_hook_reason(r->d, text, r->ret);
	return true;
}

static bool read_input(struct reading *r, struct ar_json v)
{
	struct ar_str text;

	if (r->point != AR_AT_USER_PROMPT_SUBMIT) {
		r->ret->input = printed(r->d, v);
		return ar_json_type(v) == AR_JSON_OBJECT;
	}
	if (!ar_json_str(v, &text) || text.len == 0)
		return false;
	r->ret->input = ar_decide_text_parts(r->d, text);
	return true;
}

static bool add_context(struct reading *r, struct ar_json v)
{
	struct ar_hook_answer *ret = r->ret;
	struct ar_str text;

	if (!ar_json_str(v, &text) || ret->context_count == AR_ARRAY_LEN(ret->contexts))
		return false;
	if (text.len > 0)
		ret->contexts[ret->context_count++] = ar_arena_str(r->d->arena, text);
	return true;
}

static bool read_contexts(struct reading *r, struct ar_json v)
{
	if (ar_json_type(v) != AR_JSON_ARRAY)
		return add_context(r, v);
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (!add_context(r, it.value))
			return false;
	}
	return true;
}

static bool read_output(struct reading *r, struct ar_json v)
{
	struct ar_str text;

	r->ret->output = ar_json_str(v, &text) ? ar_arena_str(r->d->arena, text) : printed(r->d, v);
	return ar_json_type(v) != AR_JSON_NULL;
}

static bool read_suppress(struct reading *r, struct ar_json v)
{
	return ar_json_bool(v, &r->ret->suppress_output);
}

static bool read_audit_refs(struct reading *r, struct ar_json v)
{
	size_t count = ar_json_type(v) == AR_JSON_ARRAY ? ar_json_len(v) : SIZE_MAX;
	struct ar_str *refs;

	if (count > AUDIT_REFS_MAX)
		return false;
	refs = ar_arena_alloc(r->d->arena, (count + 1) * sizeof(*refs));
	r->ret->audit_refs = (struct ar_texts){ refs, count };
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it); refs++) {
		if (!ar_json_str(it.value, refs))
			return false;
		*refs = ar_arena_str(r->d->arena, *refs);
	}
	return true;
}

static const struct member {
	const char *name;
	bool (*read)(struct reading *r, struct ar_json v);
	unsigned points; /* where it means something */
} members[] = {
	{ "decision", read_decision, 0 },
	{ "continue", read_continue, 0 },
	{ "reason", read_reason, 0 },
	{ "updatedInput", read_input, AT(USER_PROMPT_SUBMIT) | AT(PRE_TOOL_USE) | AT(PERMISSION_REQUEST) },
	{ "additionalContext", read_contexts, 0 },
	{ "updatedToolOutput", read_output, AT(POST_TOOL_USE) },
	{ "suppressOutput", read_suppress, 0 },
	{ "auditRefs", read_audit_refs, 0 },
};

static const struct member *find_member(struct ar_str name, enum ar_hook_point point)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(members); i++) {
		if (ar_str_is(name, members[i].name) && means_something(members[i].points, point))
			return &members[i];
	}
	return NULL;
}

enum ar_status ar_hook_answer_read(struct ar_decision *d, enum ar_hook_point point, struct ar_str said,
				   struct ar_hook_answer *ret, struct ar_error *err)
{
	struct reading r = { .d = d, .point = point, .ret = ret };
	struct ar_json v;

	*ret = (struct ar_hook_answer){ .decision = AR_HOOK_COMPLETED_DECISION_CONTINUE };
	said = trimmed(said);
	if (said.len == 0)
		return AR_OK;
	if (ar_json_parse(d->json, said, &v, NULL) != AR_OK || ar_json_type(v) != AR_JSON_OBJECT)
		return ar_fail(err, AR_E_INVALID, "its answer is not a JSON object");
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		const struct member *m = find_member(it.name, point);

		if (!m)
			return ar_fail(err, AR_E_INVALID, "'%.*s' means nothing in an answer at this point",
				       AR_STR_ARG(ar_str_utf8_prefix(it.name, 64)));
		if (!m->read(&r, it.value))
			return ar_fail(err, AR_E_INVALID,
				       "the value of '%s' in its answer is not one of those allowed",
				       m->name);
	}
	if (r.has_to_stop && ret->decision == AR_HOOK_COMPLETED_DECISION_CONTINUE)
		ret->decision = AR_HOOK_COMPLETED_DECISION_BLOCK;
	return AR_OK;
}
