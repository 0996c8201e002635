/* set_policy of a session: the mode and the rules it lives by, on top of the host's. The host's own are its configuration. Pure. */
#include "action/action.h"
#include "apply.h"

#define POLICY_BYTES_MAX 65536

/* ---- reading ---- */

static enum ar_status read_rule(struct ar_decision *d, struct ar_json v, struct ar_permission_rule *rule,
				struct ar_error *err)
{
	struct ar_str wrong = AR_STR_NONE;

	if (!ar_rule_read(d->arena, v, rule, &wrong))
		return ar_refuse(err, AR_ERR_INVALID_POLICY,
				 "rule member '%.*s': a rule has name, tool, decision (allow, ask, deny), "
				 "argument, matches, command, "
				 "threadId, turnId, reason: texts of 1 to %d bytes; approvals: 0 to %d",
				 AR_STR_ARG(ar_str_utf8_prefix(wrong, 32)), AR_RULE_TEXT_MAX,
				 AR_APPROVALS_MAX);
	if (ar_str_absent(rule->name) || ar_str_absent(rule->tool) || !rule->verdict)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "a rule needs name, tool and decision");
	if (ar_str_absent(rule->argument) != ar_str_absent(rule->matches))
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "rule '%.*s': argument and matches go together",
				 AR_STR_ARG(rule->name));
	if (rule->verdict != AR_ASK && rule->approvals.v > 0)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "rule '%.*s': approvals goes with ask",
				 AR_STR_ARG(rule->name));
	if (rule->verdict == AR_ALLOW && !d->input->policy->may_loosen)
		return ar_refuse(err, AR_ERR_INVALID_POLICY,
				 "rule '%.*s' allows, and a session may only be stricter than the host here "
				 "(permission.may_loosen)",
				 AR_STR_ARG(rule->name));
	return AR_OK;
}

static enum ar_status read_rules(struct ar_decision *d, struct ar_json rules, struct ar_vec *ret,
				 struct ar_error *err)
{
	if (ar_json_type(rules) == AR_JSON_NONE)
		return AR_OK;
	if (ar_json_type(rules) != AR_JSON_ARRAY || ar_json_len(rules) > AR_RULES_MAX)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "rules is an array of at most %d", AR_RULES_MAX);
	for (struct ar_json_iter it = ar_json_iter(rules); ar_json_next(&it);) {
		struct ar_permission_rule *rule = ar_arena_alloc(d->arena, sizeof(*rule));

		if (ar_json_type(it.value) != AR_JSON_OBJECT)
			return ar_refuse(err, AR_ERR_INVALID_POLICY, "a rule is an object");
		if (read_rule(d, it.value, rule, err) != AR_OK)
			return AR_E_REFUSED;
		ar_vec_push(d->arena, ret, rule);
	}
	return AR_OK;
}

enum ar_status ar_mode_check(const struct ar_decision *d, struct ar_str name, uint16_t code,
			     struct ar_error *err)
{
	enum ar_permission_mode mode = ar_mode_find(name), host = d->input->policy->permission_mode;

	if (!host)
		host = AR_MODE_DEFAULT;
	if (!mode)
		return ar_refuse(err, code,
				 "mode '%.*s' is not one of default, untrusted, on_request, on_failure, "
				 "never, plan, bypass, auto",
				 AR_STR_ARG(ar_str_utf8_prefix(name, 32)));
	if (ar_mode_looseness(mode) > ar_mode_looseness(host) && !d->input->policy->may_loosen)
		return ar_refuse(err, code,
				 "mode %s is looser than the host's %s, which may only be tightened here "
				 "(permission.may_loosen)",
				 ar_mode_name(mode), ar_mode_name(host));
	return AR_OK;
}

/* ---- writing ---- */

/* One text per content, so that the same policy has the same ref. */
static struct ar_str policy_text(struct ar_decision *d, struct ar_str mode, const struct ar_vec *rules)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "mode", mode);
	ar_jw_key(&w, "rules");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < rules->count; i++)
		ar_rule_write(&w, rules->at[i]);
	ar_jw_close_array(&w);
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

static struct ar_str changed_by(struct ar_decision *d, struct ar_str reason)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "accountRef", d->input->account);
	ar_jw_mstr(&w, "reason", reason);
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

/* A policy replaces all, rules alone leave the mode as it is. */
static enum ar_status read_policy(struct ar_decision *d, const struct ar_cmd_set_policy_in *in,
				  struct ar_str *ret_mode, struct ar_vec *ret_rules, struct ar_error *err)
{
	struct ar_json v;

	*ret_mode = ar_str_absent(in->policy) ? d->session->mode : AR_STR_NONE;
	if (ar_json_parse(d->json, ar_str_absent(in->policy) ? in->rules : in->policy, &v, err) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "the policy does not parse");
	if (ar_str_absent(in->policy))
		return read_rules(d, v, ret_rules, err);
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (!ar_str_is(it.name, "mode") && !ar_str_is(it.name, "rules"))
			return ar_refuse(err, AR_ERR_INVALID_POLICY,
					 "a session's policy has mode and rules, not '%.*s'",
					 AR_STR_ARG(ar_str_utf8_prefix(it.name, 32)));
	}
	if (ar_json_str(ar_json_get(v, "mode"), ret_mode)) {
		*ret_mode = ar_arena_str(d->arena, *ret_mode);
		if (ar_mode_check(d, *ret_mode, AR_ERR_INVALID_POLICY, err) != AR_OK)
			return AR_E_REFUSED;
	}
	return read_rules(d, ar_json_get(v, "rules"), ret_rules, err);
}

enum ar_status ar_apply_policy_changed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_policy_changed *p = PAYLOAD(e, policy_changed);
	struct ar_json policy = ar_apply_parse(s, p->policy);
	struct ar_str wrong;

	if (p->scope != AR_POLICY_CHANGED_SCOPE_SESSION)
		return AR_OK;
	s->policy_ref = ar_apply_keep(s, p->policy_ref);
	s->mode = ar_apply_text(s, policy, "mode");
	s->rules.count = 0;
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(policy, "rules")); ar_json_next(&it);) {
		struct ar_permission_rule *rule = ar_arena_alloc(&s->arena, sizeof(*rule));

		if (!ar_rule_read(&s->arena, it.value, rule, &wrong))
			return ar_apply_unknown(err, e, "member of a rule");
		ar_vec_push(&s->arena, &s->rules, rule);
	}
	return AR_OK;
}

static void overrule(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->threads.count; i++) {
		struct ar_turn *turn = ar_thread_active(d->session->threads.at[i]);

		if (turn)
			ar_decide_overrule(d, turn);
	}
}

enum ar_status ar_decide_set_policy(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_set_policy_in *in = d->input->command.args;
	struct ar_vec rules = { 0 };
	struct ar_str mode, text, ref;

	if (read_policy(d, in, &mode, &rules, err) != AR_OK)
		return AR_E_REFUSED;
	text = policy_text(d, mode, &rules);
	if (text.len > POLICY_BYTES_MAX)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "the policy has %zu bytes and may have %d",
				 text.len, POLICY_BYTES_MAX);
	ref = ar_decide_content(d, text);
	if (!ar_str_eq(ref, d->session->policy_ref)) {
		ar_decide_emit(d, AR_EV_POLICY_CHANGED, &(struct ar_ids){ 0 },
			       &(struct ar_ev_policy_changed){ .scope = AR_POLICY_CHANGED_SCOPE_SESSION,
							       .policy_ref = ref,
							       .previous_policy_ref = d->session->policy_ref,
							       .changed_by = changed_by(d, in->reason),
							       .policy = text });
		overrule(d);
	}
	ar_decide_reply(d, AR_CMD_SET_POLICY, &(struct ar_cmd_set_policy_out){ .policy_ref = ref });
	return AR_OK;
}
