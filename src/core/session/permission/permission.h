/* What may run: modes, rules, grants, and the judgement of one act. Pure; nothing here asks
 * anybody or changes anything: what a judgement means for a call is decided by tool/, a question
 * to a person is action/'s. */
#ifndef AR_SESSION_PERMISSION_H
#define AR_SESSION_PERMISSION_H

#include "catalog.h"
#include "json.h"
#include "tool.h"

struct ar_command_line;

struct ar_decision;
struct ar_ids;
struct ar_policy;
struct ar_session;
struct ar_turn;

#define AR_GRANTS_MAX 200 /* newest grants kept per session */
#define AR_RULES_MAX 100 /* rules that a session may set for itself */
#define AR_APPROVALS_MAX 5
#define AR_WINDOW_JUDGED 10 /* newest judgements kept per thread */

/* From what a mode lets run by itself. */
enum ar_permission_mode {
	AR_MODE_DEFAULT = 1, /* read-only acts run, the rest asks */
	AR_MODE_UNTRUSTED, /* only read-only acts of the runtime's own tools run, the rest asks */
	AR_MODE_ON_REQUEST, /* as default; what is confined runs, and may ask for more */
	AR_MODE_ON_FAILURE, /* the same, and more may be asked for only after the same failed inside */
	AR_MODE_NEVER, /* as default, but what would ask is denied */
	AR_MODE_PLAN, /* only read-only acts, whatever rules, grants and hooks allow */
	AR_MODE_BYPASS, /* everything that no rule and no hook stops */
	AR_MODE_AUTO, /* the classifier decides (classify.c) */
	AR_MODE_COUNT,
};

/* The values of the member decision of permission.evaluated. */
enum ar_verdict {
	AR_ALLOW = 1,
	AR_DENY,
	AR_ASK,
	AR_SANDBOXED, /* as allow: because it is confined */
	AR_UNAVAILABLE, /* the boundary it needs cannot be enforced here: it does not run */
};

/* Whose rule it is. */
enum ar_reach {
	AR_REACH_HOST = 1,
	AR_REACH_WORKSPACE,
	AR_REACH_SESSION,
};

/* All that is given has to fit the act; what is absent fits all. Patterns know * (any run of
 * bytes) and ? (any byte). */
struct ar_permission_rule {
	struct ar_str name; /* facts call it ruleRef */
	struct ar_str tool; /* pattern of the tool's name */
	struct ar_str argument, matches; /* an argument of the call, and the pattern of its text */
	struct ar_str
		/* first words of a shell command: allow needs all commands of a literal text,
		 * others any that is seen */
		command;
	struct ar_str workspace, thread, turn;
	struct ar_str reason; /* for people; absent: none */
	bool only_destructive; /* about such acts alone */
	struct ar_opt_int
		/* ASK: how many have to approve, none of whom gave the work; absent or 0: one,
		 * anybody */
		approvals;
	int64_t verdict; /* enum ar_verdict */
	int64_t reach; /* enum ar_reach */
};

/* What a person allowed beyond one call. It answers the question it was given for: asked by a
 * rule, only that rule's: the one of its name in the same place, because settings and policies that others
 * write may give the same name to another rule. */
struct ar_grant {
	struct ar_str tool;
	struct ar_str rule; /* ruleRef of the rule that asked; absent: the mode did */
	struct ar_str
		/* where that rule stood (ar_rule_source); absent: given by a version that did not record it,
		 * which answers a rule of that name wherever it stands */
		rule_source;
	struct ar_str
		/* digest of the command or tool that it is about (covers.c); absent: the tool of
		 * that name */
		covers;
	struct ar_str scope; /* session */
	struct ar_str permission; /* eventId of the permission.resolved behind it */
	ar_usec expires; /* 0: with the session */
};

/* One judgement as readers see it later. */
struct ar_judged {
	struct ar_str call, verdict, source, reason, mode, permission;
	struct ar_texts rules;
	bool destructive;
	ar_usec at;
};

enum ar_hook_word {
	AR_HOOK_SAYS_NOTHING,
	AR_HOOK_SAYS_ALLOW,
	AR_HOOK_SAYS_DENY,
	AR_HOOK_SAYS_ASK,
};

/* What is to be judged. */
struct ar_act {
	const struct ar_tool *tool; /* its flags; NULL: nothing is known of it, so it counts as writing */
	struct ar_str name;
	struct ar_str args; /* JSON object */
	enum ar_hook_word hook;
	struct ar_str hook_name, hook_reason; /* of the hook that said it; may be absent */
	struct ar_str updated_input; /* ref of the arguments that a hook put in place; absent: none */
	const struct ar_command_line *command; /* what a shell is asked to run; the judgement's own */
	struct ar_str covers; /* digest of it, or of the tool (covers.c); the judgement's own */
	struct ar_str digest; /* the same of any command, may be absent; the judgement's own */
	struct ar_str root; /* of the workspace; the judgement's own */
};

struct ar_judgement {
	enum ar_verdict verdict;
	int source, scope; /* enum values of permission.evaluated */
	struct ar_str reason; /* one sentence */
	struct ar_texts rules; /* ruleRefs */
	struct ar_str rule, rule_source; /* the rule that asked, and where it stands; absent: none did */
	struct ar_str updated_input;
	struct ar_str impact, advice; /* destructive: how far it reaches, how to undo it */
	const char *mode; /* the one in force */
	bool destructive;
	ar_usec expires; /* of the grant that allowed it; 0: none */
	enum ar_sandbox_profile profile; /* that it runs in; 0: it needs none */
	bool is_escalation; /* more than the turn's profile is asked for */
	bool is_for_network; /* with is_escalation: the network alone is more */
	struct ar_str justification; /* why, as the model says; may be absent */
	struct ar_str remedy; /* UNAVAILABLE: what to do about it */
	struct ar_str covers; /* what a grant would answer for (covers.c) */
	struct ar_str digest; /* of the command, in mode on_failure; absent: no shell, or another mode */
	int64_t approvals; /* ASK: how many have to approve, none of whom gave the work; 0: one, anybody */
	/* no grant can answer for it: it destroys, or could not be recognised the next time */
	bool is_single;
	bool is_of_hook; /* a hook decided */
	bool is_plan; /* ASK: a plan is to be approved */
};

/* In this order: deny rules, a hook's deny, plan mode, ask rules and a hook's ask (unless a
 * grant answers the rule), grants, allow rules, a hook's allow, the mode. What the sandbox and
 * the danger scan say can only make that stricter. In mode never whatever would ask is denied. */
struct ar_judgement ar_permission_judge(struct ar_decision *d, const struct ar_turn *turn,
					const struct ar_act *act);

/* The name of the mode that a turn runs in: the strictest that holds. */
const char *ar_permission_mode_of(struct ar_decision *d, const struct ar_turn *turn);

/* permission.evaluated about what `ids` names; `action` is the question it leads to, absent
 * without one. Returns the fact's id, which tool facts carry as permissionRef. */
struct ar_str ar_permission_emit(struct ar_decision *d, const struct ar_ids *ids,
				 const struct ar_judgement *j, struct ar_str action);

/* mode.c: words and order of modes. 0 and NULL: unknown. */
enum ar_permission_mode ar_mode_find(struct ar_str name);
const char *ar_mode_name(enum ar_permission_mode mode);

/* How loose a mode is: plan 1, never 2, untrusted 3, default, on_request, on_failure and auto 4,
 * bypass 5. Who may only tighten may name one of the same or a smaller number. */
int ar_mode_looseness(enum ar_permission_mode mode);

/* What a mode says of an act that no rule, grant or hook spoke about. `is_confined`: the kernel
 * keeps it inside a boundary. */
enum ar_verdict ar_mode_verdict(enum ar_permission_mode mode, const struct ar_tool *tool, bool is_confined);

/* rule.c */
bool ar_rule_fits(const struct ar_session *s, const struct ar_permission_rule *rule,
		  const struct ar_turn *turn, const struct ar_act *act);
/* What is not known of a command before it runs could make the rule fit. */
bool ar_rule_may_fit(const struct ar_session *s, const struct ar_permission_rule *rule,
		     const struct ar_turn *turn, const struct ar_act *act);
bool ar_pattern_fits(struct ar_str pattern, struct ar_str text);

/* Where a rule stands: host (the settings, also a rule of them that is about one workspace), workspace or
 * session (their policies). */
struct ar_str ar_rule_source(const struct ar_permission_rule *rule);

/* shell.c: what a shell is asked to run, from the arguments of its call; sets covers and digest of the act.
 * NULL: it is no shell. */
const struct ar_command_line *ar_shell_command(struct ar_decision *d, struct ar_act *act);

/* Whether a text is a list of plain commands but for redirections that write no file. None of the bytes of
 * such a redirection means something else inside quotes, so it does not matter where they stand. */
bool ar_shell_is_nearly_literal(struct ar_arena *a, struct ar_str text);

/* covers.c: what a grant is about, of a tool that somebody else describes: as described; absent for the
 * runtime's own, which do not change. */
#define AR_COVERS_LEN 32
struct ar_str ar_covers_tool(struct ar_decision *d, const struct ar_tool *tool);

/* Whether a tool is declared to destroy: then each call is asked for. */
bool ar_covers_nothing(const struct ar_tool *tool);

/* profile.c: which boundary a call runs in. */
struct ar_settled_profile {
	enum ar_sandbox_profile profile; /* 0: it needs none */
	enum ar_sandbox_profile turn; /* that the turn has without asking */
	bool is_escalation;
	bool adds_network; /* with is_escalation: it differs by the network alone */
	bool is_forbidden; /* no boundary at all, which the host does not allow */
	bool is_outside; /* the workspace does not allow it */
	struct ar_texts allowed; /* what it does allow; none: what the settings do */
	bool is_available;
	struct ar_str reason, remedy; /* not available: why, and what to do */
	struct ar_str justification;
};
struct ar_settled_profile ar_profile_settle(struct ar_decision *d, const struct ar_turn *turn,
					    const struct ar_act *act);

/* The profile of a turn with these options, before any of its calls asks for more: no more than the host and
 * the workspace of the session allow. */
enum ar_sandbox_profile ar_profile_of_turn(const struct ar_session *s, const struct ar_policy *policy,
					   const struct ar_shape_turn_options *options);

/* The profile of MCP servers of the session's workspace; false: it allows none that they may have. */
AR_MUST_USE bool ar_profile_of_servers(const struct ar_session *s, const struct ar_policy *policy,
				       enum ar_sandbox_profile *ret);

/* What it says about the network: restricted, rules or enabled. */
const char *ar_profile_network(enum ar_sandbox_profile profile);

/* Whether it is a real boundary: with it modes let more run. */
bool ar_profile_confines(const struct ar_settled_profile *p);

/* Why a profile is refused that the workspace does not allow. */
struct ar_str ar_profile_outside(struct ar_arena *a, enum ar_sandbox_profile profile,
				 struct ar_texts allowed);

/* Refuses options.sandbox that names a looser profile than the host lets turns have, or one that the
 * workspace does not allow. */
enum ar_status ar_profile_check(const struct ar_decision *d, const struct ar_shape_turn_options *options,
				struct ar_error *err);

/* decide_policy.c: refuses, with this code, a mode that is unknown or looser than the host or the workspace
 * allows. */
enum ar_status ar_mode_check(const struct ar_decision *d, struct ar_str name, uint16_t code,
			     struct ar_error *err);

/* The mode that the policy of the session's workspace has; 0: none. */
enum ar_permission_mode ar_session_workspace_mode(const struct ar_session *s);

/* How many rules of this reach the session has. */
size_t ar_session_rules(const struct ar_session *s, enum ar_reach reach);

/* What set_policy says, for a session or in the log of a workspace; refused: nothing of it counts. */
AR_MUST_USE enum ar_status ar_policy_read(struct ar_decision *d, struct ar_shape_session_policy *ret,
					  struct ar_error *err);

/* The session records the policy of its workspace, if it has recorded another one: true. */
bool ar_decide_workspace_policy(struct ar_decision *d, const struct ar_shape_workspace_record *workspace);

/* The same by what was read: the record of another workspace, or that of none, says nothing. */
bool ar_decide_own_workspace(struct ar_decision *d, const struct ar_shape_workspace_record *read);

/* Ends the questions of all turns that the policy now answers. */
void ar_decide_overrule_all(struct ar_decision *d);

#endif
