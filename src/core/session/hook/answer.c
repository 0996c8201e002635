/* What a handler said, read strictly: a word that means nothing here is an error, so that a slip
 * in a handler never passes for consent. Pure. */
#include "describe.h"
#include "hook/hooks.h"

#define REASON_MAX 1024
#define AUDIT_REFS_MAX 32

/* Members that an answer may have, and the points where they mean something (bits of 1 <<
 * point); 0: everywhere. */
#define AT(point) (1u << AR_AT_##point)

enum member {
	MEMBER_DECISION,
	MEMBER_CONTINUE,
	MEMBER_REASON,
	MEMBER_INPUT,
	MEMBER_CONTEXT,
	MEMBER_OUTPUT,
	MEMBER_SUPPRESS,
	MEMBER_AUDIT,
	MEMBER_COUNT,
};

static const struct {
	const char *name;
	unsigned points;
} members[MEMBER_COUNT] = {
	[MEMBER_DECISION] = { "decision", 0 },
	[MEMBER_CONTINUE] = { "continue", 0 },
	[MEMBER_REASON] = { "reason", 0 },
	[MEMBER_INPUT] = { "updatedInput",
			   AT(USER_PROMPT_SUBMIT) | AT(PRE_TOOL_USE) | AT(PERMISSION_REQUEST) },
	[MEMBER_CONTEXT] = { "additionalContext", 0 },
	[MEMBER_OUTPUT] = { "updatedToolOutput", AT(POST_TOOL_USE) },
	[MEMBER_SUPPRESS] = { "suppressOutput", 0 },
	[MEMBER_AUDIT] = { "auditRefs", 0 },
};

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

struct ar_str ar_hook_text_parts(struct ar_decision *d, struct ar_str text)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open_array(&w);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "type", AR_STR("text"));
	ar_jw_mstr(&w, "text", text);
	ar_jw_close(&w);
	ar_jw_close_array(&w);
	return ar_decide_json_end(d);
}

/* ---- member by member; each false when the value is not what it should be ---- */

static bool read_decision(struct ar_json v, enum ar_hook_point point, struct ar_hook_answer *ret)
{
	struct ar_str word = AR_STR_NONE;

	ar_json_str(v, &word);
	ret->decision = ar_enum_find(&ar_hook_completed_decision_desc, word);
	if (ret->decision == AR_HOOK_COMPLETED_DECISION_ASK)
		return means_something(AT(PRE_TOOL_USE) | AT(PERMISSION_REQUEST), point);
	return ret->decision != 0;
}

static bool read_input(struct ar_decision *d, struct ar_json v, enum ar_hook_point point,
		       struct ar_hook_answer *ret)
{
	struct ar_str text;

	if (point != AR_AT_USER_PROMPT_SUBMIT) {
		ret->input = printed(d, v);
		return ar_json_type(v) == AR_JSON_OBJECT;
	}
	if (!ar_json_str(v, &text) || text.len == 0)
		return false;
	ret->input = ar_hook_text_parts(d, text);
	return true;
}

static bool add_context(struct ar_decision *d, struct ar_json v, struct ar_hook_answer *ret)
{
	struct ar_str text;

	if (!ar_json_str(v, &text) || ret->context_count == AR_ARRAY_LEN(ret->contexts))
		return false;
	if (text.len > 0)
		ret->contexts[ret->context_count++] = ar_arena_str(d->arena, text);
	return true;
}

static bool read_contexts(struct ar_decision *d, struct ar_json v, struct ar_hook_answer *ret)
{
	if (ar_json_type(v) != AR_JSON_ARRAY)
		return add_context(d, v, ret);
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (!add_context(d, it.value, ret))
			return false;
	}
	return true;
}

static bool read_output(struct ar_decision *d, struct ar_json v, struct ar_hook_answer *ret)
{
	struct ar_str text;

	ret->output = ar_json_str(v, &text) ? ar_arena_str(d->arena, text) : printed(d, v);
	return ar_json_type(v) != AR_JSON_NULL;
}

static bool read_audit_refs(struct ar_decision *d, struct ar_json v, struct ar_hook_answer *ret)
{
	size_t count = ar_json_type(v) == AR_JSON_ARRAY ? ar_json_len(v) : SIZE_MAX;
	struct ar_str *refs;

	if (count > AUDIT_REFS_MAX)
		return false;
	refs = ar_arena_alloc(d->arena, (count + 1) * sizeof(*refs));
	ret->audit_refs = (struct ar_texts){ refs, count };
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it); refs++) {
		if (!ar_json_str(it.value, refs))
			return false;
		*refs = ar_arena_str(d->arena, *refs);
	}
	return true;
}

static bool read_member(struct ar_decision *d, enum member which, struct ar_json v, enum ar_hook_point point,
			struct ar_hook_answer *ret, bool *ret_stop)
{
	bool goes_on;

	switch (which) {
	case MEMBER_DECISION:
		return read_decision(v, point, ret);
	case MEMBER_CONTINUE:
		if (!ar_json_bool(v, &goes_on))
			return false;
		*ret_stop = !goes_on;
		return true;
	case MEMBER_REASON:
		if (!ar_json_str(v, &ret->reason))
			return false;
		ret->reason = ar_arena_str(d->arena, ar_str_utf8_prefix(ret->reason, REASON_MAX));
		return true;
	case MEMBER_INPUT:
		return read_input(d, v, point, ret);
	case MEMBER_CONTEXT:
		return read_contexts(d, v, ret);
	case MEMBER_OUTPUT:
		return read_output(d, v, ret);
	case MEMBER_SUPPRESS:
		return ar_json_bool(v, &ret->suppress_output);
	default:
		return read_audit_refs(d, v, ret);
	}
}

static enum member find_member(struct ar_str name, enum ar_hook_point point)
{
	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		if (ar_str_is(name, members[i].name) && means_something(members[i].points, point))
			return (enum member)i;
	}
	return MEMBER_COUNT;
}

enum ar_status ar_hook_answer_read(struct ar_decision *d, enum ar_hook_point point, struct ar_str said,
				   struct ar_hook_answer *ret, struct ar_error *err)
{
	bool has_to_stop = false;
	struct ar_json v;

	*ret = (struct ar_hook_answer){ .decision = AR_HOOK_COMPLETED_DECISION_CONTINUE };
	said = trimmed(said);
	if (said.len == 0)
		return AR_OK;
	if (ar_json_parse(d->json, said, &v, NULL) != AR_OK || ar_json_type(v) != AR_JSON_OBJECT)
		return ar_fail(err, AR_E_INVALID, "its answer is not a JSON object");
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		enum member which = find_member(it.name, point);

		if (which == MEMBER_COUNT)
			return ar_fail(err, AR_E_INVALID, "'%.*s' means nothing in an answer at this point",
				       AR_STR_ARG(ar_str_utf8_prefix(it.name, 64)));
		if (!read_member(d, which, it.value, point, ret, &has_to_stop))
			return ar_fail(err, AR_E_INVALID,
				       "the value of '%s' in its answer is not one of those allowed",
				       members[which].name);
	}
	if (has_to_stop && ret->decision == AR_HOOK_COMPLETED_DECISION_CONTINUE)
		ret->decision = AR_HOOK_COMPLETED_DECISION_BLOCK;
	return AR_OK;
}
