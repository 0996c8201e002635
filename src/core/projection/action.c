/* Questions to people, and what is known of permission: for a thread, for the session, and
 * one record for lists. Pure. */
#include "action/action.h"
#include "thread.h"

static bool is_of(const struct ar_action *a, const struct ar_thread *t)
{
	return !t || ar_str_eq(a->thread, t->id);
}

/* In full for the session itself; a line of a list has no schema. */
static void record(const struct ar_session *s, const struct ar_action *a, bool is_line, struct ar_jw *w)
{
	static const struct ar_shape_approval nobody;
	static const struct ar_shape_sight unseen;
	const struct ar_action_kind *kind = ar_action_kind((enum ar_action_type)a->type);
	const struct ar_shape_action_approvals approvals = {
		.needed = a->needed,
		.given = AR_OPT_INT((int64_t)a->approved.count),
		.by = { a->approved.count ? a->approved.at : &nobody, a->approved.count },
	};
	const struct ar_shape_action_escalation escalation = {
		.state = a->escalated ? AR_ACTION_ESCALATION_STATE_ESCALATED
				      : AR_ACTION_ESCALATION_STATE_PENDING,
		.audience = a->audience,
		.at = a->escalated ? a->escalated : a->escalates,
	};
	const struct ar_shape_action_record record = {
		.action_id = a->id,
		.session_id = s->id,
		.session_title = s->title,
		.thread_id = a->thread,
		.turn_id = a->turn,
		.tool_call_id = a->call,
		.tool_name = a->tool,
		.action_type = ar_str_from(kind->name),
		.status = a->status == AR_ACTION_PENDING ? AR_ACTION_RECORD_STATUS_PENDING
							 : AR_ACTION_RECORD_STATUS_RESOLVED,
		.title = a->prompt,
		.is_truncated = { true, !ar_str_absent(a->prompt_ref) },
		.prompt_ref = a->prompt_ref,
		.schema = is_line ? AR_STR_NONE : a->schema,
		.decisions = a->decisions,
		.decision_kind = ar_str_from(kind->decision_kind),
		.scope = a->scope,
		.destructive = a->is_destructive,
		.created_at = a->created,
		.expires_at = a->expires,
		.on_timeout = (int)a->on_timeout,
		.seen_by = { a->seen.count ? a->seen.at : &unseen, a->seen.count },
		.approvals = a->needed.v > 0 ? &approvals : NULL,
		.escalation = a->escalates ? &escalation : NULL,
		.decision = a->decision,
		.decision_source = a->source,
		.resolved_by = a->actor,
		.response_ref = a->response_ref,
		.resolved_at = a->resolved,
	};

	ar_struct_encode(&ar_shape_action_record_desc, &record, AR_STR_NONE, w);
}

void ar_projection_action(const struct ar_session *s, const struct ar_action *a, struct ar_jw *w)
{
	record(s, a, true, w);
}

static void list(const struct ar_session *s, const struct ar_thread *t, bool only_pending, struct ar_jw *w)
{
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (is_of(a, t) && (!only_pending || a->status == AR_ACTION_PENDING))
			record(s, a, false, w);
	}
	ar_jw_close_array(w);
}

void ar_projection_actions(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "actions");
	list(s, t, false, w);
	ar_jw_key(w, "pendingRequests");
	list(s, t, true, w);
}

/* ---- permission ---- */

static void pending_approvals(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "pendingApprovals");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (is_of(a, t) && a->status == AR_ACTION_PENDING && ar_action_is_about_call(a->type))
			ar_jw_str(w, a->id);
	}
	ar_jw_close_array(w);
}

static void grants(const struct ar_session *s, struct ar_jw *w)
{
	ar_jw_key(w, "grants");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->grants.count; i++) {
		const struct ar_grant *g = s->grants.at[i];

		ar_jw_open(w);
		ar_jw_mstr(w, "toolName", g->tool);
		ar_jw_mstr(w, "ruleRef", g->rule);
		ar_jw_mstr(w, "ruleSource", g->rule_source);
		ar_jw_mstr(w, "scope", g->scope);
		ar_jw_mstr(w, "permissionRef", g->permission);
		ar_jw_mtime(w, "expiresAt", g->expires);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

static void judged(const struct ar_judged *j, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "toolCallId", j->call);
	ar_jw_mstr(w, "decision", j->verdict);
	ar_jw_mstr(w, "decisionSource", j->source);
	ar_jw_mstr(w, "decisionReason", j->reason);
	ar_jw_mtexts(w, "ruleRefs", j->rules);
	ar_jw_mstr(w, "mode", j->mode);
	ar_jw_mbool(w, "destructive", j->destructive);
	ar_jw_mstr(w, "permissionRef", j->permission);
	ar_jw_mtime(w, "evaluatedAt", j->at);
	ar_jw_close(w);
}

static void decisions(const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "decisions");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->judged.count; i++)
		judged(t->judged.at[i], w);
	ar_jw_close_array(w);
}

/* The stricter one of those that the session and its workspace have; absent: neither has one. */
static struct ar_str policy_mode(const struct ar_session *s)
{
	enum ar_permission_mode own = ar_mode_find(s->mode), around = ar_session_workspace_mode(s);
	bool is_own = own && (!around || ar_mode_looseness(own) <= ar_mode_looseness(around));

	return is_own || !around ? s->mode : s->workspace_policy->preset->mode;
}

/* Without one, the one that the newest judgement was made in. */
static struct ar_str mode_of(const struct ar_session *s, const struct ar_thread *t)
{
	struct ar_str mode = policy_mode(s);

	if (!ar_str_absent(mode) || !t || t->judged.count == 0)
		return mode;
	return ((const struct ar_judged *)t->judged.at[t->judged.count - 1])->mode;
}

void ar_projection_permission(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	struct ar_str mode = mode_of(s, t);

	ar_jw_key(w, "permissionState");
	ar_jw_open(w);
	ar_jw_mstr(w, "mode", mode);
	if (!ar_str_absent(mode))
		ar_jw_mbool(w, "interactionAllowed", !ar_str_is(mode, ar_mode_name(AR_MODE_NEVER)));
	ar_jw_mstr(w, "policySource",
		   !ar_str_absent(s->policy_ref) ? AR_STR("session")
		   : s->workspace_policy	 ? AR_STR("workspace")
						 : AR_STR("host"));
	ar_jw_mstr(w, "policyRef", s->policy_ref);
	ar_jw_mstr(w, "workspacePolicyRef", s->workspace_policy ? s->workspace_policy->ref : AR_STR_NONE);
	ar_jw_mint(w, "sessionRules", (int64_t)ar_session_rules(s, AR_REACH_SESSION));
	pending_approvals(s, t, w);
	grants(s, w);
	if (t)
		decisions(t, w);
	ar_jw_close(w);
}
