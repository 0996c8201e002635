/* Questions to people, and what is known of permission: for a thread, for the session, and
 * one record for lists. Pure. */
#include "action/action.h"
#include "thread.h"

static bool is_of(const struct ar_action *a, const struct ar_thread *t)
{
	return !t || ar_str_eq(a->thread, t->id);
}

static void outcome(const struct ar_action *a, struct ar_jw *w)
{
	ar_jw_mstr(w, "decision", a->decision);
	ar_jw_mstr(w, "decisionSource", a->source);
	ar_jw_mraw(w, "resolvedBy", a->actor);
	ar_jw_mstr(w, "responseRef", a->response_ref);
	ar_jw_mtime(w, "resolvedAt", a->resolved);
}

/* Where several people have to approve: how many, and who did. */
static void approvals(const struct ar_session *s, const struct ar_action *a, struct ar_jw *w)
{
	if (a->needed.v <= 0)
		return;
	ar_jw_key(w, "approvals");
	ar_jw_open(w);
	ar_jw_mint(w, "needed", a->needed.v);
	ar_jw_mint(w, "given", ar_action_approvals(s, a));
	ar_jw_mraw(w, "by", ar_str_absent(a->approved) ? AR_STR("[]") : a->approved);
	ar_jw_close(w);
}

static void escalation(const struct ar_action *a, struct ar_jw *w)
{
	if (!a->escalates)
		return;
	ar_jw_key(w, "escalation");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", a->escalated ? AR_STR("escalated") : AR_STR("pending"));
	ar_jw_mstr(w, "audience", a->audience);
	ar_jw_mtime(w, "at", a->escalated ? a->escalated : a->escalates);
	ar_jw_close(w);
}

/* In full for the session itself; a line of a list has no schema. */
static void record(const struct ar_session *s, const struct ar_action *a, bool is_line, struct ar_jw *w)
{
	static const char *const on_timeout[] = { NULL, "deny", "cancel", "fail" };
	const struct ar_action_kind *kind = ar_action_kind((enum ar_action_type)a->type);
	bool is_pending = a->status == AR_ACTION_PENDING;

	ar_jw_open(w);
	ar_jw_mstr(w, "actionId", a->id);
	ar_jw_mstr(w, "sessionId", s->id);
	ar_jw_mstr(w, "sessionTitle", s->title);
	ar_jw_mstr(w, "threadId", a->thread);
	ar_jw_mstr(w, "turnId", a->turn);
	ar_jw_mstr(w, "toolCallId", a->call);
	ar_jw_mstr(w, "toolName", a->tool);
	ar_jw_mstr(w, "actionType", ar_str_from(kind->name));
	ar_jw_mstr(w, "status", is_pending ? AR_STR("pending") : AR_STR("resolved"));
	ar_jw_mstr(w, "title", a->prompt);
	if (!ar_str_absent(a->prompt_ref))
		ar_jw_mbool(w, "isTruncated", true);
	ar_jw_mstr(w, "promptRef", a->prompt_ref);
	ar_jw_mraw(w, "schema", is_line ? AR_STR_NONE : a->schema);
	ar_jw_mraw(w, "decisions", a->decisions);
	ar_jw_mstr(w, "decisionKind", ar_str_from(kind->decision_kind));
	ar_jw_mraw(w, "scope", a->scope);
	ar_jw_mbool(w, "destructive", a->is_destructive);
	ar_jw_mtime(w, "createdAt", a->created);
	ar_jw_mtime(w, "expiresAt", a->expires);
	ar_jw_mstr(w, "onTimeout", ar_str_from(on_timeout[a->on_timeout]));
	ar_jw_mraw(w, "seenBy", ar_str_absent(a->seen) ? AR_STR("[]") : a->seen);
	approvals(s, a, w);
	escalation(a, w);
	outcome(a, w);
	ar_jw_close(w);
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
	ar_jw_mraw(w, "ruleRefs", j->rules);
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

/* The mode of the session when it has one; without, the one that the newest judgement was made in. */
static struct ar_str mode_of(const struct ar_session *s, const struct ar_thread *t)
{
	if (!ar_str_absent(s->mode) || !t || t->judged.count == 0)
		return s->mode;
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
	ar_jw_mstr(w, "policySource", ar_str_absent(s->policy_ref) ? AR_STR("host") : AR_STR("session"));
	ar_jw_mstr(w, "policyRef", s->policy_ref);
	ar_jw_mint(w, "sessionRules", (int64_t)s->rules.count);
	pending_approvals(s, t, w);
	grants(s, w);
	if (t)
		decisions(t, w);
	ar_jw_close(w);
}
