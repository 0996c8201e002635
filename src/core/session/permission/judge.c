/* The judgement of one act: which of rules, hooks, grants and modes speaks first, and what it
 * says. Pure: the same state, policy and act always give the same answer. */
#include "command.h"
#include "decide.h"
#include "hook/hooks.h"
#include "permission/raise.h"

#define TEXT_MAX 256 /* of a rule's or hook's own words inside our sentence */

#define SOURCE(word) AR_PERMISSION_EVALUATED_DECISION_SOURCE_##word
#define SCOPE(word) AR_PERMISSION_EVALUATED_SCOPE_##word

/* ---- modes ---- */

static void add_mode(struct ar_evaluation *b, enum ar_permission_mode mode)
{
	if (!mode)
		return;
	if (b->d->input->policy->may_loosen)
		b->mode_count = 0; /* the nearest one counts alone */
	b->modes[b->mode_count++] = mode;
}

static void gather_modes(struct ar_evaluation *b)
{
	enum ar_permission_mode host = b->d->input->policy->permission_mode;

	add_mode(b, host ? host : AR_MODE_DEFAULT);
	add_mode(b, ar_mode_find(b->d->session->mode));
	if (!b->turn->origin.plan_approved.v)
		add_mode(b, (enum ar_permission_mode)ar_turn_options(b->turn)->mode);
	if (ar_session_workspace_mode(b->d->session)) /* holds whatever others may loosen */
		b->modes[b->mode_count++] = ar_session_workspace_mode(b->d->session);
	b->strictest = b->modes[0];
	for (size_t i = 1; i < b->mode_count; i++) {
		if (ar_mode_looseness(b->modes[i]) <= ar_mode_looseness(b->strictest))
			b->strictest = b->modes[i];
	}
}

bool ar_evaluation_is_in_mode(const struct ar_evaluation *b, enum ar_permission_mode mode)
{
	for (size_t i = 0; i < b->mode_count; i++) {
		if (b->modes[i] == mode)
			return true;
	}
	return false;
}

static enum ar_verdict verdict_in(const struct ar_evaluation *b, enum ar_permission_mode mode)
{
	return mode == AR_MODE_AUTO ? ar_permission_classify(b)->verdict
				    : ar_mode_verdict(mode, b->act->tool, ar_profile_confines(&b->profile));
}

static struct ar_judgement by_classifier(const struct ar_evaluation *b)
{
	const struct ar_class *class = ar_permission_classify(b);
	struct ar_str *ref = ar_arena_alloc(b->d->arena, sizeof(*ref));

	*ref = ar_arena_fmt(b->d->arena, AR_CLASSIFIER "%s", class->name);
	return (struct ar_judgement){
		.verdict = class->verdict,
		.source = SOURCE(CLASSIFIER),
		.scope = SCOPE(ONCE),
		.mode = ar_mode_name(AR_MODE_AUTO),
		.rules = { ref, 1 },
		.reason = ar_arena_fmt(b->d->arena, "mode auto: the rule-based classifier %s it: %s",
				       class->verdict == AR_ASK ? "asks for" : "lets run", class->reason),
	};
}

/* Of several modes the strictest answer counts. */
static struct ar_judgement by_mode(const struct ar_evaluation *b)
{
	static const int strictness[] = { [AR_ALLOW] = 1, [AR_SANDBOXED] = 2, [AR_ASK] = 3, [AR_DENY] = 4 };
	static const char *const word[] = { [AR_ALLOW] = "lets it run",
					    [AR_SANDBOXED] = "lets it run inside the sandbox",
					    [AR_ASK] = "asks for it",
					    [AR_DENY] = "does not let it run" };
	enum ar_permission_mode mode = b->strictest;
	enum ar_verdict verdict = verdict_in(b, mode);

	for (size_t i = 0; i < b->mode_count; i++) {
		enum ar_verdict other = verdict_in(b, b->modes[i]);

		if (strictness[other] <= strictness[verdict])
			continue;
		verdict = other;
		mode = b->modes[i];
	}
	if (mode == AR_MODE_AUTO)
		return by_classifier(b);
	return (struct ar_judgement){
		.verdict = verdict,
		.source = SOURCE(MODE),
		.scope = SCOPE(ONCE),
		.mode = ar_mode_name(mode),
		.reason = ar_arena_fmt(b->d->arena, "mode %s %s: the tool %s", ar_mode_name(mode),
				       word[verdict],
				       b->act->tool && b->act->tool->is_read_only ? "only reads"
										  : "may change something"),
	};
}

/* Whatever else allows: a plan is for a person. */
static struct ar_judgement by_plan(void)
{
	return (struct ar_judgement){ .verdict = AR_ASK,
				      .source = SOURCE(MODE),
				      .scope = SCOPE(ONCE),
				      .mode = ar_mode_name(AR_MODE_PLAN),
				      .is_plan = true,
				      .reason =
					      AR_STR("mode plan: a person approves the plan before anything "
						     "is changed") };
}

/* ---- rules and hooks ---- */

typedef bool (*rule_test)(const struct ar_session *s, const struct ar_permission_rule *rule,
			  const struct ar_turn *turn, const struct ar_act *act);

static const struct ar_permission_rule *find_rule_by(const struct ar_evaluation *b, const struct ar_act *act,
						     enum ar_verdict verdict, rule_test fits)
{
	const struct ar_policy *policy = b->d->input->policy;
	const struct ar_session *s = b->d->session;

	for (int64_t reach = AR_REACH_HOST; reach <= AR_REACH_WORKSPACE; reach++) {
		for (size_t i = 0; i < policy->rule_count; i++) {
			const struct ar_permission_rule *rule = &policy->rules[i];

			if (rule->reach == reach && rule->verdict == (int64_t)verdict &&
			    fits(s, rule, b->turn, act))
				return rule;
		}
	}
	for (size_t i = 0; i < s->rules.count; i++) {
		const struct ar_permission_rule *rule = s->rules.at[i];

		if (rule->verdict == (int64_t)verdict && fits(s, rule, b->turn, act))
			return rule;
	}
	return NULL;
}

static struct ar_str sentence(const struct ar_evaluation *b, struct ar_str said, struct ar_str own_words)
{
	if (ar_str_empty(own_words))
		return said;
	return ar_arena_fmt(b->d->arena, "%.*s: %.*s", AR_STR_ARG(said),
			    AR_STR_ARG(ar_arena_excerpt(b->d->arena, own_words, TEXT_MAX)));
}

static struct ar_texts rule_refs(const struct ar_evaluation *b, struct ar_str name)
{
	struct ar_str *only = ar_arena_alloc(b->d->arena, sizeof(*only));

	*only = name;
	return (struct ar_texts){ only, 1 };
}

/* Who has to approve, where the rule says so. */
static struct ar_str by_whom(const struct ar_evaluation *b, int64_t approvals)
{
	if (approvals <= 0)
		return AR_STR("");
	return ar_arena_fmt(b->d->arena, ", and %s to approve who did not give the work",
			    approvals == 1
				    ? "one person has"
				    : ar_arena_fmt(b->d->arena, "%lld people have", (long long)approvals).p);
}

static struct ar_judgement by_rule(const struct ar_evaluation *b, const struct ar_permission_rule *rule)
{
	static const int scope[] = { [AR_REACH_HOST] = SCOPE(HOST_POLICY),
				     [AR_REACH_WORKSPACE] = SCOPE(WORKSPACE),
				     [AR_REACH_SESSION] = SCOPE(SESSION) };
	static const char *const verb[] = {
		[AR_ALLOW] = "allows", [AR_ASK] = "asks for", [AR_DENY] = "denies"
	};
	struct ar_str said = ar_arena_fmt(b->d->arena, "rule '%.*s' %s it%.*s", AR_STR_ARG(rule->name),
					  verb[rule->verdict], AR_STR_ARG(by_whom(b, rule->approvals.v)));

	return (struct ar_judgement){
		.verdict = (enum ar_verdict)rule->verdict,
		.source = rule->reach == AR_REACH_HOST ? SOURCE(HOST_POLICY) : SOURCE(RULE),
		.scope = scope[rule->reach],
		.reason = sentence(b, said, rule->reason),
		.rules = rule_refs(b, rule->name),
		.rule = rule->name,
		.rule_source = ar_rule_source(rule),
		.approvals = rule->approvals.v,
	};
}

/* Of several commands each needs a rule that allows it. */
static bool is_allowed(const struct ar_evaluation *b, struct ar_judgement *ret)
{
	const struct ar_command_line *all = b->act->command;
	size_t count = all && !all->is_opaque && all->count > 1 ? all->count : 1;
	size_t different = 0;
	struct ar_str *names = ar_arena_alloc(b->d->arena, count * sizeof(*names));

	for (size_t i = 0; i < count; i++) {
		struct ar_command_line one = all ? *all : (struct ar_command_line){ 0 };
		struct ar_act act = *b->act;
		const struct ar_permission_rule *rule;

		if (count > 1) {
			one.commands = &all->commands[i];
			one.count = 1;
			act.command = &one;
			act.args =
				AR_STR_NONE; /* a pattern over the text knows nothing of one command in it */
		}
		rule = find_rule_by(b, &act, AR_ALLOW, ar_rule_fits);
		if (!rule)
			return false;
		if (i == 0)
			*ret = by_rule(b, rule);
		if (different == 0 || !ar_str_eq(names[different - 1], rule->name))
			names[different++] = rule->name;
	}
	ret->rules = (struct ar_texts){ names, different };
	return true;
}

static struct ar_judgement by_hook(const struct ar_evaluation *b, enum ar_verdict verdict)
{
	static const char *const verb[] = {
		[AR_ALLOW] = "allows", [AR_ASK] = "asks for", [AR_DENY] = "denies"
	};
	bool is_policy = ar_hook_is_policy(b->d->input->policy, b->act->hook_name);
	struct ar_str said = ar_arena_fmt(b->d->arena, "%s %s it", is_policy ? "the host's policy" : "a hook",
					  verb[verdict]);

	return (struct ar_judgement){ .verdict = verdict,
				      .source = is_policy ? SOURCE(HOST_POLICY) : SOURCE(HOOK),
				      .scope = SCOPE(ONCE),
				      .is_of_hook = true,
				      .reason = sentence(b, said, b->act->hook_reason),
				      .rules = ar_str_absent(b->act->hook_name)
						       ? (struct ar_texts){ 0 }
						       : rule_refs(b, b->act->hook_name) };
}

/* ---- grants ---- */

/* Of a shell what was allowed is one command, not the tool; of a tool that others describe, what
 * they described then. */
static bool is_covered(const struct ar_grant *g, const struct ar_act *act)
{
	if (ar_str_absent(act->covers))
		return !act->command && !ar_covers_nothing(act->tool);
	return ar_str_eq(g->covers, act->covers);
}

static bool is_of_tool(const struct ar_evaluation *b, const struct ar_grant *g)
{
	return ar_str_eq(g->tool, b->act->name) && (!g->expires || g->expires > b->d->input->now);
}

/* A grant of an older version says no source: it goes on answering what it answered then. */
static bool is_of_rule(const struct ar_grant *g, const struct ar_permission_rule *asking)
{
	return ar_str_eq(g->rule, asking->name) &&
	       (ar_str_absent(g->rule_source) || ar_str_eq(g->rule_source, ar_rule_source(asking)));
}

/* What a person allowed for a question of the mode does not answer the question of a rule, and
 * one rule's not another's. */
static const struct ar_grant *find_grant(const struct ar_evaluation *b,
					 const struct ar_permission_rule *asking)
{
	const struct ar_session *s = b->d->session;

	for (size_t i = 0; i < s->grants.count; i++) {
		const struct ar_grant *g = s->grants.at[i];

		if (!is_of_tool(b, g) || !is_covered(g, b->act))
			continue;
		if (!asking || is_of_rule(g, asking))
			return g;
	}
	return NULL;
}

static struct ar_judgement by_grant(const struct ar_evaluation *b, const struct ar_grant *g)
{
	return (struct ar_judgement){
		.verdict = AR_ALLOW,
		.source = SOURCE(HUMAN),
		.scope = SCOPE(SESSION),
		.reason = ar_arena_fmt(b->d->arena, "a person allowed this %s for the session (%.*s)",
				       b->act->command ? "command" : "tool", AR_STR_ARG(g->permission)),
		.rules = rule_refs(b, g->permission),
		.expires = g->expires
	};
}

/* It was allowed for the session, and is not what it was then. */
static bool has_changed(const struct ar_evaluation *b)
{
	const struct ar_session *s = b->d->session;
	bool has_changed = false;

	for (size_t i = 0; !b->act->command && i < s->grants.count; i++) {
		const struct ar_grant *g = s->grants.at[i];

		if (!is_of_tool(b, g) || ar_str_absent(g->covers))
			continue;
		if (is_covered(g, b->act))
			return false;
		has_changed = true;
	}
	return has_changed;
}

static void tell_change(const struct ar_evaluation *b, struct ar_judgement *j)
{
	if (j->verdict == AR_ASK && has_changed(b))
		j->reason = ar_arena_fmt(b->d->arena,
					 "the tool changed after it was allowed for the session; %.*s",
					 AR_STR_ARG(j->reason));
}

/* ---- several people ---- */

static void keep_stricter(const struct ar_evaluation *b, const struct ar_permission_rule *rule,
			  const struct ar_permission_rule **best)
{
	const struct ar_session *s = b->d->session;

	if (rule->verdict != AR_ASK || rule->approvals.v <= (*best ? (*best)->approvals.v : 0))
		return;
	if (ar_rule_fits(s, rule, b->turn, b->act) || ar_rule_may_fit(s, rule, b->turn, b->act))
		*best = rule;
}

/* Of all rules that ask for several people, or could be about it, the one that asks for the
 * most; NULL: none does. */
static const struct ar_permission_rule *most_approvals(const struct ar_evaluation *b)
{
	const struct ar_policy *policy = b->d->input->policy;
	const struct ar_permission_rule *best = NULL;

	for (size_t i = 0; i < policy->rule_count; i++)
		keep_stricter(b, &policy->rules[i], &best);
	for (size_t i = 0; i < b->d->session->rules.count; i++)
		keep_stricter(b, b->d->session->rules.at[i], &best);
	return best;
}

static struct ar_judgement by_possible_rule(const struct ar_evaluation *b,
					    const struct ar_permission_rule *rule)
{
	struct ar_judgement j = by_rule(b, rule);

	j.verdict = AR_ASK;
	j.scope = SCOPE(ONCE);
	j.reason = ar_arena_fmt(
		b->d->arena,
		"rule '%.*s' could be about it: a part of the command is not known before it runs%.*s",
		AR_STR_ARG(rule->name), AR_STR_ARG(by_whom(b, rule->approvals.v)));
	return j;
}

/* ---- all together ---- */

static struct ar_judgement first_match(const struct ar_evaluation *b)
{
	const struct ar_permission_rule *rule = find_rule_by(b, b->act, AR_DENY, ar_rule_fits);
	const struct ar_grant *grant;
	struct ar_judgement allowed;

	if (rule)
		return by_rule(b, rule);
	if (b->act->hook == AR_HOOK_SAYS_DENY)
		return by_hook(b, AR_DENY);
	if (b->act->tool && b->act->tool->is_plan)
		return by_plan();
	if (ar_evaluation_is_in_mode(b, AR_MODE_PLAN) &&
	    ar_mode_verdict(AR_MODE_PLAN, b->act->tool, false) == AR_DENY)
		return by_mode(b);
	rule = most_approvals(b);
	if (rule)
		return ar_rule_fits(b->d->session, rule, b->turn, b->act) ? by_rule(b, rule)
									  : by_possible_rule(b, rule);
	rule = find_rule_by(b, b->act, AR_ASK, ar_rule_fits);
	if (rule && !find_grant(b, rule))
		return by_rule(b, rule);
	if (b->act->hook == AR_HOOK_SAYS_ASK)
		return by_hook(b, AR_ASK);
	grant = find_grant(b, rule);
	if (grant)
		return by_grant(b, grant);
	if (is_allowed(b, &allowed))
		return allowed;
	if (b->act->hook == AR_HOOK_SAYS_ALLOW)
		return by_hook(b, AR_ALLOW);
	return by_mode(b);
}

/* A part of the command is not known before it runs, and a rule could be about it then: a person
 * looks at it. */
static void ask_for_possible(const struct ar_evaluation *b, struct ar_judgement *j)
{
	const struct ar_permission_rule *rule;

	if (j->verdict != AR_ALLOW && j->verdict != AR_SANDBOXED)
		return;
	rule = find_rule_by(b, b->act, AR_DENY, ar_rule_may_fit);
	if (!rule)
		rule = find_rule_by(b, b->act, AR_ASK, ar_rule_may_fit);
	if (rule)
		*j = by_possible_rule(b, rule);
}

/* Nobody is asked in mode never; what spoke is still named. */
static void ask_nobody(const struct ar_evaluation *b, struct ar_judgement *j)
{
	if (j->verdict != AR_ASK || !ar_evaluation_is_in_mode(b, AR_MODE_NEVER))
		return;
	j->verdict = AR_DENY;
	j->source = SOURCE(MODE);
	j->scope = SCOPE(ONCE);
	j->is_of_hook = false;
	j->mode = ar_mode_name(AR_MODE_NEVER);
	j->reason =
		ar_arena_fmt(b->d->arena, "%.*s, and in mode never nobody is asked", AR_STR_ARG(j->reason));
}

/* Such an act keeps its facts in every mode. */
static void tell_destruction(struct ar_judgement *j, const struct ar_act *act)
{
	const struct ar_tool *tool = act->tool;

	j->destructive =
		(tool && tool->is_destructive) || (act->command && ar_command_is_destructive(act->command));
	if (!j->destructive)
		return;
	j->impact = tool->capabilities & AR_TOOL_FILESYSTEM ? AR_STR("files of the workspace")
		    : tool->owner == AR_TOOL_LOCAL	    ? AR_STR("this machine")
							    : AR_STR("the system behind the tool");
	j->advice = AR_STR("the runtime cannot undo it; keep a copy of what it changes before allowing it");
}

struct ar_judgement ar_permission_judge(struct ar_decision *d, const struct ar_turn *turn,
					const struct ar_act *act)
{
	struct ar_act own = *act;
	struct ar_evaluation b = { .d = d, .turn = turn, .act = &own };
	struct ar_judgement j;

	own.root = ar_decide_folder_of(d, turn);
	own.command = ar_shell_command(d, &own);
	if (!own.command)
		own.covers = ar_covers_tool(d, act->tool);
	b.profile = ar_profile_settle(d, turn, act);
	gather_modes(&b);
	j = first_match(&b);
	ask_for_possible(&b, &j);
	ar_permission_raise(&b, &j);
	tell_change(&b, &j);
	ask_nobody(&b, &j);
	ar_permission_cite(&b, &j);
	if (!j.mode)
		j.mode = ar_mode_name(b.strictest);
	if (!j.rules.at)
		j.rules = ar_texts_empty;
	j.updated_input = act->updated_input;
	tell_destruction(&j, &own);
	return j;
}

const char *ar_permission_mode_of(struct ar_decision *d, const struct ar_turn *turn)
{
	struct ar_evaluation b = { .d = d, .turn = turn };

	gather_modes(&b);
	return ar_mode_name(b.strictest);
}
