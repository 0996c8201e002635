/* set_policy of a session: the mode, the rules, the budget and the model it lives by, on top of the
 * host's. The host's own are its configuration. Pure. */
#include "action/action.h"
#include "apply.h"
#include "describe.h"
#include "limits/budget.h"
#include "limits/limits.h"

#define POLICY_BYTES_MAX 65536
#define RULE_TEXT_MAX 256

/* ---- rules ---- */

static int verdict_of(struct ar_str word)
{
	int verdict = ar_enum_find(&ar_permission_evaluated_decision_desc, ar_action_decision_word(word));

	return verdict <= AR_ASK ? verdict : 0;
}

/* Texts are the policy's. */
static struct ar_permission_rule rule_of(const struct ar_shape_policy_rule *said)
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
	return ar_str_absent(text) || (text.len > 0 && text.len <= RULE_TEXT_MAX);
}

/* Absent: none is. */
static struct ar_str wrong_member(const struct ar_shape_policy_rule *said)
{
	const struct ar_struct_desc *d = &ar_shape_policy_rule_desc;

	for (size_t i = 0; i < d->count; i++) {
		const void *at = (const char *)said + d->fields[i].offset;

		if (d->fields[i].kind == AR_F_STRING && !is_text_of_rule(*(const struct ar_str *)at))
			return ar_str_from(d->fields[i].name);
	}
	if (!ar_str_absent(said->decision) && !verdict_of(said->decision))
		return AR_STR("decision");
	if (said->approvals.v < 0 || said->approvals.v > AR_APPROVALS_MAX)
		return AR_STR("approvals");
	return ar_extra_name(said->extra_);
}

static enum ar_status check_rule(const struct ar_decision *d, const struct ar_shape_policy_rule *said,
				 struct ar_error *err)
{
	struct ar_str wrong = wrong_member(said);
	struct ar_permission_rule rule = rule_of(said);

	if (!ar_str_absent(wrong))
		return ar_refuse(err, AR_ERR_INVALID_POLICY,
				 "rule member '%.*s': a rule has name, tool, decision (allow, ask, deny), "
				 "argument, matches, command, "
				 "threadId, turnId, reason: texts of 1 to %d bytes; approvals: 0 to %d",
				 AR_STR_ARG(ar_str_utf8_prefix(wrong, 32)), RULE_TEXT_MAX, AR_APPROVALS_MAX);
	if (ar_str_absent(rule.name) || ar_str_absent(rule.tool) || !rule.verdict)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "a rule needs name, tool and decision");
	if (ar_str_absent(rule.argument) != ar_str_absent(rule.matches))
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "rule '%.*s': argument and matches go together",
				 AR_STR_ARG(rule.name));
	if (rule.verdict != AR_ASK && rule.approvals.v > 0)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "rule '%.*s': approvals goes with ask",
				 AR_STR_ARG(rule.name));
	if (rule.verdict == AR_ALLOW && !d->input->policy->may_loosen)
		return ar_refuse(err, AR_ERR_INVALID_POLICY,
				 "rule '%.*s' allows, and a session may only be stricter than the host here "
				 "(permission.may_loosen)",
				 AR_STR_ARG(rule.name));
	return AR_OK;
}

/* Checks the rules, and says each in one way. */
static enum ar_status settle_rules(const struct ar_decision *d, struct ar_shape_policy_rule_list *rules,
				   struct ar_error *err)
{
	struct ar_shape_policy_rule *at = ar_arena_alloc(d->arena, (rules->count + 1) * sizeof(*at));

	if (rules->count > AR_RULES_MAX)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "rules is an array of at most %d", AR_RULES_MAX);
	for (size_t i = 0; i < rules->count; i++) {
		if (check_rule(d, &rules->at[i], err) != AR_OK)
			return AR_E_REFUSED;
		at[i] = rules->at[i];
		at[i].decision = ar_action_decision_word(at[i].decision);
		if (at[i].approvals.v == 0)
			at[i].approvals.set = false;
	}
	rules->at = at;
	return AR_OK;
}

/* ---- reading ---- */

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

static enum ar_status check_model(const struct ar_decision *d, struct ar_str model, struct ar_error *err)
{
	struct ar_error why = { 0 };

	if (ar_str_absent(model) ||
	    ar_route_check(d, &(struct ar_shape_turn_options){ .model = model }, &why) == AR_OK)
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_POLICY, "%.200s", why.msg);
}

/* What rules alone leave as it is. */
static void keep_rest(const struct ar_session *s, struct ar_shape_session_policy *policy)
{
	policy->mode = s->mode;
	if (!s->preset)
		return;
	policy->budget = s->preset->budget;
	policy->model = s->preset->model;
	policy->output_seconds = s->preset->output_seconds;
}

/* A policy replaces all, rules alone leave the rest as it is. */
static enum ar_status read_policy(struct ar_decision *d, const struct ar_cmd_set_policy_in *in,
				  struct ar_shape_session_policy *ret, struct ar_error *err)
{
	bool is_whole = !ar_str_absent(in->policy);
	struct ar_str text =
		is_whole ? in->policy : ar_arena_fmt(d->arena, "{\"rules\":%.*s}", AR_STR_ARG(in->rules));
	struct ar_str extra = AR_STR_NONE;
	struct ar_error why = { 0 };
	struct ar_json v;

	if (ar_json_parse(d->json, text, &v, &why) != AR_OK ||
	    ar_struct_decode_strict(&ar_shape_session_policy_desc, v, d->arena, ret, &extra, &why) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "%.200s", why.msg);
	if (!ar_str_absent(extra))
		return ar_refuse(
			err, AR_ERR_INVALID_POLICY,
			"a session's policy has mode, rules, budget, model and outputSeconds, not '%.*s'",
			AR_STR_ARG(ar_str_utf8_prefix(ar_extra_name(extra), 32)));
	if (!is_whole)
		keep_rest(d->session, ret);
	else if ((!ar_str_absent(ret->mode) &&
		  ar_mode_check(d, ret->mode, AR_ERR_INVALID_POLICY, err) != AR_OK) ||
		 ar_budget_check_session(d, ret->budget, err) != AR_OK ||
		 check_model(d, ret->model, err) != AR_OK)
		return AR_E_REFUSED;
	return settle_rules(d, &ret->rules, err);
}

/* What is read of it beside mode and rules; NULL: nothing. */
static const struct ar_shape_session_policy *preset_of(struct ar_session *s,
						       const struct ar_shape_session_policy *policy)
{
	struct ar_shape_session_policy *preset;

	if (!policy->budget && ar_str_absent(policy->model) && !policy->output_seconds.set)
		return NULL;
	preset = ar_arena_alloc(&s->arena, sizeof(*preset));
	*preset = (struct ar_shape_session_policy){ .budget = policy->budget,
						    .model = policy->model,
						    .output_seconds = policy->output_seconds };
	return preset;
}

enum ar_status ar_apply_policy_changed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_policy_changed *p = PAYLOAD(e, policy_changed);
	const struct ar_shape_session_policy nothing = { 0 }, *policy = p->policy ? p->policy : &nothing;

	(void)err;
	s->policy_ref = ar_apply_keep(s, p->policy_ref);
	if (p->scope != AR_POLICY_CHANGED_SCOPE_SESSION)
		return AR_OK;
	policy = ar_struct_copy(&ar_shape_session_policy_desc, policy, AR_COPY_TEXT, &s->arena);
	s->mode = policy->mode;
	s->preset = preset_of(s, policy);
	s->rules.count = 0;
	for (size_t i = 0; i < policy->rules.count; i++) {
		struct ar_permission_rule *rule = ar_arena_alloc(&s->arena, sizeof(*rule));

		*rule = rule_of(&policy->rules.at[i]);
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
	struct ar_shape_session_policy policy = { 0 };
	struct ar_session_limits limits;
	struct ar_str text, ref;

	if (read_policy(d, in, &policy, err) != AR_OK)
		return AR_E_REFUSED;
	/* one text per content, so that the same policy has the same ref */
	text = ar_decide_shape(d, &ar_shape_session_policy_desc, &policy);
	if (text.len > POLICY_BYTES_MAX)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "the policy has %zu bytes and may have %d",
				 text.len, POLICY_BYTES_MAX);
	ref = ar_decide_content(d, text);
	if (!ar_str_eq(ref, d->session->policy_ref)) {
		limits = ar_budget_session_limits(d);
		ar_decide_emit(d, AR_EV_POLICY_CHANGED, &(struct ar_ids){ 0 },
			       &(struct ar_ev_policy_changed){
				       .scope = AR_POLICY_CHANGED_SCOPE_SESSION,
				       .policy_ref = ref,
				       .previous_policy_ref = d->session->policy_ref,
				       .changed_by =
					       &(struct ar_shape_policy_author){ .account_ref =
											 d->input->account,
										 .reason = in->reason },
				       .policy = &policy });
		ar_budget_say_session(d, &limits);
		overrule(d);
	}
	ar_decide_reply(d, AR_CMD_SET_POLICY, &(struct ar_cmd_set_policy_out){ .policy_ref = ref });
	return AR_OK;
}
