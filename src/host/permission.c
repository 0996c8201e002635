/* permission.* and permission_rules become a policy. Owner: the loop thread, at start. */
#include "permission.h"

#include "control.h"
#include "sandbox_open.h"
#include "settings/show.h"
#include "tenant.h"

static struct ar_str unless_empty(struct ar_arena *a, const char *text)
{
	return text && *text ? ar_arena_str(a, ar_str_from(text)) : AR_STR_NONE;
}

static struct ar_permission_rule rule_of(const struct ar_config_permission_rules *c, struct ar_arena *a)
{
	static const int64_t verdicts[] = { [AR_CONFIG_PERMISSION_RULES_EFFECT_ALLOW] = AR_ALLOW,
					    [AR_CONFIG_PERMISSION_RULES_EFFECT_ASK] = AR_ASK,
					    [AR_CONFIG_PERMISSION_RULES_EFFECT_DENY] = AR_DENY };
	struct ar_permission_rule rule = { .name = ar_arena_str(a, ar_str_from(c->name)),
					   .tool = unless_empty(a, c->tool),
					   .argument = unless_empty(a, c->argument),
					   .matches = unless_empty(a, c->matches),
					   .command = unless_empty(a, c->command),
					   .workspace = unless_empty(a, c->workspace),
					   .only_destructive = c->only_destructive,
					   .approvals = AR_OPT_INT(c->approvals),
					   .verdict = verdicts[c->effect] };

	rule.reach = ar_str_absent(rule.workspace) ? AR_REACH_HOST : AR_REACH_WORKSPACE;
	return rule;
}

void ar_permission_configure(const struct ar_config *c, struct ar_arena *a, struct ar_policy *policy)
{
	static const enum ar_permission_mode modes[] = {
		[AR_CONFIG_PERMISSION_MODE_DEFAULT] = AR_MODE_DEFAULT,
		[AR_CONFIG_PERMISSION_MODE_UNTRUSTED] = AR_MODE_UNTRUSTED,
		[AR_CONFIG_PERMISSION_MODE_ON_REQUEST] = AR_MODE_ON_REQUEST,
		[AR_CONFIG_PERMISSION_MODE_ON_FAILURE] = AR_MODE_ON_FAILURE,
		[AR_CONFIG_PERMISSION_MODE_NEVER] = AR_MODE_NEVER,
		[AR_CONFIG_PERMISSION_MODE_PLAN] = AR_MODE_PLAN,
		[AR_CONFIG_PERMISSION_MODE_BYPASS] = AR_MODE_BYPASS,
		[AR_CONFIG_PERMISSION_MODE_AUTO] = AR_MODE_AUTO,
	};
	struct ar_permission_rule *rules =
		ar_arena_alloc(a, (c->permission_rules_count + 1) * sizeof(*rules));

	for (size_t i = 0; i < c->permission_rules_count; i++)
		rules[i] = rule_of(&c->permission_rules[i], a);
	policy->permission_mode = modes[c->permission.mode];
	policy->may_loosen = c->permission.may_loosen;
	policy->profile = ar_host_sandbox_profile(c);
	policy->allow_danger = c->sandbox.allow_danger;
	policy->rules = rules;
	policy->rule_count = c->permission_rules_count;
	policy->action_timeout_ms = c->permission.timeout_ms;
	policy->channel_token_ms = c->channel.token_ms;
	policy->escalate_ms = c->action.escalate_after_ms;
	policy->escalate_to = ar_str_from(c->action.escalate_to);
}

void ar_permission_record(const struct ar_config *c, const struct ar_redactor *redactor,
			  struct ar_control *to)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

	ar_settings_policy(c, redactor, &text);
	ar_control_audit(to, &(struct ar_audit){ .tenant = AR_STR(AR_TENANT_LOCAL),
						 .actor = AR_STR(AR_SOURCE_SYSTEM),
						 .command = AR_STR("start_runtime"),
						 .message = AR_STR("the settings of a start"),
						 .policy = ar_buf_str(&text) });
}
