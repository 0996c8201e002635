/* Rules as a policy declares them, and as they are judged by. */
#include "decide.h"
#include "permission/permission.h"

static const char *const verdict_words[] = { [AR_ALLOW] = "allow", [AR_DENY] = "deny", [AR_ASK] = "ask" };

static int verdict_of(struct ar_str word)
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

struct ar_permission_rule ar_rule_of(const struct ar_shape_policy_rule *said)
{
	return (struct ar_permission_rule){ .name = said->name,
					    .tool = said->tool,
					    .argument = said->argument,
					    .matches = said->matches,
					    .thread = said->thread_id,
					    .turn = said->turn_id,
					    .reason = said->reason,
					    .command = said->command,
					    .verdict = verdict_of(said->decision),
					    .approvals = said->approvals,
					    .reach = AR_REACH_SESSION };
}

static bool is_text_of_rule(struct ar_str text)
{
	return ar_str_absent(text) || (text.len > 0 && text.len <= AR_RULE_TEXT_MAX);
}

struct ar_str ar_rule_wrong_member(const struct ar_shape_policy_rule *said)
{
	const struct ar_struct_desc *d = &ar_shape_policy_rule_desc;
	struct ar_str name;

	for (size_t i = 0; i < d->count; i++) {
		const void *at = (const char *)said + d->fields[i].offset;

		if (d->fields[i].kind == AR_F_STRING && !is_text_of_rule(*(const struct ar_str *)at))
			return ar_str_from(d->fields[i].name);
	}
	if (!ar_str_absent(said->decision) && !verdict_of(said->decision))
		return AR_STR("decision");
	if (said->approvals.v < 0 || said->approvals.v > AR_APPROVALS_MAX)
		return AR_STR("approvals");
	if (ar_str_absent(said->extra_))
		return AR_STR_NONE;
	ar_str_split(ar_str_sub(said->extra_, 1, SIZE_MAX), '"', &name);
	return name;
}

void ar_rule_settle(struct ar_shape_policy_rule *said)
{
	said->decision = ar_str_from(verdict_words[verdict_of(said->decision)]);
	if (said->approvals.v == 0)
		said->approvals.set = false;
}
