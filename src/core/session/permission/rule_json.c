/* Rules as members of a policy, and back. */
#include "decide.h"
#include "permission/permission.h"

static const char *const verdict_words[] = { [AR_ALLOW] = "allow", [AR_DENY] = "deny", [AR_ASK] = "ask" };

struct member {
	const char *name;
	size_t offset;
};

#define MEMBER(name, field) \
	{ \
		name, offsetof(struct ar_permission_rule, field) \
	}

static const struct member members[] = {
	MEMBER("name", name),	    MEMBER("tool", tool),	MEMBER("argument", argument),
	MEMBER("matches", matches), MEMBER("threadId", thread), MEMBER("turnId", turn),
	MEMBER("reason", reason),   MEMBER("command", command),
};

static struct ar_str *text_of(struct ar_permission_rule *rule, const struct member *m)
{
	return (struct ar_str *)((char *)rule + m->offset);
}

int ar_verdict_find(struct ar_str word)
{
	if (ar_str_is(word, "allowed"))
		return AR_ALLOW;
	if (ar_str_is(word, "denied"))
		return AR_DENY;
	for (int i = AR_ALLOW; i <= AR_ASK; i++) {
		if (ar_str_is(word, verdict_words[i]))
			return i;
	}
	return 0;
}

static bool read_approvals(struct ar_json value, struct ar_permission_rule *rule)
{
	rule->approvals.set = ar_json_i64(value, &rule->approvals.v);
	return rule->approvals.set && rule->approvals.v >= 0 && rule->approvals.v <= AR_APPROVALS_MAX;
}

static bool read_member(struct ar_arena *a, struct ar_str name, struct ar_json value,
			struct ar_permission_rule *rule)
{
	struct ar_str text;

	if (ar_str_is(name, "approvals"))
		return read_approvals(value, rule);
	if (!ar_json_str(value, &text) || text.len == 0 || text.len > AR_RULE_TEXT_MAX)
		return false;
	if (ar_str_is(name, "decision"))
		return (rule->verdict = ar_verdict_find(text)) != 0;
	for (size_t i = 0; i < AR_ARRAY_LEN(members); i++) {
		if (!ar_str_is(name, members[i].name))
			continue;
		*text_of(rule, &members[i]) = ar_arena_str(a, text);
		return true;
	}
	return false;
}

bool ar_rule_read(struct ar_arena *a, struct ar_json v, struct ar_permission_rule *ret,
		  struct ar_str *ret_wrong)
{
	*ret = (struct ar_permission_rule){ .reach = AR_REACH_SESSION };
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (read_member(a, it.name, it.value, ret))
			continue;
		*ret_wrong = it.name;
		return false;
	}
	return true;
}

void ar_rule_write(struct ar_jw *w, struct ar_permission_rule *rule)
{
	ar_jw_open(w);
	for (size_t i = 0; i < AR_ARRAY_LEN(members); i++)
		ar_jw_mstr(w, members[i].name, *text_of(rule, &members[i]));
	ar_jw_mstr(w, "decision", ar_str_from(verdict_words[rule->verdict]));
	if (rule->approvals.v > 0)
		ar_jw_mint(w, "approvals", rule->approvals.v);
	ar_jw_close(w);
}
