/* set_policy: the mode, the rules, the budget and the model that a session lives by, on top of those of
 * the host and of its workspace. The host's are its configuration; those of a workspace are in the log of
 * the workspace (workspace/policy.c), and each session of it records them before it decides anything else.
 * Pure. */
#include "action/action.h"
#include "apply.h"
#include "describe.h"
#include "limits/budget.h"
#include "limits/limits.h"
#include "workspace/workspace.h"

#define POLICY_BYTES_MAX 65536
#define RULE_TEXT_MAX 256

/* ---- rules ---- */

static int verdict_of(struct ar_str word)
{
	int verdict = ar_enum_find(&ar_permission_evaluated_decision_desc, ar_action_decision_word(word));

	return verdict <= AR_ASK ? verdict : 0;
}

/* Texts are the policy's. */
static struct ar_permission_rule rule_of(const struct ar_shape_policy_rule *said, enum ar_reach reach)
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
					    .reach = reach };
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

/* A workspace never loosens what the host says. */
static bool may_loosen(const struct ar_decision *d)
{
	return d->input->policy->may_loosen && !d->session->own;
}

static const char *whose(const struct ar_decision *d)
{
	return d->session->own ? "workspace" : "session";
}

static enum ar_status check_rule(const struct ar_decision *d, const struct ar_shape_policy_rule *said,
				 struct ar_error *err)
{
	struct ar_str wrong = wrong_member(said);
	struct ar_permission_rule rule = rule_of(said, AR_REACH_SESSION);

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
	if (rule.verdict == AR_ALLOW && !may_loosen(d))
		return ar_refuse(err, AR_ERR_INVALID_POLICY,
				 "rule '%.*s' allows, and a %s may only be stricter than the host here%s",
				 AR_STR_ARG(rule.name), whose(d),
				 d->session->own ? "" : " (permission.may_loosen)");
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
	enum ar_permission_mode workspace = ar_session_workspace_mode(d->session);

	if (!host)
		host = AR_MODE_DEFAULT;
	if (!mode)
		return ar_refuse(err, code,
				 "mode '%.*s' is not one of default, untrusted, on_request, on_failure, "
				 "never, plan, bypass, auto",
				 AR_STR_ARG(ar_str_utf8_prefix(name, 32)));
	if (workspace && ar_mode_looseness(mode) > ar_mode_looseness(workspace))
		return ar_refuse(err, code,
				 "mode %s is looser than %s of the workspace, which may only be tightened",
				 ar_mode_name(mode), ar_mode_name(workspace));
	if (ar_mode_looseness(mode) > ar_mode_looseness(host) && !may_loosen(d))
		return ar_refuse(err, code,
				 "mode %s is looser than the host's %s, which may only be tightened here%s",
				 ar_mode_name(mode), ar_mode_name(host),
				 d->session->own ? "" : " (permission.may_loosen)");
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
	if (s->own && s->own->policy) {
		policy->mode = s->own->policy->mode;
		policy->budget = s->own->policy->budget;
		return;
	}
	policy->mode = s->mode;
	if (!s->preset)
		return;
	policy->budget = s->preset->budget;
	policy->model = s->preset->model;
	policy->output_seconds = s->preset->output_seconds;
}

static enum ar_status check_members(const struct ar_decision *d, const struct ar_shape_session_policy *policy,
				    struct ar_str extra, struct ar_error *err)
{
	if (d->session->own && !ar_str_absent(policy->model))
		extra = AR_STR("model");
	if (d->session->own && policy->output_seconds.set)
		extra = AR_STR("outputSeconds");
	if (ar_str_absent(extra))
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_POLICY, "a %s's policy has %s, not '%.*s'", whose(d),
			 d->session->own ? "mode, rules and budget"
					 : "mode, rules, budget, model and outputSeconds",
			 AR_STR_ARG(ar_str_utf8_prefix(extra, 32)));
}

enum ar_status ar_policy_read(struct ar_decision *d, struct ar_shape_session_policy *ret,
			      struct ar_error *err)
{
	const struct ar_cmd_set_policy_in *in = d->input->command.args;
	bool is_whole = !ar_str_absent(in->policy);
	struct ar_str text =
		is_whole ? in->policy : ar_arena_fmt(d->arena, "{\"rules\":%.*s}", AR_STR_ARG(in->rules));
	struct ar_str extra = AR_STR_NONE;
	struct ar_error why = { 0 };
	struct ar_json v;

	if (ar_json_parse(d->json, text, &v, &why) != AR_OK ||
	    ar_struct_decode_strict(&ar_shape_session_policy_desc, v, d->arena, ret, &extra, &why) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "%.200s", why.msg);
	if (check_members(d, ret, ar_extra_name(extra), err) != AR_OK)
		return AR_E_REFUSED;
	if (!is_whole)
		keep_rest(d->session, ret);
	else if ((!ar_str_absent(ret->mode) &&
		  ar_mode_check(d, ret->mode, AR_ERR_INVALID_POLICY, err) != AR_OK) ||
		 ar_budget_check_session(d, ret->budget, err) != AR_OK ||
		 check_model(d, ret->model, err) != AR_OK)
		return AR_E_REFUSED;
	return settle_rules(d, &ret->rules, err);
}

/* ---- what it leaves ---- */

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

/* Those of a workspace stand before those of the session. */
static void replace_rules(struct ar_session *s, enum ar_reach reach,
			  const struct ar_shape_policy_rule_list *rules)
{
	size_t at;

	for (size_t i = s->rules.count; i > 0; i--) {
		if (((const struct ar_permission_rule *)s->rules.at[i - 1])->reach == (int64_t)reach)
			ar_vec_remove(&s->rules, i - 1);
	}
	at = reach == AR_REACH_WORKSPACE ? 0 : s->rules.count;
	for (size_t i = 0; i < rules->count; i++) {
		struct ar_permission_rule *rule = ar_arena_alloc(&s->arena, sizeof(*rule));

		*rule = rule_of(&rules->at[i], reach);
		ar_vec_insert(&s->arena, &s->rules, at + i, rule);
	}
}

static void keep_of_session(struct ar_session *s, const struct ar_ev_policy_changed *p,
			    const struct ar_shape_session_policy *policy)
{
	s->policy_ref = ar_apply_keep(s, p->policy_ref);
	s->mode = policy->mode;
	s->preset = preset_of(s, policy);
	replace_rules(s, AR_REACH_SESSION, &policy->rules);
}

static void keep_of_workspace(struct ar_session *s, const struct ar_ev_policy_changed *p,
			      const struct ar_shape_session_policy *policy)
{
	struct ar_shape_session_policy *preset = ar_arena_alloc(&s->arena, sizeof(*preset));
	struct ar_workspace_policy *kept = ar_arena_alloc(&s->arena, sizeof(*kept));

	*preset = (struct ar_shape_session_policy){ .mode = policy->mode, .budget = policy->budget };
	*kept = (struct ar_workspace_policy){ ar_apply_keep(s, p->policy_ref), preset };
	s->workspace_policy = kept;
	replace_rules(s, AR_REACH_WORKSPACE, &policy->rules);
}

enum ar_status ar_apply_policy_changed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_policy_changed *p = PAYLOAD(e, policy_changed);
	const struct ar_shape_session_policy nothing = { 0 }, *policy = p->policy ? p->policy : &nothing;

	(void)err;
	if (s->own || p->scope == AR_POLICY_CHANGED_SCOPE_HOST) {
		s->policy_ref = ar_apply_keep(s, p->policy_ref);
		ar_apply_workspace_policy(s, e);
		return AR_OK;
	}
	policy = ar_struct_copy(&ar_shape_session_policy_desc, policy, AR_COPY_TEXT, &s->arena);
	if (p->scope == AR_POLICY_CHANGED_SCOPE_WORKSPACE)
		keep_of_workspace(s, p, policy);
	else
		keep_of_session(s, p, policy);
	return AR_OK;
}

/* ---- deciding ---- */

void ar_decide_overrule_all(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->threads.count; i++) {
		struct ar_turn *turn = ar_thread_active(d->session->threads.at[i]);

		if (turn)
			ar_decide_overrule(d, turn);
	}
}

/* The fact, and what it does to limits. */
static void change(struct ar_decision *d, const struct ar_ev_policy_changed *p)
{
	struct ar_session_limits limits = ar_budget_session_limits(d);

	ar_decide_emit(d, AR_EV_POLICY_CHANGED, &(struct ar_ids){ 0 }, p);
	ar_budget_say_session(d, &limits);
}

bool ar_decide_workspace_policy(struct ar_decision *d, const struct ar_shape_workspace_record *workspace)
{
	const struct ar_shape_session_policy nothing = { 0 };
	const struct ar_shape_session_policy *policy = workspace->policy ? workspace->policy : &nothing;
	const struct ar_workspace_policy *known = d->session->workspace_policy;
	struct ar_str text;

	if (!workspace->policy && !known)
		return false;
	text = ar_decide_shape(d, &ar_shape_session_policy_desc, policy);
	if (known && ar_str_eq(ar_decide_ref(d, text), known->ref))
		return false;
	change(d, &(struct ar_ev_policy_changed){ .scope = AR_POLICY_CHANGED_SCOPE_WORKSPACE,
						  .policy_ref = ar_decide_content(d, text),
						  .previous_policy_ref = known ? known->ref : AR_STR_NONE,
						  .changed_by = workspace->policy_author,
						  .policy = policy });
	return true;
}

bool ar_decide_own_workspace(struct ar_decision *d, const struct ar_shape_workspace_record *read)
{
	const struct ar_shape_workspace_binding *bound = d->session->bound;

	return bound && ar_str_eq(bound->workspace_id, read->workspace_id) &&
	       ar_decide_workspace_policy(d, read);
}

enum ar_status ar_decide_workspace_read(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	if (ar_decide_own_workspace(d, d->input->workspace))
		ar_decide_overrule_all(d);
	return AR_OK;
}

enum ar_status ar_decide_set_policy(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_set_policy_in *in = d->input->command.args;
	struct ar_shape_session_policy policy = { 0 };
	struct ar_str text, ref;

	if (in->scope == AR_SET_POLICY_SCOPE_WORKSPACE)
		return ar_decide_set_workspace_policy(d, err);
	if (ar_policy_read(d, &policy, err) != AR_OK)
		return AR_E_REFUSED;
	/* one text per content, so that the same policy has the same ref */
	text = ar_decide_shape(d, &ar_shape_session_policy_desc, &policy);
	if (text.len > POLICY_BYTES_MAX)
		return ar_refuse(err, AR_ERR_INVALID_POLICY, "the policy has %zu bytes and may have %d",
				 text.len, POLICY_BYTES_MAX);
	ref = ar_decide_content(d, text);
	if (!ar_str_eq(ref, d->session->policy_ref)) {
		change(d, &(struct ar_ev_policy_changed){
				  .scope = AR_POLICY_CHANGED_SCOPE_SESSION,
				  .policy_ref = ref,
				  .previous_policy_ref = d->session->policy_ref,
				  .changed_by =
					  &(struct ar_shape_policy_author){ .account_ref = d->input->account,
									    .reason = in->reason },
				  .policy = &policy });
		ar_decide_overrule_all(d);
	}
	ar_decide_reply(d, AR_CMD_SET_POLICY, &(struct ar_cmd_set_policy_out){ .policy_ref = ref });
	return AR_OK;
}
