/* The stricter of what policy says, what the boundary can be, and what the command looks like. Pure. */
#include "permission/raise.h"
#include "command.h"
#include "decide.h"
#include "task/task.h"

#include <string.h>

#define SOURCE(word) AR_PERMISSION_EVALUATED_DECISION_SOURCE_##word
#define JUSTIFICATION_MAX 256
#define DANGER_MAX 256

static void set_verdict(struct ar_judgement *j, enum ar_verdict verdict, int source, struct ar_str reason)
{
	j->verdict = verdict;
	j->source = source;
	j->scope = AR_PERMISSION_EVALUATED_SCOPE_ONCE;
	j->reason = reason;
	j->expires = 0;
	j->is_of_hook = false;
}

static bool has_process_failed(const struct ar_process_record *p)
{
	return p->violations > 0 || (p->ended && (!p->exit_code.set || p->exit_code.v != 0));
}

/* Its call may have ended well before it: then it went on in the background. */
static bool has_a_process_failed(const struct ar_session *s, struct ar_str call)
{
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (ar_str_eq(p->call, call) && has_process_failed(p))
			return true;
	}
	return false;
}

static bool has_failed(const struct ar_session *s, const struct ar_invocation *call)
{
	return (call->stage == AR_CALL_ENDED &&
		(ar_str_is(call->status, "failed") || ar_str_is(call->status, "timed_out"))) ||
	       has_a_process_failed(s, call->id);
}

/* The same command ran inside, in this turn, and did not end well. */
static bool has_failed_inside(const struct ar_evaluation *b)
{
	for (size_t i = 0; i < b->turn->calls.count; i++) {
		const struct ar_invocation *call = b->turn->calls.at[i];

		if (call->profile.set && !ar_str_absent(b->act->digest) &&
		    ar_str_eq(call->command_digest, b->act->digest) && has_failed(b->d->session, call))
			return true;
	}
	return false;
}

static struct ar_str escalation_reason(const struct ar_evaluation *b)
{
	const struct ar_settled_profile *p = &b->profile;
	struct ar_str why = ar_arena_excerpt(b->d->arena, p->justification, JUSTIFICATION_MAX);

	return ar_arena_fmt(b->d->arena, "it asks for sandbox %s, which is more than the turn's %s%s%.*s",
			    ar_sandbox_name(p->profile), ar_sandbox_name(p->turn),
			    ar_str_empty(why) ? "" : ": ", AR_STR_ARG(why));
}

static void raise_escalation(const struct ar_evaluation *b, struct ar_judgement *j)
{
	if (ar_evaluation_is_in_mode(b, AR_MODE_ON_FAILURE) && !has_failed_inside(b)) {
		set_verdict(j, AR_DENY, SOURCE(SANDBOX_OVERRIDE),
			    ar_arena_fmt(b->d->arena,
					 "mode on_failure gives more than sandbox %s only after the same "
					 "command failed inside it",
					 ar_sandbox_name(b->profile.turn)));
		return;
	}
	j->is_escalation = true;
	j->is_for_network = b->profile.adds_network;
	set_verdict(j, AR_ASK, SOURCE(SANDBOX_OVERRIDE), escalation_reason(b));
}

static void raise_profile(const struct ar_evaluation *b, struct ar_judgement *j)
{
	const struct ar_settled_profile *p = &b->profile;

	if (p->is_forbidden) {
		set_verdict(j, AR_DENY, SOURCE(HOST_POLICY),
			    AR_STR("sandbox danger_full_access is not allowed here (sandbox.allow_danger)"));
	} else if (p->is_outside) {
		set_verdict(j, AR_DENY, SOURCE(HOST_POLICY),
			    ar_profile_outside(b->d->arena, p->profile, p->allowed));
	} else if (!p->is_available) {
		set_verdict(j, AR_UNAVAILABLE, SOURCE(SANDBOX_OVERRIDE),
			    ar_arena_fmt(b->d->arena, "sandbox %s cannot be enforced here: %.*s",
					 ar_sandbox_name(p->profile),
					 AR_STR_ARG(ar_str_utf8_prefix(p->reason, 512))));
		j->remedy = p->remedy;
	} else if (p->is_escalation) {
		raise_escalation(b, j);
	}
}

/* A person who allowed exactly this command has seen it. In mode bypass permission is skipped on purpose:
 * danger is only told. */
static void raise_danger(const struct ar_evaluation *b, struct ar_judgement *j)
{
	struct ar_str what;

	if (!b->act->command || !b->act->command->dangers || j->verdict == AR_DENY ||
	    j->verdict == AR_UNAVAILABLE)
		return;
	what = ar_arena_excerpt(b->d->arena, ar_command_danger_text(b->act->command, b->d->arena),
				DANGER_MAX);
	if (j->verdict == AR_ASK)
		j->reason = ar_arena_fmt(b->d->arena, "it looks like %.*s; %.*s", AR_STR_ARG(what),
					 AR_STR_ARG(j->reason));
	else if (b->strictest != AR_MODE_BYPASS && j->source != SOURCE(HUMAN))
		set_verdict(j, AR_ASK, SOURCE(CLASSIFIER),
			    ar_arena_fmt(b->d->arena, "the command looks like %.*s", AR_STR_ARG(what)));
}

/* ---- the task's own limits ---- */

/* Of what a turn without a network may not do. A command is held by its sandbox; what the runtime or a
 * server does for it is not, so it may not begin. */
static bool reaches_network(const struct ar_tool *tool, enum ar_sandbox_profile profile)
{
	if (profile)
		return strcmp(ar_profile_network(profile), "restricted") != 0;
	return tool->owner == AR_TOOL_MCP || tool->owner == AR_TOOL_CONNECTOR ||
	       (tool->capabilities & (AR_TOOL_NETWORK | AR_TOOL_BROWSER));
}

static void raise_network(const struct ar_evaluation *b, struct ar_judgement *j)
{
	if (ar_turn_options(b->turn)->network != AR_TURN_OPTIONS_NETWORK_DENIED || !b->act->tool ||
	    !reaches_network(b->act->tool, b->profile.profile))
		return;
	j->is_escalation = false;
	set_verdict(j, AR_DENY, SOURCE(RULE),
		    ar_arena_fmt(b->d->arena, "it may reach a network, which the turn must not%.*s",
				 AR_STR_ARG(ar_task_cite(b->d, b->turn, "network"))));
}

static void cite(const struct ar_evaluation *b, struct ar_judgement *j, const char *member)
{
	struct ar_str ref = ar_task_constraint_ref(b->d, b->turn, member);

	if (!ar_str_absent(ref))
		j->rules = ar_texts_joined(b->d->arena, j->rules, (struct ar_texts){ &ref, 1 }, SIZE_MAX);
}

void ar_permission_cite(const struct ar_evaluation *b, struct ar_judgement *j)
{
	const struct ar_shape_turn_options *options = ar_turn_options(b->turn);

	if (options->mode && j->source == SOURCE(MODE) && j->mode &&
	    ar_mode_find(ar_str_from(j->mode)) == (enum ar_permission_mode)options->mode)
		cite(b, j, "mode");
	if (options->sandbox && b->profile.turn == (enum ar_sandbox_profile)options->sandbox)
		cite(b, j, "sandbox");
	if (options->network && b->act->tool &&
	    (b->profile.profile || reaches_network(b->act->tool, b->profile.profile)))
		cite(b, j, "network");
}

void ar_permission_raise(const struct ar_evaluation *b, struct ar_judgement *j)
{
	j->profile = b->profile.profile;
	j->justification = b->profile.justification;
	j->covers = b->act->covers;
	if (ar_evaluation_is_in_mode(b, AR_MODE_ON_FAILURE))
		j->digest = b->act->digest;
	j->is_single = b->act->command ? ar_str_absent(b->act->covers) : ar_covers_nothing(b->act->tool);
	j->is_single |= j->approvals > 0;
	if (j->profile && j->verdict != AR_DENY)
		raise_profile(b, j);
	raise_danger(b, j);
	raise_network(b, j);
}
